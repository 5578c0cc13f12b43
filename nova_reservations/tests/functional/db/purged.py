# SPDX-License-Identifier: Apache-2.0
"""Queries for what is old, for the record and for the hourly notifications,
and the indexes that they need."""

from collections.abc import Iterator
import datetime
from typing import Any

from nova_reservations.db import held_resources
from nova_reservations.db import lease_exists
from nova_reservations.db import models
from nova_reservations.db import purge
from nova_reservations.tests import booking
from nova_reservations.tests.functional.db import listed
from nova_reservations.tests.functional.db import refused
from nova_reservations.tests.functional.db import used

DAY = datetime.timedelta(days=1)

OFTEN = {
    **refused.OFTEN,
    **used.OFTEN,
    'the first leases that are over': listed.Often(
        lambda session: purge.ended(session, booking.at(20), 50),
        frozenset({'ix_nr_leases_end'}),
    ),
    'the next leases that are over': listed.Often(
        lambda session: purge.ended(
            session,
            booking.at(20),
            50,
            purge.Ended(booking.at(7), listed.lease_id(7)),
        ),
        frozenset({'ix_nr_leases_end'}),
    ),
    'which of them are over': listed.Often(
        lambda session: purge.gone(
            session, [listed.lease_id(number) for number in range(50)]
        )
    ),
    'what they have': listed.Often(
        lambda session: purge.count(
            session, [listed.lease_id(number) for number in range(5)]
        ),
        frozenset(
            {
                'ix_nr_reservations_lease_id',
                'uq_nr_allocations_reservation_id_resource_id',
            }
        ),
    ),
    'deleted leases that are to be forgotten': listed.Often(
        lambda session: purge.remove_deleted(session, booking.at(-1), 20),
        frozenset({'ix_nr_deleted_leases_deleted'}),
    ),
    'the record that is to be forgotten': listed.Often(
        lambda session: purge.remove_records(session, booking.at(-1), 20),
        frozenset({'ix_nr_usage_ended', 'ix_nr_server_usage_ended'}),
    ),
    'what reservations hold, in short': listed.Often(
        lambda session: held_resources.of(
            session, [listed.lease_id(7), listed.lease_id(8)], 10
        ),
        frozenset(
            {
                'uq_nr_allocations_reservation_id_resource_id',
                'ix_nr_usage_reservation',
            }
        ),
    ),
    # By its primary key; it is one row.
    'how far the hourly notifications are': listed.Often(
        lease_exists.progress
    ),
}


Rows = Iterator[dict[str, Any]]


def rows() -> Iterator[tuple[type[models.Base], Rows]]:
    """Yield tables, and what is in them."""
    yield models.Refusal, refused.rows()
    yield models.Usage, used.rows()
    yield models.ServerUsage, servers()
    yield models.DeletedLease, used.deleted()


def servers() -> Rows:
    """Yield rows of servers that used it."""
    for row in _of_leases():
        yield row | {
            'server_uuid': row['lease_id'],
            'flavor': 'm1',
            'vcpus': 1,
            'memory_mb': 512,
            'disk_gb': 1,
        }


def _of_leases() -> Rows:
    for number in range(listed.LEASES):
        start = booking.at(number)
        yield {
            'id': number + 1,
            'lease_id': listed.lease_id(number),
            'reservation_id': listed.lease_id(number),
            'project_id': f'project-{number % 100}',
            'user_id': 'user',
            'started_at': start,
            # A few go on.
            'ended_at': None if number % 40 == 39 else start + DAY,
        }
