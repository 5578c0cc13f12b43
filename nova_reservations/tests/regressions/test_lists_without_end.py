# SPDX-License-Identifier: Apache-2.0
"""One administrator's list of leases took gigabytes of nova-api's memory, went
on after the client had left, and had each lease that ever was. It was read and
written as a whole. Issue 13, item 18.
"""

import datetime
import json
import tracemalloc
import uuid

import pytest
import sqlalchemy as sa

from nova_reservations import objects
from nova_reservations.db import models
from nova_reservations.engine.leases import lease_lists
from nova_reservations.objects import states
from nova_reservations.tests.functional.api import conftest
from nova_reservations.tests.functional.api.conftest import _nova_conf
from nova_reservations.tests.functional.api.conftest import admin
from nova_reservations.tests.functional.api.conftest import app
from nova_reservations.tests.functional.api.conftest import behind
from nova_reservations.tests.functional.api.conftest import clock
from nova_reservations.tests.functional.api.conftest import cloud
from nova_reservations.tests.functional.api.conftest import services
from nova_reservations.tests.functional.api.conftest import settings
from nova_reservations.tests.functional.api.conftest import unreachable

__all__ = [
    '_nova_conf',
    'admin',
    'app',
    'behind',
    'clock',
    'cloud',
    'services',
    'settings',
    'unreachable',
]

DAY = datetime.timedelta(days=1)


@pytest.fixture
def fill(database, clock):
    """Writes leases to the database; returns their ids."""

    def fill(count, ended=-DAY, status=states.Lease.PENDING, **columns):
        """:param ended: how long ago the leases ended."""
        ids = [str(uuid.uuid4()) for _ in range(count)]
        if not ids:
            return ids
        with database.writer() as session:
            session.execute(
                sa.insert(models.Lease),
                [
                    {
                        'id': each,
                        'name': 'one of many',
                        'project_id': 'ours',
                        'user_id': 'somebody',
                        'start_date': clock.now - ended - DAY,
                        'end_date': clock.now - ended,
                        'status': status,
                        'created_at': clock.now
                        - datetime.timedelta(seconds=number // 3),
                    }
                    | columns
                    for number, each in enumerate(ids)
                ],
            )
        return ids

    return fill


def ids(answer):
    return [each['id'] for each in answer.json['leases']]


def begin(person, path):
    """Return the answer as the WSGI server gets it, before its body is
    read."""
    return person.send('GET', f'/os-reservations/v1{path}')


@pytest.fixture
def statements(database):
    """The statements that the database executes from now on."""
    asked = []

    def note(_connection, _cursor, statement, *_):
        asked.append(statement)

    sa.event.listen(database.engine(), 'before_cursor_execute', note)
    yield asked
    sa.event.remove(database.engine(), 'before_cursor_execute', note)


@pytest.mark.parametrize('key', ['created_at', 'name', 'status', 'id'])
@pytest.mark.parametrize('order', ['asc', 'desc'])
def test_a_long_list_is_whole_and_in_order(admin, fill, key, order):
    """This also holds when many leases are equal in the sort key."""
    there = fill(4 * lease_lists.PAGE + 1)
    answer = admin('GET', f'/leases?sort_key={key}&sort_dir={order}')
    assert sorted(ids(answer)) == sorted(there)
    columns = (key, *(['created_at'] * (key == 'name')), 'id')
    found = [
        tuple(each[column] for column in columns)
        for each in answer.json['leases']
    ]
    if key != 'status':
        assert found == sorted(found, reverse=order == 'desc')


@pytest.mark.parametrize(
    'count', [0, 1, lease_lists.PAGE - 1, lease_lists.PAGE]
)
def test_a_short_list_is_an_answer_like_others(admin, fill, count):
    fill(count)
    answer = begin(admin, '/leases')
    assert answer.content_length == len(answer.body)
    assert len(ids(answer)) == count


def test_a_list_takes_no_more_memory_the_longer_it_is(admin, fill):
    def peak():
        before, _ = tracemalloc.get_traced_memory()
        tracemalloc.reset_peak()
        answer = begin(admin, '/leases')
        for _ in answer.app_iter:
            pass
        return tracemalloc.get_traced_memory()[1] - before

    fill(4 * lease_lists.PAGE)
    tracemalloc.start()
    try:
        # The first request fills caches.
        _, few = peak(), peak()
        fill(12 * lease_lists.PAGE)
        assert peak() < 2 * few
    finally:
        tracemalloc.stop()


def test_a_list_that_nobody_listens_to_is_not_read(admin, fill, statements):
    fill(8 * lease_lists.PAGE)
    answer = begin(admin, '/leases')
    listened = iter(answer.app_iter)
    next(listened)
    before = len(statements)
    answer.app_iter.close()
    assert list(listened) == []
    assert len(statements) == before


def test_no_transaction_is_open_while_a_client_reads_slowly(
    admin, fill, database
):
    fill(8 * lease_lists.PAGE)
    answer = begin(admin, '/leases')
    next(iter(answer.app_iter))
    assert database.engine().pool.checkedout() == 0


def test_half_a_list_is_not_taken_for_a_whole_one(admin, fill, database):
    fill(8 * lease_lists.PAGE)
    answer = begin(admin, '/leases')
    assert answer.status_int == 200
    got = []
    with database.engine().begin() as connection:
        connection.execute(sa.text('ALTER TABLE nr_leases RENAME TO gone'))
    with pytest.raises(Exception, match='nr_leases'):
        for piece in answer.app_iter:
            got.append(piece)
    with pytest.raises(json.JSONDecodeError):
        json.loads(b''.join(got))


def test_a_list_whose_beginning_fails_is_refused_as_ever(unreachable, behind):
    app = conftest.middleware.Reservations(behind, unreachable)
    answer = begin(conftest.Person(app, 'operators', 'admin'), '/leases')
    assert answer.status_int == 503
    assert answer.headers['Retry-After']


def test_leases_may_be_deleted_while_they_are_listed(admin, fill, database):
    fill(8 * lease_lists.PAGE)
    answer = begin(admin, '/leases')
    listened = iter(answer.app_iter)
    got = [next(listened)]
    with database.writer() as session:
        session.execute(sa.delete(models.Lease))
    got += listened
    assert len(json.loads(b''.join(got))['leases']) == 3 * lease_lists.PAGE


def test_leases_that_were_over_long_ago_are_not_listed(admin, fill, clock):
    fill(3, 31 * DAY, states.Lease.TERMINATED)
    fill(3, 31 * DAY, states.Lease.TIMEDOUT)
    fill(3, 31 * DAY, states.Lease.ERROR)
    current = {
        *fill(1, 29 * DAY, states.Lease.TERMINATED),
        *fill(1, 31 * DAY, states.Lease.TERMINATING),
        *fill(1, 31 * DAY, states.Lease.ACTIVE),
        # This lease could not end: it still has its hosts.
        *fill(1, 31 * DAY, states.Lease.ERROR, in_nova=True),
        *fill(1),
    }
    assert {*ids(admin('GET', '/leases'))} == current
    assert {*ids(admin('GET', '/leases?sort_key=end_date'))} == current
    assert {*ids(admin('GET', '/leases?project_id=ours'))} == current


@pytest.mark.parametrize(
    'query',
    [
        'status=TERMINATED',
        'name=one%20of%20many',
        'start_after=2000-01-01 00:00',
        'end_before=2100-01-01 00:00',
        'start_before=2100-01-01 00:00',
        'end_after=2000-01-01 00:00',
        'changes-since=2000-01-01 00:00',
        'status=TERMINATED&status=ERROR',
        'limit=1000',
    ],
)
def test_leases_that_were_over_long_ago_are_listed_on_request(
    admin, fill, query
):
    old = fill(3, 400 * DAY, states.Lease.TERMINATED)
    assert {*ids(admin('GET', f'/leases?{query}'))} == {*old}


def test_for_how_long_is_the_operators_choice(admin, fill, services, settings):
    fill(3, 3 * DAY, states.Lease.TERMINATED)
    assert len(ids(admin('GET', '/leases'))) == 3
    settings.set_override('list_history', 2, 'reservations')
    again = conftest.bootstrap.build(settings, services.hosts.cloud, print)
    app = conftest.middleware.Reservations(None, again)
    operator = conftest.Person(app, 'operators', 'admin')
    assert ids(operator('GET', '/leases')) == []
    again.database.dispose()


def test_a_limit_larger_than_a_page_is_obeyed(admin, fill):
    there = fill(3 * lease_lists.PAGE)
    wanted = 2 * lease_lists.PAGE
    first = admin('GET', f'/leases?limit={wanted}')
    assert len(ids(first)) == wanted
    [link] = first.json['leases_links']
    query = link['href'].partition('?')[2]
    second = admin('GET', f'/leases?{query}')
    assert sorted(ids(first) + ids(second)) == sorted(there)
    assert 'leases_links' not in second.json


def test_allocations_of_hosts_are_read_some_hosts_at_a_time(
    admin, database, clock
):
    count = 450
    with database.writer() as session:
        session.execute(
            sa.insert(models.Resource),
            [
                {
                    'id': number,
                    'resource_type': objects.HOST,
                    'name': f'host-{number}',
                    'uuid': str(number),
                    'reservable': True,
                    'spread': number,
                    'created_at': clock.now,
                }
                for number in range(1, count + 1)
            ],
        )
        session.execute(
            sa.insert(models.Host),
            [
                dict.fromkeys(models.Host.__table__.c.keys(), 1)
                | {'resource_id': number}
                for number in range(1, count + 1)
            ],
        )
    answer = begin(admin, '/os-hosts/allocations')
    assert answer.content_length is None
    assert [
        int(each['resource_id']) for each in answer.json['allocations']
    ] == [*range(1, count + 1)]
