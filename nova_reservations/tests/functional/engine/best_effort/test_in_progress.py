# SPDX-License-Identifier: Apache-2.0
"""A lease while its hosts are being emptied, until it has them or gives up."""

import pytest

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations.db.resources import drainable_hosts as drainable_rows
from nova_reservations.testing.region import minutes
from nova_reservations.testing.region import NOON
from nova_reservations.tests.functional.engine.best_effort import draining

GREEN = {'resource_properties': '["==", "$service_name", "green"]'}


def test_a_lease_waits_for_the_servers_to_leave(region):
    lease = draining.begun(region)
    assert region.see(lease).status_detail == (
        'Waiting for 1 server to leave green'
    )
    assert region.see(lease).claimed_by is None
    assert region.hosts_of(lease) == set()
    assert 'green' in region.cloud.marked
    assert 'green' in draining.pool(region)
    assert region.hosts.is_enrolled('green')
    assert not region.hosts.is_enrolled('red')
    region.cloud.finish_moves()
    region.forward(until=0.2)
    assert region.status(lease) == 'ACTIVE'


def test_a_few_servers_are_moved_at_a_time(make_clouds):
    region = make_clouds('green', servers=20)
    draining.fill_pool(region)
    names = set(region.cloud.instances)
    region.cloud.slow_servers |= names
    lease = region.best_effort()
    region.forward(until=0.1)

    def moving():
        return [
            server
            for server in region.cloud.instances.values()
            if server.task == 'migrating'
        ]

    assert len(moving()) == 8
    region.cloud.finish_moves()
    region.cloud.slow_servers |= names
    region.forward(until=0.2)
    assert len(moving()) == 8
    region.cloud.finish_moves()
    region.forward(until=0.3)
    assert region.status(lease) == 'ACTIVE'
    assert len(region.cloud.moved) == 20


def test_a_host_that_comes_free_in_the_pool_is_used_instead(region):
    holder = draining.fill_pool(region)
    lease = draining.begun(region, minimum=1)
    region.delete(holder)
    region.forward(until=0.2)
    assert region.hosts_of(lease) == {'one'}
    # A move that has begun finishes before its host is given back.
    assert region.fenced() == {'green'}
    region.cloud.finish_moves()
    region.forward(until=0.3)
    draining.assert_given_back(region, 'green')


def test_a_host_of_the_pool_that_is_taken_meanwhile_is_made_up_for(region):
    lease = draining.begun(region)
    region.lease(end=200)
    region.cloud.finish_moves()
    region.forward(until=0.3)
    assert region.hosts_of(lease) == {'green', 'red'}


def test_a_duration_begins_when_the_lease_does(region):
    lease = draining.begun(region, duration=30)
    region.forward(until=0.3)
    region.cloud.finish_moves()
    region.forward(until=0.4)
    lease = region.see(lease)
    assert NOON + minutes(0.3) <= lease.start_date <= NOON + minutes(0.4)
    assert lease.end_date - lease.start_date == minutes(30)


def test_an_end_date_does_not_move(region):
    lease = draining.begun(region, end=60)
    region.forward(until=0.3)
    region.cloud.finish_moves()
    region.forward(until=0.4)
    lease = region.see(lease)
    assert lease.start_date >= NOON + minutes(0.3)
    assert lease.end_date == NOON + minutes(60)


def test_a_lease_of_hosts_with_other_requirements_for_each(region):
    lease = region.lease_of(
        (objects.HOST, {'min': 1, 'max': 1, **GREEN}),
        (objects.HOST, {'min': 1, 'max': 1}),
        (objects.HOST, {'min': 1, 'max': 1}),
        lease_type='best_effort',
    )
    region.forward(until=1)
    assert region.status(lease) == 'ACTIVE'
    assert region.hosts_of(lease) == {'one', 'green', 'red'}
    assert region.aggregate_of(lease) == {'green'}


# The end of the search


def test_a_lease_is_timed_out_and_all_is_as_it_was(region):
    lease = draining.begun(region)
    region.forward(until=0.45)
    assert region.status(lease) == 'IN_PROGRESS'
    region.forward(until=0.5)
    assert region.status(lease) == 'TIMEDOUT'
    lease = region.see(lease)
    assert lease.status_detail == (
        'No hosts could be emptied within 30 seconds. The last was: Waiting '
        'for 1 server to leave green'
    )
    assert lease.reservations[0].status == 'error'
    assert lease.event('start_lease').status == 'ERROR'
    assert lease.due_at is None
    assert region.told(lease) == ['create', 'timedout']
    # The server's move has begun, and is allowed to finish.
    assert region.fenced() == {'green'}
    region.cloud.finish_moves()
    region.forward(until=0.6)
    draining.assert_given_back(region, 'green', 'red')
    assert sorted(region.cloud.instances) == ['0 of green', '0 of red']
    region.delete(lease)
    assert list(region.lease_lists.find(objects.LeaseQuery())) == []


def test_less_than_a_minute_left_ends_the_search(region):
    lease = draining.begun(region, end=1.3)
    region.forward(until=0.25)
    assert region.status(lease) == 'IN_PROGRESS'
    region.forward(until=0.35)
    assert region.status(lease) == 'TIMEDOUT'
    assert 'less than a minute' in region.see(lease).status_reason


def test_a_move_that_fails_has_another_host_emptied(region):
    region.cloud.broken.add('0 of green')
    lease = region.best_effort(minimum=2)
    region.forward(until=1)
    assert region.status(lease) == 'ACTIVE'
    assert region.hosts_of(lease) == {'one', 'red'}
    assert region.fenced() == {'red'}
    assert 'green' not in region.cloud.marked
    assert region.cloud.instances['0 of green'].host == 'green'
    assert draining.findings(region) == []


def test_a_move_that_fails_ends_the_hunt_if_there_is_no_other(region):
    region.cloud.broken.add('0 of green')
    lease = region.best_effort(minimum=3)
    region.forward(until=1)
    assert region.status(lease) == 'ERROR'
    assert region.see(lease).status_detail == (
        'Not enough hosts can be emptied; server 0 of green stays on host '
        'green: Nova has failed to move it'
    )
    assert region.told(lease) == ['create', 'event.start_lease.error']
    draining.assert_given_back(region, 'green', 'red')
    assert region.cloud.instances['0 of green'].host == 'green'
    # Another lease may try the host with which the first one failed.
    region.cloud.broken.clear()
    other = region.best_effort(minimum=3)
    region.forward(until=2)
    assert region.status(other) == 'ACTIVE'


def test_a_lease_is_deleted_while_its_hosts_are_emptied(region):
    lease = draining.begun(region)
    region.delete(lease)
    with pytest.raises(exception.NotFound):
        region.see(lease)
    region.forward(until=0.2)
    assert region.fenced() == {'green'}
    region.cloud.finish_moves()
    region.forward(until=0.3)
    draining.assert_given_back(region, 'green', 'red')


def test_a_lease_is_shortened_while_its_hosts_are_emptied(region):
    lease = draining.begun(region)
    region.change(lease, end=20)
    region.cloud.finish_moves()
    region.forward(until=0.2)
    assert region.status(lease) == 'ACTIVE'
    assert region.see(lease).end_date == NOON + minutes(20.1)


def test_a_lease_can_be_content_with_less_while_its_hosts_are_emptied(region):
    lease = draining.begun(region)
    region.change(lease, min=1, max=1)
    region.forward(until=0.2)
    assert region.status(lease) == 'ACTIVE'
    assert region.hosts_of(lease) == {'one'}


def test_the_start_can_not_be_moved_while_hosts_are_emptied(region):
    lease = draining.begun(region)
    with pytest.raises(exception.InvalidInput, match='can not be moved'):
        region.change(lease, start=5)


def test_a_request_that_nova_does_not_answer_is_sent_again(region):
    region.fails(
        'mark', exception.CloudUnavailable(service='Placement', reason='x'), 2
    )
    lease = region.best_effort(minimum=2)
    region.forward(until=1)
    assert region.status(lease) == 'ACTIVE'


def test_a_refusal_by_nova_is_told(region):
    region.fails(
        'mark', exception.CloudRefused(what='Host green', reason='gone'), 99
    )
    lease = region.best_effort(minimum=2)
    region.forward(until=0.2)
    assert region.see(lease).status_detail == 'Host green was refused: gone'
    region.forward(until=0.6)
    assert region.status(lease) == 'TIMEDOUT'
    region.cloud.before = lambda step: None
    draining.assert_given_back(region, 'green', 'red')


def test_two_hunts_do_not_take_the_same_host(make_clouds):
    region = make_clouds('green')
    draining.fill_pool(region)
    first = region.best_effort()
    second = region.best_effort()
    region.forward(until=0.2)

    def statuses():
        return sorted([region.status(first), region.status(second)])

    assert statuses() == ['ACTIVE', 'IN_PROGRESS']
    region.forward(until=0.6)
    assert statuses() == ['ACTIVE', 'TIMEDOUT']
    assert draining.findings(region) == []


def test_a_host_that_a_deleted_lease_gives_up_is_had_by_another(make_clouds):
    region = make_clouds('green')
    draining.fill_pool(region)
    region.cloud.slow_servers.add('0 of green')
    leases = [region.best_effort(), region.best_effort()]
    region.forward(until=0.1)
    with region.database.reader() as session:
        (taken,) = drainable_rows.find(session)
    first, second = sorted(leases, key=lambda one: one.id != taken.fenced_for)
    region.delete(first)
    region.cloud.finish_moves()
    region.forward(until=0.4)
    assert region.hosts_of(second) == {'green'}
