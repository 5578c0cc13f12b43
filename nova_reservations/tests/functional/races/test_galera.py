# SPDX-License-Identifier: Apache-2.0
"""Nodes of a Galera cluster that are behind the other nodes.

Each node answers from the write sets that it has applied, and a row lock on
one node locks nothing on another.
"""

from concurrent import futures
import threading

from nova import exception as nova_exception
import pytest
import sqlalchemy as sa

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations.db import api
from nova_reservations.db import counters
from nova_reservations.db import models
from nova_reservations.db import tasks
from nova_reservations.db.holdings import healing
from nova_reservations.db.leases import leases
from nova_reservations.db.leases import looks
from nova_reservations.engine import claimed_leases
from nova_reservations.scheduler import request_filter
from nova_reservations.scheduler import requests
from nova_reservations.testing import region as regions
from nova_reservations.tests.functional.races import conftest
from nova_reservations.tests.unit.scheduler import hosts as nova_hosts

pytestmark = [
    pytest.mark.parametrize('any_database', [conftest.GALERA], indirect=True)
]

HOSTS = ['host-1', 'host-2']


@pytest.fixture
def region(any_database):
    """A region whose processes use the first node."""
    region = regions.Region(any_database.url, *HOSTS)
    yield region
    region.close()


@pytest.fixture
def node(cluster, region):
    """The node that falls behind."""
    cluster.nodes[2].catch_up()
    return cluster.nodes[2]


@pytest.fixture
def behind(node, node_urls, monkeypatch):
    """The same region for processes that use that node. Only reads that
    enforce wait for the node to catch up."""
    monkeypatch.setattr(
        regions,
        'Database',
        lambda url: api.Database(url, options={'mysql_wsrep_sync_wait': 0}),
    )
    behind = regions.Region(node_urls[2], *HOSTS, enrolled=True)
    yield behind
    behind.close()


@pytest.fixture
def reserved(behind, monkeypatch):
    """The request filter of a nova-scheduler at that node; all servers are
    new."""
    monkeypatch.setattr(requests, 'exists', lambda _: False)
    return request_filter.ReservedHosts(behind.services)


def request(lease=None):
    hints = {'reservation': [lease.reservations[0].id]} if lease else {}
    return nova_hosts.new_server('lessee', hints)


def enforcing(reserved, spec):
    """Return the three checks that nova-scheduler makes of a request."""
    return [
        lambda: reserved(None, spec),
        # This is the check of the host filter.
        lambda: reserved.admissions.resolve(spec),
        lambda: reserved.confirm(spec, spec.instance_uuid),
    ]


@pytest.fixture
def threads():
    with futures.ThreadPoolExecutor() as pool:
        yield pool


def none_is_over(asked):
    return not futures.wait(asked, timeout=1).done


def test_a_lease_that_has_ended_lets_nobody_in_where_it_seems_active(
    region, node, behind, reserved, threads
):
    lease = region.active_lease()
    node.catch_up()
    spec = request(lease)
    for look in enforcing(reserved, spec):
        assert look()
    with node.lagging():
        region.delete(lease)
        assert behind.status(lease) == 'ACTIVE'
        asked = [threads.submit(look) for look in enforcing(reserved, spec)]
        assert none_is_over(asked)
        # Other reads still get the old rows, and do not wait.
        assert behind.status(lease) == 'ACTIVE'
    for look in asked:
        with pytest.raises(nova_exception.RequestFilterFailed):
            look.result()
    assert behind.status(lease) == 'DELETING'


def test_a_host_that_was_enrolled_is_closed_where_it_seems_open(
    region, node, behind, reserved, threads
):
    with node.lagging():
        region.add_host('host-3')
        assert len(behind.hosts.find(objects.HostQuery())) == len(HOSTS)
        asked = threads.submit(reserved.admissions.resolve, request())
        assert none_is_over([asked])
    assert not asked.result().admits('host-3')


def take(region, lease, now):
    """Have a worker claim the lease."""
    claim = claimed_leases.Claim(lease.id, lease.attempt + 1, 'worker')
    with region.database.writer() as session:
        assert leases.claim(
            session,
            lease.id,
            lease.attempt,
            claim.worker,
            now,
            now + claimed_leases.DURATION,
        )
    return claim


def test_a_claim_that_was_taken_over_is_lost_where_it_seems_to_stand(
    region, node, behind, threads
):
    claim = take(region, region.lease(), region.now)
    node.catch_up()
    held = claimed_leases.read(behind.database, claim, lambda: region.now)
    held.check()
    with node.lagging():
        take(region, held.lease, region.now + claimed_leases.DURATION)
        assert behind.see(held.lease) == held.lease
        asked = threads.submit(held.check)
        assert none_is_over([asked])
    with pytest.raises(exception.ClaimLost):
        asked.result()


def test_a_node_that_is_too_far_behind_lets_nobody_in(
    region, node, behind, reserved
):
    lease = region.active_lease()
    node.catch_up()
    with node.impatient(), node.lagging():
        # This write is what the node has to catch up with.
        region.lease(start=1)
        with pytest.raises(exception.DatabaseUnavailable):
            behind.access.find(lease.reservations[0].id)
        with pytest.raises(nova_exception.RequestFilterFailed):
            reserved(None, request(lease))
        assert behind.status(lease) == 'ACTIVE'


def test_all_see_what_was_written_elsewhere_unless_operators_say_otherwise(
    region, node, node_urls, threads
):
    database = api.Database(node_urls[2])
    with node.lagging():
        lease = region.lease()
        asked = threads.submit(leases_of, database)
        assert none_is_over([asked])
    assert asked.result() == {lease.id}
    database.dispose()


def leases_of(database):
    with database.reader() as session:
        return set(session.scalars(sa.select(models.Lease.id)))


def sync_waits(database):
    """Return wsrep_sync_wait during a read that enforces, and during a later
    read on the same connection."""
    seen = []
    for reader in (database.causal_reader, database.reader):
        with reader() as session:
            seen.append(
                session.execute(
                    sa.text('SELECT connection_id(), @@wsrep_sync_wait')
                ).one()
            )
    (connection, while_causal), (other, afterwards) = seen
    assert connection == other
    return while_causal, afterwards


def test_a_connection_waits_afterwards_for_what_it_did_before(any_database):
    for given, waits in (
        (None, (7, 7)),
        (0, (1, 0)),
        (2, (3, 2)),
        (1, (1, 1)),
    ):
        database = api.Database(
            any_database.url, options={'mysql_wsrep_sync_wait': given}
        )
        for _ in range(2):
            assert sync_waits(database) == waits
        with pytest.raises(ZeroDivisionError), database.causal_reader():
            raise ZeroDivisionError
        assert sync_waits(database) == waits
        database.dispose()


def test_a_task_is_not_taken_by_who_can_not_see_what_it_is_hurried_for(
    cluster, region, node_urls, threads
):
    """Otherwise the rows that were written for the task would wait for its
    next run."""
    other = api.Database(node_urls[1])
    with region.database.writer() as session:
        tasks.hurry(session, healing.HEAL, region.now)
    with other.causal_reader() as session:
        attempt = looks.at(session, region.now).tasks[healing.HEAL]
    begun, taken = threading.Event(), threading.Event()

    def hurry():
        with region.database.writer() as session:
            counters.increment(session, 'booking')
            # The task is due already.
            tasks.hurry(session, healing.HEAL, region.now)
            begun.set()
            taken.wait()

    hurried = threads.submit(hurry)
    begun.wait()
    # Commits of other nodes arrive after its own commit, and do not abort it
    # earlier.
    with cluster.nodes[0].lagging():
        with other.writer() as session:
            later = region.now + claimed_leases.DURATION
            assert tasks.take(
                session, healing.HEAL, attempt, region.now, later, later
            )
        taken.set()
        assert none_is_over([hurried])
    with pytest.raises(exception.Conflict):
        hurried.result()
    other.dispose()
