# SPDX-License-Identifier: Apache-2.0
"""An end releases resources one by one while it waits for the rest.

These tests are of resources other than hosts.
"""

from nova_reservations.testing import addresses
from nova_reservations.testing import pools


def test_an_address_is_free_before_another(make_region):
    region = make_region(
        'one', types=addresses.TYPES, monitors=addresses.MONITORS
    )
    addresses.enrol(region, 101, 102, 103)
    lease = region.lease_of(addresses.asked(3))
    late = region.lease_of(
        addresses.asked(1, 101), start=60, end=120, project='next'
    )
    region.work()
    region.cloud.floating_ips.clear()
    addresses.take(region, 102)
    region.forward(until=61)
    [kept] = region.hosts_of(lease)
    assert '203.0.113.102' in kept
    assert region.status(late) == 'ACTIVE'
    assert addresses.there(region) == {101: 'next', 102: 'other'}


def test_a_pool_is_free_before_another(make_region):
    region = make_region('one', types=pools.TYPES, monitors=pools.MONITORS)
    pools.enrol(region, pools.FAST, pools.SLOW)
    lease = region.lease_of(pools.asked(100, 2))
    region.work()
    attached, _ = region.cloud.volumes.made
    region.cloud.volumes.attach(attached, 'a server')
    region.forward(until=61)
    assert region.status(lease) == 'TERMINATING'
    assert len(region.hosts_of(lease)) == 1
    region.lease_of(pools.asked(100), project='another')
    region.work()
    assert pools.there(region) == [
        ('another', 100, 'available'),
        ('lessee', 100, 'in-use'),
    ]
