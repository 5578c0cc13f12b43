# SPDX-License-Identifier: Apache-2.0
"""Leases of type best_effort are asked for: hosts are emptied if need be."""

import pytest

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations.tests.functional.engine.best_effort import draining

GPU = {'resource_properties': '["==", "$gpu", "yes"]'}
GREEN = {'resource_properties': '["==", "$service_name", "green"]'}


def test_a_best_effort_lease_with_free_hosts_is_as_any_other(region):
    lease = region.best_effort()
    assert (lease.status, lease.lease_type) == ('PENDING', 'best_effort')
    region.work()
    assert region.status(lease) == 'ACTIVE'
    assert region.hosts_of(lease) == {'one'}
    assert region.cloud.moved == []


def test_hosts_are_emptied_for_a_best_effort_lease_without_free_ones(region):
    lease = region.best_effort(minimum=2)
    assert lease.status == 'IN_PROGRESS'
    region.work()
    region.forward(until=1)
    assert region.status(lease) == 'ACTIVE'
    assert region.see(lease).status_reason is None
    assert region.hosts_of(lease) == {'one', 'green'}
    assert region.aggregate_of(lease) == {'one', 'green'}
    assert region.cloud.moved == [('0 of green', 'green')]
    assert region.cloud.instances['0 of green'].host == 'away'
    assert region.fenced() == {'green'}
    assert 'green' in region.cloud.marked
    assert region.told(lease)[:2] == ['create', 'event.start_lease']
    assert draining.findings(region) == []


def test_too_few_are_refused_at_once_and_nothing_is_kept(region):
    with pytest.raises(
        exception.NotEnoughResources,
        match='1 host matches, 0 are taken in this window, 4 wanted; 2 others '
        'could be emptied, which is too few',
    ):
        region.best_effort(minimum=4)
    assert list(region.lease_lists.find(objects.LeaseQuery())) == []
    draining.assert_given_back(region, 'green', 'red')


def test_only_drainable_hosts_count_that_match(region):
    draining.fill_pool(region)
    lease = region.best_effort(**GREEN)
    region.forward(until=1)
    assert region.hosts_of(lease) == {'green'}
    with pytest.raises(exception.NotEnoughResources, match='0 others'):
        region.best_effort(**GREEN)


def test_properties_of_drainable_hosts_are_set_as_those_of_any_host(region):
    draining.fill_pool(region)
    region.hosts.update(
        draining.host(region, 'red').id, {'gpu': 'yes'}, region.now
    )
    lease = region.best_effort(**GPU)
    region.forward(until=1)
    assert region.hosts_of(lease) == {'red'}


def test_no_host_is_emptied_where_no_aggregate_is_named(make_region):
    region = make_region('one')
    region.add_host('away', enrol=False)
    region.cloud.members = {'away'}
    draining.fill_pool(region)
    with pytest.raises(exception.NotEnoughResources):
        region.best_effort()


def test_no_host_is_emptied_without_credentials_to_move_servers(region):
    draining.fill_pool(region)
    region.cloud.trusted = False
    with pytest.raises(exception.NotEnoughResources):
        region.best_effort()


def test_a_best_effort_lease_starts_now_and_not_later(region):
    with pytest.raises(exception.InvalidInput, match='starts now'):
        region.lease_of(
            (objects.HOST, {'min': 1, 'max': 1}),
            start=5,
            lease_type='best_effort',
        )


def test_an_aggregate_is_looked_at_when_a_lease_asks(region):
    draining.fill_pool(region)
    for name in ('green', 'red'):
        region.cloud.fail(name)
    region.look()
    region.cloud.members.add('blue')
    region.add_host('blue', enrol=False)
    lease = region.best_effort()
    region.forward(until=1)
    assert region.hosts_of(lease) == {'blue'}
