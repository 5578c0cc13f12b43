# SPDX-License-Identifier: Apache-2.0
"""Threads that wait for ever are replaced, up to a limit, and come back."""

from concurrent import futures
import threading

import pytest

from nova_reservations import objects
from nova_reservations.engine import claimed_leases
from nova_reservations.engine.worker import worker as workers

SECONDS = 30
THREADS = 2


class Hang:
    """An outage in which each write to the cloud waits for its end."""

    def __init__(self, region):
        self.waiting = threading.Semaphore(0)
        self.over = threading.Event()
        self._cloud = region.cloud
        self._cloud.before = self._wait

    def _wait(self, step):
        self.waiting.release()
        assert self.over.wait(SECONDS)

    def has_caught(self, threads):
        return all(
            self.waiting.acquire(timeout=SECONDS) for _ in range(threads)
        )

    def leave(self):
        """Let the service answer again, but not those that wait already."""
        self._cloud.before = lambda step: None


@pytest.fixture
def outage(region):
    outage = Hang(region)
    yield outage
    outage.leave()
    outage.over.set()


@pytest.fixture
def region(make_region):
    return make_region(*map(str, range(6)))


def hang(region, outage, worker):
    """Let all threads of a worker hang, each with a lease."""
    for number in range(THREADS):
        region.lease(project=str(number), end=600)
    worker.tick(region.now)
    assert outage.has_caught(THREADS)


def give_up(region, worker):
    """Let a worker give up what hangs, and take it anew in other threads."""
    region.now += workers.PATIENCE
    worker.tick(region.now)


def work_with_others(region, worker):
    """Do what is due with the threads that do not hang."""
    for _ in range(2):
        futures.wait(
            [
                begun
                for begun, work in worker._held.items()
                if not work.given_up
            ],
            SECONDS,
        )
        worker.tick(region.now)


def test_a_lease_that_is_due_in_an_outage_starts_after_it(region, outage):
    worker = region.worker(threads=THREADS)
    hang(region, outage, worker)
    lease = region.lease(end=600)
    outage.leave()
    give_up(region, worker)
    work_with_others(region, worker)
    assert region.status(lease) == 'ACTIVE'
    assert worker.hangs
    outage.over.set()
    worker.drain()
    assert not worker.hangs


def test_threads_are_replaced_up_to_as_many_again(region, outage):
    worker = region.worker(threads=THREADS)
    hang(region, outage, worker)
    give_up(region, worker)
    assert outage.has_caught(THREADS)
    give_up(region, worker)
    assert len(worker._held) == 2 * THREADS
    assert not outage.waiting.acquire(timeout=0.05)
    outage.leave()
    outage.over.set()
    worker.drain()
    region.now += claimed_leases.DURATION
    region.work(worker)
    assert {
        lease.status for lease in region.lease_lists.find(objects.LeaseQuery())
    } == {'ACTIVE'}


def test_a_worker_hangs_once_half_of_its_threads_do(region, outage):
    worker = region.worker(threads=2 * THREADS)
    assert not worker.hangs
    hang(region, outage, worker)
    assert not worker.hangs
    give_up(region, worker)
    assert worker.hangs
