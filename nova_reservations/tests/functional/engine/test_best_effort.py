# SPDX-License-Identifier: Apache-2.0
"""Leases for which hosts are emptied: of type best_effort."""

import contextlib
import dataclasses
import datetime
import itertools

import pytest

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations import ports
from nova_reservations.db import drainable_hosts as donor_rows
from nova_reservations.db import hosts as host_rows
from nova_reservations.engine import audit
from nova_reservations.engine import drainable_hosts
from nova_reservations.testing import options
from nova_reservations.testing.region import minutes
from nova_reservations.testing.region import NOON
from nova_reservations.testing.steps import Killed
from nova_reservations.testing.steps import Steps

GPU = {'resource_properties': '["==", "$gpu", "yes"]'}
GREEN = {'resource_properties': '["==", "$service_name", "green"]'}


@pytest.fixture
def make_clouds(make_region):
    """Makes regions with one host in the pool, donors, and a place to go."""

    def make(*names, servers=1, **options):
        region = make_region(
            'one',
            best_effort_aggregate='donors',
            **{'best_effort_timeout': minutes(0.5)} | options,
        )
        region.add_host('away', enrol=False)
        region.donate(*names, servers=servers)
        return region

    return make


@pytest.fixture
def region(make_clouds):
    return make_clouds('green', 'red')


def fill(region):
    """Have the pool be full."""
    return region.lease(end=200)


def drainable(region, name):
    (found,) = region.hosts.find(objects.HostQuery(name=name))
    return found


def pool(region):
    with region.database.reader() as session:
        return host_rows.pool(session)


def assert_given_back(region, *names):
    assert region.fenced() == set()
    assert not region.cloud.marked & set(names)
    assert not pool(region) & set(names)
    assert findings(region) == []


def findings(region):
    return [
        each.problem
        for each in audit.Audit(region.database, region.cloud).findings(
            region.now
        )
    ]


# To ask for one


def test_with_free_hosts_it_is_as_any_other(region):
    lease = region.best_effort()
    assert (lease.status, lease.lease_type) == ('PENDING', 'best_effort')
    region.work()
    assert region.status(lease) == 'ACTIVE'
    assert region.hosts_of(lease) == {'one'}
    assert region.cloud.moved == []


def test_without_them_hosts_are_emptied_for_it(region):
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
    assert findings(region) == []


def test_too_few_are_refused_at_once_and_nothing_is_kept(region):
    with pytest.raises(
        exception.NotEnoughResources,
        match='1 host matches, 0 are taken in this window, 4 wanted; 2 others '
        'could be emptied, which is too few',
    ):
        region.best_effort(minimum=4)
    assert list(region.leases.find(objects.LeaseQuery())) == []
    assert_given_back(region, 'green', 'red')


def test_only_donors_count_that_match(region):
    fill(region)
    lease = region.best_effort(**GREEN)
    region.forward(until=1)
    assert region.hosts_of(lease) == {'green'}
    with pytest.raises(exception.NotEnoughResources, match='0 others'):
        region.best_effort(**GREEN)


def test_properties_of_donors_are_set_as_those_of_any_host(region):
    fill(region)
    region.hosts.update(
        drainable(region, 'red').id, {'gpu': 'yes'}, region.now
    )
    lease = region.best_effort(**GPU)
    region.forward(until=1)
    assert region.hosts_of(lease) == {'red'}


def test_no_host_is_emptied_where_no_aggregate_is_named(make_region):
    region = make_region('one')
    region.add_host('away', enrol=False)
    region.cloud.members = {'away'}
    fill(region)
    with pytest.raises(exception.NotEnoughResources):
        region.best_effort()


def test_no_host_is_emptied_without_credentials_to_move_servers(region):
    fill(region)
    region.cloud.trusted = False
    with pytest.raises(exception.NotEnoughResources):
        region.best_effort()


def test_it_starts_now_and_not_later(region):
    with pytest.raises(exception.InvalidInput, match='starts now'):
        region.lease_of(
            (objects.HOST, {'min': 1, 'max': 1}),
            start=5,
            lease_type='best_effort',
        )


def test_an_aggregate_is_looked_at_when_a_lease_asks(region):
    fill(region)
    for name in ('green', 'red'):
        region.cloud.fail(name)
    region.look()
    region.cloud.members.add('blue')
    region.add_host('blue', enrol=False)
    lease = region.best_effort()
    region.forward(until=1)
    assert region.hosts_of(lease) == {'blue'}


# Which hosts


def test_the_cheapest_hosts_are_emptied(make_clouds):
    region = make_clouds('green', servers=3)
    region.donate('red', servers=1)
    region.donate('blue', servers=2)
    lease = region.best_effort(minimum=3)
    region.forward(until=1)
    assert region.hosts_of(lease) == {'one', 'red', 'blue'}


def test_the_strategy_is_the_one_that_is_configured(make_clouds):
    # Groups of options are there once in a process.
    conf = options.defaults()
    conf.set_override('best_effort_strategy', 'by_state', group='reservations')
    region = make_clouds('green', 'red')
    conf.clear_override('best_effort_strategy', group='reservations')
    region.cloud.particulars['0 of green'] = {'pinned': True}
    lease = region.best_effort(minimum=2)
    region.forward(until=1)
    assert region.hosts_of(lease) == {'one', 'red'}


def test_a_host_without_servers_costs_nothing(make_clouds):
    region = make_clouds('green')
    region.donate('red', servers=0)
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
    fill(region)
    lease = region.best_effort(minimum=2)
    region.forward(until=1)
    assert region.hosts_of(lease) == {'green', 'red'}
    assert {server.host for server in region.cloud.instances.values()} == {
        'away'
    }


def test_nothing_is_begun_as_long_as_servers_have_nowhere_to_go(region):
    fill(region)
    region.cloud.homeless |= {'0 of green', '0 of red'}
    lease = region.best_effort()
    region.forward(until=0.2)
    assert region.status(lease) == 'IN_PROGRESS'
    assert 'nowhere to go' in region.see(lease).status_reason
    assert region.cloud.writes.count('drain server') == 0
    assert_given_back(region, 'green', 'red')
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
    fill(region)
    lease = region.best_effort()
    region.forward(until=0.2)
    assert 'nowhere to go' in region.see(lease).status_reason
    region.cloud.room = 3
    region.forward(until=0.4)
    assert region.status(lease) == 'ACTIVE'


# While it hunts


def best_effort(region, minimum=2, slow=('0 of green',), **asked):
    region.cloud.slow_servers |= set(slow)
    lease = region.best_effort(minimum=minimum, **asked)
    region.forward(until=0.1)
    assert region.status(lease) == 'IN_PROGRESS'
    return lease


def test_it_waits_for_the_servers_to_leave(region):
    lease = best_effort(region)
    assert region.see(lease).status_detail == (
        'Waiting for 1 server to leave green'
    )
    assert region.see(lease).claimed_by is None
    assert region.hosts_of(lease) == set()
    assert 'green' in region.cloud.marked
    assert 'green' in pool(region)
    assert region.hosts.is_enrolled('green')
    assert not region.hosts.is_enrolled('red')
    region.cloud.finish_moves()
    region.forward(until=0.2)
    assert region.status(lease) == 'ACTIVE'


def test_a_few_servers_are_moved_at_a_time(make_clouds):
    region = make_clouds('green', servers=20)
    fill(region)
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


def test_what_comes_free_in_the_pool_is_used_instead(region):
    holder = fill(region)
    lease = best_effort(region, minimum=1)
    region.delete(holder)
    region.forward(until=0.2)
    assert region.hosts_of(lease) == {'one'}
    # What was begun is let finish before the host is given back.
    assert region.fenced() == {'green'}
    region.cloud.finish_moves()
    region.forward(until=0.3)
    assert_given_back(region, 'green')


def test_what_is_taken_of_the_pool_meanwhile_is_made_up_for(region):
    lease = best_effort(region)
    region.lease(end=200)
    region.cloud.finish_moves()
    region.forward(until=0.3)
    assert region.hosts_of(lease) == {'green', 'red'}


def test_a_duration_begins_when_the_lease_does(region):
    lease = best_effort(region, duration=30)
    region.forward(until=0.3)
    region.cloud.finish_moves()
    region.forward(until=0.4)
    lease = region.see(lease)
    assert NOON + minutes(0.3) <= lease.start_date <= NOON + minutes(0.4)
    assert lease.end_date - lease.start_date == minutes(30)


def test_an_end_date_does_not_move(region):
    lease = best_effort(region, end=60)
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


# The end of a hunt


def test_it_is_timed_out_and_all_is_as_it_was(region):
    lease = best_effort(region)
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
    # The server is on its way, and let go.
    assert region.fenced() == {'green'}
    region.cloud.finish_moves()
    region.forward(until=0.6)
    assert_given_back(region, 'green', 'red')
    assert sorted(region.cloud.instances) == ['0 of green', '0 of red']
    region.delete(lease)
    assert list(region.leases.find(objects.LeaseQuery())) == []


def test_less_than_a_minute_left_ends_the_hunt(region):
    lease = best_effort(region, end=1.3)
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
    assert findings(region) == []


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
    assert_given_back(region, 'green', 'red')
    assert region.cloud.instances['0 of green'].host == 'green'
    # What fails for one may be tried for another.
    region.cloud.broken.clear()
    other = region.best_effort(minimum=3)
    region.forward(until=2)
    assert region.status(other) == 'ACTIVE'


def test_it_is_deleted_while_it_hunts(region):
    lease = best_effort(region)
    region.delete(lease)
    with pytest.raises(exception.NotFound):
        region.see(lease)
    region.forward(until=0.2)
    assert region.fenced() == {'green'}
    region.cloud.finish_moves()
    region.forward(until=0.3)
    assert_given_back(region, 'green', 'red')


def test_it_is_shortened_while_it_hunts(region):
    lease = best_effort(region)
    region.change(lease, end=20)
    region.cloud.finish_moves()
    region.forward(until=0.2)
    assert region.status(lease) == 'ACTIVE'
    assert region.see(lease).end_date == NOON + minutes(20.1)


def test_it_can_be_content_with_less_while_it_hunts(region):
    lease = best_effort(region)
    region.change(lease, min=1, max=1)
    region.forward(until=0.2)
    assert region.status(lease) == 'ACTIVE'
    assert region.hosts_of(lease) == {'one'}


def test_its_start_can_not_be_moved_while_it_hunts(region):
    lease = best_effort(region)
    with pytest.raises(exception.InvalidInput, match='can not be moved'):
        region.change(lease, start=5)


# The end of the lease


def test_at_its_end_hosts_go_back_to_where_they_came_from(region):
    lease = region.best_effort(minimum=2)
    region.forward(until=59)
    assert region.fenced() == {'green'}
    region.forward(until=61)
    assert region.status(lease) == 'TERMINATED'
    assert_given_back(region, 'green', 'red')
    assert region.cloud.pool == {'one'}
    assert not drainable(region, 'green').reservable


def test_an_active_one_that_is_deleted_gives_them_back(region):
    lease = region.best_effort(minimum=2)
    region.forward(until=10)
    region.delete(lease)
    region.forward(until=11)
    assert_given_back(region, 'green', 'red')


def test_one_that_is_active_can_be_extended_with_its_hosts(region):
    lease = region.best_effort(minimum=2)
    region.forward(until=10)
    region.change(lease, end=80)
    region.forward(until=70)
    assert region.status(lease) == 'ACTIVE'
    assert region.hosts_of(lease) == {'one', 'green'}


def test_its_hosts_are_for_no_other_lease_meanwhile(region):
    lease = region.best_effort(minimum=3)
    region.forward(until=1)
    assert region.hosts_of(lease) == {'one', 'green', 'red'}
    with pytest.raises(exception.NotEnoughResources):
        region.lease(start=0, end=10)
    with pytest.raises(exception.NotEnoughResources):
        region.best_effort()
    # Those of the pool are free for others then; donors are not.
    assert region.hosts_of(region.lease(start=100, end=110)) == {'one'}
    with pytest.raises(exception.NotEnoughResources):
        region.lease(start=100, end=110)


def test_one_that_fails_is_replaced_and_given_back_when_it_is_empty(region):
    lease = region.best_effort(minimum=2)
    region.forward(until=1)
    region.add_host('two')
    region.cloud.fail('green')
    region.look()
    assert region.aggregate_of(lease) == {'one', 'two'}
    region.now += minutes(1)
    region.look()
    region.soon('donors')
    region.work()
    assert_given_back(region, 'green')


# Donors


def test_donors_are_shown_as_hosts_that_nobody_can_lease(region):
    assert not drainable(region, 'green').reservable
    with pytest.raises(exception.NotEnoughResources):
        region.lease(minimum=2)


def test_they_follow_the_aggregate(region):
    region.cloud.members.remove('green')
    region.soon('donors')
    region.work()
    assert region.hosts.find(objects.HostQuery(name='green')) == []
    assert drainable(region, 'red').role == 'donor'


def test_one_that_is_taken_stays_until_it_is_given_back(region):
    lease = best_effort(region)
    region.cloud.members.remove('green')
    region.soon('donors')
    region.work()
    region.cloud.finish_moves()
    region.forward(until=0.2)
    assert region.hosts_of(lease) == {'one', 'green'}
    region.forward(until=61)
    region.soon('donors')
    region.work()
    assert region.hosts.find(objects.HostQuery(name='green')) == []
    assert 'green' not in region.cloud.marked


def test_their_facts_are_kept_true(region):
    known = region.cloud.known['green']
    region.cloud.known['green'] = dataclasses.replace(
        known, vcpus=99, provider_generation=known.provider_generation + 1
    )
    region.soon('donors')
    region.work()
    assert drainable(region, 'green').facts.vcpus == 99


def test_one_that_is_enrolled_is_of_the_pool(region):
    for server in list(region.cloud.instances):
        del region.cloud.instances[server]
    enrolled = region.enrol('green', gpu='yes')
    assert (enrolled.role, enrolled.reservable) == ('pool', True)
    region.soon('donors')
    region.work()
    assert drainable(region, 'green').role == 'pool'
    assert region.hosts_of(region.lease(**GPU)) == {'green'}


def test_one_that_is_taken_can_not_be_enrolled(region):
    lease = best_effort(region)
    with pytest.raises(exception.HostInUse, match=lease.id):
        region.enrol('green')


def test_one_can_not_be_removed_from_the_pool(region):
    with pytest.raises(exception.HostInUse, match='aggregate donors'):
        region.hosts.enrolment.remove(
            drainable(region, 'green').id, region.now
        )


def test_a_host_that_could_not_be_enrolled_is_a_donor_again(region):
    with pytest.raises(exception.HostInUse):
        region.enrol('green')
    region.work()
    assert drainable(region, 'green').role == 'donor'
    assert_given_back(region, 'green')


def test_a_mark_that_was_lost_or_left_is_mended(region):
    best_effort(region)
    region.cloud.marked.discard('green')
    region.cloud.marked.add('red')
    assert len(findings(region)) == 2
    region.soon('donors')
    region.work()
    assert findings(region) == []
    assert region.cloud.marked == {'one', 'green'}


def test_an_audit_tells_of_hosts_that_are_not_given_back(region):
    lease = best_effort(region)
    region.delete(lease)
    region.forward(until=0.2)
    (problem,) = findings(region)
    assert 'Host green is not given back yet' in problem


# Failures and crashes


def test_what_nova_does_not_answer_is_asked_again(region):
    region.fails(
        'mark', exception.CloudUnavailable(service='Placement', reason='x'), 2
    )
    lease = region.best_effort(minimum=2)
    region.forward(until=1)
    assert region.status(lease) == 'ACTIVE'


def test_what_nova_refuses_is_told(region):
    region.fails(
        'mark', exception.CloudRefused(what='Host green', reason='gone'), 99
    )
    lease = region.best_effort(minimum=2)
    region.forward(until=0.2)
    assert region.see(lease).status_detail == 'Host green was refused: gone'
    region.forward(until=0.6)
    assert region.status(lease) == 'TIMEDOUT'
    region.cloud.before = lambda step: None
    assert_given_back(region, 'green', 'red')


def test_two_hunts_do_not_take_the_same_host(make_clouds):
    region = make_clouds('green')
    fill(region)
    first = region.best_effort()
    second = region.best_effort()
    region.forward(until=0.2)

    def statuses():
        return sorted([region.status(first), region.status(second)])

    assert statuses() == ['ACTIVE', 'IN_PROGRESS']
    region.forward(until=0.6)
    assert statuses() == ['ACTIVE', 'TIMEDOUT']
    assert findings(region) == []


def test_what_one_hunt_gives_up_is_had_by_another(make_clouds):
    region = make_clouds('green')
    fill(region)
    region.cloud.slow_servers.add('0 of green')
    leases = [region.best_effort(), region.best_effort()]
    region.forward(until=0.1)
    with region.database.reader() as session:
        (taken,) = donor_rows.fenced(session)
    first, second = sorted(leases, key=lambda one: one.id != taken.fenced_for)
    region.delete(first)
    region.cloud.finish_moves()
    region.forward(until=0.4)
    assert region.hosts_of(second) == {'green'}


def killed(region, number):
    """Have a worker be killed before its step of this number; return whether
    it came so far."""

    def kill(step):
        raise Killed(step)

    with Steps(region, number, kill) as steps:
        victim = region.worker('victim')
        for _ in range(4):
            with contextlib.suppress(Killed):
                victim.tick(region.now)
            victim.drain()
            region.now += datetime.timedelta(seconds=1)
    return steps.reached


PARTS = 8
"""Of the steps, so that no test takes long on a machine that is busy."""

in_parts = pytest.mark.parametrize('part', range(1, PARTS + 1))


def in_all_places(make_clouds, part, act, check):
    """Kill the worker of a hunt at each step, act, and let another go on."""
    for number in itertools.count(part, PARTS):
        region = make_clouds(
            'green', 'red', 'blue', best_effort_timeout=minutes(5)
        )
        region.cloud.broken.add('0 of blue')
        lease = region.best_effort(minimum=3)
        if not killed(region, number):
            break
        act(region, lease)
        region.forward(until=5, by=region.worker('other'))
        check(region, lease)
    assert number > 2 * PARTS


@pytest.mark.fuzz
@in_parts
def test_another_worker_finishes_a_hunt(make_clouds, part):
    def check(region, lease):
        assert region.status(lease) == 'ACTIVE'
        assert region.hosts_of(lease) == {'one', 'green', 'red'}
        assert region.fenced() == {'green', 'red'}
        assert len(region.cloud.instances) == 3
        assert region.cloud.instances['0 of blue'].host == 'blue'
        assert findings(region) == []
        assert region.told(lease).count('event.start_lease') == 1
        region.forward(until=62)
        assert_given_back(region, 'green', 'red', 'blue')

    in_all_places(make_clouds, part, lambda region, lease: None, check)


@pytest.mark.fuzz
@in_parts
def test_another_worker_gives_back_what_a_deleted_hunt_took(make_clouds, part):
    def check(region, lease):
        assert_given_back(region, 'green', 'red', 'blue')
        assert len(region.cloud.instances) == 3
        assert region.cloud.pool == {'one'}

    in_all_places(
        make_clouds, part, lambda region, lease: region.delete(lease), check
    )


@pytest.mark.fuzz
def test_another_worker_undoes_a_hunt_that_is_timed_out(make_clouds):
    for number in itertools.count(1):
        region = make_clouds('green', 'red')
        lease = best_effort(region)
        region.now = NOON + minutes(0.5)
        if not killed(region, number):
            break
        region.cloud.finish_moves()
        region.forward(until=1.5, by=region.worker('other'))
        assert region.status(lease) == 'TIMEDOUT'
        assert_given_back(region, 'green', 'red')
        assert set(region.cloud.instances) == {'0 of green', '0 of red'}
    assert number > 2


def test_a_worker_that_wakes_late_takes_nothing(region):
    """It was about to take a host when the lease was deleted."""
    lease = region.best_effort(minimum=2)
    taking = region.database.writer

    @contextlib.contextmanager
    def writer():
        region.database.writer = taking
        region.delete(lease)
        with taking() as session:
            yield session

    servers_on = region.cloud.servers.servers_on

    def look(hosts):
        found = servers_on(hosts)
        region.database.writer = writer
        return found

    region.cloud.servers.servers_on = look
    region.forward(until=1)
    assert_given_back(region, 'green', 'red')
    assert region.cloud.moved == []


def test_an_order_is_for_one_host():
    """A server may be met again on the host that it was moved to."""
    one, two = (
        objects.Resource(number, objects.HOST, name, name)
        for number, name in enumerate(('one', 'two'))
    )
    assert drainable_hosts.order('lease', one) != drainable_hosts.order(
        'lease', two
    )
    assert isinstance(drainable_hosts.order('lease', one), ports.RequestKey)
