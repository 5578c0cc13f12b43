# SPDX-License-Identifier: Apache-2.0
"""Drains of hosts. The request, or the worker that moves servers, is killed
before each step; others go on, and nothing is lost or done twice."""

import contextlib

import pytest

from nova_reservations import objects
from nova_reservations.db.holdings import healing
from nova_reservations.testing import copies
from nova_reservations.testing.region import minutes
from nova_reservations.testing.steps import Killed
from nova_reservations.testing.steps import Steps
from nova_reservations.tests import profile
from nova_reservations.tests.functional.engine import recorded
from nova_reservations.tests.functional.engine import test_crashes
from nova_reservations.tests.functional.engine import test_emptying

pytestmark = pytest.mark.fuzz

HOSTS = ('one', 'two', 'three')

ONE = '["==","$service_name","one"]'


def leased(region):
    """Lease a host with two servers, of which one moves slowly; and lease the
    same host again later."""
    lease = region.active_lease(end=60, resource_properties=ONE)
    region.cloud.boot('one', 'lessee', 'quick')
    slow = region.cloud.boot('one', 'lessee', 'slow')
    region.cloud.slow_servers.add(slow)
    later = region.lease(start=70, end=80, resource_properties=ONE)
    for each in lease, later:
        region.change(each, resource_properties='')
    return lease


def drained(region):
    lease = leased(region)
    drain(region)
    return lease


def look(region, worker=None):
    """Do all due work, and look after drained hosts."""
    region.soon(healing.MONITOR)
    region.work(worker)


def killed(region, number, *acts):
    """Kill whoever acts before a step; return whether that step was
    reached."""
    with Steps(region, number, test_crashes.kill) as steps:
        for act in acts:
            if steps.reached:
                break
            with contextlib.suppress(Killed):
                act(region)
    return steps.reached


def drain(region):
    test_emptying.drain(region, 'one')


def work(region):
    region.soon(healing.MONITOR)
    victim = region.worker('victim')
    victim.tick(region.now)
    victim.drain()


def moves_asked_for(region):
    return region.cloud.writes.count('drain server')


def outcome(region, worker=None):
    """Return the state after all servers have had time to move."""
    for _ in range(3):
        region.now += minutes(0.6)
        look(region, worker)
        region.cloud.finish_moves()
    assert recorded.going_on(region) == recorded.held(region)
    return test_crashes.comparable(region), moves_asked_for(region)


def seen(region):
    """Return where servers are, and the occupants of the host."""
    held = test_emptying.drain(region, 'one')
    return (
        {each.host for each in region.cloud.instances.values()},
        held.occupants,
    )


def test_an_operator_asks_again_whose_request_was_killed(make_region):
    region, lease = copies.after(make_region, leased, *HOSTS)
    drain(region)
    undisturbed = outcome(region)
    [elsewhere] = region.aggregate_of(lease)
    assert seen(region) == ({elsewhere}, [])
    for number in profile.steps():
        region, lease = copies.after(make_region, leased, *HOSTS)
        if not killed(region, number, drain):
            break
        # Work that was begun goes on before the operator asks again.
        look(region)
        region.now += minutes(0.1)
        drain(region)
        assert outcome(region) == undisturbed
    assert number >= 3


def test_nothing_leaves_a_host_whose_drain_was_killed_at_once(make_region):
    region, lease = copies.after(make_region, leased, *HOSTS)
    assert killed(region, 1, drain)
    outcome(region)
    assert region.aggregate_of(lease) == {'one'}
    assert moves_asked_for(region) == 0
    [host] = region.hosts.find(objects.HostQuery(name='one'))
    assert host.bookable


def test_another_worker_moves_what_a_killed_one_has_left(make_region):
    region, _ = copies.after(make_region, drained, *HOSTS)
    undisturbed = outcome(region)
    for number in profile.steps():
        region, _ = copies.after(make_region, drained, *HOSTS)
        # The lease first gets another host in Nova, and then the servers move.
        if not killed(region, number, work, work):
            break
        assert outcome(region, region.worker('other')) == undisturbed
    assert number >= 6
