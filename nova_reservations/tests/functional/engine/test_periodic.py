# SPDX-License-Identifier: Apache-2.0
"""One worker at a time runs a periodic task, however long the task takes."""

import datetime
import threading

import pytest

from nova_reservations.db.leases import looks
from nova_reservations.db.resources import hosts
from nova_reservations.engine import claimed_leases
from nova_reservations.engine.worker import periodic

SECONDS = 30
SECOND = datetime.timedelta(seconds=1)


class Slow:
    """Makes the refresh of hosts take as long as a test wants."""

    def __init__(self, region):
        self.runs = 0
        self.begun = threading.Event()
        self.go_on = threading.Event()
        self._answer = region.cloud.hosts.pool_generations
        region.cloud.hosts.pool_generations = self._wait

    def _wait(self, trees):
        self.runs += 1
        self.begun.set()
        assert self.go_on.wait(SECONDS)
        return self._answer(trees)


@pytest.fixture
def slow(region):
    slow = Slow(region)
    yield slow
    slow.go_on.set()


def begin(region, slow):
    """Let a worker begin the task."""
    worker = region.worker('first')
    region.soon(hosts.REFRESH)
    worker.tick(region.now)
    assert slow.begun.wait(SECONDS)
    return worker


def is_due(region):
    with region.database.reader() as session:
        return hosts.REFRESH in looks.at(session, region.now).tasks


def pass_time(region, worker, length):
    """Let time pass, and let the worker tick whenever a renewal is due."""
    until = region.now + length
    while region.now < until:
        region.now += claimed_leases.RENEWAL
        worker.tick(region.now)


def test_a_task_that_takes_long_is_not_begun_by_another(region, slow):
    first, second = begin(region, slow), region.worker('second')
    pass_time(region, first, 3 * claimed_leases.DURATION)
    second.tick(region.now)
    slow.go_on.set()
    second.drain()
    first.drain()
    assert slow.runs == 1
    assert not is_due(region)


def test_the_task_of_a_worker_that_died_is_begun_by_another(region, slow):
    begin(region, slow)
    second = region.worker('second')
    region.now += claimed_leases.DURATION - SECOND
    assert not is_due(region)
    region.now += SECOND
    slow.go_on.set()
    second.tick(region.now)
    second.drain()
    assert slow.runs == 2


def test_a_task_is_hurried_while_it_runs(region, slow):
    first, second = begin(region, slow), region.worker('second')
    region.soon(hosts.REFRESH)
    second.tick(region.now)
    assert slow.runs == 1
    slow.go_on.set()
    first.drain()
    second.tick(region.now)
    second.drain()
    assert slow.runs == 2
    assert not is_due(region)


def test_a_task_that_hangs_is_left_to_another(region, slow, caplog):
    first = begin(region, slow)
    pass_time(region, first, periodic.LONG)
    assert 'refresh hangs' in caplog.text
    assert not is_due(region)
    region.now += claimed_leases.DURATION
    assert is_due(region)
    second = region.worker('second')
    slow.begun.clear()
    second.tick(region.now)
    assert slow.begun.wait(SECONDS)
    slow.go_on.set()
    first.drain()
    second.drain()
    assert slow.runs == 2
    assert not is_due(region)


def give_up(region, slow):
    """Let a task hang until its worker begins it anew; return the worker."""
    worker = begin(region, slow)
    slow.begun.clear()
    pass_time(region, worker, periodic.LONG + claimed_leases.DURATION)
    assert slow.begun.wait(SECONDS)
    return worker


def test_the_thread_of_a_task_that_hangs_is_replaced_once(region, slow):
    worker = give_up(region, slow)
    assert slow.runs == 2
    pass_time(region, worker, periodic.LONG + 2 * claimed_leases.DURATION)
    assert slow.runs == 2
    slow.go_on.set()
    worker.drain()
    region.soon(hosts.REFRESH)
    worker.tick(region.now)
    worker.drain()
    assert slow.runs == 3
    assert not is_due(region)


def test_an_answer_that_comes_an_hour_late_changes_nothing(
    region, slow, caplog
):
    late = threading.Event()
    answer = slow._wait

    def wait(trees):
        if slow.runs:
            return slow._answer(trees)
        answer(trees)
        assert late.wait(SECONDS)
        return {'of': 'an hour ago'}

    region.cloud.hosts.pool_generations = wait
    slow.go_on.set()
    first = begin(region, slow)
    pass_time(region, first, periodic.LONG)
    region.now += claimed_leases.DURATION
    second = region.worker('second')
    second.tick(region.now)
    second.drain()
    before = region.picture()
    written = len(region.cloud.writes)
    late.set()
    first.drain()
    assert 'does nothing more' in caplog.text
    assert region.picture() == before
    assert len(region.cloud.writes) == written


def test_a_task_that_fails_is_tried_again_when_its_claim_expires(
    region, slow, caplog
):
    slow._answer = lambda: {}['a bug']
    slow.go_on.set()
    worker = begin(region, slow)
    worker.drain()
    assert 'task refresh failed' in caplog.text
    pass_time(region, worker, claimed_leases.DURATION)
    worker.drain()
    assert slow.runs == 2
