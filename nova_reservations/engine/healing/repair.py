# SPDX-License-Identifier: Apache-2.0
"""The repair of a lease in the transaction that heals it: which resources it
lacks, and which it gets.

Everything joins that transaction. Resources are guarded by their generations,
as in a booking.
"""

from collections.abc import Collection
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import datetime

from oslo_log import log

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations.db import api
from nova_reservations.db.holdings import allocations
from nova_reservations.db.holdings import candidates
from nova_reservations.db.holdings import healing
from nova_reservations.engine import settings
from nova_reservations.engine import transactions
from nova_reservations.engine.booking import allocations as allocations_engine
from nova_reservations.engine.booking import replanning
from nova_reservations.objects import demand as demands
from nova_reservations.objects import interval
from nova_reservations.objects import search
from nova_reservations.objects import states
from nova_reservations.planner import offers
from nova_reservations.planner import plan

LOG = log.getLogger(__name__)

Broken = Mapping[str, list[objects.Holding]]
"""Reservation id -> resources that it has but can't, or must not, use."""


@dataclasses.dataclass(frozen=True, slots=True)
class _Loss:
    """Resources of a reservation that are to be replaced together."""

    reservation_id: str
    demand: demands.Ask
    holdings: Sequence[objects.Holding]


@dataclasses.dataclass(eq=False)
class Repair:
    """A lease, in the transaction that heals it.

    :ivar demanded: reservation id -> what it asks for, of reservations that
        have resources; None: the request is no longer valid, so failures are
        noticed, but no replacement is searched for.
    :ivar aftermath: reservation id -> how long it has its resources beyond
        the lease's end.
    :ivar heal_active: the failures for which a used lease gets replacements;
        None: all, because its owner has asked.
    :ivar drained: ids of resources that it is to leave, though they work.
    :ivar left: ids of resources that promises of others have left for the
        lease.
    """

    session: api.Session
    plans: allocations_engine.Allocations
    attempt: transactions.Attempt
    lease: objects.Lease
    demanded: Mapping[str, demands.Ask | None]
    aftermath: Mapping[str, datetime.timedelta]
    now: datetime.datetime
    options: settings.Settings
    heal_active: states.HealActive | None
    drained: Collection[int]
    left: Collection[int] = ()

    @property
    def used(self) -> bool:
        return self.lease.is_used

    def _window(self, reservation_id: str) -> interval.Interval:
        """Return the rest of the reservation's window."""
        return interval.Interval(
            max(self.lease.start_date, self.now), self._end(reservation_id)
        )

    def _given_window(self, reservation_id: str) -> interval.Interval:
        """Return the window for resources that the reservation gets now."""
        return interval.Interval(
            self.now if self.used else self.lease.start_date,
            self._end(reservation_id),
        )

    def _end(self, reservation_id: str) -> datetime.datetime:
        return self.lease.end_date + self.aftermath[reservation_id]

    def _terms(self, ignore: Collection[str]) -> search.Search:
        return search.Search(
            self.now,
            self.options.cleaning_time,
            allocations_engine.start_at(self.lease),
            ignore=ignore,
        )

    def held(self) -> Mapping[str, Collection[objects.Holding]]:
        return allocations.holdings(self.session, list(self.demanded))

    def lacking(self) -> Broken:
        """Return the resources that the lease can't use. It can use cordoned
        ones: it starts with them if there are no others."""
        return self._broken(())

    def broken(self, drained: Collection[int] = ()) -> Broken:
        """Return the resources that the lease should leave, the worst first.

        :param drained: ids of working resources that it should leave, too
        """
        cordoned = {
            holding.resource.id
            for holdings in self.held().values()
            for holding in holdings
            if holding.cordoned and not self.used
        }
        return self._broken(cordoned.union(drained))

    def _broken(self, drained: Collection[int]) -> Broken:
        broken = {}
        for reservation_id, holdings in self.held().items():
            current = [holding for holding in holdings if holding.stays]
            demand = self.demanded[reservation_id]
            ids = {holding.resource.id for holding in current}
            fit = ids
            if demand is not None:
                fit = candidates.meeting(
                    self.session,
                    demand.resource_type,
                    demand.requirements,
                    ids,
                )
            broken[reservation_id] = sorted(
                (
                    holding
                    for holding in current
                    if not holding.usable
                    or holding.resource.id not in fit
                    or self._is_withheld(holding)
                    or holding.resource.id in drained
                ),
                key=lambda holding: (
                    holding.usable,
                    holding.occupied,
                    holding.resource.id,
                ),
            )
        return broken

    def _is_withheld(self, holding: objects.Holding) -> bool:
        """Return whether a resource was disabled before the lease could use
        it."""
        return (
            holding.hold == states.Hold.DISABLED
            and holding.held_since is not None
            and (not self.used or holding.held_since < self.lease.start_date)
        )

    def _may_replace(self, holding: objects.Holding) -> bool:
        if self.heal_active is None or holding.resource.id in self.drained:
            return True
        if holding.braked:
            return False
        if not self.used or self.heal_active == states.HealActive.FAILED:
            return True
        return (
            self.heal_active == states.HealActive.FORCED_DOWN
            and holding.forced_down
        )

    def _slots(
        self, reservation_id: str, seen: Collection[objects.Holding]
    ) -> Mapping[int, int]:
        """Return resource id -> slots that the reservation has there; a whole
        resource is one.

        :param seen: resources that the reservation was seen to have
        :raises: Conflict if another writer has moved the lease since. This can
            happen on databases where each statement sees the latest commit.
        """
        shares = allocations.slots(self.session, [reservation_id])
        counts = shares.get(reservation_id, {})
        slots = {
            holding.resource.id: counts.get(holding.resource.id, 1)
            for holding in self.held()[reservation_id]
            if holding.stays
        }
        if not slots.keys() >= {holding.resource.id for holding in seen}:
            raise exception.Conflict(kind='Lease', id=self.lease.id)
        return slots

    def take_back(self, unused: Mapping[str, Collection[int]]) -> bool:
        """Exchange unused replacements for the replaced resources if those
        work again; return whether any were exchanged."""
        taken = False
        for reservation_id, ids in unused.items():
            demand = self.demanded.get(reservation_id)
            if not self.used or demand is None:
                continue
            given = [
                holding
                for holding in self.held()[reservation_id]
                if holding.given
                and holding.usable
                and holding.resource.id in ids
            ]
            if given:
                taken |= self._take_back(reservation_id, demand, given)
        return taken

    def _take_back(
        self,
        reservation_id: str,
        demand: demands.Ask,
        given: Sequence[objects.Holding],
    ) -> bool:
        """Take back each former resource that has as many slots as one of the
        given resources, or as all of them together."""
        former = healing.former(self.session, reservation_id)
        wanted = search.Wanted(
            reservation_id,
            demand,
            self._window(reservation_id),
            held=former,
            among=list(former),
        )
        found = allocations_engine.find_offers(
            self.session, wanted, self._terms(ignore=[reservation_id])
        )
        slots = self._slots(reservation_id, given)
        taken = False
        for offer in sorted(found.offers, key=lambda offer: offer.resource.id):
            count = former[offer.resource.id]
            lost = _of_as_many(count, given, slots)
            ask = offers.Ask(
                dataclasses.replace(
                    wanted,
                    demand=demand.sized(count),
                    held={offer.resource.id: count},
                    keep_all=True,
                ),
                [offer],
            )
            # The search ignored the reservation's own allocations, so its
            # former resource was offered. It is the only offer, so the plan
            # takes it.
            if lost and self._swap([ask], [lost]):
                given = [holding for holding in given if holding not in lost]
                taken = True
        return taken

    def replace(self, *, replan: bool = True) -> bool:
        """Replace broken resources; return whether any were replaced.

        Whole resources are chosen together, as many as are free. Of the slots
        that a reservation has on one resource, all are replaced or none.

        :param replan: whether promises of others may move. Room for them is
            searched outside of the transaction, where what this one has
            written is not seen.
        """
        moved = False
        for losses in self._losses():
            count = sum(len(loss.holdings) for loss in losses)
            asks = [self._ask(loss, count) for loss in losses]
            lost = [loss.holdings for loss in losses]
            moved |= (replan and self._make_room(asks, lost)) or self._swap(
                asks, lost
            )
        return moved

    def _make_room(
        self,
        asks: Sequence[offers.Ask],
        losses: Sequence[Sequence[objects.Holding]],
    ) -> bool:
        """If too few resources are free, replace all lost ones by moving
        promises of others; return whether that was done.

        :raises: Conflict
        :raises: Crowded if room is to be searched outside of the transaction
        """
        found = plan.most(asks, seed=self.lease.id)
        if not asks or sum(map(len, found.slots.values())) >= sum(
            ask.wanted.demand.least for ask in asks
        ):
            return False
        moved = self.plans.make_room(
            self.session,
            self.lease,
            [ask.wanted for ask in asks],
            # Nothing is ignored: the lease's other resources stay.
            self._terms(ignore=()),
            self.attempt,
        )
        if moved is None:
            return False
        allocations.advance(self.session, moved.generations)
        replanning.write(self.session, moved, self.now, self.options)
        for ask, holdings in zip(asks, losses, strict=True):
            given = moved.room.resources[ask.wanted.reservation_id]
            self._write(ask, dict.fromkeys(given, 1), holdings)
        self.left = moved.left
        return True

    def _losses(self) -> list[list[_Loss]]:
        """Return the broken resources that may be replaced; those in one list
        are chosen together."""
        wholes, shares = [], []
        for reservation_id, broken in self.broken(self.drained).items():
            demand = self.demanded[reservation_id]
            if demand is None:
                continue
            lost = [
                holding
                for holding in broken
                if self._may_replace(holding)
                # Nobody who asks for this one is served by another.
                and holding.resource.name not in demand.named
            ]
            if not lost:
                continue
            if demand.exclusive:
                wholes.append(_Loss(reservation_id, demand, lost))
            else:
                shares += [
                    [_Loss(reservation_id, demand, [holding])]
                    for holding in lost
                ]
        return [wholes, *shares]

    def _ask(self, loss: _Loss, beside: int) -> offers.Ask:
        """Return resources that could be given in place of lost ones.

        :param beside: how many resources are lost together
        """
        reservation_id, demand = loss.reservation_id, loss.demand
        slots = self._slots(reservation_id, loss.holdings)
        lost = [holding.resource.id for holding in loss.holdings]
        known: list[int] = []
        # A share may get more slots beside those that it has on a resource,
        # so its own slots are not ignored.
        ignore: list[str] = []
        if demand.exclusive:
            # Resources that the reservation had before are preferred.
            known = [
                holding.resource.id
                for holding in self.held()[reservation_id]
                if holding.replaced
                and holding.hold is None
                and not holding.cordoned
            ]
            ignore = [reservation_id]
        wanted = search.Wanted(
            reservation_id,
            demand.sized(sum(slots[key] for key in lost)),
            self._window(reservation_id),
            held=dict.fromkeys(known, 1),
            siblings=len(slots) + beside,
        )
        taken = lost if demand.affinity is None else slots
        return offers.Ask(
            wanted,
            [
                offer
                for offer in self._offers(wanted, lost, ignore)
                if offer.resource.id not in taken
            ],
        )

    def _offers(
        self,
        wanted: search.Wanted,
        lost: Collection[int],
        ignore: Collection[str],
    ) -> Collection[search.Offer]:
        """Return what could be given in place of lost resources. Offers in
        the same cells are marked as near, because Nova moves servers only
        within a cell; a lease that servers carry gets only such offers."""
        terms = self._terms(ignore)
        cells = candidates.cells(self.session, lost)
        if cells and self.lease.server_reservation is not None:
            wanted = wanted.within('cell', cells)
        found = {
            offer.resource.id: offer
            for offer in allocations_engine.find_offers(
                self.session, wanted, terms
            ).offers
        }
        if cells and not cells.issuperset(candidates.cells(self.session)):
            found |= {
                offer.resource.id: dataclasses.replace(offer, near=True)
                for offer in allocations_engine.find_offers(
                    self.session, wanted.within('cell', cells), terms
                ).offers
            }
        return found.values()

    def _swap(
        self,
        asks: Sequence[offers.Ask],
        losses: Sequence[Sequence[objects.Holding]],
    ) -> bool:
        """Give offered resources in place of lost ones, in the order of both;
        return whether any were given.

        :param losses: for each ask, what it replaces
        """
        found = plan.most(asks, seed=self.lease.id)
        # The guard, as in a booking: nothing may be written before it.
        allocations.advance(self.session, found.generations)
        for ask, holdings in zip(asks, losses, strict=True):
            given = found.slots[ask.wanted.reservation_id]
            if ask.wanted.demand.exclusive:
                holdings = holdings[: len(given)]
            if given:
                self._write(ask, given, holdings)
        return bool(found.generations)

    def _write(
        self,
        ask: offers.Ask,
        given: Mapping[int, int],
        lost: Sequence[objects.Holding],
    ) -> None:
        reservation_id = ask.wanted.reservation_id
        slots = self._slots(reservation_id, lost)
        parted = [holding.resource.id for holding in lost]
        if self.used:
            healing.replace(self.session, reservation_id, parted, self.now)
        else:
            # No server of this lease was ever on them.
            allocations.delete(self.session, reservation_id, parted)
        healing.give(
            self.session,
            reservation_id,
            {key: count + slots.get(key, 0) for key, count in given.items()},
            ask.wanted.demand.amounts,
            self._given_window(reservation_id),
            self.now,
            told=self.used,
        )
        LOG.info(
            'Reservation %(id)s has %(new)s in place of %(lost)s',
            {
                'id': reservation_id,
                'new': ', '.join(
                    holding.resource.name
                    for holding in self.held()[reservation_id]
                    if holding.resource.id in given
                ),
                'lost': ', '.join(holding.resource.name for holding in lost),
            },
        )


def _of_as_many(
    count: int, given: Sequence[objects.Holding], slots: Mapping[int, int]
) -> Sequence[objects.Holding]:
    """Return one given resource with that many slots, or all of them if they
    have that many together; else nothing."""
    for part in (*([holding] for holding in given), given):
        if sum(slots[holding.resource.id] for holding in part) == count:
            return part
    return []
