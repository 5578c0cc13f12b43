# SPDX-License-Identifier: Apache-2.0
"""Queries for rows to purge, for the usage record and for the hourly
notifications, and the indexes that they need."""

from collections.abc import Iterator
from typing import Any

from nova_reservations.db import models
from nova_reservations.db.holdings import held_resources
from nova_reservations.db.record import lease_exists
from nova_reservations.db.upkeep import purge
from nova_reservations.tests import booking
from nova_reservations.tests.functional.db import listed
from nova_reservations.tests.functional.db import refused
from nova_reservations.tests.functional.db import used

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
    'promises that are to be forgotten': listed.Often(
        lambda session: purge.remove_promises(session, booking.at(-1), 20),
        frozenset({'ix_nr_deleted_reservations_deleted'}),
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
    # It uses the primary key, and the table has one row.
    'how far the hourly notifications are': listed.Often(
        lease_exists.progress
    ),
}


Rows = Iterator[dict[str, Any]]


def rows() -> Iterator[tuple[type[models.Base], Rows]]:
    """Yield tables and their rows."""
    yield models.Refusal, refused.rows()
    yield from used.tables()
