# SPDX-License-Identifier: Apache-2.0
"""Requests to create a lease that are repeated, on the engine."""

import datetime

import pytest
import sqlalchemy as sa

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations.db import models
from nova_reservations.db.leases import idempotency as rows
from nova_reservations.db.leases import leases as leases_db
from nova_reservations.engine.leases import idempotency
from nova_reservations.objects import states
from nova_reservations.tests import conftest

DAY = datetime.timedelta(days=1)


def key(name='k', body='b', project='lessee'):
    return objects.IdempotencyKey.of(project, 'user', name, body)


def remembered(region):
    with region.database.reader() as session:
        return session.scalar(
            sa.select(sa.func.count()).select_from(models.IdempotencyKey)
        )


def all_leases(region):
    return [*region.lease_lists.find(objects.LeaseQuery())]


def host(region, minimum=1, **more):
    item = {'min': minimum, 'max': minimum}
    return region.lease_of((objects.HOST, item), **more)


def test_a_lease_is_made_once(region):
    first = host(region, start=1, key=key())
    region.notes.clear()
    assert host(region, start=1, key=key()) == region.see(first)
    assert (all_leases(region), region.notes) == ([region.see(first)], [])


def test_a_lease_that_waits_is_made_once(region):
    region.lease(minimum=3)
    more = {'lease_type': states.LeaseType.RETRY, 'key': key()}
    assert host(region, **more).id == host(region, **more).id
    assert len(all_leases(region)) == 2


def test_a_lease_for_which_hosts_are_emptied_is_made_once(make_region):
    region = make_region('one', best_effort_aggregate='drainable')
    region.add_drainable('drainable-1')
    region.lease()
    more = {'lease_type': states.LeaseType.BEST_EFFORT, 'key': key()}
    assert host(region, **more).id == host(region, **more).id
    assert len(all_leases(region)) == 2


def test_a_process_that_stops_before_the_commit_leaves_nothing(
    region, monkeypatch
):
    insert = leases_db.insert

    def killed(*args):
        insert(*args)
        raise KeyboardInterrupt

    monkeypatch.setattr(leases_db, 'insert', killed)
    with pytest.raises(KeyboardInterrupt):
        host(region, key=key())
    monkeypatch.undo()
    assert (remembered(region), all_leases(region)) == (0, [])
    host(region, key=key())
    assert remembered(region) == len(all_leases(region)) == 1


def test_a_request_that_was_too_late_gets_the_lease_of_the_first(
    region, monkeypatch
):
    made, first = idempotency.made, []

    def both_have_seen_that_there_is_none(database, asked):
        if not first:
            monkeypatch.undo()
            first.append(host(region, key=asked))
            return None
        return made(database, asked)

    monkeypatch.setattr(idempotency, 'made', both_have_seen_that_there_is_none)
    assert host(region, key=key()).id == first[0].id
    assert len(all_leases(region)) == 1


def test_keys_are_known_for_a_day(region, monkeypatch):
    monkeypatch.setattr(idempotency, 'BATCH', 2)
    for name in range(5):
        host(region, start=name * 100, end=name * 100 + 1, key=key(name))
    region.now += DAY
    idempotency.forget(region.database, region.now)
    assert remembered(region) == 5
    region.now += datetime.timedelta(seconds=1)
    idempotency.forget(region.database, region.now)
    assert remembered(region) == 0


def test_a_worker_forgets_keys(region):
    lease = host(region, start=60, end=61, key=key())
    region.delete(lease)
    region.now += DAY + DAY
    region.work()
    assert remembered(region) == 0


def test_a_project_has_so_many_keys_at_once(region, monkeypatch):
    monkeypatch.setattr(idempotency, 'MOST', 2)
    for name in range(2):
        lease = host(region, key=key(name))
        region.delete(lease)
    with pytest.raises(exception.InvalidState, match='has used 2 Idempotency'):
        host(region, key=key('third'))
    with pytest.raises(exception.InvalidState, match='is deleted'):
        host(region, key=key(0))
    host(region)
    host(region, project='other', key=key(project='other'))
    region.now += DAY + DAY
    idempotency.forget(region.database, region.now)
    host(region, key=key('third'))


@pytest.mark.parametrize('any_database', conftest.SERVERS, indirect=True)
def test_a_request_that_is_under_way_is_not_waited_for_long(any_database):
    now = datetime.datetime(2030, 1, 1, tzinfo=datetime.UTC)
    with any_database.writer() as first:
        rows.insert(first, key(), 'first', now)
        with (
            pytest.raises(exception.RequestUnderWay),
            any_database.writer() as second,
        ):
            rows.insert(second, key(), 'second', now)
    with (
        pytest.raises(exception.Repeated),
        any_database.writer() as third,
    ):
        rows.insert(third, key(), 'third', now)
    with any_database.reader() as session:
        assert rows.made(session, key()).lease_id == 'first'


@pytest.mark.parametrize('any_database', ['mysql'], indirect=True)
def test_other_statements_wait_as_long_as_before(any_database):
    now = datetime.datetime(2030, 1, 1, tzinfo=datetime.UTC)
    ask = sa.text('SELECT @@SESSION.innodb_lock_wait_timeout')
    with any_database.writer() as session:
        session.execute(sa.text('SET innodb_lock_wait_timeout = 33'))
        rows.insert(session, key(), 'first', now)
        assert session.scalar(ask) == 33
        with pytest.raises(exception.Repeated):
            rows.insert(session, key(), 'second', now)
        assert session.scalar(ask) == 33
