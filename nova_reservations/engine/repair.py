# SPDX-License-Identifier: Apache-2.0
"""A lease in the transaction that heals it: what it lacks, and what it gets.

All of it joins that transaction; each thing that is given is taken by its
generation, as in a booking.
"""

from collections.abc import Collection
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import datetime
from typing import Any

from oslo_log import log

from nova_reservations import objects
from nova_reservations.db import allocations
from nova_reservations.db import api
from nova_reservations.db import candidates
from nova_reservations.db import healing
from nova_reservations.engine import allocations as allocations_engine
from nova_reservations.objects import demand as demands
from nova_reservations.objects import interval
from nova_reservations.objects import search
from nova_reservations.objects import states
from nova_reservations.planner import offers
from nova_reservations.planner import plan

LOG = log.getLogger(__name__)

Broken = Mapping[str, list[objects.Holding]]
"""Reservation id -> what it has and can't use, or must not."""


class Repair:
    """A lease, in the transaction that heals it."""

    def __init__(
        self,
        session: api.Session,
        lease: objects.Lease,
        demanded: Mapping[str, demands.Ask | None],
        aftermath: Mapping[str, datetime.timedelta],
        now: datetime.datetime,
        cleaning: datetime.timedelta,
        heal_active: states.HealActive | None,
    ) -> None:
        """:param demanded: None: what was valid as it was asked for is not
            any more; what has failed is seen, and nothing is found for it
        :param heal_active: None: its owner has asked for it
        """
        self.session = session
        self.lease = lease
        self.demanded = demanded
        self.now = now
        self.terms = search.Search(
            now,
            cleaning,
            allocations_engine.start_at(lease),
            ignore=list(demanded),
        )
        self.used = lease.is_used
        self._aftermath = aftermath
        self._heal_active = heal_active

    def _window(self, reservation_id: str) -> interval.Interval:
        """Return what is left of the time that it has its resources for."""
        return interval.Interval(
            max(self.lease.start_date, self.now),
            self.lease.end_date + self._aftermath[reservation_id],
        )

    def _given_window(self, reservation_id: str) -> interval.Interval:
        """Return from and until when it has what it gets."""
        return interval.Interval(
            self.now if self.used else self.lease.start_date,
            self.lease.end_date + self._aftermath[reservation_id],
        )

    def _wanted(
        self, reservation_id: str, demand: demands.Ask, **more: Any
    ) -> search.Wanted:
        """:param more: of what is wanted"""
        return search.Wanted(
            reservation_id, demand, self._window(reservation_id), **more
        )

    def held(self) -> Mapping[str, Collection[objects.Holding]]:
        return allocations.holdings(self.session, list(self.demanded))

    def broken(self) -> Broken:
        """Return what it has and should not, the worst first."""
        broken = {}
        for reservation_id, holdings in self.held().items():
            current = [one for one in holdings if not one.replaced]
            demand = self.demanded[reservation_id]
            fit = candidates.meeting(
                self.session,
                demand.requirements if demand else None,
                {one.resource.id for one in current},
            )
            broken[reservation_id] = sorted(
                (
                    one
                    for one in current
                    if not one.usable
                    or one.resource.id not in fit
                    or self._is_withheld(one)
                ),
                key=lambda one: (one.usable, one.occupied, one.resource.id),
            )
        return broken

    def _is_withheld(self, one: objects.Holding) -> bool:
        """Whether a resource was disabled before the lease could use it."""
        return (
            one.hold == states.Hold.DISABLED
            and one.held_since is not None
            and (not self.used or one.held_since < self.lease.start_date)
        )

    def _replaceable(self) -> Broken:
        """Return what of the broken may be replaced."""
        return {
            reservation_id: [one for one in broken if self._may_replace(one)]
            for reservation_id, broken in self.broken().items()
        }

    def _may_replace(self, one: objects.Holding) -> bool:
        if self._heal_active is None:
            return True
        if one.braked:
            return False
        if not self.used or self._heal_active == states.HealActive.FAILED:
            return True
        return (
            self._heal_active == states.HealActive.FORCED_DOWN
            and one.forced_down
        )

    def _mine(self) -> set[int]:
        return {
            one.resource.id
            for holdings in self.held().values()
            for one in holdings
            if not one.replaced
        }

    def take_back(self, unused: Mapping[str, Collection[int]]) -> bool:
        """Take what was replaced, and is back, for what was given in its
        place and is not used; return whether there was any."""
        taken = False
        for reservation_id, ids in unused.items():
            demand = self.demanded.get(reservation_id)
            if not self.used or demand is None:
                continue
            given = [
                one
                for one in self.held()[reservation_id]
                if one.given and one.usable and one.resource.id in ids
            ]
            if demand.exclusive:
                taken |= self._take_back_whole(reservation_id, demand, given)
            else:
                taken |= self._take_back_share(reservation_id, demand, given)
        return taken

    def _take_back_whole(
        self,
        reservation_id: str,
        demand: demands.Demand,
        given: Collection[objects.Holding],
    ) -> bool:
        former = {
            one.resource_id
            for one in healing.former(self.session, reservation_id)
        } - self._mine()
        wanted = self._wanted(
            reservation_id,
            dataclasses.replace(demand, minimum=0, maximum=len(given)),
            held=dict.fromkeys(former, 1),
        )
        found = candidates.find(
            self.session,
            wanted,
            dataclasses.replace(self.terms, start_at=0),
            page=0,
        )
        back = [offer for offer in found if offer.resource.id in former]
        pairs = list(zip(back, given, strict=False))
        allocations.advance(
            self.session,
            {offer.resource.id: offer.generation for offer, _ in pairs},
        )
        if not pairs:
            return False
        lost = [one for _, one in pairs]
        self._part_from(reservation_id, lost)
        healing.give(
            self.session,
            reservation_id,
            [offer.resource.id for offer, _ in pairs],
            self._given_window(reservation_id),
            given_at=self.now,
        )
        _log(reservation_id, [offer.resource for offer, _ in pairs], lost)
        return True

    def _take_back_share(
        self,
        reservation_id: str,
        share: demands.Share,
        given: Sequence[objects.Holding],
    ) -> bool:
        """Take back the first that is matched by what was given: all of it,
        or a part of as many slots."""
        mine = allocations.slots(self.session, [reservation_id])
        slots = mine.get(reservation_id, {})
        parts = [[one] for one in given]
        if len(given) > 1:
            parts.append(list(given))
        for former in healing.former(self.session, reservation_id):
            for lost in parts:
                count = sum(slots[one.resource.id] for one in lost)
                if count == former.slots and self._has_room(
                    reservation_id, share, former
                ):
                    self._part_from(reservation_id, lost)
                    healing.give_shares(
                        self.session,
                        reservation_id,
                        {former.resource_id: former.slots},
                        share.amounts,
                        self._given_window(reservation_id),
                        given_at=self.now,
                    )
                    return True
        return False

    def _has_room(
        self, reservation_id: str, share: demands.Share, former: healing.Former
    ) -> bool:
        """Whether what was had is free for who had it, who takes it then."""
        ask = allocations_engine.find_offers(
            self.session,
            self._wanted(
                reservation_id,
                dataclasses.replace(share, slots=former.slots),
                held={former.resource_id: former.slots},
                keep_all=True,
                among=[former.resource_id],
            ),
            dataclasses.replace(
                self.terms, best_fit=False, ignore=[reservation_id]
            ),
        )
        found = plan.assign([ask], self.lease.id)
        if not isinstance(found, plan.Plan):
            return False
        allocations.advance(self.session, found.generations)
        return True

    def replace_wholes(self) -> bool:
        """Give whole resources in place of others, as many as there are;
        return whether there were any."""
        broken = self._replaceable()
        wanting = {
            reservation_id: demand
            for reservation_id, demand in self.demanded.items()
            if demand is not None
            and demand.exclusive
            and broken[reservation_id]
        }
        if not wanting:
            return False
        mine = self._mine()
        beside = len(mine) + sum(map(len, broken.values()))
        asks = [
            self._ask(
                reservation_id,
                dataclasses.replace(
                    demand, minimum=0, maximum=len(broken[reservation_id])
                ),
                mine,
                beside,
            )
            for reservation_id, demand in wanting.items()
        ]
        found = plan.most(asks, seed=self.lease.id)
        allocations.advance(self.session, found.generations)
        for ask in asks:
            reservation_id = ask.wanted.reservation_id
            chosen = found.slots[reservation_id]
            if not chosen:
                continue
            lost = broken[reservation_id][: len(chosen)]
            self._part_from(reservation_id, lost)
            healing.give(
                self.session,
                reservation_id,
                list(chosen),
                self._given_window(reservation_id),
                given_at=self.now if self.used else None,
            )
            _log(reservation_id, _chosen(ask, chosen), lost)
        return any(found.slots.values())

    def _ask(
        self,
        reservation_id: str,
        demand: demands.Demand,
        mine: Collection[int],
        beside: int,
    ) -> offers.Ask:
        """:param beside: how many resources may be of no use to it"""
        # What it had before is as it knows it.
        known = [
            one.resource.id
            for one in self.held()[reservation_id]
            if one.replaced and one.hold is None
        ]
        ask = allocations_engine.find_offers(
            self.session,
            self._wanted(
                reservation_id,
                demand,
                held=dict.fromkeys(known, 1),
                siblings=beside,
            ),
            self.terms,
        )
        return dataclasses.replace(
            ask,
            offers=[
                offer for offer in ask.offers if offer.resource.id not in mine
            ],
        )

    def replace_shares(self) -> bool:
        """Give shares in place of others; all that a reservation had of one
        resource, or nothing of it. Return whether there was any."""
        moved = False
        for reservation_id, holdings in self._replaceable().items():
            demand = self.demanded[reservation_id]
            if demand is not None and not demand.exclusive:
                for holding in holdings:
                    moved |= self._replace_share(
                        reservation_id, demand, holding
                    )
        return moved

    def _replace_share(
        self,
        reservation_id: str,
        share: demands.Share,
        holding: objects.Holding,
    ) -> bool:
        slots = allocations.slots(self.session, [reservation_id])
        mine = slots[reservation_id]
        ask = allocations_engine.find_offers(
            self.session,
            self._wanted(
                reservation_id,
                dataclasses.replace(share, slots=mine[holding.resource.id]),
                siblings=len(mine),
            ),
            dataclasses.replace(self.terms, ignore=()),
        )
        left = [holding.resource.id] if share.affinity is None else mine
        found = plan.assign(
            [
                dataclasses.replace(
                    ask,
                    offers=[
                        offer
                        for offer in ask.offers
                        if offer.resource.id not in left
                    ],
                )
            ],
            self.lease.id,
        )
        if not isinstance(found, plan.Plan):
            return False
        given = found.slots[reservation_id]
        allocations.advance(self.session, found.generations)
        self._part_from(reservation_id, [holding])
        healing.give_shares(
            self.session,
            reservation_id,
            {
                resource_id: count + mine.get(resource_id, 0)
                for resource_id, count in given.items()
            },
            share.amounts,
            self._given_window(reservation_id),
            given_at=self.now if self.used else None,
        )
        _log(reservation_id, _chosen(ask, given), [holding])
        return True

    def _part_from(
        self, reservation_id: str, lost: Collection[objects.Holding]
    ) -> None:
        ids = [one.resource.id for one in lost]
        if self.used:
            healing.replace(self.session, reservation_id, ids, self.now)
        else:
            # Nobody has been on them for this lease.
            allocations.delete(self.session, reservation_id, ids)


def _chosen(
    ask: offers.Ask, chosen: Collection[int]
) -> list[objects.Resource]:
    return [
        offer.resource for offer in ask.offers if offer.resource.id in chosen
    ]


def _log(
    reservation_id: str,
    new: Collection[objects.Resource],
    lost: Collection[objects.Holding],
) -> None:
    LOG.info(
        'Reservation %(id)s has %(new)s in place of %(lost)s',
        {
            'id': reservation_id,
            'new': ', '.join(resource.name for resource in new),
            'lost': ', '.join(one.resource.name for one in lost),
        },
    )
