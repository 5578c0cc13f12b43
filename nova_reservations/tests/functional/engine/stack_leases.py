# SPDX-License-Identifier: Apache-2.0
"""Leases of stacks for tests.

Decision 0058: doc/source/decisions/0058-stacks
"""

import pytest

from nova_reservations import exception
from nova_reservations.testing import addresses
from nova_reservations.testing import pools
from nova_reservations.testing import stacks
from nova_reservations.testing.stacks import server

SERVERS = {
    'one': server('small'),
    'two': server('big'),
    'three': server({'get_param': 'flavor'}),
}


def region_of(make_region, **options):
    """Return a region with two hosts, two pools and two addresses."""
    region = make_region('one', 'two', types=stacks.TYPES, **options)
    stacks.switch_on(region, *stacks.TYPES)
    pools.enrol(region, pools.FAST, pools.SLOW)
    addresses.enrol(region, 101, 102)
    return region


def ask(region, resources=SERVERS, end_action=None, **more):
    return region.lease_of(
        stacks.asked(
            resources,
            parameters={'flavor': 'id-small'},
            end_action=end_action,
        ),
        **more,
    )


def refusal(region, resources, **more):
    with pytest.raises(exception.InvalidInput) as caught:
        ask(region, resources, **more)
    return str(caught.value)


def active(region, *args, **more):
    lease = ask(region, *args, **more)
    region.work()
    region.cloud.stacks.finish()
    region.forward(until=1)
    assert region.status(lease) == 'ACTIVE'
    return lease


def parts(region, lease):
    """Return name of a part -> its amount."""
    return {
        item.part_name: item.params['amount']
        for item in region.see(lease).reservations
        if item.part_of
    }


def sent(region):
    """Return the resources of the template that Heat was sent."""
    [found] = region.cloud.stack_templates.values()
    return found['resources']


def boot(region, lease):
    """Return a server that has found a slot of the lease."""
    slots = region.see(lease).reservations[1].id
    name = region.cloud.boot(region.cloud.free_slots(slots)[0], 'lessee')
    region.cloud.reservation_of[name] = slots
    region.access.record_server(name, slots, region.now, chosen=True)
    return name
