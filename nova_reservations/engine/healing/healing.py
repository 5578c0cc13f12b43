# SPDX-License-Identifier: Apache-2.0
"""Healing: leases get other resources for those that failed or do not fit.

Each lease is healed by one transaction, guarded as a booking is. The lease is
then due, so that a worker brings Nova in line with it.
"""

from collections import defaultdict
from collections.abc import Collection
from collections.abc import Iterator
from collections.abc import Mapping
import dataclasses
import datetime
import functools
from typing import Any

from oslo_log import log

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations.db import api
from nova_reservations.db.holdings import allocations
from nova_reservations.db.holdings import candidates
from nova_reservations.db.holdings import healing
from nova_reservations.db.holdings import slot_servers
from nova_reservations.db.leases import freed_capacity
from nova_reservations.db.leases import leases
from nova_reservations.db.leases import project_access
from nova_reservations.engine import notifications
from nova_reservations.engine import steps
from nova_reservations.engine import transactions
from nova_reservations.engine.booking import means
from nova_reservations.engine.healing import degraded
from nova_reservations.engine.healing import operator_drains
from nova_reservations.engine.healing import repair
from nova_reservations.objects import demand as demands
from nova_reservations.objects import states
from nova_reservations.ports import fences
from nova_reservations.types import base

LOG = log.getLogger(__name__)


_Healed = tuple[objects.Lease, objects.Lease]
"""A lease before it was healed, and after."""


@dataclasses.dataclass(eq=False)
class Healing(means.UseCase):
    def heal(self, now: datetime.datetime) -> list[str]:
        """Heal the leases that have begun, or will begin before the next
        check; return the ids of those that were changed."""
        until = prepared_until = None
        if self.options.healing_interval:
            until = now + self.options.healing_interval
            prepared_until = until + self.options.prepare_ahead
        with self.database.reader() as session:
            ids = set(healing.needing_repair(session, until, prepared_until))
            ids |= self._unfit(session, until)
            ids_in_order = healing.in_order(session, ids)
        return [
            lease_id
            for lease_id in ids_in_order
            if self.heal_lease(lease_id, now)
        ]

    def _unfit(
        self, session: api.Session, until: datetime.datetime | None
    ) -> set[str]:
        """Return ids of leases with resources that no longer meet their
        requirements; leases with equal requirements share one query."""
        asking: dict[Any, list[healing.LeasedResource]] = defaultdict(list)
        demanded: dict[str, demands.Ask | None] = {}
        for held in healing.held(session, until):
            kind = self.types.get(held.resource_type)
            if kind is not None:
                if held.reservation_id not in demanded:
                    demanded[held.reservation_id] = base.stored_demand(
                        kind, held.params, f'lease {held.lease_id}'
                    )
                demand = demanded[held.reservation_id]
                if demand is not None and demand.requirements is not None:
                    alike = demand.resource_type, demand.requirements
                    asking[alike].append(held)
        unfit = set()
        for (resource_type, requirements), held_by in asking.items():
            fit = candidates.meeting(
                session,
                resource_type,
                requirements,
                {held.resource_id for held in held_by},
            )
            unfit |= {
                held.lease_id
                for held in held_by
                if held.resource_id not in fit
            }
        return unfit

    def heal_lease(
        self,
        lease_id: str,
        now: datetime.datetime,
        unused: Mapping[str, Collection[int]] | None = None,
        drained: Collection[int] = (),
    ) -> bool:
        """Heal a lease; return whether it was changed.

        :param unused: reservation id -> ids of replacements that it has not
            used; it may exchange them for the resources that it had before
        :param drained: ids of working resources that the lease is to leave,
            as far as it can have others in their place
        :raises: Contended
        """
        healed = transactions.book(
            self.database,
            lambda attempt: self._attempt(
                lease_id, now, attempt, unused or {}, drained
            ),
        )
        if healed is None:
            return False
        self._tell(*healed)
        return True

    def replace_failed(
        self, lease_id: str, now: datetime.datetime
    ) -> objects.Lease:
        """Replace the resources that the lease can't use, whatever heal_active
        says: its owner has asked for that.

        :raises: NotFound, InvalidState, NotEnoughResources, Contended
        """
        healed = transactions.book(
            self.database,
            lambda attempt: self._replace_failed(lease_id, now, attempt),
        )
        LOG.info(
            'Lease %s has other resources in place of failed ones', lease_id
        )
        self._tell(*healed)
        return healed[1]

    def _replace_failed(
        self,
        lease_id: str,
        now: datetime.datetime,
        attempt: transactions.Attempt,
    ) -> _Healed:
        with self.database.writer() as session:
            attempt.begin(session)
            seen = leases.get(session, lease_id)
            refusal = functools.partial(
                exception.InvalidState,
                kind='Lease',
                id=lease_id,
                status=seen.status,
            )
            if seen.status not in states.OPEN or seen.end_date <= now:
                raise refusal(
                    reason='only a lease that is PENDING or ACTIVE can get '
                    'other resources'
                )
            repair = self._repair_of(session, seen, now, attempt, asked=True)
            if repair is None:
                raise refusal(
                    reason='one of its resource types is switched off'
                )
            if not any(repair.broken().values()):
                raise refusal(reason='none of its resources has failed')
            held = allocations.held_by(session, seen)
            moved = repair.replace()
            if not moved:
                raise exception.NotEnoughResources(
                    what='resources',
                    reason=degraded.by_name(repair)
                    or 'nothing is free at this moment for failed ones',
                )
            degraded.record(repair, moved)
            _free_left(repair, held)
            return seen, leases.get(session, lease_id)

    def _tell(self, before: objects.Lease, after: objects.Lease) -> None:
        had, has = notifications.flags(before), notifications.flags(after)
        payload = notifications.payload(after)
        if has - had:
            self.notify(notifications.DEGRADED, payload)
        if had - has:
            self.notify(notifications.HEALED, payload)

    def _attempt(
        self,
        lease_id: str,
        now: datetime.datetime,
        attempt: transactions.Attempt,
        unused: Mapping[str, Collection[int]],
        drained: Collection[int],
    ) -> _Healed | None:
        with self.database.writer() as session:
            attempt.begin(session)
            try:
                seen = leases.get(session, lease_id)
            except exception.NotFound:
                return None
            if seen.status not in states.OPEN or seen.end_date <= now:
                return None
            if seen.is_window:
                # A maintenance window is of this very host, even if it fails.
                return None
            repair = self._repair_of(
                session, seen, now, attempt, drained=drained
            )
            if repair is None:
                LOG.warning(
                    'Lease %s is not healed: one of its resource types is '
                    'switched off',
                    lease_id,
                )
                return None
            held = allocations.held_by(session, seen)
            moved = repair.take_back(unused)
            moved |= repair.replace(replan=not moved)
            if not degraded.record(repair, moved):
                return None
            if moved:
                _free_left(repair, held)
            return seen, leases.get(session, lease_id)

    def _repair_of(
        self,
        session: api.Session,
        lease: objects.Lease,
        now: datetime.datetime,
        attempt: transactions.Attempt,
        *,
        asked: bool = False,
        drained: Collection[int] = (),
    ) -> repair.Repair | None:
        """Return the repair of a lease; None if it can't be healed."""
        if any(
            item.resource_type not in self.types for item in lease.reservations
        ):
            return None
        return repair.Repair(
            session,
            self.allocations,
            attempt,
            lease,
            self._demanded(lease),
            {
                item.id: self.types[item.resource_type].aftermath(item.params)
                for item in lease.reservations
            },
            now,
            self.options,
            None if asked else self.options.heal_active,
            drained,
        )

    def _demanded(self, lease: objects.Lease) -> dict[str, demands.Ask | None]:
        """Return reservation id -> what it asks for, of reservations that have
        resources; None: what it asked for is no longer valid."""
        demanded: dict[str, demands.Ask | None] = {}
        for item in lease.reservations:
            kind = self.types[item.resource_type]
            try:
                demand = kind.demand(item.params)
            except exception.InvalidInput as error:
                LOG.warning(
                    'Reservation %(id)s gets nothing in place of failed '
                    'resources: %(reason)s',
                    {'id': item.id, 'reason': error},
                )
                demanded[item.id] = None
            else:
                if demand is not None:
                    demanded[item.id] = demand
        return demanded

    def check_replaced(self, now: datetime.datetime) -> None:
        """Look at resources that leases had to leave. One that works again
        goes back to its lease if the replacement was not used. Empty ones are
        freed. Servers that can move are moved.

        :raises: CloudUnavailable
        """
        with self.database.reader() as session:
            returned = healing.returned(session)
        for lease_id in sorted(returned):
            self._look_for_unused(lease_id, now)
        with self.database.reader() as session:
            settled = now - self.options.settle
            parted = healing.replaced(session, settled)
            parted |= healing.down(session, settled)
        for lease_id in sorted(parted):
            self._look_after_lease(lease_id, now)

    def _look_for_unused(self, lease_id: str, now: datetime.datetime) -> None:
        """Let a lease give back replacements that it has not used, and take
        back the resources that it had before."""
        unused: dict[str, list[int]] = {}
        for kind, booking, holdings in self._bookings(lease_id, now):
            given = {
                holding.resource.id
                for holding in holdings
                if holding.given and holding.usable
            }
            ids = [
                resource.id
                for resource in kind.unused(booking)
                if resource.id in given
            ]
            if ids:
                unused[booking.reservation.id] = ids
        if unused:
            self.heal_lease(lease_id, now, unused)

    def _bookings(
        self, lease_id: str, now: datetime.datetime
    ) -> Iterator[
        tuple[base.ResourceType, base.Booking, Collection[objects.Holding]]
    ]:
        """Yield the reservations of the lease, if it is active."""
        try:
            with self.database.reader() as session:
                lease = leases.get(session, lease_id)
                ids = [item.id for item in lease.reservations]
                held = allocations.holdings(session, ids)
                created = slot_servers.of(session, ids)
                shared = project_access.of(session, ids)
        except exception.NotFound:
            return
        active = lease.status == states.Lease.ACTIVE
        for reservation in lease.reservations if active else ():
            resources, left = base.parts(
                holding
                for holding in held[reservation.id]
                # worker/given_back.py looks after what the owner gives back.
                if holding.leaving_at is None
            )
            if (kind := self.types.get(reservation.resource_type)) is None:
                continue
            booking = base.Booking(
                lease=lease,
                reservation=reservation,
                resources=resources,
                slots={},
                servers=created[reservation.id].servers,
                chosen=created[reservation.id].chosen,
                sharers=shared.get(reservation.id, objects.NOBODY),
                now=now,
                prepared=lease.prepared,
                settled=True,
                check=fences.current(),
                left=left,
                emptied=operator_drains.emptied(held[reservation.id]),
            )
            yield kind, booking, held[reservation.id]

    def _look_after_lease(self, lease_id: str, now: datetime.datetime) -> None:
        movable, vacated = None, {}
        for kind, booking, held in self._bookings(lease_id, now):
            if booking.left:
                operator_drains.move_servers(
                    self.database, kind, booking, held
                )
                remains = kind.remains(booking)
                if remains.movable:
                    movable = booking.lease
                vacated[booking.reservation.id] = remains.vacated
        # Before vacating: nobody looks again at what is vacated.
        if movable is not None and not self._have_moved(movable, now):
            return
        for reservation_id, resources in vacated.items():
            ids = [resource.id for resource in resources]
            if ids:
                transactions.write(
                    self.database, _vacate, reservation_id, ids, now
                )

    def _have_moved(self, seen: objects.Lease, now: datetime.datetime) -> bool:
        """Make a worker bring Nova in line with the lease; return False if the
        lease was changed meanwhile: the next look tries again."""
        try:
            with self.database.writer() as session:
                leases.change(
                    session,
                    seen,
                    now,
                    prepared=False,
                    due_at=steps.due_now(seen, now),
                )
        except exception.Conflict:
            LOG.debug('Lease %s is changed at this moment', seen.id)
            return False
        return True


def _vacate(
    session: api.Session,
    reservation_id: str,
    ids: Collection[int],
    now: datetime.datetime,
) -> None:
    healing.vacate(session, [reservation_id], now, ids)
    freed_capacity.freed(session, now, ids)


def _free_left(repair: repair.Repair, held: Collection[int]) -> None:
    """Offer resources that the lease has left to other leases, which may be
    able to use them.

    :param held: what it had before
    """
    has = allocations.held_by(repair.session, repair.lease)
    freed_capacity.freed(
        repair.session, repair.now, {*held, *repair.left} - has
    )
