# SPDX-License-Identifier: Apache-2.0
"""A server is let in at the moment at which its lease ends as unused. One of
the two comes first, and the other sees that."""

from concurrent import futures
import threading

import pytest

from nova_reservations.db.leases import access
from nova_reservations.db.leases import leases
from nova_reservations.engine.worker import unused_leases
from nova_reservations.objects import states
from nova_reservations.testing import region as regions
from nova_reservations.testing.region import minutes

HOSTS = [f'host-{number}' for number in range(4)]


@pytest.fixture
def region(any_database):
    region = regions.Region(
        any_database.url,
        *HOSTS,
        unused_lease_timeout=minutes(15),
        unused_lease_action=states.UnusedAction.END,
    )
    yield region
    region.close()


@pytest.fixture
def beside():
    with futures.ThreadPoolExecutor(len(HOSTS)) as pool:
        yield pool


def look(region):
    unused_leases.UnusedLeases(
        region.database,
        region.cloud,
        region.types,
        region.options,
        region._notify,
    ).look(region.now)


def test_a_server_that_comes_while_the_end_is_written_waits_and_is_refused(
    region, beside, monkeypatch
):
    lease = region.active_lease()
    region.now += minutes(15)
    marked, goes_on = threading.Event(), threading.Event()
    change = leases.change

    def stop(*args, **columns):
        marked.set()
        assert goes_on.wait(30)
        change(*args, **columns)

    monkeypatch.setattr(leases, 'change', stop)
    ending = beside.submit(look, region)
    assert marked.wait(30)
    coming = beside.submit(region.access.use, lease.id, region.now)
    with pytest.raises(futures.TimeoutError):
        coming.result(0.2)
    goes_on.set()
    ending.result(30)
    assert coming.result(30) is False
    assert region.status(lease) == 'TERMINATING'


def test_an_end_waits_for_who_is_being_let_in_and_is_not_written(
    region, beside
):
    lease = region.active_lease()
    region.now += minutes(15)
    with region.database.writer() as session:
        assert access.use(session, lease.id, region.now)
        ending = beside.submit(look, region)
        with pytest.raises(futures.TimeoutError):
            ending.result(0.2)
    ending.result(30)
    assert region.status(lease) == 'ACTIVE'
    assert 'unused' not in region.told(lease)


def test_a_lease_is_used_or_has_ended_and_never_both(region, beside):
    found = [region.active_lease() for _ in HOSTS]
    region.now += minutes(15)
    start = threading.Barrier(len(found))

    def come(lease):
        start.wait()
        return region.access.use(lease.id, region.now)

    coming = [beside.submit(come, lease) for lease in found[1:]]
    start.wait()
    look(region)
    look(region)
    assert region.status(found[0]) == 'TERMINATING'
    for lease, let_in in zip(found[1:], coming, strict=True):
        assert (region.status(lease) == 'ACTIVE') is let_in.result(30)
