# SPDX-License-Identifier: Apache-2.0
"""The loop, as nova-scheduler runs it."""

from nova import context as nova_context
from nova.scheduler.client import report

from nova_reservations.objects import states
from nova_reservations.scheduler import loop
from nova_reservations.tests.functional.nova import base


class LoopTest(base.NovaTestCase):
    hosts = ('host1',)

    def setUp(self):
        super().setUp()
        self.scheduler = self.scheduler_service.manager

    def work(self):
        """Do nothing: the loop does the work."""

    def _install(self, directory):
        super()._install(directory)
        self.flags(enable_engine=True, group='reservations')

    def _assert_it_runs(self):
        lease = self.lease()
        self._wait_for_assert(
            lambda: self.assertEqual(
                states.Lease.ACTIVE, self.services.leases.get(lease.id).status
            ),
            sleep=0.1,
            max_retries=100,
        )
        return lease

    def test_a_lease_starts_by_itself(self):
        self.enrol('host1')
        self._assert_it_runs()

    def test_a_loop_that_died_is_started_again(self):
        self.enrol('host1')
        running = self.scheduler.nova_reservations_loop
        running._call.stop()
        # A loop in the middle of a look does not count as dead.
        running._call.wait()
        running._last -= loop.SILENCE
        watchdog = dict(self.scheduler._periodic_tasks)[loop.TASK]
        watchdog(self.scheduler, nova_context.get_admin_context())
        self._assert_it_runs()

    def test_workers_do_not_share_what_their_master_has_opened(self):
        masters = report.report_client_singleton()
        self.scheduler.pre_start_hook(self.scheduler_service.service_ref)
        self.assertIsNot(masters, self.scheduler.placement_client)
        self.enrol('host1')
        self._assert_it_runs()

    def test_a_loop_ends_with_the_service(self):
        running = self.scheduler.nova_reservations_loop
        self.scheduler_service.stop()
        self.assertRaises(RuntimeError, running.worker._pool.submit, print)
