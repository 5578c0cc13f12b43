# SPDX-License-Identifier: Apache-2.0
"""Nova and placement have nothing left of leases that are over."""

import threading
from unittest import mock

import fixtures
from nova import exception as nova_exception
from nova.compute import api as compute_api
from nova.compute import manager
from nova.compute import rpcapi
from nova.scheduler.client import report
from nova.virt import fake

from nova_reservations.cloud.servers import instance_actions
from nova_reservations.objects import states
from nova_reservations.tests.functional.nova import shared


class EndTest(shared.SharedNova):
    def _assert_nothing_is_left(self, lease):
        [reservation] = lease.reservations
        self.assertEqual(['freepool'], list(self.aggregates()))
        for host in self.hosts:
            provider = self._get_provider_uuid_by_host(host)
            self.assertEqual(
                {}, self._get_allocations_by_provider_uuid(provider)
            )
            self.assertNotIn(
                reservation.id, self._get_provider_aggregates(provider)
            )

    def test_servers_go_with_the_lease_and_hosts_return(self):
        self.enrol('host1', 'host2')
        lease = self.lease(2)
        servers = [self.boot(lease) for _ in range(2)]
        ended = self.end(lease)
        self.assertEqual(states.Lease.TERMINATING, ended.status)
        self.end_completely(lease)
        for server in servers:
            self._wait_until_deleted(server)
        self._assert_nothing_is_left(lease)
        self.assertCountEqual(
            ['host1', 'host2'], self.aggregates()['freepool']['hosts']
        )
        # Ready for the next, and still closed to others.
        self.assertIn(
            self.host_of(self.boot(self.lease(1))), {'host1', 'host2'}
        )

    def test_servers_in_any_state_go(self):
        self.flags(reclaim_instance_interval=3600)
        self.enrol('host1', 'host2')
        lease = self.lease(2)
        locked, stopped, resized, deleted, failed = (
            self.boot(lease) for _ in range(5)
        )
        act = self.admin_api.post_server_action
        act(locked['id'], {'lock': {}})
        self._stop_server(stopped)
        self._resize_server(resized, self.api.get_flavors()[1]['id'])
        self.api.delete_server(deleted['id'])
        self._wait_for_state_change(deleted, 'SOFT_DELETED')
        act(failed['id'], {'os-resetState': {'state': 'error'}})
        self.end_completely(lease)
        self._assert_nothing_is_left(lease)

    def test_a_server_that_is_being_built_does_not_stay_behind(self):
        self.enrol('host1')
        lease = self.lease()
        begun, go_on = threading.Event(), threading.Event()
        self.addCleanup(go_on.set)

        def spawn(*args, **kwargs):
            begun.set()
            go_on.wait(30)

        self.useFixture(
            fixtures.MockPatchObject(
                fake.FakeDriver, 'spawn', side_effect=spawn
            )
        )
        server = self.post(lease)
        self.assertTrue(begun.wait(30))
        ended = self.end(lease)
        self.assertEqual(states.Lease.TERMINATING, ended.status)
        go_on.set()
        self.end_completely(lease)
        self._wait_until_deleted(server)
        self._assert_nothing_is_left(lease)

    def test_a_claim_that_comes_after_the_end_is_taken_back(self):
        """Of a nova-scheduler that stood still: the server is deleted with
        its lease before it has a cell, and claims a host then."""
        self.enrol('host1')
        lease = self.lease()
        claim = report.SchedulerReportClient.claim_resources
        claimed = []

        def late(*args, **kwargs):
            self.end_completely(lease)
            claimed.append(claim(self.placement_client, *args, **kwargs))
            return claimed[-1]

        self.placement_client = report.report_client_singleton()
        self.useFixture(
            fixtures.MockPatchObject(
                report.SchedulerReportClient,
                'claim_resources',
                side_effect=late,
            )
        )
        self._wait_until_deleted(self.post(lease))
        self._wait_for_assert(lambda: self.assertEqual([True], claimed))
        self._wait_for_assert(lambda: self._assert_nothing_is_left(lease))

    def test_servers_on_a_failed_host_go(self):
        self.enrol('host1')
        lease = self.lease()
        server = self.boot(lease)
        self.stop_host('host1')
        self.end_completely(lease)
        self._wait_until_deleted(server)
        self._assert_nothing_is_left(lease)

    def test_a_server_that_is_being_deleted_is_not_looked_at_again(self):
        lease = self._lease_whose_host_was_never_told()
        self.pass_time(seconds=10)
        with mock.patch.object(compute_api.API, 'get') as looked_at:
            ended = self.end(lease)
        self.assertEqual([], looked_at.call_args_list)
        self.assertIn('is being deleted', ended.status_reason)
        # Until its host can not do it any more.
        self.stop_host('host1')
        self.end_completely(lease)
        self._assert_nothing_is_left(lease)

    def test_a_server_whose_guest_is_gone_is_not_asked_to_go_again(self):
        """Its host has not given back yet what it held."""
        self.enrol('host1')
        lease = self.lease()
        self.boot(lease)
        gone, go_on = threading.Event(), threading.Event()
        self.addCleanup(go_on.set)
        complete = manager.ComputeManager._complete_deletion

        def wait(*args, **kwargs):
            gone.set()
            go_on.wait(30)
            return complete(*args, **kwargs)

        with mock.patch.object(
            manager.ComputeManager, '_complete_deletion', wait
        ):
            self.end(lease)
            self.assertTrue(gone.wait(30))
            self.pass_time(seconds=10)
            with mock.patch.object(compute_api.API, 'get') as looked_at:
                ended = self.end(lease)
            self.assertEqual([], looked_at.call_args_list)
            self.assertIn('is being deleted', ended.status_reason)
            go_on.set()
            self.end_completely(lease)
        self._assert_nothing_is_left(lease)

    def test_a_server_whose_deletion_was_lost_is_deleted(self):
        """By a worker, or a broker, that was killed meanwhile."""
        lease = self._lease_whose_host_was_never_told()
        self._assert_it_goes_after_a_while(lease)

    def test_a_server_whose_host_was_down_for_a_moment_is_deleted(self):
        """Nova begins without the host, and fails; and then ignores us."""
        self.enrol('host1')
        lease = self.lease()
        server = self.boot(lease)
        service = self.computes['host1'].service_ref.uuid
        self.admin_api.put_service_force_down(service, True)
        with mock.patch.object(
            report.SchedulerReportClient,
            'delete_allocation_for_instance',
            side_effect=nova_exception.AllocationDeleteFailed(
                consumer_uuid=server['id'], error='conflict'
            ),
        ):
            self.end(lease)
        self.admin_api.put_service_force_down(service, False)
        self.assertEqual('deleting', self._task_of(server))
        self._assert_it_goes_after_a_while(lease)

    def _lease_whose_host_was_never_told(self):
        """Return a lease that ends, with a server that is to be deleted."""
        self.enrol('host1')
        lease = self.lease()
        server = self.boot(lease)
        with mock.patch.object(rpcapi.ComputeAPI, 'terminate_instance'):
            self.end(lease)
        self.assertEqual('deleting', self._task_of(server))
        return lease

    def _task_of(self, server):
        return self.api.get_server(server['id'])['OS-EXT-STS:task_state']

    def _assert_it_goes_after_a_while(self, lease):
        self.pass_time(seconds=10)
        self.assertIn('is being deleted', self.end(lease).status_reason)
        with mock.patch.object(instance_actions, 'PATIENCE', -1):
            self.end_completely(lease)
        self._assert_nothing_is_left(lease)

    def test_a_server_that_was_evacuated_from_the_lease_lives(self):
        """Its old host is not free: placement still has it there."""
        self.enrol('host1')
        lease = self.lease()
        server = self.boot(lease)
        self.stop_host('host1')
        self.now = lease.end_date
        with fixtures.MockPatchObject(
            self.services.hosts.cloud.servers,
            'delete_servers',
            return_value={},
        ):
            # The state first: from here on it counts as without a lease.
            self.end(lease)
            self._evacuate_server(server)
        self.pass_time(seconds=10)
        ended = self.end(lease)
        self.assertIn('placement holds an allocation', ended.status_reason)
        self.assertEqual(
            'SHUTOFF', self.api.get_server(server['id'])['status']
        )
