# SPDX-License-Identifier: Apache-2.0
"""Hosts that were emptied for a lease are given back after it."""

import pytest

from nova_reservations import exception
from nova_reservations.testing.region import minutes
from nova_reservations.tests.functional.engine.best_effort import draining


def test_hosts_go_back_at_the_end_to_where_they_came_from(region):
    lease = region.best_effort(minimum=2)
    region.forward(until=59)
    assert region.fenced() == {'green'}
    region.forward(until=61)
    assert region.status(lease) == 'TERMINATED'
    draining.assert_given_back(region, 'green', 'red')
    assert region.cloud.pool == {'one'}
    assert not draining.host(region, 'green').reservable


def test_an_active_one_that_is_deleted_gives_them_back(region):
    lease = region.best_effort(minimum=2)
    region.forward(until=10)
    region.delete(lease)
    region.forward(until=11)
    draining.assert_given_back(region, 'green', 'red')


def test_an_active_lease_can_be_extended_with_its_hosts(region):
    lease = region.best_effort(minimum=2)
    region.forward(until=10)
    region.change(lease, end=80)
    region.forward(until=70)
    assert region.status(lease) == 'ACTIVE'
    assert region.hosts_of(lease) == {'one', 'green'}


def test_hosts_of_a_best_effort_lease_are_for_no_other_meanwhile(region):
    lease = region.best_effort(minimum=3)
    region.forward(until=1)
    assert region.hosts_of(lease) == {'one', 'green', 'red'}
    with pytest.raises(exception.NotEnoughResources):
        region.lease(start=0, end=10)
    with pytest.raises(exception.NotEnoughResources):
        region.best_effort()
    # After the lease, the host of the pool is free for others; drainable
    # hosts are not.
    assert region.hosts_of(region.lease(start=100, end=110)) == {'one'}
    with pytest.raises(exception.NotEnoughResources):
        region.lease(start=100, end=110)


def test_a_host_that_fails_is_replaced_and_given_back_when_it_is_empty(region):
    lease = region.best_effort(minimum=2)
    region.forward(until=1)
    region.add_host('two')
    region.cloud.fail('green')
    region.look()
    assert region.aggregate_of(lease) == {'one', 'two'}
    region.now += minutes(1)
    region.look()
    region.soon('drainable_hosts')
    region.work()
    draining.assert_given_back(region, 'green')
