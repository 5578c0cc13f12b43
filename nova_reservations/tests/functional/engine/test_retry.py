# SPDX-License-Identifier: Apache-2.0
"""Leases that wait for capacity."""

import datetime

import pytest

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations.testing import fake_cloud
from nova_reservations.testing.region import minutes
from nova_reservations.testing.region import NOON
from nova_reservations.tests.regressions import test_waiting_queue

GPU = {'resource_properties': '["==", "$gpu", "yes"]'}


def reason(region, lease):
    return region.see(lease).status_reason


def test_with_capacity_a_retry_lease_is_as_any_other(region):
    lease = region.retry()
    assert lease.status == 'PENDING'
    region.work()
    assert region.status(lease) == 'ACTIVE'


def test_a_retry_lease_without_capacity_says_until_when_it_waits(make_region):
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


def test_a_lease_without_tries_left_is_in_error_with_the_last_refusal(
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


@pytest.mark.parametrize('wait', [datetime.timedelta(days=7), minutes(90)])
def test_a_lease_waits_as_long_as_the_operator_allows(make_region, wait):
    region = make_region('one', max_create_wait=wait)
    region.lease(end=60 * 24 * 30)
    lease = region.retry(duration=10)
    assert f'until {NOON + wait:%Y-%m-%d %H:%M:%S}' in lease.status_reason
    assert lease.max_retries == wait / minutes(1)
    region.now = NOON + wait - minutes(1)
    region.work()
    assert region.status(lease) == 'CREATING'
    region.now += minutes(1)
    region.work()
    assert region.status(lease) == 'ERROR'


def test_by_default_that_is_a_week(make_region):
    region = make_region('one')
    assert region.options.max_create_wait == datetime.timedelta(days=7)
    assert region.options.max_create_retries is None


def test_retries_are_counted_to_the_last_second_of_the_longest_wait(
    make_region,
):
    """The last retry interval begins within the wait, and would end after
    it."""
    region = make_region('one', max_create_wait=minutes(2.5))
    region.lease(end=120)
    lease = region.retry()
    assert lease.max_retries == 3
    region.forward(until=2.4)
    assert region.status(lease) == 'CREATING'
    region.forward(until=2.5)
    assert region.status(lease) == 'ERROR'


@pytest.mark.parametrize(
    'never',
    [{'max_create_wait': minutes(0)}, {'max_create_retries': 0}],
)
def test_a_retry_lease_is_refused_where_the_operator_lets_nobody_wait(
    make_region, never
):
    region = make_region('one', **never)
    region.lease(end=120)
    with pytest.raises(exception.NotEnoughResources):
        region.retry()


def test_a_lease_that_may_not_be_tried_again_is_refused_at_once(make_region):
    region = make_region('one')
    region.lease(end=120)
    with pytest.raises(exception.NotEnoughResources):
        region.retry(retries=0)


def test_only_a_retry_lease_may_say_how_often(region):
    with pytest.raises(exception.InvalidInput, match='max_retries'):
        region.lease_of((objects.HOST, {'min': 1, 'max': 1}), max_retries=3)


def test_a_lease_is_tried_at_once_when_another_ends(make_region):
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
    assert reason(region, lease) == (
        'Not enough time is left of it: less than a minute'
    )


def test_a_lease_that_waits_may_start_later(make_region):
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


# Its place


def positions(region, *waiting):
    found = region.lease_lists.positions(
        [region.see(lease) for lease in waiting]
    )
    return [found.get(lease.id) for lease in waiting]


def test_the_place_of_a_lease_is_its_number_among_all_that_wait(make_region):
    region = make_region('one')
    holder = region.active_lease(end=120)
    other = {'resource_properties': '["==", "$vcpus", "1000"]'}
    waiting = [region.retry(duration=10, **asked) for asked in ({}, other, {})]
    assert positions(region, holder, *waiting) == [None, 1, 2, 3]
    assert positions(region, waiting[2], waiting[1]) == [3, 2]


def test_the_place_of_a_lease_moves_as_those_ahead_leave(make_region):
    region = make_region('one')
    holder = region.active_lease(end=120)
    first, second, third = (region.retry(duration=10) for _ in range(3))
    region.delete(second)
    assert positions(region, first, third) == [1, 2]
    region.delete(holder)
    region.work()
    assert region.status(first) == 'ACTIVE'
    assert positions(region, first, third) == [None, 1]


def test_the_places_of_a_page_are_asked_for_at_once(make_region):
    region = make_region('one')
    region.active_lease(end=120)
    asked = []
    for count in (2, 20):
        waiting = [region.retry(duration=10) for _ in range(count)]
        with test_waiting_queue.statements(region) as made:
            positions = region.lease_lists.positions(waiting)
        assert len(positions) == count
        asked.append(len(made))
    assert asked[0] == asked[1]


def test_a_lease_that_left_since_it_was_read_has_no_place(make_region):
    region = make_region('one')
    region.active_lease(end=120)
    lease = region.retry(duration=10)
    region.delete(lease)
    assert region.lease_lists.positions([lease]) == {}


# While it waits


def test_a_lease_that_waits_can_be_listed_renamed_and_deleted(make_region):
    region = make_region('one')
    region.active_lease(end=120)
    lease = region.retry()
    query = objects.LeaseQuery(statuses=(lease.status,))
    assert [one.id for one in region.lease_lists.find(query)] == [lease.id]
    assert region.change(lease, name='patience').name == 'patience'
    region.delete(lease)
    with pytest.raises(exception.NotFound):
        region.see(lease)


def test_a_lease_whose_request_is_changed_is_tried_at_once(make_region):
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
