# SPDX-License-Identifier: Apache-2.0
"""Hosts that Nova or placement refuses when a lease starts: they are held, and
the lease gets others in their place, within the same start.

Without others it starts with those that it has, as if the hosts had failed,
and gets more when some come free; unless it is to have them now, or not at
all.

Decision 0062: doc/source/decisions/0062-lost-hosts
"""

from collections.abc import Sequence
import dataclasses
import datetime

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations.db import api
from nova_reservations.db.holdings import allocations
from nova_reservations.engine import claimed_leases
from nova_reservations.engine.healing import healing
from nova_reservations.engine.healing import monitoring
from nova_reservations.objects import states
from nova_reservations.types import base

NOT_AT_ALL = objects.Reason.plain(
    'Too few of its hosts can be used, and no others are free'
)

Current = Sequence[tuple[base.ResourceType, base.Booking]]
"""The reservations of a lease that starts."""


@dataclasses.dataclass(eq=False)
class LostAtStarts:
    database: api.Database
    monitors: monitoring.Monitoring
    healer: healing.Healing

    def lose(
        self,
        refused: exception.HostRefused,
        current: Current,
        now: datetime.datetime,
    ) -> bool:
        """Record that refused hosts can not be used; return whether the lease
        has any of them.

        :raises: CloudUnavailable, Contended
        """
        names = {
            host.name
            for _, booking in current
            for host in booking.resources
            if host.resource_type == objects.HOST
            and refused.values['hosts'].intersection((host.name, host.uuid))
        }
        if names:
            self.monitors.set_lost(dict.fromkeys(names, str(refused)), now)
        return bool(names)

    def replaced(
        self, held: claimed_leases.ClaimedLease, current: Current
    ) -> bool:
        """Give a lease that has not begun others for hosts that are lost;
        return whether that has changed it.

        Hosts that have failed otherwise may be back when the lease begins.

        :raises: Contended
        """
        return (
            not held.lease.is_used
            and self._has_lost(current)
            and self.healer.heal_lease(held.lease.id, held.now)
        )

    def _has_lost(self, current: Current) -> bool:
        left = [
            booking.reservation.id for _, booking in current if booking.left
        ]
        if not left:
            return False
        with self.database.reader() as session:
            held = allocations.holdings(session, left)
        return any(
            holding.lost and not holding.replaced
            for holdings in held.values()
            for holding in holdings
        )

    def is_too_little(self, lease: objects.Lease, current: Current) -> bool:
        """Return whether the lease must have its resources now or not at all,
        and has lost so many that what is left is less than it asks for."""
        if lease.lease_type != states.LeaseType.IMMEDIATE or lease.is_used:
            return False
        return any(
            booking.left and self._is_less(kind, booking)
            for kind, booking in current
        )

    def _is_less(self, kind: base.ResourceType, booking: base.Booking) -> bool:
        reservation = booking.reservation
        demand = base.stored_demand(
            kind, reservation.params, f'lease {booking.lease.id}'
        )
        if demand is None:
            return False
        with self.database.reader() as session:
            held = allocations.holdings(session, [reservation.id])
        asked = demand.minimum if demand.exclusive else demand.slots
        return any(
            holding.lost for holding in held[reservation.id]
        ) and asked > sum(
            booking.slots.get(host.id, 1) for host in booking.resources
        )
