# SPDX-License-Identifier: Apache-2.0
"""Lists of leases that are asked for often, and the indexes they need."""

from collections.abc import Callable
import dataclasses

from sqlalchemy import orm

from nova_reservations import objects
from nova_reservations.db.leases import lease_pages
from nova_reservations.db.leases import leases
from nova_reservations.objects import states
from nova_reservations.tests import booking

LEASES = 4000


def lease_id(number: int) -> str:
    return f'{number:036}'


@dataclasses.dataclass(frozen=True)
class Often:
    """A query that runs often, and the indexes that it needs."""

    run: Callable[[orm.Session], object]
    indexes: frozenset[str] = frozenset()


OF_A_LEASE = frozenset({'ix_nr_reservations_lease_id', 'ix_nr_events_read'})


def list_leases(**query: object) -> Callable[[orm.Session], object]:
    return lambda session: lease_pages.page(
        session, objects.LeaseQuery(limit=20, **query)
    )


OFTEN = {
    'the leases of a project': Often(
        list_leases(project_id='project-7'),
        OF_A_LEASE | {'ix_nr_leases_listed_project'},
    ),
    'the next leases of a project': Often(
        list_leases(project_id='project-7', marker=lease_id(2007)),
        OF_A_LEASE | {'ix_nr_leases_listed_project'},
    ),
    'all leases, by page': Often(
        list_leases(), OF_A_LEASE | {'ix_nr_leases_listed'}
    ),
    'all leases that are not over long since, by page': Often(
        list_leases(over_after=booking.at(3), marker=lease_id(2007)),
        OF_A_LEASE | {'ix_nr_leases_listed'},
    ),
    'leases by their start': Often(
        list_leases(sort_key='start_date', marker=lease_id(2007)),
        OF_A_LEASE | {'ix_nr_leases_start'},
    ),
    'leases by their end': Often(
        list_leases(sort_key='end_date', descending=True),
        OF_A_LEASE | {'ix_nr_leases_end'},
    ),
    'leases by name': Often(
        list_leases(name='lease-7'), OF_A_LEASE | {'ix_nr_leases_named'}
    ),
    'the leases of a project by their start': Often(
        list_leases(
            project_id='project-7',
            sort_key='start_date',
            marker=lease_id(2007),
        ),
        OF_A_LEASE | {'ix_nr_leases_project_start'},
    ),
    'the leases of a project by their end': Often(
        list_leases(
            project_id='project-7', sort_key='end_date', descending=True
        ),
        OF_A_LEASE | {'ix_nr_leases_project_end'},
    ),
    'the leases of a project in a state': Often(
        list_leases(
            project_id='project-7',
            statuses=(states.Lease.ACTIVE,),
            marker=lease_id(2007),
        ),
        OF_A_LEASE | {'ix_nr_leases_project_status'},
    ),
    'the leases of a project by their name': Often(
        list_leases(
            project_id='project-7', sort_key='name', marker=lease_id(2007)
        ),
        OF_A_LEASE | {'ix_nr_leases_project_named'},
    ),
    'leases whose windows overlap one': Often(
        list_leases(
            start_before=booking.at(199),
            end_after=booking.at(198),
            statuses=(states.Lease.ACTIVE, states.Lease.PENDING),
        ),
        OF_A_LEASE | {'ix_nr_leases_end'},
    ),
    'the leases of a project whose windows overlap one': Often(
        list_leases(
            project_id='project-7',
            start_before=booking.at(108),
            end_after=booking.at(107),
            marker=lease_id(7),
        ),
        OF_A_LEASE | {'ix_nr_leases_project_end'},
    ),
    'leases in one of several states': Often(
        list_leases(
            statuses=(states.Lease.ACTIVE, states.Lease.PENDING),
            marker=lease_id(2007),
        ),
        OF_A_LEASE | {'ix_nr_leases_status'},
    ),
    'the leases of a series': Often(
        lambda session: leases.of_series(session, lease_id(7)),
        frozenset({'ix_nr_leases_series'}),
    ),
    'whether a worker has still to act on an active lease': Often(
        lambda session: leases.is_being_updated(session, lease_id(7)),
    ),
    'leases that were changed': Often(
        list_leases(changed_since=booking.at(LEASES / 3600 - 0.01)),
        OF_A_LEASE | {'ix_nr_leases_updated', 'ix_nr_leases_listed'},
    ),
    'the leases of a project that were changed': Often(
        list_leases(
            project_id='project-77',
            changed_since=booking.at(LEASES / 3600 - 0.01),
        ),
        # SQLite does not use ix_nr_leases_updated, but reads all leases of
        # the project.
        OF_A_LEASE | {'ix_nr_leases_listed_project'},
    ),
}
