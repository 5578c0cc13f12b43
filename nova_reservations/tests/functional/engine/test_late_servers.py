# SPDX-License-Identifier: Apache-2.0
"""Servers that came while their lease ended: nodes of a cluster of databases
do not share the locks of rows.
"""

import pytest
import sqlalchemy as sa

from nova_reservations import exception
from nova_reservations.db import models
from nova_reservations.db.leases import deleted_leases
from nova_reservations.db.leases import leases
from nova_reservations.engine.record import late_servers
from nova_reservations.engine.upkeep import purge
from nova_reservations.testing.region import minutes
from nova_reservations.tests.functional.engine import test_used_servers


@pytest.fixture
def region(make_region):
    return make_region('one', 'two', 'three')


@pytest.fixture
def ended(region):
    """A lease that ended at minute 60, and had a server until then."""
    lease = region.active_lease(end=60)
    let_in(region, 'one', lease)
    region.forward(until=200)
    return lease


def let_in(region, server, lease):
    region.access.record_use(
        server, lease.reservations[0].id, test_used_servers.SMALL, region.now
    )


def look(region):
    region.soon(purge.TASK)
    region.work()


def write(region, statement):
    with region.database.writer() as session:
        session.execute(statement)


def reopen(region):
    """Reopen all records, as if the servers had come when the lease ended."""
    write(
        region,
        sa.update(models.ServerUsage).values(
            ended_at=None, goes_on=models.ServerUsage.server_uuid
        ),
    )


def ends(region):
    """Return when the servers went by the record, in minutes after noon."""
    return [row[3] for row in test_used_servers.used(region)]


@pytest.mark.parametrize('deleted', [False, True])
def test_a_server_was_in_its_lease_until_that_was_over(region, deleted):
    lease = region.active_lease(end=60)
    coming = region.lease(start=500, end=600)
    let_in(region, 'one', lease)
    let_in(region, 'other', coming)
    region.forward(until=40)
    if deleted:
        region.delete(lease)
    region.forward(until=200)
    ended = test_used_servers.used(region)
    assert ends(region) == [40 if deleted else 60, None]
    reopen(region)
    # A record that is not known to be over is not purged.
    old = purge.Cutoffs(leases=region.now + minutes(1))
    rows = region.services.purge
    assert rows.count(old)['leases'] == 0
    look(region)
    assert test_used_servers.used(region) == ended
    assert rows.count(old)['leases'] == 1 - deleted


def test_a_server_of_a_lease_without_a_trace_goes_when_it_is_found(region):
    lease = region.active_lease(end=60)
    let_in(region, 'one', lease)
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
    assert ends(region) == [35]


def test_owners_see_no_change_and_all_pages_are_read(region, monkeypatch):
    monkeypatch.setattr(late_servers, 'PAGE', 1)
    found = [region.active_lease(end=60) for _ in range(2)]
    for number, lease in enumerate(found):
        let_in(region, str(number), lease)
    region.forward(until=200)
    seen = [region.see(lease).updated_at for lease in found]
    reopen(region)
    look(region)
    assert ends(region) == [60, 60]
    assert [region.see(lease).updated_at for lease in found] == seen
    versions = [region.see(lease).version for lease in found]
    look(region)
    assert [region.see(lease).version for lease in found] == versions


def test_another_writer_of_the_lease_meanwhile_is_first(
    region, ended, monkeypatch
):
    reopen(region)

    def changed(session, seen, now, **columns):
        raise exception.Conflict(kind='Lease', id=seen.id)

    with monkeypatch.context() as patch:
        patch.setattr(leases, 'change', changed)
        look(region)
    assert ends(region) == [None]
    look(region)
    assert ends(region) == [60]
