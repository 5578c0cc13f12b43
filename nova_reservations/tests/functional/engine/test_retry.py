# SPDX-License-Identifier: Apache-2.0
"""Leases that wait for capacity."""

import contextlib
import datetime
import itertools

import pytest

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations.objects import states
from nova_reservations.testing import fake_cloud
from nova_reservations.testing.region import minutes
from nova_reservations.testing.region import NOON
from nova_reservations.testing.steps import Killed
from nova_reservations.testing.steps import Steps
from nova_reservations.tests.functional.engine.test_instances import slots
from nova_reservations.tests.functional.engine.test_instances import TYPES

GPU = {'resource_properties': '["==", "$gpu", "yes"]'}


def reason(region, lease):
    return region.see(lease).status_reason


def test_with_capacity_a_retry_lease_is_as_any_other(region):
    lease = region.retry()
    assert lease.status == 'PENDING'
    region.work()
    assert region.status(lease) == 'ACTIVE'


def test_without_it_is_kept_and_says_until_when_it_waits(make_region):
    region = make_region('one')
    region.lease(end=120)
    lease = region.retry(retries=3)
    assert (lease.status, lease.lease_type) == ('CREATING', 'retry')
    assert lease.status_reason == (
        'Not enough hosts available: 1 host matches, 1 is taken in this '
        'window, 1 wanted. It is tried again as soon as anything comes free '
        'that it could have, until 2030-01-01 12:03:00 UTC'
    )
    assert region.hosts_of(lease) == set()
    assert region.aggregate_of(lease) is None


def test_when_its_tries_are_over_it_is_in_error_with_the_last_refusal(
    make_region,
):
    region = make_region('one')
    region.lease(end=120)
    lease = region.retry(retries=3)
    region.forward(until=2.9)
    assert region.status(lease) == 'CREATING'
    region.forward(until=3)
    assert region.status(lease) == 'ERROR'
    assert reason(region, lease) == (
        'Not enough hosts available: 1 host matches, 1 is taken in this '
        'window, 1 wanted'
    )
    assert region.see(lease).reservations[0].status == 'error'
    assert region.see(lease).due_at is None
    assert region.told(lease) == ['create', 'event.start_lease.error']


@pytest.mark.parametrize('retries', [None, 5])
def test_no_lease_is_tried_more_often_than_the_operator_allows(
    make_region, retries
):
    region = make_region('one', max_create_retries=2)
    region.lease(end=120)
    lease = region.retry(retries=retries)
    assert lease.max_retries == 2
    region.forward(until=2)
    assert region.status(lease) == 'ERROR'


def test_who_may_not_be_tried_again_is_refused_at_once(make_region):
    region = make_region('one')
    region.lease(end=120)
    with pytest.raises(exception.NotEnoughResources):
        region.retry(retries=0)


def test_only_a_retry_lease_may_say_how_often(region):
    with pytest.raises(exception.InvalidInput, match='max_retries'):
        region.lease_of((objects.HOST, {'min': 1, 'max': 1}), max_retries=3)


def test_it_is_tried_at_once_when_a_lease_ends(make_region):
    region = make_region('one')
    region.active_lease(end=20.5)
    lease = region.retry(end=60, retries=100)
    region.forward(until=20.4)
    assert region.status(lease) == 'CREATING'
    region.forward(until=20.5)
    assert region.status(lease) == 'ACTIVE'
    assert region.hosts_of(lease) == {'one'}
    assert region.see(lease).start_date == NOON + minutes(20.5)
    assert region.see(lease).end_date == NOON + minutes(60)


def frees_by_delete(region, holder):
    region.delete(holder)


def frees_by_shortening(region, holder):
    region.change(holder, end=0)


def frees_by_asking_for_less(region, holder):
    region.change(holder, min=1, max=1)


def frees_by_enrolment(region, holder):
    region.cloud.known['new'] = fake_cloud.facts('new')
    region.enrol('new')


@pytest.mark.parametrize(
    'free',
    [
        frees_by_delete,
        frees_by_shortening,
        frees_by_enrolment,
    ],
)
@pytest.mark.parametrize('active', [True, False])
def test_whatever_comes_free_is_had_at_once(make_region, free, active):
    region = make_region('one')
    holder = region.lease(start=0 if active else 10, end=50)
    if active:
        region.work()
    lease = region.retry(end=60)
    region.work()
    assert region.status(lease) == 'CREATING'
    region.now += minutes(0.5)
    if free is frees_by_shortening and not active:
        region.change(holder, start=20, end=30)
        region.change(lease, end=15)
    else:
        free(region, holder)
    region.work()
    region.now += datetime.timedelta(seconds=1)
    region.work()
    assert region.status(lease) == 'ACTIVE'


def test_a_promise_that_is_given_back_in_part_is_had_at_once(make_region):
    region = make_region('one', 'two')
    holder = region.lease(start=10, minimum=2)
    lease = region.retry()
    region.work()
    frees_by_asking_for_less(region, holder)
    region.work()
    assert region.status(lease) == 'ACTIVE'


def test_a_host_that_begins_to_match_is_had_at_once(make_region):
    region = make_region('one', 'two')
    (one,) = region.hosts.find(objects.HostQuery(name='one'))
    (two,) = region.hosts.find(objects.HostQuery(name='two'))
    region.hosts.update(one.id, {'gpu': 'no'}, region.now)
    lease = region.retry(**GPU)
    region.work()
    region.hosts.update(two.id, {'gpu': 'yes'}, region.now)
    region.work()
    assert region.hosts_of(lease) == {'two'}


def test_a_host_that_recovers_is_had_at_once(make_region):
    region = make_region('one')
    region.cloud.fail('one')
    region.look()
    lease = region.retry()
    region.work()
    assert region.status(lease) == 'CREATING'
    region.cloud.recover('one')
    region.look()
    region.work()
    assert region.hosts_of(lease) == {'one'}


def test_slots_for_servers_are_waited_for_too(make_region):
    """In the same order: hosts for whole are kept from those behind."""
    region = make_region('one', 'two', types=TYPES)
    holder = region.lease(start=20, minimum=2)
    whole = region.retry(minimum=2)
    some = region.lease_of(slots(9), lease_type=states.LeaseType.RETRY)
    assert (whole.status, some.status) == ('CREATING', 'CREATING')
    region.delete(holder)
    region.work()
    assert region.status(whole) == 'ACTIVE'
    assert region.status(some) == 'CREATING'
    region.delete(whole)
    region.work()
    assert region.status(some) == 'ACTIVE'


def test_waiting_does_not_move_the_end_that_was_asked_for(make_region):
    region = make_region('one')
    region.active_lease(end=20)
    lease = region.retry(end=60)
    region.forward(until=20)
    assert region.see(lease).end_date == NOON + minutes(60)
    times = {
        event.event_type: event.time for event in region.see(lease).events
    }
    assert times == {
        'start_lease': NOON + minutes(20),
        'before_end_lease': NOON + minutes(20),
        'end_lease': NOON + minutes(60),
    }


def test_a_duration_starts_when_the_lease_does(make_region):
    region = make_region('one')
    region.active_lease(end=20)
    lease = region.retry(duration=10)
    region.forward(until=20)
    seen = region.see(lease)
    assert seen.start_date == NOON + minutes(20)
    assert seen.end_date == NOON + minutes(30)
    region.forward(until=30)
    assert region.status(lease) == 'TERMINATED'


def test_a_duration_may_be_waited_for_longer_than_it_is(make_region):
    region = make_region('one')
    region.active_lease(end=50)
    lease = region.retry(duration=2)
    region.forward(until=49)
    assert region.status(lease) == 'CREATING'
    region.forward(until=50)
    assert region.status(lease) == 'ACTIVE'


def test_a_wait_is_over_when_less_than_a_minute_would_be_left(make_region):
    region = make_region('one')
    region.active_lease(end=120)
    lease = region.retry(end=10.5)
    region.now = NOON + minutes(9.5)
    region.work()
    assert region.status(lease) == 'CREATING'
    region.now += datetime.timedelta(seconds=1)
    region.work()
    assert region.status(lease) == 'ERROR'
    assert 'Not enough hosts' in reason(region, lease)
    assert 'less than a minute' in reason(region, lease)


def test_who_waits_may_start_later(make_region):
    region = make_region('one')
    holder = region.lease(start=20, end=60)
    lease = region.retry(start=30, duration=10)
    region.work()
    region.delete(holder)
    region.work()
    seen = region.see(lease)
    assert seen.status == 'PENDING'
    assert seen.start_date == NOON + minutes(30)
    assert seen.end_date == NOON + minutes(40)


# The order of those who wait


def test_those_who_wait_are_served_in_the_order_of_their_arrival(
    make_region,
):
    region = make_region('one')
    region.active_lease(end=10)
    waiting = [region.retry(end=60) for _ in range(5)]
    region.forward(until=10)
    assert [region.status(lease) for lease in waiting] == [
        'ACTIVE',
        *['CREATING'] * 4,
    ]
    region.delete(waiting[0])
    region.work()
    region.now += datetime.timedelta(seconds=1)
    region.work()
    assert [region.status(lease) for lease in waiting[1:]] == [
        'ACTIVE',
        *['CREATING'] * 3,
    ]


def test_small_ones_do_not_starve_a_large_one(make_region):
    region = make_region('one', 'two')
    region.active_lease(end=10)
    region.active_lease(end=20)
    large = region.retry(minimum=2, end=60)
    small = region.retry(minimum=1, end=60)
    region.forward(until=10)
    assert region.status(large) == region.status(small) == 'CREATING'
    region.forward(until=20)
    assert region.status(large) == 'ACTIVE'
    assert region.status(small) == 'CREATING'


def test_who_waits_for_other_hosts_does_not_wait_for_them(make_region):
    region = make_region('one')
    region.cloud.known['two'] = fake_cloud.facts('two')
    region.enrol('two', gpu='yes')
    region.active_lease(end=120, minimum=2)
    fast = region.retry(end=60, **GPU)
    other = region.retry(end=60)
    for lease in list(region.leases.find(objects.LeaseQuery())):
        if lease.status == 'ACTIVE':
            region.delete(lease)
    region.work()
    region.now += datetime.timedelta(seconds=1)
    region.work()
    assert region.hosts_of(fast) == {'two'}
    assert region.hosts_of(other) == {'one'}


def test_what_the_first_leaves_is_for_the_next_at_once(make_region):
    region = make_region('one', 'two')
    holder = region.active_lease(end=120, minimum=2)
    first, second = region.retry(), region.retry()
    region.work()
    region.delete(holder)
    region.work()
    region.now += datetime.timedelta(seconds=1)
    region.work()
    assert region.status(first) == region.status(second) == 'ACTIVE'


def test_who_waits_for_another_time_is_in_nobodys_way(make_region):
    region = make_region('one')
    late = region.lease(start=100, end=120)
    region.retry(start=90, end=110)
    today = region.lease(start=30, end=40)
    second = region.retry(start=20, end=50)
    region.work()
    region.delete(today)
    region.work()
    assert region.status(second) == 'PENDING'
    assert region.status(late) == 'PENDING'


def test_when_the_first_gives_up_the_next_is_tried_at_once(make_region):
    region = make_region('one', 'two')
    region.active_lease(end=120)
    large = region.retry(minimum=2, retries=1)
    small = region.retry(minimum=2, retries=50)
    region.change(small, min=1, max=1)
    region.work()
    assert region.status(small) == 'CREATING'
    region.forward(until=1)
    assert region.status(large) == 'ERROR'
    assert region.status(small) == 'ACTIVE'


def test_a_new_lease_may_overtake(make_region):
    region = make_region('one', 'two')
    region.active_lease(end=120)
    large = region.retry(minimum=2)
    region.work()
    new = region.lease()
    region.work()
    assert region.status(new) == 'ACTIVE'
    assert region.status(large) == 'CREATING'


def test_but_not_while_the_turn_of_another_is_being_tried(make_region):
    region = make_region('one')
    holder = region.lease(start=20, end=50)
    first = region.retry()
    region.work()
    region.delete(holder)
    holders = []

    def overtake(step):
        with pytest.raises(exception.Contended):
            region.lease()
        holders.append(region.see(first).claimed_by)

    # After the task is taken, and the lease: before the try.
    with Steps(region, 3, overtake):
        region.work()
    assert holders == ['the queue']
    assert region.status(first) == 'ACTIVE'


# While it waits


def test_it_can_be_listed_renamed_and_deleted(make_region):
    region = make_region('one')
    region.active_lease(end=120)
    lease = region.retry()
    query = objects.LeaseQuery(status=lease.status)
    assert [one.id for one in region.leases.find(query)] == [lease.id]
    assert region.change(lease, name='patience').name == 'patience'
    region.delete(lease)
    with pytest.raises(exception.NotFound):
        region.see(lease)


def test_when_it_is_deleted_the_next_is_tried_at_once(make_region):
    region = make_region('one', 'two')
    region.active_lease(end=120)
    large = region.retry(minimum=2)
    small = region.retry(minimum=2)
    region.change(small, min=1, max=1)
    region.work()
    region.delete(large)
    region.work()
    assert region.status(small) == 'ACTIVE'


def test_what_it_asks_for_can_be_changed_and_is_tried_at_once(make_region):
    region = make_region('one', 'two')
    region.active_lease(end=120)
    lease = region.retry(minimum=2, end=60)
    region.work()
    region.change(lease, min=1, max=1, end=30)
    region.work()
    assert region.status(lease) == 'ACTIVE'
    assert region.see(lease).end_date == NOON + minutes(30)


def test_an_end_that_is_given_later_replaces_the_duration(make_region):
    region = make_region('one')
    region.active_lease(end=20)
    lease = region.retry(duration=10)
    region.change(lease, end=25)
    region.forward(until=20)
    assert region.see(lease).end_date == NOON + minutes(25)


def test_it_goes_on_when_all_workers_are_others(make_region):
    region = make_region('one')
    region.active_lease(end=20)
    lease = region.retry(end=60)
    region.work(region.worker('before'))
    region.forward(until=20, by=region.worker('after'))
    assert region.status(lease) == 'ACTIVE'


def test_what_came_free_while_no_worker_was_there_is_had_by_the_first(
    make_region,
):
    region = make_region('one')
    holder = region.lease(start=10, end=120)
    lease = region.retry(end=100, retries=100)
    region.work()
    region.delete(holder)
    region.now = NOON + minutes(50)
    region.work()
    assert region.status(lease) == 'ACTIVE'
    assert region.see(lease).start_date == region.now


@pytest.mark.parametrize('number', [1, 2])
def test_what_is_freed_while_it_is_looked_at_is_not_missed(
    make_region, number
):
    """Before the claim, and before the record that it waits on."""
    region = make_region('one')
    holder = region.lease(start=20, end=50)
    lease = region.retry(end=60)
    with Steps(region, number, lambda step: region.delete(holder)) as steps:
        region.work()
    assert steps.reached
    assert region.status(lease) == 'ACTIVE'


# A worker is killed before each of its steps


def crash(region, number):
    """Let a worker be killed before that step; return whether it was."""

    def kill(step):
        raise Killed(step)

    with Steps(region, number, kill) as steps:
        victim = region.worker('victim')
        with contextlib.suppress(Killed):
            victim.tick(region.now)
        victim.drain()
    return steps.reached


@pytest.mark.fuzz
def test_whenever_a_worker_is_killed_all_get_what_they_waited_for(
    make_region,
):
    for number in itertools.count(1):
        region = make_region('one', 'two', 'three')
        holder = region.lease(start=30, end=90, minimum=3)
        first = region.retry(minimum=2, duration=20)
        second = region.retry(minimum=2, end=60, retries=30)
        region.work()
        region.delete(holder)
        killed = crash(region, number)
        region.forward(until=19, by=region.worker('other'))
        assert len(region.hosts_of(first)) == 2
        assert region.status(first) == 'ACTIVE'
        assert region.status(second) == 'CREATING'
        region.forward(until=22, by=region.worker('other'))
        assert region.status(first) == 'TERMINATED'
        assert region.status(second) == 'ACTIVE'
        if not killed:
            break
    assert number > 3


@pytest.mark.fuzz
def test_whenever_a_worker_is_killed_the_wait_has_its_end(make_region):
    for number in itertools.count(1):
        region = make_region('one')
        region.lease(end=90, start=5)
        lease = region.retry(end=60, retries=2)
        region.forward(until=1)
        region.now = NOON + minutes(2)
        killed = crash(region, number)
        region.forward(until=3, by=region.worker('other'))
        assert region.status(lease) == 'ERROR'
        assert region.see(lease).due_at is None
        if not killed:
            break
    assert number > 2
