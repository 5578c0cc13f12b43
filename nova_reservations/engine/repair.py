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
import zlib

from oslo_log import log

from nova_reservations import objects
from nova_reservations.db import allocations
from nova_reservations.db import api
from nova_reservations.db import candidates
from nova_reservations.db import healing
from nova_reservations.db import shares
from nova_reservations.engine import shares as sharing_engine
from nova_reservations.objects import demand as demands
from nova_reservations.objects import interval
from nova_reservations.objects import states
from nova_reservations.planner import shares as sharing
from nova_reservations.planner import whole

LOG = log.getLogger(__name__)

Broken = Mapping[str, list[objects.Holding]]
"""Reservation id -> what it has and can't use, or must not."""


@dataclasses.dataclass(frozen=True, slots=True)
class Invalid:
    """The demand of a reservation that asked for what was valid then, and is
    not any more: what has failed is seen, and nothing is found for it."""

    requirements: None = None


class Repair:
    """A lease, in the transaction that heals it."""

    def __init__(
        self,
        session: api.Session,
        lease: objects.Lease,
        demanded: Mapping[str, demands.Ask | Invalid],
        aftermath: Mapping[str, datetime.timedelta],
        now: datetime.datetime,
        cleaning: datetime.timedelta,
        heal_active: states.HealActive | None,
    ) -> None:
        """:param heal_active: None: its owner has asked for it"""
        self.session = session
        self.lease = lease
        self.demanded = demanded
        self.now = now
        self.cleaning = cleaning
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

    def held(self) -> Mapping[str, Collection[objects.Holding]]:
        return allocations.holdings(self.session, list(self.demanded))

    def broken(self) -> Broken:
        """Return what it has and should not, the worst first."""
        broken = {}
        for reservation_id, holdings in self.held().items():
            current = [one for one in holdings if not one.replaced]
            fit = candidates.meeting(
                self.session,
                self.demanded[reservation_id].requirements,
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
            if not self.used or reservation_id not in self.demanded:
                continue
            given = [
                one
                for one in self.held()[reservation_id]
                if one.given and one.usable and one.resource.id in ids
            ]
            demand = self.demanded[reservation_id]
            if isinstance(demand, demands.Share):
                taken |= self._take_back_share(reservation_id, demand, given)
            elif isinstance(demand, demands.Demand):
                taken |= self._take_back_whole(reservation_id, demand, given)
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
        wanted = dataclasses.replace(demand, minimum=0, maximum=len(given))
        found = candidates.find(
            self.session,
            wanted,
            self._window(reservation_id).padded(self.cleaning),
            self.now,
            page=0,
            random_start=0,
            keep=former,
            ignore=list(self.demanded),
        )
        back = [one for one in found if one.resource.id in former]
        pairs = list(zip(back, given, strict=False))
        allocations.advance(
            self.session,
            {one.resource.id: one.generation for one, _ in pairs},
        )
        if not pairs:
            return False
        lost = [one for _, one in pairs]
        self._part_from(reservation_id, lost)
        healing.give(
            self.session,
            reservation_id,
            [one.resource.id for one, _ in pairs],
            self._given_window(reservation_id),
            given_at=self.now,
        )
        _log(reservation_id, [one.resource for one, _ in pairs], lost)
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
        rooms = shares.find(
            self.session,
            share,
            self._window(reservation_id),
            self.now,
            cleaning=self.cleaning,
            enough=bool,
            random_start=0,
            best_fit=False,
            keep={former.resource_id: former.slots},
            ignore=[reservation_id],
        )
        for room in rooms:
            if room.resource.id == former.resource_id:
                if room.slots(share.amounts, {}) < former.slots:
                    return False
                allocations.advance(
                    self.session, {room.resource.id: room.generation}
                )
                return True
        return False

    def replace_wholes(self) -> bool:
        """Give whole resources in place of others, as many as there are;
        return whether there were any."""
        broken = self._replaceable()
        wanting = {
            reservation_id: demand
            for reservation_id, demand in self.demanded.items()
            if isinstance(demand, demands.Demand) and broken[reservation_id]
        }
        if not wanting:
            return False
        mine = self._mine()
        beside = candidates.PAGE + len(mine) + sum(map(len, broken.values()))
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
        plan = whole.most(asks, seed=self.lease.id)
        allocations.advance(
            self.session,
            {
                candidate.resource.id: candidate.generation
                for chosen in plan
                for candidate in chosen
            },
        )
        for reservation_id, chosen in zip(wanting, plan, strict=True):
            if not chosen:
                continue
            lost = broken[reservation_id][: len(chosen)]
            self._part_from(reservation_id, lost)
            healing.give(
                self.session,
                reservation_id,
                [one.resource.id for one in chosen],
                self._given_window(reservation_id),
                given_at=self.now if self.used else None,
            )
            _log(reservation_id, [one.resource for one in chosen], lost)
        return any(plan)

    def _ask(
        self,
        reservation_id: str,
        demand: demands.Demand,
        mine: Collection[int],
        page: int,
    ) -> whole.Ask:
        found = candidates.find(
            self.session,
            demand,
            self._window(reservation_id).padded(self.cleaning),
            self.now,
            page=page,
            random_start=zlib.crc32(self.lease.id.encode()) >> 1,
            # What it had before is as it knows it.
            keep=[
                one.resource.id
                for one in self.held()[reservation_id]
                if one.replaced and one.hold is None
            ],
            ignore=list(self.demanded),
        )
        return whole.Ask(
            [one for one in found if one.resource.id not in mine], demand
        )

    def replace_shares(self) -> bool:
        """Give shares in place of others; all that a reservation had of one
        resource, or nothing of it. Return whether there was any."""
        moved = False
        for reservation_id, holdings in self._replaceable().items():
            demand = self.demanded[reservation_id]
            if isinstance(demand, demands.Share):
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
        ask = sharing_engine.ask(
            self.session,
            dataclasses.replace(share, slots=mine[holding.resource.id]),
            self._window(reservation_id),
            self.now,
            cleaning=self.cleaning,
            random_start=zlib.crc32(self.lease.id.encode()) >> 1,
            best_fit=True,
            others=len(mine),
            held={},
            recheck=True,
            only_add=False,
            ignore=(),
        )
        plan = sharing.assign(
            [ask],
            seed=self.lease.id,
            excluded={holding.resource.id}
            if share.affinity is None
            else list(mine),
        )
        if isinstance(plan, sharing.TooFew):
            return False
        [given] = plan
        allocations.advance(
            self.session,
            {
                room.resource.id: room.generation
                for room in ask.rooms
                if room.resource.id in given
            },
        )
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
        _log(
            reservation_id,
            [room.resource for room in ask.rooms if room.resource.id in given],
            [holding],
        )
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
