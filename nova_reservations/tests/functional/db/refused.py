# SPDX-License-Identifier: Apache-2.0
"""Queries for demand that was refused, and the indexes that they need."""

from collections.abc import Iterator
from typing import Any

from nova_reservations import objects
from nova_reservations.db.record import refused_leases
from nova_reservations.objects import refusal
from nova_reservations.tests import booking
from nova_reservations.tests.functional.db import listed

PROJECTS = 100

OFTEN = {
    'what a project was refused today': listed.Often(
        lambda session: refused_leases.digests(
            session, 'project-7', booking.NOW.date(), 50
        ),
        frozenset({'uq_nr_refusals_project_id_day_digest'}),
    ),
    'a page of what was refused': listed.Often(
        lambda session: refused_leases.find(
            session, refusal.RefusalQuery(limit=20, marker=2007)
        ),
        frozenset({'ix_nr_refusals_asked_at'}),
    ),
    'a page of what a project was refused': listed.Often(
        lambda session: refused_leases.find(
            session,
            refusal.RefusalQuery(
                project_id='project-7', start=booking.NOW, limit=20
            ),
        ),
        frozenset({'ix_nr_refusals_project'}),
    ),
    'refusals that are to be forgotten': listed.Often(
        lambda session: refused_leases.remove(session, booking.at(-1), 20),
        frozenset({'ix_nr_refusals_asked_at'}),
    ),
}


def rows() -> Iterator[dict[str, Any]]:
    for number in range(1, listed.LEASES + 1):
        asked_at = booking.at(number)
        yield {
            'id': number,
            'project_id': f'project-{number % PROJECTS}',
            'day': asked_at.date(),
            'digest': f'{number:064}',
            'asked_at': asked_at,
            'start_date': asked_at,
            'end_date': asked_at,
            'kind': objects.HOST,
            'reservations': [],
        }
