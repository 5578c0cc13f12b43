# SPDX-License-Identifier: Apache-2.0
"""Queries for the leases and resources that projects hold, and the indexes
that they need."""

from nova_reservations.db.holdings import allocations
from nova_reservations.db.holdings import project_limits
from nova_reservations.db.resources import inventories
from nova_reservations.objects import limits
from nova_reservations.tests import booking
from nova_reservations.tests.functional.db import listed

OFTEN = {
    'what a project holds': listed.Often(
        lambda session: project_limits.look(
            session,
            'project-7',
            booking.at(9),
            limits.Limits(leases=2, hosts=2, slots=2),
            booking.window(107, 108),
        ),
        frozenset(
            {
                'ix_nr_leases_holding',
                'ix_nr_reservations_lease_id',
                'uq_nr_allocations_reservation_id_resource_id_start_date',
            }
        ),
    ),
    'what is in whole resources': listed.Often(
        # It uses the primary key, which PostgreSQL names differently.
        lambda session: inventories.of_wholes(session, [1, 2, 3])
    ),
    'hosts of leases at which workers are working': listed.Often(
        # SQLite does not use ix_nr_allocations_resource: without statistics
        # it has no reason to prefer it.
        lambda session: allocations.in_hand(session, [7, 8], booking.NOW)
    ),
    'since when leases are deleted': listed.Often(
        # The database may choose either index of events.
        lambda session: project_limits.deleted_at(
            session, [listed.lease_id(7)]
        )
    ),
}
