# SPDX-License-Identifier: Apache-2.0
"""Many lessees ask for the last units of a resource at the same moment."""

from collections import Counter
from concurrent import futures
import threading

import pytest

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations.testing import region as regions
from nova_reservations.tests.functional.engine import pools

CROWD = 6


class Threads:
    """Threads, each with services of its own on one database."""

    def __init__(self, url):
        self.regions = [
            regions.Region(url, types={pools.POOL: pools.Pool}, monitors=[])
            for _ in range(CROWD)
        ]
        self.first = self.regions[0]

    def add(self, region, total):
        return region.resources.add(
            pools.POOL, 'pool', region.now, {pools.GIB: total}
        )

    def at_once(self, act):
        """Act in each thread at the same moment; count the outcomes."""
        barrier = threading.Barrier(CROWD)

        def run(numbered):
            number, region = numbered
            barrier.wait()
            try:
                act(number, region)
            except exception.ReservationsError as error:
                return type(error).__name__
            return 'done'

        with futures.ThreadPoolExecutor(CROWD) as pool:
            return Counter(pool.map(run, enumerate(self.regions)))

    def promised(self):
        [pool] = self.first.resources.find(objects.ResourceQuery(pools.POOL))
        held = self.first.resources.allocations(pool.id, self.first.now)
        return sum(each.amounts[pools.GIB] for each in held)

    def close(self):
        for region in self.regions:
            region.close()


@pytest.fixture
def crowd(any_database):
    crowd = Threads(any_database.url)
    yield crowd
    crowd.close()


def lease(region):
    region.lease_of((pools.POOL, {'size': 1}), start=60, end=120)


def test_the_last_units_are_promised_once(crowd):
    crowd.add(crowd.first, 3)
    answers = crowd.at_once(lambda _, region: lease(region))
    assert answers == {'done': 3, 'NotEnoughResources': 3}
    assert crowd.promised() == 3


def test_all_of_it_or_shares_of_it_are_promised_and_never_both(crowd):
    crowd.add(crowd.first, CROWD)

    def act(number, region):
        if number % 2:
            region.lease_of((pools.POOL, {}), start=60, end=120)
        else:
            lease(region)

    answers = crowd.at_once(act)
    [pool] = crowd.first.resources.find(objects.ResourceQuery(pools.POOL))
    held = crowd.first.resources.allocations(pool.id, crowd.first.now)
    assert len(held) == answers['done']
    if all(each.amounts for each in held):
        assert answers == {'done': 3, 'NotEnoughResources': 3}
    else:
        assert answers == {'done': 1, 'NotEnoughResources': CROWD - 1}


def test_amounts_that_are_promised_meanwhile_are_not_taken_away(crowd):
    pool = crowd.add(crowd.first, 4)

    def act(number, region):
        if number % 2:
            lease(region)
        else:
            region.resources.update(pool.id, region.now, {pools.GIB: 2})

    answers = crowd.at_once(act)
    left = crowd.first.resources.get(pool.id).inventories[pools.GIB]
    assert crowd.promised() <= left
    assert answers.keys() <= {'done', 'NotEnoughResources', 'ResourceInUse'}
    assert answers['done'] >= 3


def test_a_name_is_given_once(crowd):
    answers = crowd.at_once(
        lambda number, region: region.resources.add(
            pools.POOL, 'pool', region.now, uuid=f'one of its own {number}'
        )
    )
    assert answers == {'done': 1, 'ResourceExists': CROWD - 1}


def test_a_resource_that_is_leased_is_not_removed(crowd):
    pool = crowd.add(crowd.first, CROWD)

    def act(number, region):
        if number == 1:
            region.resources.remove(pool.id)
        else:
            lease(region)

    answers = crowd.at_once(act)
    found = crowd.first.resources.find(objects.ResourceQuery(pools.POOL))
    if found:
        assert answers == {'done': CROWD - 1, 'ResourceInUse': 1}
        assert crowd.promised() == CROWD - 1
    else:
        assert answers == {'done': 1, 'NotEnoughResources': CROWD - 1}
