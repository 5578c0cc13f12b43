# SPDX-License-Identifier: Apache-2.0
"""Leases that wait are served in their order, even if a worker is killed."""

import contextlib
import datetime

import pytest

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations.objects import states
from nova_reservations.testing import fake_cloud
from nova_reservations.testing.region import minutes
from nova_reservations.testing.region import NOON
from nova_reservations.testing.steps import Killed
from nova_reservations.testing.steps import Steps
from nova_reservations.tests import profile
from nova_reservations.tests.functional.engine.test_instances import slots
from nova_reservations.tests.functional.engine.test_instances import TYPES

GPU = {'resource_properties': '["==", "$gpu", "yes"]'}


def test_slots_for_servers_are_waited_for_too(make_region):
    """The order is one for all types: hosts for the first lease are kept from
    the slots of the second."""
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


def test_leases_that_wait_are_served_in_the_order_of_their_arrival(
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


def test_small_leases_do_not_starve_a_large_one(make_region):
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


def test_leases_that_want_different_hosts_do_not_wait_for_each_other(
    make_region,
):
    region = make_region('one')
    region.cloud.known['two'] = fake_cloud.facts('two')
    region.enrol('two', gpu='yes')
    region.active_lease(end=120, minimum=2)
    fast = region.retry(end=60, **GPU)
    other = region.retry(end=60)
    for lease in list(region.lease_lists.find(objects.LeaseQuery())):
        if lease.status == 'ACTIVE':
            region.delete(lease)
    region.work()
    region.now += datetime.timedelta(seconds=1)
    region.work()
    assert region.hosts_of(fast) == {'two'}
    assert region.hosts_of(other) == {'one'}


def test_a_host_that_the_first_leaves_is_for_the_next_at_once(make_region):
    region = make_region('one', 'two')
    holder = region.active_lease(end=120, minimum=2)
    first, second = region.retry(), region.retry()
    region.work()
    region.delete(holder)
    region.work()
    region.now += datetime.timedelta(seconds=1)
    region.work()
    assert region.status(first) == region.status(second) == 'ACTIVE'


def test_a_lease_that_waits_for_another_time_is_in_nobodys_way(make_region):
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


def test_a_new_lease_does_not_overtake_one_that_is_being_tried(make_region):
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

    # The third step is after the claims of the task and of the lease, before
    # the try.
    with Steps(region, 3, overtake):
        region.work()
    assert holders == ['the queue']
    assert region.status(first) == 'ACTIVE'


def test_the_next_lease_is_tried_at_once_when_the_first_is_deleted(
    make_region,
):
    region = make_region('one', 'two')
    region.active_lease(end=120)
    large = region.retry(minimum=2)
    small = region.retry(minimum=2)
    region.change(small, min=1, max=1)
    region.work()
    region.delete(large)
    region.work()
    assert region.status(small) == 'ACTIVE'


def test_a_wait_goes_on_when_all_workers_are_others(make_region):
    region = make_region('one')
    region.active_lease(end=20)
    lease = region.retry(end=60)
    region.work(region.worker('before'))
    region.forward(until=20, by=region.worker('after'))
    assert region.status(lease) == 'ACTIVE'


def test_a_host_freed_while_no_worker_was_there_is_had_by_the_first(
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
def test_a_host_freed_while_a_lease_is_looked_at_is_not_missed(
    make_region, number
):
    """The host is freed before the claim, or before the record that the lease
    waits on."""
    region = make_region('one')
    holder = region.lease(start=20, end=50)
    lease = region.retry(end=60)
    with Steps(region, number, lambda step: region.delete(holder)) as steps:
        region.work()
    assert steps.reached
    assert region.status(lease) == 'ACTIVE'


# A worker is killed before each of its steps


def crash(region, number):
    """Kill a worker before that step; return whether the step was reached."""

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
    for number in profile.steps():
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
    for number in profile.steps():
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
