# SPDX-License-Identifier: Apache-2.0
import dataclasses

from nova_reservations import objects
from nova_reservations.db import deleted_leases
from nova_reservations.db import leases
from nova_reservations.tests import booking


def test_a_lease_is_kept_as_it_was(any_database):
    with any_database.writer() as session:
        reservation_id = booking.reservation(session, 0, 9)
        [lease] = leases.meeting(session, leases.LEASE.c.name == '')
        deleted_leases.keep(session, lease, booking.at(3))
    with any_database.reader() as session:
        kept = deleted_leases.get(session, lease.id)
        found = deleted_leases.page(session, objects.LeaseQuery(limit=2))
    assert kept == dataclasses.replace(lease, deleted_at=booking.at(3))
    assert kept.reservations[0].id == reservation_id
    assert found == ([kept], None)
