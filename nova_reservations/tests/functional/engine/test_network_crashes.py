# SPDX-License-Identifier: Apache-2.0
"""A worker is killed before each step of a lease of hosts and networks.

What there is at the end must be what there is when nobody is killed.
"""

import pytest

from nova_reservations.testing import segments
from nova_reservations.testing.region import minutes
from nova_reservations.testing.segments import asked
from nova_reservations.testing.segments import there
from nova_reservations.tests.functional.engine import neutron_crashes
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
    def tell():
        region = make_region(
            'one', types=segments.TYPES, monitors=segments.MONITORS
        )
        segments.enrol(region, 101, 102)
        story(region)
        return region

    neutron_crashes.each_is_followed(
        tell,
        lambda region: region.cloud.segment_networks.values(),
        # Which of two equal VLANs it gets depends on the id of the lease.
        lambda region: there(region).values(),
    )
