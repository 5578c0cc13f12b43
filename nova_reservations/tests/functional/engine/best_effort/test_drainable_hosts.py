# SPDX-License-Identifier: Apache-2.0
"""Drainable hosts follow the aggregate, and are no hosts of the pool."""

import dataclasses

import pytest

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations import ports
from nova_reservations.engine.emptying import drainable_hosts
from nova_reservations.tests.functional.engine.best_effort import draining

GPU = {'resource_properties': '["==", "$gpu", "yes"]'}


def test_drainable_hosts_are_shown_as_hosts_that_nobody_can_lease(region):
    assert not draining.host(region, 'green').reservable
    with pytest.raises(exception.NotEnoughResources):
        region.lease(minimum=2)


def test_drainable_hosts_follow_the_aggregate(region):
    region.cloud.members.remove('green')
    region.soon('drainable_hosts')
    region.work()
    assert region.hosts.find(objects.HostQuery(name='green')) == []
    assert draining.host(region, 'red').role == 'drainable'


def test_a_taken_host_stays_until_it_is_given_back(region):
    lease = draining.begun(region)
    region.cloud.members.remove('green')
    region.soon('drainable_hosts')
    region.work()
    region.cloud.finish_moves()
    region.forward(until=0.2)
    assert region.hosts_of(lease) == {'one', 'green'}
    region.forward(until=61)
    region.soon('drainable_hosts')
    region.work()
    assert region.hosts.find(objects.HostQuery(name='green')) == []
    assert 'green' not in region.cloud.marked


def test_their_facts_are_kept_true(region):
    known = region.cloud.known['green']
    region.cloud.known['green'] = dataclasses.replace(
        known, vcpus=99, provider_generation=known.provider_generation + 1
    )
    region.soon('drainable_hosts')
    region.work()
    assert draining.host(region, 'green').facts.vcpus == 99


def test_a_drainable_host_that_is_enrolled_is_of_the_pool(region):
    for server in list(region.cloud.instances):
        del region.cloud.instances[server]
    enrolled = region.enrol('green', gpu='yes')
    assert (enrolled.role, enrolled.reservable) == ('pool', True)
    region.soon('drainable_hosts')
    region.work()
    assert draining.host(region, 'green').role == 'pool'
    assert region.hosts_of(region.lease(**GPU)) == {'green'}


def test_a_taken_host_can_not_be_enrolled(region):
    lease = draining.begun(region)
    with pytest.raises(exception.HostInUse, match=lease.id):
        region.enrol('green')


def test_a_drainable_host_can_not_be_removed_from_the_pool(region):
    with pytest.raises(exception.HostInUse, match='aggregate drainable'):
        region.hosts.enrolment.remove(
            draining.host(region, 'green').id, region.now
        )


def test_a_host_that_could_not_be_enrolled_is_drainable_again(region):
    with pytest.raises(exception.HostInUse):
        region.enrol('green')
    region.work()
    assert draining.host(region, 'green').role == 'drainable'
    draining.assert_given_back(region, 'green')


def test_a_mark_that_was_lost_or_left_is_mended(region):
    draining.begun(region)
    region.cloud.marked.discard('green')
    region.cloud.marked.add('red')
    assert len(draining.findings(region)) == 2
    region.soon('drainable_hosts')
    region.work()
    assert draining.findings(region) == []
    assert region.cloud.marked == {'one', 'green'}


def test_an_audit_tells_of_hosts_that_are_not_given_back(region):
    lease = draining.begun(region)
    region.delete(lease)
    region.forward(until=0.2)
    (problem,) = draining.findings(region)
    assert 'Host green is not given back yet' in problem


def test_an_order_is_for_one_host():
    """The same server may later be on the host to which it was moved."""
    one, two = (
        objects.Resource(number, objects.HOST, name, name)
        for number, name in enumerate(('one', 'two'))
    )
    assert drainable_hosts.key('lease', one) != drainable_hosts.key(
        'lease', two
    )
    assert isinstance(drainable_hosts.key('lease', one), ports.RequestKey)
