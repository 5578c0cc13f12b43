# SPDX-License-Identifier: Apache-2.0
"""A worker that writes no record of use leaves gaps, which are closed
later.
"""

import pytest
import sqlalchemy as sa

from nova_reservations import exception
from nova_reservations.db import deleted_leases
from nova_reservations.db import leases
from nova_reservations.db import models
from nova_reservations.engine import purge
from nova_reservations.engine import usage_gaps
from nova_reservations.testing.region import minutes
from nova_reservations.testing.region import NOON
from nova_reservations.tests.functional.engine import recorded
from nova_reservations.tests.functional.engine import test_maintenance
from nova_reservations.tests.functional.engine import test_used_servers


@pytest.fixture
def region(make_region):
    return make_region('one', 'two', 'three')


def look(region):
    region.soon(purge.TASK)
    region.work()


def write(region, statement):
    with region.database.writer() as session:
        session.execute(statement)


def lose(region):
    """Delete all records, as if nothing had been recorded."""
    write(region, sa.delete(models.Usage))


def reopen(region):
    """Reopen all records, as if no end had been recorded."""
    write(region, sa.update(models.Usage).values(ended_at=None))


def times(region):
    """Return (from, to) of each record, in minutes after noon."""
    return {
        tuple(
            time and (time - NOON) / minutes(1)
            for time in (row.started_at, row.ended_at)
        )
        for row in recorded.rows(region)
    }


def test_an_active_lease_without_a_record_has_one_from_its_start(region):
    lease = region.active_lease(end=60)
    region.forward(until=20)
    before = recorded.going_on(region)
    seen = region.see(lease)
    lose(region)
    look(region)
    assert recorded.going_on(region) == recorded.held(region) == before
    assert times(region) == {(0, None)}
    assert region.see(lease).updated_at == seen.updated_at
    region.forward(until=70)
    assert times(region) == {(0, 60)}
    assert region.status(lease) == 'TERMINATED'


@pytest.mark.parametrize('deleted', [False, True])
def test_a_lease_that_is_over_has_had_its_resources_until_then(
    region, deleted
):
    lease = region.active_lease(end=60)
    region.forward(until=40)
    if deleted:
        region.delete(lease)
    region.forward(until=200)
    ended = times(region)
    assert ended == {(0, 40 if deleted else 60)}
    reopen(region)
    look(region)
    assert times(region) == ended


def test_of_a_lease_without_a_trace_it_ends_now(region):
    lease = region.active_lease(end=60)
    region.forward(until=30)
    region.delete(lease)
    region.work()
    with region.database.reader() as session:
        assert deleted_leases.get(session, lease.id)
    write(region, sa.delete(models.DeletedLease))
    reopen(region)
    region.now += minutes(5)
    look(region)
    region.forward(until=50)
    look(region)
    assert times(region) == {(0, 35)}


def test_what_is_recorded_is_let_be(region, monkeypatch):
    monkeypatch.setattr(usage_gaps, 'PAGE', 1)
    found = [region.active_lease(end=60) for _ in range(2)]
    for again in range(2):
        if not again:
            lose(region)
        look(region)
        rows = recorded.rows(region)
        versions = [region.see(lease).version for lease in found]
        look(region)
        assert recorded.rows(region) == rows
        assert [region.see(lease).version for lease in found] == versions


@pytest.mark.parametrize('deleted', [False, True])
def test_a_server_was_in_its_lease_until_that_was_over(region, deleted):
    """A use may be left open, as nodes of a cluster do not share row locks."""
    lease = region.active_lease(end=60)
    coming = region.lease(start=500, end=600)
    for server, lets_in in (('one', lease), ('other', coming)):
        region.access.record_use(
            server,
            lets_in.reservations[0].id,
            test_used_servers.SMALL,
            region.now,
        )
    region.forward(until=40)
    if deleted:
        region.delete(lease)
    region.forward(until=200)
    ended = test_used_servers.used(region)
    assert [row[3] for row in ended] == [40 if deleted else 60, None]
    write(region, sa.update(models.ServerUsage).values(ended_at=None))
    write(
        region,
        sa.update(models.ServerUsage).values(
            goes_on=models.ServerUsage.server_uuid
        ),
    )
    # A record that is not known to be over is not purged.
    old = purge.Asked(leases=region.now + minutes(1))
    rows = region.services.purge
    assert rows.count(old)['leases'] == 0
    look(region)
    assert test_used_servers.used(region) == ended
    assert rows.count(old)['leases'] == 1 - deleted


def test_a_window_of_maintenance_is_not_recorded(region):
    test_maintenance.maintain(region, 0, 60)
    region.work()
    look(region)
    assert recorded.held(region)
    assert recorded.rows(region) == []


def test_who_changes_the_lease_meanwhile_is_first(region, monkeypatch):
    region.active_lease(end=60)
    lose(region)

    def changed(session, seen, now, **columns):
        raise exception.Conflict(kind='Lease', id=seen.id)

    with monkeypatch.context() as patch:
        patch.setattr(leases, 'change', changed)
        look(region)
    assert recorded.rows(region) == []
    look(region)
    assert recorded.going_on(region) == recorded.held(region)
