# SPDX-License-Identifier: Apache-2.0
"""Many ask for the last addresses and VLANs at the same time."""

from concurrent import futures
import threading

import pytest

from nova_reservations import exception
from nova_reservations.testing import addresses
from nova_reservations.testing import region as regions
from nova_reservations.testing import segments

LESSEES = 8


@pytest.fixture
def region(any_database):
    """Three addresses, and three VLANs."""
    region = regions.Region(
        any_database.url, types={**addresses.TYPES, **segments.TYPES}
    )
    addresses.enrol(region, 101, 102, 103)
    segments.enrol(region, 101, 102, 103)
    yield region
    region.close()


def race(region, *asked):
    """Return the leases that were granted to those who ask at once."""
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


def test_each_address_and_each_vlan_is_given_to_one(region):
    for asked in addresses.asked(1), segments.asked():
        granted = race(region, *asked)
        assert len(granted) == 3
        given = [region.hosts_of(lease) for lease in granted]
        assert len(set().union(*given)) == 3


def test_one_gets_the_address_that_all_have_named(region):
    [winner] = race(region, *addresses.asked(2, 102))
    assert len(region.hosts_of(winner)) == 2
    region.forward(until=5)
    there = addresses.there(region)
    assert there[102] == winner.project_id
    assert set(there.values()) == {winner.project_id}
