# SPDX-License-Identifier: Apache-2.0
"""Open reservations of a project, on each kind of database."""

import pytest
import sqlalchemy as sa

from nova_reservations import exception
from nova_reservations.db import counters
from nova_reservations.db.holdings import slot_servers
from nova_reservations.scheduler import pool
from nova_reservations.testing import region as regions
from nova_reservations.tests.functional.engine import test_instances


@pytest.fixture
def region(any_database):
    region = regions.Region(
        any_database.url, 'one', 'two', types=test_instances.TYPES
    )
    yield region
    region.close()


def opened(region, amount=1, **asked):
    times = {key: asked.pop(key) for key in ('start', 'end') if key in asked}
    lease = region.lease_of(
        test_instances.slots(amount, consume='open', **asked),
        **times,
    )
    region.work()
    return lease


def found(region, project='lessee'):
    with region.database.reader() as session:
        return [
            (one.id, one.slots)
            for one in slot_servers.open_to(session, project)
        ]


def test_reservations_that_end_first_are_first(region):
    late = opened(region, 2, end=120)
    soon = opened(region, 3, end=60)
    assert found(region) == [
        (soon.reservations[0].id, 3),
        (late.reservations[0].id, 2),
    ]
    assert found(region, 'somebody') == []


def test_reservations_are_open_when_they_have_begun_and_are_not_over(region):
    lease = opened(region, start=30, end=60)
    with region.database.reader() as session:
        assert slot_servers.look(session, 'lessee')[1] is False
    assert found(region) == []
    region.forward(until=30)
    assert len(found(region)) == 1
    region.forward(until=61)
    assert region.status(lease) == 'TERMINATED'
    assert found(region) == []
    with region.database.reader() as session:
        assert slot_servers.look(session, 'lessee')[1] is False


def test_slots_on_hosts_that_have_failed_do_not_count(region):
    opened(region, 2, affinity=False)
    region.cloud.fail('one')
    region.look()
    [(_, slots)] = found(region)
    assert slots == 1


def test_whole_hosts_are_among_slots(region):
    [slots] = opened(region, 2, end=120).reservations
    [hosts] = region.active_lease(consume='open').reservations
    assert found(region) == [(hosts.id, 0), (slots.id, 2)]
    with region.database.reader() as session:
        [only] = slot_servers.open_to(session, 'lessee', only=hosts.id)
        assert slot_servers.open_to(session, 'others', only=hosts.id) == []
    assert (only.id, only.resource_type) == (hosts.id, 'physical:host')


def test_a_reservation_is_opened_and_closed_until_it_starts(region):
    lease = region.lease_of(test_instances.slots(), start=30, end=60)
    region.change(lease, consume='open')
    region.change(lease, consume='targeted')
    region.change(lease, consume='open')
    region.forward(until=30)
    assert len(found(region)) == 1
    with pytest.raises(exception.InvalidState, match='consume'):
        region.change(lease, consume='targeted')
    region.change(lease, amount=2)
    assert [slots for _, slots in found(region)] == [2]


def test_a_request_of_who_has_none_costs_one_query(region):
    """The same query also tells whether the pool has changed."""
    opened(region)
    statements = []

    def note(_connection, _cursor, statement, *_):
        if not statement.startswith(('BEGIN', 'ROLLBACK', 'COMMIT')):
            statements.append(statement)

    engine = region.database.engine()
    view = pool.Pool(region.database)
    view.view('somebody')
    sa.event.listen(engine, 'before_cursor_execute', note)
    try:
        seen = view.view('somebody')
        assert seen == pool.View(frozenset({'one', 'two'}), False)
        assert len(statements) == 1
        assert view.view('lessee').has_open
    finally:
        sa.event.remove(engine, 'before_cursor_execute', note)


def test_a_host_that_is_enrolled_is_seen_by_the_next_request(region):
    view = pool.Pool(region.database)
    assert view.view('lessee').hosts == {'one', 'two'}
    region.add_host('three')
    assert view.view('lessee').hosts == {'one', 'two', 'three'}
    with region.database.reader() as session:
        version, _ = slot_servers.look(session, 'lessee')
        assert version == counters.value(session, 'pool')


def test_a_server_that_came_unasked_is_known_until_it_is_forgotten(region):
    lease = opened(region)
    key = lease.reservations[0].id
    region.access.record_server('asked', key, region.now)
    region.access.record_server('came', key, region.now, chosen=True)
    with region.database.writer() as session:
        assert slot_servers.chosen(session, key) == {'came'}
        assert slot_servers.choice(session, 'came') == key
        assert slot_servers.choice(session, 'asked') is None
        slot_servers.unrecord(session, ['came'])
        assert slot_servers.choice(session, 'came') is None
        assert slot_servers.of(session, [key])[key].servers == {'asked'}
