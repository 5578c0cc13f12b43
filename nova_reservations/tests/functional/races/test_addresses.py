# SPDX-License-Identifier: Apache-2.0
"""Many lessees ask for the last addresses, VLANs and GiB at the same time."""

from concurrent import futures
import threading

import pytest

from nova_reservations import exception
from nova_reservations.testing import addresses
from nova_reservations.testing import pools
from nova_reservations.testing import region as regions
from nova_reservations.testing import segments

LESSEES = 8


@pytest.fixture
def region(any_database):
    """Three addresses, three VLANs, and two pools of 100 GiB."""
    region = regions.Region(
        any_database.url,
        types={**addresses.TYPES, **segments.TYPES, **pools.TYPES},
    )
    addresses.enrol(region, 101, 102, 103)
    segments.enrol(region, 101, 102, 103)
    pools.enrol(region, pools.FAST, pools.SLOW)
    yield region
    region.close()


def race(region, *asked):
    """Return the leases that were granted when all lessees ask at once."""
    begin = threading.Barrier(LESSEES)

    def ask(number):
        begin.wait()
        try:
            return region.lease_of(asked, start=5, project=f'p{number}')
        except exception.NotEnoughResources:
            return None

    with futures.ThreadPoolExecutor(LESSEES) as pool:
        found = list(pool.map(ask, range(LESSEES)))
    return [lease for lease in found if lease is not None]


def test_addresses_and_vlans_are_given_to_one_lease_each(region):
    for asked in addresses.asked(1), segments.asked():
        granted = race(region, *asked)
        assert len(granted) == 3
        given = [region.hosts_of(lease) for lease in granted]
        assert len(set().union(*given)) == 3


def test_the_address_that_all_have_named_goes_to_one(region):
    [winner] = race(region, *addresses.asked(2, 102))
    assert len(region.hosts_of(winner)) == 2
    region.forward(until=5)
    there = addresses.there(region)
    assert there[102] == winner.project_id
    assert set(there.values()) == {winner.project_id}


def test_the_last_gib_are_given_once(region):
    granted = race(region, *pools.asked(40))
    assert len(granted) == 4
    given = [region.hosts_of(lease) for lease in granted]
    assert sorted(map(min, given)) == [pools.FAST] * 2 + [pools.SLOW] * 2
    region.forward(until=6)
    assert pools.there(region) == sorted(
        (lease.project_id, 40, 'available') for lease in granted
    )
