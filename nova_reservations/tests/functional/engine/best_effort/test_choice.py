# SPDX-License-Identifier: Apache-2.0
"""The hosts that are emptied for a lease, and those that are not."""

import dataclasses

import pytest

from nova_reservations.tests.functional.engine.best_effort import draining


def test_the_cheapest_hosts_are_emptied(make_clouds):
    region = make_clouds('green', servers=3)
    region.add_drainable('red', servers=1)
    region.add_drainable('blue', servers=2)
    lease = region.best_effort(minimum=3)
    region.forward(until=1)
    assert region.hosts_of(lease) == {'one', 'red', 'blue'}


def test_the_strategy_is_the_one_that_is_configured(make_clouds):
    region = make_clouds(
        'green', 'red', overrides={'best_effort_strategy': 'by_state'}
    )
    region.cloud.particulars['0 of green'] = {'pinned': True}
    lease = region.best_effort(minimum=2)
    region.forward(until=1)
    assert region.hosts_of(lease) == {'one', 'red'}


def test_a_host_without_servers_costs_nothing(make_clouds):
    region = make_clouds('green')
    region.add_drainable('red', servers=0)
    lease = region.best_effort(minimum=2)
    region.forward(until=1)
    assert region.hosts_of(lease) == {'one', 'red'}
    assert region.cloud.moved == []


def set_server(region, name, **changes):
    region.cloud.instances[name] = dataclasses.replace(
        region.cloud.instances[name], **changes
    )


@pytest.mark.parametrize(
    'changes',
    [{'state': 'error'}, {'state': 'resized'}, {'task': 'rebuilding'}],
)
def test_no_host_is_chosen_with_a_server_that_can_not_be_moved(
    region, changes
):
    set_server(region, '0 of green', **changes)
    lease = region.best_effort(minimum=2)
    region.forward(until=1)
    assert region.hosts_of(lease) == {'one', 'red'}


def test_a_host_that_has_failed_is_not_chosen(region):
    region.cloud.fail('green')
    region.look()
    lease = region.best_effort(minimum=2)
    region.forward(until=1)
    assert region.hosts_of(lease) == {'one', 'red'}


def test_no_server_goes_to_the_pool_or_to_a_host_that_is_emptied_too(
    make_clouds,
):
    region = make_clouds('green', 'red', servers=2)
    draining.fill_pool(region)
    lease = region.best_effort(minimum=2)
    region.forward(until=1)
    assert region.hosts_of(lease) == {'green', 'red'}
    assert {server.host for server in region.cloud.instances.values()} == {
        'away'
    }


def test_nothing_is_begun_as_long_as_servers_have_nowhere_to_go(region):
    draining.fill_pool(region)
    region.cloud.homeless |= {'0 of green', '0 of red'}
    lease = region.best_effort()
    region.forward(until=0.2)
    assert region.status(lease) == 'IN_PROGRESS'
    assert 'nowhere to go' in region.see(lease).status_reason
    assert region.cloud.writes.count('drain server') == 0
    draining.assert_given_back(region, 'green', 'red')
    region.cloud.homeless.clear()
    region.forward(until=0.4)
    assert region.status(lease) == 'ACTIVE'


def test_the_next_cheapest_is_chosen_if_that_helps(region):
    region.cloud.homeless.add('0 of green')
    lease = region.best_effort(minimum=2)
    region.forward(until=1)
    assert region.hosts_of(lease) == {'one', 'red'}


def test_servers_need_room_together(make_clouds):
    region = make_clouds('green', servers=3)
    region.cloud.room = 2
    draining.fill_pool(region)
    lease = region.best_effort()
    region.forward(until=0.2)
    assert 'nowhere to go' in region.see(lease).status_reason
    region.cloud.room = 3
    region.forward(until=0.4)
    assert region.status(lease) == 'ACTIVE'
