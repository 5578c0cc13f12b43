# SPDX-License-Identifier: Apache-2.0
"""Queries for the usage record of leases, and the indexes that they need."""

from collections.abc import Callable
from collections.abc import Iterator
import dataclasses
import datetime
from typing import Any

from sqlalchemy import orm

from nova_reservations import objects
from nova_reservations.db import models
from nova_reservations.db.leases import deleted_leases
from nova_reservations.db.leases import leases
from nova_reservations.db.record import server_usage
from nova_reservations.db.record import usage
from nova_reservations.db.resources import conditions
from nova_reservations.objects import states
from nova_reservations.objects import usage as records
from nova_reservations.tests import booking
from nova_reservations.tests.functional.db import listed

PROJECTS = 100

QUERY = records.UsageQuery(booking.at(3900), booking.at(3950))
IDS = [listed.lease_id(number) for number in (6, 7)]
OF_PROJECT = dataclasses.replace(QUERY, project_id='project-7')

SOME = [listed.lease_id(number) for number in range(1000, 1300)]

WRITES: list[Callable[[orm.Session], object]] = [
    lambda session: server_usage.begin(
        session, [listed.lease_id(10)], booking.NOW
    ),
    lambda session: server_usage.end(session, SOME, booking.at(1000)),
    lambda session: server_usage.undo(session, SOME),
    lambda session: server_usage.leave(session, SOME, booking.NOW),
    lambda session: server_usage.move_out(
        session, server_usage.watched(session, '', 50), booking.NOW
    ),
    lambda session: server_usage.forget(session, [listed.lease_id(10)]),
]

OFTEN = {
    'servers of reservations that may be gone': listed.Often(
        lambda session: server_usage.watched(session, '0', 50),
        frozenset(),
    ),
    'where servers of reservations may be': listed.Often(
        lambda session: server_usage.places(session, IDS),
        frozenset({'uq_nr_allocations_reservation_id_resource_id_start_date'}),
    ),
    'whether a server is recorded': listed.Often(
        lambda session: admit(session, 9),
        frozenset({'ix_nr_server_usage_server'}),
    ),
    'the servers of a lease': listed.Often(
        lambda session: server_usage.of(session, IDS),
        frozenset({'ix_nr_server_usage_reservation'}),
    ),
    'who holds resources that a monitor looks at': listed.Often(
        lambda session: conditions.holders(
            session, 'virtual:network', booking.at(0)
        ),
        frozenset(),
    ),
    'the servers of a window': listed.Often(
        lambda session: list(usage.find_servers(session, QUERY)),
        frozenset({'ix_nr_server_usage_ended'}),
    ),
    'the servers of a project in a window': listed.Often(
        lambda session: list(usage.find_servers(session, OF_PROJECT)),
        frozenset({'ix_nr_server_usage_window'}),
    ),
    'leases that were deleted': listed.Often(
        lambda session: deleted_leases.page(
            session, objects.LeaseQuery(limit=20, marker=listed.lease_id(2007))
        ),
        frozenset({'ix_nr_deleted_leases_listed'}),
    ),
    'leases of a project that were deleted': listed.Often(
        lambda session: deleted_leases.page(
            session, objects.LeaseQuery(limit=20, project_id='project-7')
        ),
        frozenset({'ix_nr_deleted_leases_project'}),
    ),
    # It uses the primary key.
    'reservations of leases that were deleted': listed.Often(
        lambda session: deleted_leases.had(
            session, [listed.lease_id(number) for number in range(20)]
        )
    ),
    'what leases had in a window': listed.Often(
        lambda session: list(usage.find(session, QUERY)),
        frozenset({'ix_nr_usage_ended'}),
    ),
    'what the leases of a project had in a window': listed.Often(
        lambda session: list(usage.find(session, OF_PROJECT)),
        frozenset({'ix_nr_usage_window'}),
    ),
    'what leases have, beside what they had by the record': listed.Often(
        lambda session: (
            usage.held(session, IDS),
            usage.going_on(session, IDS),
        ),
        frozenset(
            {
                'ix_nr_usage_reservation',
                'uq_nr_allocations_reservation_id_resource_id_start_date',
            }
        ),
    ),
    'which servers are in reservations by the record': listed.Often(
        lambda session: server_usage.going_on(session, 7, 50),
        frozenset({'ix_nr_server_usage_ended'}),
    ),
    'which of some leases are active': listed.Often(
        lambda session: server_usage.not_over(session, IDS)
    ),
}


def settle(
    session: orm.Session,
    numbers: range,
    status: states.Lease,
    now: datetime.datetime = booking.NOW,
) -> bool:
    """Settle the record of leases as if with the status and a late end."""
    found = leases.get_all(
        session, [listed.lease_id(number) for number in numbers]
    )
    last = booking.at(9999)
    return usage.settle(
        session,
        [
            dataclasses.replace(
                lease, status=status, end_date=last, by_default=False
            )
            for lease in found
        ],
        now,
    )


def admit(session: orm.Session, number: int) -> None:
    server_usage.admit(
        session,
        listed.lease_id(number),
        listed.lease_id(7),
        records.Size('m1.small', 1, 2, 3),
        booking.at(9000),
    )


def tables() -> Iterator[tuple[type[models.Base], Iterator[dict[str, Any]]]]:
    yield models.Usage, rows()
    yield models.ServerUsage, servers()
    yield models.DeletedLease, deleted()
    yield (
        models.DeletedReservation,
        (
            {
                'id': row['id'],
                'lease_id': row['id'],
                'deleted_at': row['deleted_at'],
            }
            for row in deleted()
        ),
    )


def servers() -> Iterator[dict[str, Any]]:
    for row in rows():
        yield {
            name: row[name]
            for name in models.ServerUsage.__table__.c.keys()
            if name in row
        } | {
            'server_uuid': row['lease_id'],
            'goes_on': None if row['ended_at'] else row['lease_id'],
            'flavor': 'm1.tiny',
            'vcpus': 1,
            'memory_mb': 1,
            'disk_gb': 1,
        }


def rows() -> Iterator[dict[str, Any]]:
    for number in range(1, listed.LEASES + 1):
        yield {
            'lease_id': listed.lease_id(number),
            'reservation_id': listed.lease_id(number),
            'project_id': f'project-{number % PROJECTS}',
            'user_id': '',
            'lease_name': f'lease-{number}',
            'lease_type': states.LeaseType.SCHEDULED,
            'resource_type': objects.HOST,
            'resource_class': objects.HOST,
            'amount': 7,
            'degraded': False,
            'started_at': booking.at(number - 2),
            # Most rows are history.
            'ended_at': booking.at(number) if number % 10 else None,
        }


def deleted() -> Iterator[dict[str, Any]]:
    lease = objects.Lease(
        **dict.fromkeys(
            field.name for field in dataclasses.fields(objects.Lease)
        )
        | {'lease_type': 'scheduled', 'reservations': (), 'events': ()}
    )
    for number in range(listed.LEASES):
        yield {
            'id': listed.lease_id(number),
            'name': f'lease-{number}',
            'project_id': f'project-{number % PROJECTS}',
            'status': states.Lease.PENDING,
            'start_date': booking.at(number),
            'end_date': booking.at(number),
            'created_at': booking.at(number),
            'deleted_at': booking.at(number),
            'document': dataclasses.asdict(lease) | {'status': 'PENDING'},
        }
