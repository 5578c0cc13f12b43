# SPDX-License-Identifier: Apache-2.0
"""Writes of reservations that are part of others."""

from collections.abc import Callable

from sqlalchemy import orm

from nova_reservations.db.leases import belongings
from nova_reservations.db.leases import leases
from nova_reservations.objects import states
from nova_reservations.tests import booking
from nova_reservations.tests.functional.db import listed

LEASE = listed.lease_id(7)


def start(session: orm.Session) -> None:
    """Change the status of all reservations of a lease."""
    lease = leases.get(session, LEASE)
    started = {
        item.id: states.Reservation.DELETED for item in lease.reservations
    }
    leases.change(session, lease, booking.NOW, reservations=started)


WRITES: list[Callable[[orm.Session], object]] = [
    start,
    lambda session: belongings.remove_reservations(session, [LEASE]),
]
