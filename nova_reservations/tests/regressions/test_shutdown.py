# SPDX-License-Identifier: Apache-2.0
"""nova-scheduler shut its executors down while the engine used them.

Steps that the engine had begun then failed, and their leases waited for thirty
seconds, until their claims had expired. A look at due leases could claim more
of them when no threads were left. Issue 13, item 13.
"""

import threading

from nova_reservations.db.leases import looks
from nova_reservations.db.resources import hosts
from nova_reservations.tests.functional.nova import base

SECONDS = 30


class Stuck:
    """A step against the cloud that takes as long as the test wants."""

    def __init__(self, region, step):
        self.step = step
        self.reached = threading.Event()
        self.go_on = threading.Event()
        region.cloud.before = self

    def __call__(self, step):
        if step == self.step:
            self.reached.set()
            assert self.go_on.wait(SECONDS)


def stuck_worker(region, step='add host', **more):
    worker = region.worker('stopped', **more)
    stuck = Stuck(region, step)
    worker.tick(region.now)
    assert stuck.reached.wait(SECONDS)
    return worker, stuck


def test_a_lease_that_is_not_finished_in_time_is_given_back(region):
    lease = region.lease(minimum=2)
    worker, stuck = stuck_worker(region)
    worker.stop(grace=0)
    seen = region.see(lease)
    assert seen.claimed_by is None
    assert seen.due_at == region.now
    region.cloud.before = lambda step: None
    region.work(region.worker('other'))
    assert region.status(lease) == 'ACTIVE'
    before = region.picture()
    stuck.go_on.set()
    worker.drain()
    assert region.picture() == before


def test_a_lease_that_no_thread_has_begun_is_given_back(region):
    first = region.lease()
    second = region.lease()
    # One worker claims both leases, and has one thread for leases.
    worker, stuck = stuck_worker(region, threads=1)
    worker.stop(grace=0)
    assert {region.see(one).claimed_by for one in (first, second)} == {None}
    stuck.go_on.set()


def test_a_lease_that_is_finished_in_time_is_not_given_back(region):
    lease = region.lease()
    worker = region.worker('stopped')
    worker.tick(region.now)
    worker.stop(grace=SECONDS)
    assert region.status(lease) == 'ACTIVE'
    assert region.see(lease).attempt == 1


def test_nothing_is_begun_after_the_stop(region):
    worker = region.worker('stopped')
    worker.stop()
    lease = region.lease()
    worker.tick(region.now)
    assert region.see(lease).claimed_by is None


def test_a_task_that_is_not_finished_in_time_is_due_at_once(region):
    region.soon(hosts.REFRESH)
    begun, go_on = threading.Event(), threading.Event()

    def pool_generations(trees):
        begun.set()
        assert go_on.wait(SECONDS)
        return {}

    region.cloud.hosts.pool_generations = pool_generations
    worker = region.worker('stopped')
    worker.tick(region.now)
    assert begun.wait(SECONDS)
    worker.stop(grace=0)
    with region.database.reader() as session:
        assert hosts.REFRESH in looks.at(session, region.now).tasks
    go_on.set()


class ShutdownTest(base.NovaTestCase):
    hosts = ('host1',)

    def _install(self, directory):
        super()._install(directory)
        self.flags(enable_engine=True, group='reservations')

    def test_the_engine_ends_before_nova_shuts_its_executors(self):
        worker = self.scheduler_service.manager.nova_reservations_loop.worker
        had_ended = []

        def shut_executors():
            try:
                worker._pool.submit(print)
            except RuntimeError:
                had_ended.append(worker)

        self.stub_out(
            'nova.thread_pool_factory.shutdown_all_executors', shut_executors
        )
        self.scheduler_service.stop()
        self.assertEqual([worker], had_ended)
