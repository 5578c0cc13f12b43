# SPDX-License-Identifier: Apache-2.0
"""A stored request became invalid when region_name changed. It stopped the
healing of all leases, and later requests for leases were refused. Issue 13,
item 5.
"""

import pytest

from nova_reservations import objects
from nova_reservations.db.holdings import healing
from nova_reservations.objects import states
from nova_reservations.types.servers import host
from nova_reservations.types.servers import instance

HERE = '["==", "$region", "RegionOne"]'
SLOTS = 'virtual:instance'


def rename(region):
    region.opts.set_override('region_name', 'Elsewhere', 'reservations')


def slot(**asked):
    return SLOTS, {
        'vcpus': 1,
        'memory_mb': 1024,
        'disk_gb': 1,
        'amount': 1,
        'affinity': None,
        'resource_properties': '',
        **asked,
    }


def heal(region):
    region.soon(healing.MONITOR)
    region.soon(healing.HEAL)
    region.look()


@pytest.fixture
def region(make_region):
    region = make_region(
        'one',
        'two',
        'three',
        types={
            objects.HOST: host.PhysicalHost,
            SLOTS: instance.VirtualInstance,
        },
        best_effort_aggregate='drainable',
    )
    yield region
    region.opts.clear_override('region_name', 'reservations')


def test_other_leases_are_healed(region):
    odd = region.active_lease(hypervisor_properties=HERE)
    plain = region.active_lease()
    rename(region)
    [failed] = region.hosts_of(plain)
    region.cloud.fail(failed)
    heal(region)
    assert region.hosts_of(plain) - {failed}
    assert region.see(plain).reservations[0].resources_changed
    assert region.status(odd) == states.Lease.ACTIVE


def test_a_host_that_the_odd_lease_has_lost_is_seen_and_not_replaced(region):
    odd = region.active_lease(hypervisor_properties=HERE)
    rename(region)
    [failed] = region.hosts_of(odd)
    region.cloud.fail(failed)
    heal(region)
    assert region.see(odd).reservations[0].missing_resources
    assert region.hosts_of(odd) == {failed}


def test_the_odd_lease_ends_like_others(region):
    odd = region.active_lease(hypervisor_properties=HERE)
    rename(region)
    region.forward(until=61)
    assert region.status(odd) == states.Lease.TERMINATED


def test_an_odd_lease_that_waits_stands_in_nobodys_way(region):
    region.active_lease(minimum=3, end=1)
    odd = region.retry(hypervisor_properties=HERE, end=500, retries=60)
    plain = region.retry(end=500)
    rename(region)
    region.forward(until=2)
    assert region.status(plain) == states.Lease.ACTIVE
    region.forward(until=61)
    assert region.status(odd) == states.Lease.ERROR


def test_other_open_reservations_of_its_project_can_be_used(region):
    for properties in (HERE, ''):
        region.lease_of(
            slot(resource_properties=properties, consume=objects.OPEN)
        )
    region.work()
    rename(region)
    assert len(region.access.open_to('lessee')) == 1


def test_a_best_effort_lease_that_asks_for_it_fails(region):
    region.add_host('away', enrol=False)
    region.add_drainable('four')
    region.active_lease(minimum=3)
    lease = region.best_effort(hypervisor_properties=HERE)
    rename(region)
    region.work()
    assert region.status(lease) == states.Lease.ERROR
    assert 'Elsewhere' in region.see(lease).status_reason
