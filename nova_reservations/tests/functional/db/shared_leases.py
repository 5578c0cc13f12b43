# SPDX-License-Identifier: Apache-2.0
"""Queries for access to reservations, and the indexes that they need."""

from collections.abc import Iterator
from typing import Any

from nova_reservations import objects
from nova_reservations.db.holdings import slot_servers
from nova_reservations.db.leases import access
from nova_reservations.db.leases import named_leases
from nova_reservations.db.leases import project_access
from nova_reservations.tests import booking
from nova_reservations.tests.functional.db import listed

PROJECTS = 100

OFTEN = {
    'what a hint with the id of a lease or of a series means': listed.Often(
        lambda session: named_leases.by_id(
            session, listed.lease_id(7), 'project-7', [objects.HOST]
        ),
        frozenset({'ix_nr_leases_series', 'ix_nr_reservations_lease_id'}),
    ),
    'what a hint with the name of a lease means': listed.Often(
        lambda session: named_leases.by_name(
            session, 'lease-7', 'project-7', [objects.HOST]
        ),
        # SQLite does not use ix_nr_leases_project_named, but reads all leases
        # of the project in the order of their start.
        frozenset({'ix_nr_reservations_lease_id'}),
    ),
    'whether the start of a reservation is due': listed.Often(
        lambda session: access.is_due(
            session, listed.lease_id(7), booking.at(9)
        ),
    ),
    'whether a reservation has still to start as it was asked for': (
        listed.Often(
            lambda session: access.is_coming(session, listed.lease_id(7), {}),
        )
    ),
    'the leases that are shared with a project': listed.Often(
        listed.list_leases(shared_with='project-7', over_after=booking.at(3)),
        frozenset({'ix_nr_project_access_project'}),
    ),
    'what each request has to know': listed.Often(
        lambda session: slot_servers.look(session, 'project-7'),
        frozenset({'ix_nr_reservations_open'}),
    ),
    'the open reservations of a project': listed.Often(
        lambda session: slot_servers.open_to(session, 'project-7'),
        frozenset({'ix_nr_reservations_open'}),
    ),
    'one open reservation': listed.Often(
        lambda session: slot_servers.open_to(
            session, 'project-7', only=listed.lease_id(7)
        )
    ),
    'whom reservations are shared with': listed.Often(
        # It uses the primary key, which PostgreSQL names differently.
        lambda session: project_access.of(
            session, [listed.lease_id(7), listed.lease_id(8)]
        )
    ),
    'what of some leases is shared with a project': listed.Often(
        lambda session: project_access.shared_with(
            session, 'project-7', [listed.lease_id(5), listed.lease_id(6)]
        ),
        frozenset({'ix_nr_project_access_project'}),
    ),
}


def rows() -> Iterator[dict[str, Any]]:
    """Yield projects that some reservations are, or were, shared with."""
    for number in range(listed.LEASES):
        # Few reservations are shared.
        for project in (number + 1, number + 2) if number % 1000 < 100 else ():
            yield {
                'reservation_id': listed.lease_id(number),
                'project_id': f'project-{project % PROJECTS}',
                'lease_id': listed.lease_id(number),
                'created_at': booking.NOW,
                'removed_at': None if number % 3 else booking.NOW,
            }
