# SPDX-License-Identifier: Apache-2.0
"""A worker is killed before each step of a lease of hosts and networks.

What there is at the end must be what there is when nobody is killed.
"""

import contextlib
import itertools

import pytest

from nova_reservations.testing import segments
from nova_reservations.testing.region import minutes
from nova_reservations.testing.segments import asked
from nova_reservations.testing.segments import there
from nova_reservations.testing.steps import Steps
from nova_reservations.tests.functional.engine import test_crashes
from nova_reservations.tests.functional.engine import test_networks

pytestmark = pytest.mark.fuzz

HOST = test_networks.HOST


def start(region):
    return region.lease_of(HOST, asked(101), asked(102))


def refused_start(region):
    """The second VLAN is somebody else's."""
    lease = start(region)
    segments.take(region, 102)
    return lease


def end(region):
    """Ports of a server, and one that goes later."""
    lease = region.lease_of(HOST, asked(101))
    region.work()
    test_networks.let_in(region, lease, 'server')
    segments.plug(region, 101, 'a', 'lessee', 'compute:nova', 'server')
    segments.plug(region, 101, 'b', 'lessee', 'compute:nova', 'server')
    region.now += minutes(60)
    return lease


def healing(region):
    """A VLAN that somebody has taken, and nobody has seen it."""
    lease = region.lease_of(asked())
    region.work()
    [vlan] = there(region)
    region.cloud.segment_networks.clear()
    segments.take(region, vlan)
    region.soon('monitor')
    return lease


@pytest.mark.parametrize('story', [start, refused_start, end, healing])
def test_another_worker_finishes_what_a_killed_one_began(make_region, story):
    def told():
        region = make_region(
            'one', types=segments.TYPES, monitors=segments.MONITORS
        )
        segments.enrol(region, 101, 102)
        story(region)
        return region

    region = told()
    region.work()
    undisturbed = outcome(region)
    for number in itertools.count(1):
        region = told()
        with Steps(region, number, test_crashes.kill) as steps:
            victim = region.worker('victim')
            with contextlib.suppress(test_crashes.Killed):
                victim.tick(region.now)
            victim.drain()
        if not steps.reached:
            break
        assert outcome(region, region.worker('other')) == undisturbed
    assert number >= 3


def outcome(region, worker=None):
    """Return what is left in Neutron when all claims are over, and all there
    is at last."""
    for pause in (0.6, 0.1):
        region.now += minutes(pause)
        region.work(worker)
    # Which of two equal VLANs it gets depends on the id of the lease.
    now = sorted(there(region).values())
    assert all(
        each.is_tagged or each.project_id == 'other'
        for each in region.cloud.segment_networks.values()
    )
    # What it had to leave is nobody's who waits for its end.
    region.look()
    region.forward(until=65, by=worker)
    leases = region.picture()['leases'].values()
    left = sorted(there(region).values())
    return now, left, [lease['status'] for lease in leases]
