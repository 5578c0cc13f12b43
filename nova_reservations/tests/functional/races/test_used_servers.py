# SPDX-License-Identifier: Apache-2.0
"""A server is let in at the moment at which its lease ends, or by several
nova-schedulers. The record has the server once, and with an end."""

from concurrent import futures
import threading

import pytest

from nova_reservations.db.leases import leases
from nova_reservations.db.record import server_usage
from nova_reservations.testing import region as regions
from nova_reservations.testing.region import minutes
from nova_reservations.tests.functional.engine import test_used_servers

CROWD = 6

SMALL, LARGE = test_used_servers.SMALL, test_used_servers.LARGE


@pytest.fixture
def region(any_database):
    region = regions.Region(any_database.url, 'one')
    yield region
    region.close()


@pytest.fixture
def lease(region):
    lease = region.active_lease()
    region.now += minutes(5)
    return lease


@pytest.fixture
def beside():
    with futures.ThreadPoolExecutor(CROWD) as pool:
        yield pool


def let_in(region, lease, size=SMALL):
    region.access.record_use(
        'server', lease.reservations[0].id, size, region.now
    )


def ended(region):
    """Return when each recorded use has ended."""
    return [row[3] for row in test_used_servers.used(region)]


def test_an_end_waits_for_who_is_being_let_in_and_ends_that_too(
    region, lease, beside
):
    with region.database.writer() as session:
        server_usage.admit(
            session, 'server', lease.reservations[0].id, SMALL, region.now
        )
        region.now += minutes(2)
        ending = beside.submit(region.delete, lease)
        with pytest.raises(futures.TimeoutError):
            ending.result(0.2)
    ending.result(30)
    assert ended(region) == [7]


def test_a_server_that_comes_while_the_end_is_written_is_not_recorded(
    region, lease, beside, monkeypatch
):
    marked, goes_on = threading.Event(), threading.Event()
    change = leases.change

    def stop(*args, **columns):
        change(*args, **columns)
        marked.set()
        assert goes_on.wait(30)

    monkeypatch.setattr(leases, 'change', stop)
    ending = beside.submit(region.delete, lease)
    assert marked.wait(30)
    coming = beside.submit(let_in, region, lease)
    with pytest.raises(futures.TimeoutError):
        coming.result(0.2)
    goes_on.set()
    ending.result(30)
    coming.result(30)
    assert ended(region) == []


@pytest.mark.parametrize('before', [None, LARGE])
def test_a_server_that_several_let_in_at_once_is_recorded_once(
    region, lease, beside, before
):
    if before is not None:
        let_in(region, lease, before)
        region.now += minutes(3)
    start = threading.Barrier(CROWD)

    def come(_):
        start.wait()
        let_in(region, lease)

    list(beside.map(come, range(CROWD)))
    now = (region.now - regions.NOON) / minutes(1)
    assert test_used_servers.used(region) == [
        *([('server', LARGE.flavor, now - 3, now)] if before else ()),
        ('server', SMALL.flavor, now, None),
    ]
