# SPDX-License-Identifier: Apache-2.0
"""What has failed, or fits no longer, is replaced for what is left of it.

Each lease is healed by one transaction, guarded as a booking is. Nova hears
of it afterwards: the lease is due, and a worker brings Nova in line.
"""

from collections import defaultdict
from collections.abc import Collection
from collections.abc import Mapping
import dataclasses
import datetime
from typing import Any
import zlib

from oslo_log import log

from nova_reservations import demand as demands
from nova_reservations import exception
from nova_reservations import interval
from nova_reservations import ports
from nova_reservations import states
from nova_reservations import values
from nova_reservations.db import allocations
from nova_reservations.db import api
from nova_reservations.db import candidates
from nova_reservations.db import counters
from nova_reservations.db import healing
from nova_reservations.db import leases
from nova_reservations.db import servers
from nova_reservations.db import waiters
from nova_reservations.engine import agenda
from nova_reservations.engine import contention
from nova_reservations.engine import notifications
from nova_reservations.engine import settings
from nova_reservations.engine import shares as sharing_engine
from nova_reservations.planner import selection
from nova_reservations.planner import sharing
from nova_reservations.plugins import base

LOG = log.getLogger(__name__)

_Broken = Mapping[str, list[values.Holding]]
"""Reservation id -> what it has and can't use, or must not."""


@dataclasses.dataclass(frozen=True, slots=True)
class _Healed:
    before: values.Lease
    after: values.Lease


class Healing:
    def __init__(
        self,
        database: api.Database,
        types: Mapping[str, base.ResourceType],
        options: settings.Settings,
        notify: ports.Notifier,
    ) -> None:
        self.database = database
        self.types = types
        self.options = options
        self.notify = notify

    def heal(self, now: datetime.datetime) -> list[str]:
        """Heal the leases that have begun, or begin before the next check;
        return those that were changed."""
        until = None
        if self.options.healing_interval:
            until = now + self.options.healing_interval
        with self.database.reader() as session:
            ids = set(healing.ailing(session, until))
            ids |= self._unfit(session, until)
            ids_in_order = healing.in_order(session, ids)
        return [
            lease_id
            for lease_id in ids_in_order
            if self._heal_lease(lease_id, now)
        ]

    def _unfit(
        self, session: Any, until: datetime.datetime | None
    ) -> set[str]:
        """Return leases with resources that no longer meet what was asked;
        one query for all that ask the same."""
        asking: dict[Any, list[healing.Held]] = defaultdict(list)
        for held in healing.held(session, until):
            kind = self.types.get(held.resource_type)
            if kind is not None:
                demand = kind.demand(held.params)
                if demand is not None and demand.requirements is not None:
                    asking[demand.requirements].append(held)
        unfit = set()
        for requirements, held_by in asking.items():
            fit = candidates.meeting(
                session, requirements, {held.resource_id for held in held_by}
            )
            unfit |= {
                held.lease_id
                for held in held_by
                if held.resource_id not in fit
            }
        return unfit

    def _heal_lease(self, lease_id: str, now: datetime.datetime) -> bool:
        healed = contention.settle(
            lambda attempt: self._attempt(lease_id, now, attempt)
        )
        if healed is None:
            return False
        before, after = map(notifications.flags, (healed.before, healed.after))
        payload = notifications.payload(healed.after)
        if after - before:
            self.notify(notifications.DEGRADED, payload)
        if before - after:
            self.notify(notifications.HEALED, payload)
        return True

    def _attempt(
        self, lease_id: str, now: datetime.datetime, attempt: int
    ) -> _Healed | None:
        with self.database.writer() as session:
            if attempt > contention.TOGETHER:
                counters.increment(session, 'booking')
            try:
                seen = leases.get(session, lease_id)
            except exception.NotFound:
                return None
            if seen.status not in states.OPEN or seen.end_date <= now:
                return None
            if any(
                item.resource_type not in self.types
                for item in seen.reservations
            ):
                LOG.warning(
                    'Lease %s is not healed: a type of resource of it is '
                    'switched off',
                    lease_id,
                )
                return None
            patient = _Patient(
                session,
                seen,
                {
                    item.id: demand
                    for item in seen.reservations
                    if (demand := self._demand(item)) is not None
                },
                {
                    item.id: self.types[item.resource_type].aftermath(
                        item.params
                    )
                    for item in seen.reservations
                },
                now,
                self.options.cleaning_time,
            )
            moved = patient.replace_wholes()
            moved |= patient.replace_shares()
            if not self._write(session, seen, patient.broken(), moved, now):
                return None
            return _Healed(seen, leases.get(session, lease_id))

    def _demand(self, reservation: values.Reservation) -> demands.Ask | None:
        return self.types[reservation.resource_type].demand(reservation.params)

    def _write(
        self,
        session: Any,
        seen: values.Lease,
        after: _Broken,
        moved: bool,
        now: datetime.datetime,
    ) -> bool:
        """Write the flags, and have a worker tell Nova if anything was moved;
        False if all is as it was."""
        held = allocations.holdings(session, list(after))
        degraded = changed = False
        for reservation in seen.reservations:
            missing = bool(after[reservation.id])
            given = any(
                one.given and not one.replaced for one in held[reservation.id]
            )
            degraded |= missing or given
            if (missing, given) != (
                reservation.missing_resources,
                reservation.resources_changed,
            ):
                changed = True
                healing.set_flags(session, reservation.id, missing, given, now)
                LOG.info(
                    'Reservation %(id)s %(missing)s, and %(changed)s',
                    {
                        'id': reservation.id,
                        'missing': 'lacks resources'
                        if missing
                        else 'is whole',
                        'changed': 'has others than at first'
                        if given
                        else 'has those that it had at first',
                    },
                )
        if not changed and not moved and degraded == seen.degraded:
            return False
        lease = dataclasses.replace(seen, prepared=seen.prepared and not moved)
        leases.change(
            session,
            seen,
            now,
            degraded=degraded,
            prepared=lease.prepared,
            # A worker that holds the lease finds the change when it is done.
            due_at=seen.due_at
            if seen.claimed_by is not None
            else agenda.due_at(lease, now, self.options),
        )
        return True

    def look_after(self, now: datetime.datetime) -> None:
        """Look what leases had to leave: what is empty is for others, and
        what can be moved now is.

        :raises: CloudUnavailable
        """
        with self.database.reader() as session:
            settled = now - self.options.settle
            parted = healing.replaced(session, settled)
            parted |= healing.down(session, settled)
        for lease_id in sorted(parted):
            self._look_after_lease(lease_id, now)

    def _look_after_lease(self, lease_id: str, now: datetime.datetime) -> None:
        try:
            with self.database.reader() as session:
                lease = leases.get(session, lease_id)
                ids = [item.id for item in lease.reservations]
                held = allocations.holdings(session, ids)
                created = servers.of(session, ids)
        except exception.NotFound:
            return
        if lease.status != states.Lease.ACTIVE:
            return
        movable = False
        for reservation in lease.reservations:
            resources, left = base.parts(held[reservation.id])
            kind = self.types.get(reservation.resource_type)
            if not left or kind is None:
                continue
            remains = kind.remains(
                base.Booking(
                    lease=lease,
                    reservation=reservation,
                    resources=resources,
                    slots={},
                    servers=created.get(reservation.id, frozenset()),
                    now=now,
                    prepared=lease.prepared,
                    settled=True,
                    check=_unchecked,
                    left=left,
                )
            )
            movable |= remains.movable
            self._vacate(reservation.id, remains.vacated, now)
        if movable:
            self._have_moved(lease, now)

    def _vacate(
        self,
        reservation_id: str,
        resources: Collection[values.Resource],
        now: datetime.datetime,
    ) -> None:
        ids = [resource.id for resource in resources]
        if not ids:
            return

        def vacate(_: int) -> None:
            with self.database.writer() as session:
                healing.vacate(session, [reservation_id], now, ids)
                healing.capacity_came_free(session, now)
                waiters.wake(session, now)

        contention.settle(vacate)

    def _have_moved(self, seen: values.Lease, now: datetime.datetime) -> None:
        """Have a worker heal what is in Nova; the next look tries again if
        the lease was changed meanwhile."""
        if seen.claimed_by is not None:
            return
        try:
            with self.database.writer() as session:
                leases.change(session, seen, now, prepared=False, due_at=now)
        except exception.Conflict:
            LOG.debug('Lease %s is changed at this moment', seen.id)


def _unchecked() -> None:
    """Looking changes nothing."""


class _Patient:
    """A lease, in the transaction that heals it."""

    def __init__(
        self,
        session: Any,
        lease: values.Lease,
        demanded: Mapping[str, demands.Ask],
        aftermath: Mapping[str, datetime.timedelta],
        now: datetime.datetime,
        cleaning: datetime.timedelta,
    ) -> None:
        self.session = session
        self.lease = lease
        self.demanded = demanded
        self.now = now
        self.cleaning = cleaning
        self.used = lease.is_used
        self._aftermath = aftermath

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

    def held(self) -> Mapping[str, Collection[values.Holding]]:
        return allocations.holdings(self.session, list(self.demanded))

    def broken(self) -> _Broken:
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
                    if not one.usable or one.resource.id not in fit
                ),
                key=lambda one: (one.usable, one.occupied, one.resource.id),
            )
        return broken

    def _mine(self) -> set[int]:
        return {
            one.resource.id
            for holdings in self.held().values()
            for one in holdings
            if not one.replaced
        }

    def replace_wholes(self) -> bool:
        """Give whole resources in place of others, as many as there are;
        return whether there were any."""
        broken = self.broken()
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
        plan = selection.most(asks, seed=self.lease.id)
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
    ) -> selection.Ask:
        found = candidates.find(
            self.session,
            demand,
            self._window(reservation_id).padded(self.cleaning),
            self.now,
            page=page,
            pivot=zlib.crc32(self.lease.id.encode()) >> 1,
            # What it had before is as it knows it.
            keep=[
                one.resource.id
                for one in self.held()[reservation_id]
                if one.replaced
            ],
            ignore=list(self.demanded),
        )
        return selection.Ask(
            [one for one in found if one.resource.id not in mine], demand
        )

    def replace_shares(self) -> bool:
        """Give shares in place of others; all that a reservation had of one
        resource, or nothing of it. Return whether there was any."""
        moved = False
        for reservation_id, holdings in self.broken().items():
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
        holding: values.Holding,
    ) -> bool:
        slots = allocations.slots(self.session, [reservation_id])
        mine = slots[reservation_id]
        ask = sharing_engine.ask(
            self.session,
            dataclasses.replace(share, slots=mine[holding.resource.id]),
            self._window(reservation_id),
            self.now,
            cleaning=self.cleaning,
            pivot=zlib.crc32(self.lease.id.encode()) >> 1,
            snug=True,
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
        self, reservation_id: str, lost: Collection[values.Holding]
    ) -> None:
        ids = [one.resource.id for one in lost]
        if self.used:
            healing.replace(self.session, reservation_id, ids, self.now)
        else:
            # Nobody has been on them for this lease.
            allocations.delete(self.session, reservation_id, ids)


def _log(
    reservation_id: str,
    new: Collection[values.Resource],
    lost: Collection[values.Holding],
) -> None:
    LOG.info(
        'Reservation %(id)s has %(new)s in place of %(lost)s',
        {
            'id': reservation_id,
            'new': ', '.join(resource.name for resource in new),
            'lost': ', '.join(one.resource.name for one in lost),
        },
    )
