# SPDX-License-Identifier: Apache-2.0
"""A worker is killed before each step of a lease of hosts and networks. The
final state must be that of a run without a kill.
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
    """A start that is refused, as another project has the second VLAN."""
    lease = start(region)
    segments.take(region, 102)
    return lease


def end(region):
    """An end while a server of the lease has two ports."""
    lease = region.lease_of(HOST, asked(101))
    region.work()
    test_networks.let_in(region, lease, 'server')
    segments.plug(region, 101, 'a', 'lessee', 'compute:nova', 'server')
    segments.plug(region, 101, 'b', 'lessee', 'compute:nova', 'server')
    region.now += minutes(60)
    return lease


def healing(region):
    """A VLAN that another project has taken; no monitor has seen that yet."""
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
        # The id of the lease decides which of two equal VLANs it gets.
        lambda region: there(region).values(),
    )
