# SPDX-License-Identifier: Apache-2.0
"""The cost of metrics does not grow with the leases that are over."""

from collections.abc import Iterator
import datetime
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy import orm

from nova_reservations import objects
from nova_reservations.db import api
from nova_reservations.db import models
from nova_reservations.db.leases import unused
from nova_reservations.db.upkeep import service_metrics as rows
from nova_reservations.objects import states
from nova_reservations.tests import booking
from nova_reservations.tests import conftest
from nova_reservations.tests.functional.db import listed
from nova_reservations.tests.functional.db import plans
from nova_reservations.tests.functional.db import test_indexes

OVER = 3000
"""The number of leases that are over: one has ended each hour."""

HOSTS = 12

NOW = booking.at(OVER)

HOUR = datetime.timedelta(hours=1)

STATUS = (states.Lease.ACTIVE, states.Lease.PENDING, states.Lease.ERROR)

QUERIES = {
    'leases by their status': listed.Often(
        rows.living, frozenset({'ix_nr_leases_status'})
    ),
    'leases that lack a resource': listed.Often(
        rows.lacking,
        frozenset({'ix_nr_leases_degraded', 'ix_nr_reservations_lease_id'}),
    ),
    'leases that failed and are not empty': listed.Often(
        rows.stuck, frozenset({'ix_nr_leases_due'})
    ),
    'the longest end': listed.Often(
        rows.ending_since,
        frozenset({'ix_nr_leases_due', 'ix_nr_leases_status'}),
    ),
    'what is due': listed.Often(rows.due),
    'starts': listed.Often(
        lambda session: rows.steps(
            session, states.EventType.START, NOW - HOUR, NOW, 100
        ),
        frozenset({'ix_nr_leases_start'}),
    ),
    'ends': listed.Often(
        lambda session: rows.steps(
            session, states.EventType.END, NOW - HOUR, NOW, 100
        ),
        frozenset({'ix_nr_leases_end'}),
    ),
    'who has hosts': listed.Often(
        lambda session: rows.hosts_held(session, NOW)
    ),
    'leases that nobody uses': listed.Often(
        unused.count, frozenset({'ix_nr_leases_status'})
    ),
    'leases that nobody has used for too long': listed.Often(
        lambda session: unused.find(session, NOW - HOUR, True, 100),
        frozenset({'ix_nr_leases_status'}),
    ),
    'active leases': listed.Often(
        unused.active, frozenset({'ix_nr_leases_status'})
    ),
    'hosts that projects had today': listed.Often(
        lambda session: rows.host_seconds(session, NOW - HOUR, NOW),
        frozenset({'ix_nr_usage_ended'}),
    ),
    'counters': listed.Often(lambda session: rows.counted(session, 'pool')),
}


def fill(session: orm.Session) -> None:
    for number in range(HOSTS):
        booking.enrol(session, f'host-{number}', spread=number)
    numbers = range(OVER + HOSTS)
    for model, row in (
        (models.Lease, _lease),
        (models.Reservation, _reservation),
        (models.Event, _start),
        (models.Event, _end),
        (models.Allocation, _allocation),
        (models.Usage, _usage),
    ):
        session.execute(sa.insert(model), [row(number) for number in numbers])


def _lease(number: int) -> dict[str, Any]:
    over = number < OVER
    # Half of these leases have failed, and half have ended.
    ended = STATUS[2] if number % 2 else states.Lease.TERMINATED
    return {
        'id': listed.lease_id(number),
        'name': '',
        'project_id': f'project-{number % 7}',
        'user_id': '',
        'start_date': booking.at(number - 1),
        'end_date': booking.at(number),
        'status': ended if over else STATUS[number % len(STATUS)],
        'due_at': None if over else booking.at(number),
        'in_nova': not over,
        'created_at': booking.at(number - 1),
    }


def _reservation(number: int) -> dict[str, Any]:
    return {
        'id': listed.lease_id(number),
        'lease_id': listed.lease_id(number),
        'position': 0,
        'resource_type': objects.HOST,
        'status': states.Reservation.ACTIVE,
        'params': {},
        'created_at': NOW,
    }


def _event(number: int, kind: states.EventType, when: int) -> dict[str, Any]:
    return {
        'id': f'{kind}-{number}',
        'lease_id': listed.lease_id(number),
        'event_type': kind,
        'time': booking.at(when),
        'status': states.Event.DONE if when < OVER else states.Event.UNDONE,
        'created_at': NOW,
        'updated_at': booking.at(when),
    }


def _start(number: int) -> dict[str, Any]:
    return _event(number, states.EventType.START, number - 1)


def _end(number: int) -> dict[str, Any]:
    return _event(number, states.EventType.END, number)


def _allocation(number: int) -> dict[str, Any]:
    return {
        'reservation_id': listed.lease_id(number),
        'resource_id': 1 + number % HOSTS,
        'start_date': booking.at(number - 1),
        'end_date': booking.at(number),
        'exclusive': True,
        'released': number < OVER,
    }


def _usage(number: int) -> dict[str, Any]:
    return {
        'lease_id': listed.lease_id(number),
        'reservation_id': listed.lease_id(number),
        'project_id': f'project-{number % 7}',
        'user_id': '',
        'started_at': booking.at(number - 1),
        'ended_at': booking.at(number) if number < OVER else None,
        'lease_name': '',
        'lease_type': states.LeaseType.SCHEDULED,
        'resource_type': objects.HOST,
        'resource_class': objects.HOST,
        'amount': 1,
        'degraded': False,
    }


@pytest.fixture(
    scope='module',
    params=[
        pytest.param(
            backend, marks=pytest.mark.xdist_group(f'metrics of {backend}')
        )
        for backend in conftest.BACKENDS
    ],
)
def filled(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[api.Database]:
    directory = tmp_path_factory.mktemp('metrics')
    with test_indexes.filled_database(
        request.param, directory, fill
    ) as database:
        yield database


@pytest.mark.parametrize('query', QUERIES)
def test_leases_that_are_over_are_not_read(filled, query):
    backend = filled.engine().dialect.name
    plan = plans.of(filled, QUERIES[query].run)
    told = '\n'.join(map(str, plan))
    assert plan
    read = [row for row in plan if plans.reads_a_whole_table(backend, row)]
    # nr_resources has no more rows than there are hosts.
    assert not [row for row in read if 'nr_resources' not in str(row)], told
    if backend != 'sqlite':
        assert not {
            name for name in QUERIES[query].indexes if name not in told
        }, told
