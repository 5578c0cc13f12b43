# SPDX-License-Identifier: Apache-2.0
"""Each hour, notifications tell which leases are active, and what they
hold.
"""

import collections
import contextlib
import itertools

import pytest

from nova_reservations.engine.record import lease_exists
from nova_reservations.testing.region import minutes
from nova_reservations.testing.steps import Killed
from nova_reservations.testing.steps import Steps

NAMES = ('one', 'two', 'three', 'four', 'five')


@pytest.fixture
def region(make_region, monkeypatch):
    monkeypatch.setattr(lease_exists, 'PAGE', 2)
    region = make_region(*NAMES, lease_exists_notifications=True)
    for number in range(len(NAMES)):
        region.lease(start=number, end=300)
    region.forward(until=30)
    return region


@pytest.fixture
def task(region):
    """The object that does the work of the region's task."""
    [run] = [
        task.run
        for task in region.services.tasks
        if task.name == lease_exists.TASK
    ]
    return run.__self__.exists


def told(region):
    """Return lease id -> how many notifications said that the lease is
    active."""
    return collections.Counter(
        payload['lease_id']
        for kind, payload in region.notes
        if kind == 'lease.exists'
    )


def test_active_leases_are_told_of_once_an_hour(region):
    later = region.lease(start=400, end=500)
    region.forward(until=59)
    assert not told(region)
    region.forward(until=60)
    assert set(told(region).values()) == {1}
    assert len(told(region)) == len(NAMES)
    region.forward(until=119)
    assert set(told(region).values()) == {1}
    region.forward(until=125)
    assert set(told(region).values()) == {2}
    assert later.id not in told(region)


def test_a_notification_tells_what_a_lease_holds_and_of_which_hour(region):
    region.forward(until=60)
    kind, payload = region.notes[-1]
    assert kind == 'lease.exists'
    assert payload['audit_period_beginning'] == '2030-01-01T12:00:00.000000'
    assert payload['audit_period_ending'] == '2030-01-01T13:00:00.000000'
    [reservation] = payload['reservations']
    assert reservation['resources']['count'] == 1
    assert reservation['resources']['names'][0] in NAMES


def test_after_an_outage_only_the_last_hour_is_told_of(region):
    region.now += minutes(200)
    region.work()
    assert set(told(region).values()) == {1}
    _, payload = region.notes[-1]
    assert payload['audit_period_ending'] == '2030-01-01T15:00:00.000000'


@pytest.mark.fuzz
def test_no_lease_is_told_of_twice_whoever_is_killed(make_region, monkeypatch):
    monkeypatch.setattr(lease_exists, 'PAGE', 2)
    for number in itertools.count(1):
        region = make_region(*NAMES, lease_exists_notifications=True)
        for start in range(len(NAMES)):
            region.lease(start=start, end=300)
        region.forward(until=59)
        region.now += minutes(1)
        with Steps(region, number, kill) as steps:
            victim = region.worker('victim')
            with contextlib.suppress(Killed):
                victim.tick(region.now)
            victim.drain()
        region.now += minutes(1)
        region.work(region.worker('other'))
        assert set(told(region).values()) == {1}
        assert len(told(region)) == len(NAMES)
        if not steps.reached:
            break
    assert number >= 3


def kill(step):
    raise Killed(step)


def test_while_the_bus_is_down_no_more_than_a_page_waits(region, task):
    answers = [True]
    task.sent = lambda: bool(answers) and answers.pop()
    region.forward(until=65)
    assert sum(told(region).values()) == 2
    task.sent = lambda: True
    region.forward(until=70)
    assert set(told(region).values()) == {1}
    assert len(told(region)) == len(NAMES)
