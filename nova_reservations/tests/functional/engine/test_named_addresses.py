# SPDX-License-Identifier: Apache-2.0
"""Addresses that were asked for by name, and that somebody else has."""

import pytest

from nova_reservations import exception
from nova_reservations.api.views import leases as views
from nova_reservations.testing import addresses
from nova_reservations.testing.addresses import asked
from nova_reservations.testing.addresses import there
from nova_reservations.types.neutron import fake_networks


@pytest.fixture
def region(make_region):
    """A region with three addresses."""
    region = make_region(types=addresses.TYPES, monitors=addresses.MONITORS)
    addresses.enrol(region, 101, 102, 103)
    return region


@pytest.fixture(params=['before the start', 'at the start', 'later'])
def taken(request, region):
    """A lease of 102 and another address, and the id of the floating IP of
    somebody who has taken 102."""
    start = 5 if request.param == 'before the start' else 0
    lease = region.lease_of(asked(2, 102), start=start)
    if request.param == 'later':
        region.work()
        [ours] = [
            made.id
            for made in region.cloud.floating_ips.values()
            if made.address == '203.0.113.102'
        ]
        del region.cloud.floating_ips[ours]
    stranger = addresses.take(region, 102)
    if request.param != 'at the start':
        region.look()
    if request.param == 'before the start':
        region.forward(until=6)
    region.work()
    return lease, stranger


def shown(region, lease):
    return views.show(region.see(lease), lambda reservation: {}, in_full=False)


def mine(region):
    return {
        last for last, project in there(region).items() if project == 'lessee'
    }


def test_an_address_asked_for_by_name_is_not_replaced(region, taken):
    lease, _ = taken
    seen = shown(region, lease)
    assert seen['status'] == 'ACTIVE'
    assert seen['reservations'][0]['missing_resources']
    assert not seen['reservations'][0]['resources_changed']
    assert '203.0.113.102' in seen['status_reason']
    assert len(mine(region)) == 1
    assert there(region)[102] == 'other'


def test_an_address_that_comes_back_is_its_leases_again(region, taken):
    lease, stranger = taken
    region.cloud.network_ports[(fake_networks.EXTERNAL, '203.0.113.102')] = 'p'
    del region.cloud.floating_ips[stranger]
    region.look()
    assert len(mine(region)) == 1
    region.cloud.network_ports.clear()
    region.look()
    region.work()
    assert len(mine(region)) == 2
    assert 102 in mine(region)
    seen = shown(region, lease)
    assert seen['status_reason'] is None
    assert not seen['degraded']


def test_the_owner_can_give_up_the_name(region, taken):
    lease, _ = taken
    with pytest.raises(exception.NotEnoughResources, match='by name'):
        region.services.healing.replace_failed(lease.id, region.now)
    region.change(lease, required_floatingips=[])
    region.look()
    region.work()
    assert len(mine(region)) == 2
    assert shown(region, lease)['status_reason'] is None


def test_an_address_beside_the_named_one_is_replaced(region):
    lease = region.lease_of(asked(2, 102))
    region.work()
    [beside] = mine(region) - {102}
    region.cloud.floating_ips.clear()
    addresses.take(region, beside)
    region.look()
    region.work()
    assert mine(region) == {101, 102, 103} - {beside}
    assert not region.see(lease).reservations[0].missing_resources


def test_a_port_at_a_named_address_is_found_at_the_start(region):
    lease = region.lease_of(asked(1, 102))
    region.cloud.network_ports[(fake_networks.EXTERNAL, '203.0.113.102')] = 'p'
    region.work()
    assert region.status(lease) == 'ACTIVE'
    assert '203.0.113.102' in shown(region, lease)['status_reason']
