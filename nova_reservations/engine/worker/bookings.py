# SPDX-License-Identifier: Apache-2.0
"""Reservations of leases that a worker holds, with the types that handle
them."""

from collections.abc import Collection
from collections.abc import Iterator
from collections.abc import Mapping
import dataclasses
import datetime

from nova_reservations import objects
from nova_reservations.db import api
from nova_reservations.db.holdings import allocations
from nova_reservations.db.holdings import slot_servers
from nova_reservations.db.leases import project_access
from nova_reservations.db.record import server_usage
from nova_reservations.engine import claimed_leases
from nova_reservations.engine import identity
from nova_reservations.engine import settings
from nova_reservations.objects import states
from nova_reservations.types import base


@dataclasses.dataclass(eq=False)
class Bookings:
    database: api.Database
    types: Mapping[str, base.ResourceType]
    options: settings.Settings

    def knows(self, lease: objects.Lease) -> bool:
        """Return whether all types of the lease's reservations are switched
        on."""
        return all(
            item.resource_type in self.types for item in lease.reservations
        )

    def of(
        self,
        held: Collection[claimed_leases.ClaimedLease],
        now: datetime.datetime,
    ) -> Iterator[tuple[base.ResourceType, base.Booking]]:
        """Yield the reservations of the leases, with their types; parts come
        before the whole that they are part of."""
        return self._of([(each.lease, each) for each in held], now)

    def looked_at(
        self, leases: Collection[objects.Lease], now: datetime.datetime
    ) -> Iterator[tuple[base.ResourceType, base.Booking]]:
        """Yield the same of leases that no worker holds, for read-only
        calls."""
        return self._of([(lease, None) for lease in leases], now)

    def _of(
        self,
        held: Collection[
            tuple[objects.Lease, claimed_leases.ClaimedLease | None]
        ],
        now: datetime.datetime,
    ) -> Iterator[tuple[base.ResourceType, base.Booking]]:
        ids = [item.id for lease, _ in held for item in lease.reservations]
        name = identity.of(self.database)
        with self.database.reader() as session:
            given = allocations.holdings(session, ids)
            slots = allocations.slots(session, ids)
            created = slot_servers.of(session, ids)
            shared = project_access.of(session, ids)
        for lease, current in held:
            let_in = self._let_in(lease)
            ending = since_end(lease, now)
            warning = lease.event(states.EventType.BEFORE_END)
            parts: dict[str, dict[str, base.Booking]] = {}
            wholes = lease.wholes
            for reservation in sorted(
                lease.reservations, key=lambda item: item.id in wholes
            ):
                resources, left = base.parts(given[reservation.id])
                came = created[reservation.id]
                booking = base.Booking(
                    lease=lease,
                    reservation=reservation,
                    resources=resources,
                    slots=slots.get(reservation.id, {}),
                    servers=came.servers,
                    chosen=came.chosen,
                    lease_servers=let_in,
                    sharers=shared.get(reservation.id, objects.NOBODY),
                    now=now,
                    prepared=lease.prepared,
                    settled=ending is not None
                    and ending >= self.options.settle,
                    check=current.check if current else _allowed,
                    ending=ending or datetime.timedelta(0),
                    left=left,
                    warned_at=warning.time if warning else None,
                    database=name,
                    provider_changes=current.provider_changes
                    if current
                    else [],
                    parts=parts.get(reservation.id, {}),
                )
                if reservation.part_of is not None:
                    its = parts.setdefault(reservation.part_of, {})
                    its[str(reservation.part_name)] = booking
                yield self.types[reservation.resource_type], booking

    def _let_in(self, lease: objects.Lease) -> frozenset[str]:
        """Return the servers of the lease, if one of its types wants them."""
        if not any(
            self.types[item.resource_type].wants_lease_servers
            for item in lease.reservations
        ):
            return frozenset()
        ids = [item.id for item in lease.reservations]
        with self.database.reader() as session:
            return server_usage.of(session, ids)

    def aftermath(self, lease: objects.Lease) -> datetime.timedelta:
        """Return the longest time that any reservation of the lease has for
        its servers after the end."""
        return max(
            (
                self.types[item.resource_type].aftermath(item.params)
                for item in lease.reservations
            ),
            default=datetime.timedelta(0),
        )


def _allowed() -> None:
    """The check of calls that write nothing."""


def since_end(
    lease: objects.Lease, now: datetime.datetime
) -> datetime.timedelta | None:
    """Return how long ago the lease's end began, or its start failed; None:
    neither has happened."""
    if is_failed_start(lease):
        begun = lease.event(states.EventType.START)
    else:
        begun = lease.event(states.EventType.END)
    if begun is None or begun.status == states.Event.UNDONE:
        return None
    return now - (begun.updated_at or now)


def is_failed_start(lease: objects.Lease) -> bool:
    """Return whether the lease could not be started, and is being undone."""
    start = lease.event(states.EventType.START)
    return (
        lease.status == states.Lease.ERROR
        and start is not None
        and start.status == states.Event.ERROR
    )
