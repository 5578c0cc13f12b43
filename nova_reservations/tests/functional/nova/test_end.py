# SPDX-License-Identifier: Apache-2.0
"""Nova and placement have nothing left of leases that are over."""

import datetime
import threading
from unittest import mock
import uuid

import fixtures
from keystoneauth1 import exceptions as ks_exc
from nova import context as nova_context
from nova import exception as nova_exception
from nova import objects as nova_objects
from nova import servicegroup
from nova.compute import api as compute_api
from nova.compute import manager
from nova.compute import rpcapi
from nova.network import neutron
from nova.scheduler.client import report
from nova.virt import fake

from nova_reservations.cloud.placement import placement
from nova_reservations.cloud.servers import instance_actions
from nova_reservations.objects import states
from nova_reservations.tests.functional.nova import base
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
        # The hosts are ready for the next lease, and still closed to others.
        self.assertIn(
            self.host_of(self.boot(self.lease(1))), {'host1', 'host2'}
        )

    def test_placement_is_asked_four_times_for_each_host(self):
        """It is asked twice to take a host out of the aggregate, and twice to
        look for claims on the host after that."""
        self.enrol(*self.hosts)
        lease = self.lease(3)
        hosts = self.resources_of(lease)
        asked = self._requests_to_placement()
        self.end(lease)
        self.end_completely(lease)
        self.assertEqual(
            {host.name: 4 for host in hosts},
            {
                host.name: len([url for url in asked if host.uuid in url])
                for host in hosts
            },
        )

    def _requests_to_placement(self):
        """Return a list that collects the URLs of requests from now on, but
        not those for facts of hosts, which a periodic task reads."""
        urls = []
        request = placement.request

        def counted(method, url, *args, **kwargs):
            if 'in_tree' in url or url.endswith(('aggregates', 'allocations')):
                urls.append(url)
            return request(method, url, *args, **kwargs)

        self.stub_out(
            'nova_reservations.cloud.placement.placement.request', counted
        )
        return urls

    def test_a_host_with_an_allocation_only_is_not_given_back(self):
        """Nova has no server there, so the first look does not see it."""
        self.enrol('host1')
        lease = self.lease()
        [host] = self.resources_of(lease)
        consumer = str(uuid.uuid4())
        self._hold(host, consumer)
        self.end(lease)
        self.pass_time(seconds=10)
        ended = self.end(lease)
        self.assertEqual(states.Lease.TERMINATING, ended.status)
        self.assertIn('an allocation of somebody else', ended.status_reason)
        placement.request('delete', f'/allocations/{consumer}')
        self.end_completely(lease)
        self._assert_nothing_is_left(lease)

    def _hold(self, host, consumer):
        """Claim the host as nova-scheduler does, for no server."""
        claim = {
            'allocations': {host.uuid: {'resources': {'VCPU': 1}}},
            'project_id': base.MINE,
            'user_id': 'user',
            'consumer_generation': None,
        }
        placement.request('put', f'/allocations/{consumer}', body=claim)

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
        """nova-scheduler stands still meanwhile. The server is deleted with
        its lease before the server has a cell, and the scheduler claims a host
        afterwards."""
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

    def test_a_server_of_a_host_that_is_not_heard_waits_for_it(self):
        """Nova would delete the server from its database only, and the guest
        would run on where the next lease is."""
        lease, server = self._lease_with_server()
        self._be_silent()
        for _ in range(3):
            self.pass_time(seconds=10)
            ended = self.end(lease)
            self.assertEqual(states.Lease.TERMINATING, ended.status)
            self.assertIn(server['id'], ended.status_reason)
            self.assertIn('its host is down', ended.status_reason)
        self.assertIsNone(self._task_of(server))
        self.assertIn(server['id'], self._guests())
        self._be_heard()
        self.end_completely(lease)
        self.assertNotIn(server['id'], self._guests())
        self._assert_nothing_is_left(lease)

    def test_other_leases_have_the_other_hosts_while_one_is_waited_for(self):
        self.enrol('host1', 'host2')
        lease = self.lease(2)
        silent = self.host_of(self.boot(lease))
        [other] = {'host1', 'host2'} - {silent}
        self._be_silent(silent)
        for _ in range(2):
            ended = self.end(lease)
            self.pass_time(seconds=10)
        self.assertEqual(states.Lease.TERMINATING, ended.status)
        [kept] = self.resources_of(lease)
        self.assertEqual(silent, kept.name)
        [reservation] = lease.reservations
        self.assertEqual([silent], self.aggregates()[reservation.id]['hosts'])
        self.assertEqual(other, self.host_of(self.boot(self.lease())))
        self._be_heard(silent)
        self.end_completely(lease)

    def test_a_deletion_asked_of_a_host_before_it_fell_silent_waits_too(self):
        lease = self._lease_whose_host_was_never_told()
        self._be_silent()
        with mock.patch.object(instance_actions, 'PATIENCE', -1):
            self.pass_time(seconds=10)
            ended = self.end(lease)
        self.assertEqual(states.Lease.TERMINATING, ended.status)
        self.assertIn('its host is down', ended.status_reason)
        # The end goes on when an administrator forces the host down.
        self.stop_host('host1')
        self.end_completely(lease)
        self._assert_nothing_is_left(lease)

    def test_a_host_that_falls_silent_between_our_look_and_novas_is_told(self):
        lease, server = self._lease_with_server()
        with mock.patch.object(
            servicegroup.API, 'service_is_up', return_value=False
        ):
            self.end(lease)
        self.end_completely(lease)
        self.assertNotIn(server['id'], self._guests())
        self._assert_nothing_is_left(lease)

    def test_a_deletion_that_fails_is_asked_of_its_host_once_a_minute(self):
        """The deletion fails because Neutron does not answer."""
        lease, server = self._lease_with_server()
        with mock.patch.object(
            neutron.API,
            'deallocate_for_instance',
            side_effect=ks_exc.HttpError('Neutron is down'),
        ):
            self.end(lease)
            self._wait_for_state_change(server, 'ERROR')
            self._wait_for_assert(
                lambda: self.assertIsNone(self._task_of(server))
            )
            for _ in range(3):
                self.pass_time(seconds=10)
                self.assertIn(
                    'Nova has failed at it', self.end(lease).status_reason
                )
            self.assertEqual(1, self._deletions_of(server))
        with mock.patch.object(instance_actions, 'RETRY', -1):
            self.end_completely(lease)
        self._assert_nothing_is_left(lease)

    def _lease_with_server(self):
        self.enrol('host1')
        lease = self.lease()
        return lease, self.boot(lease)

    def _be_silent(self, host='host1'):
        """Have the host not report any more, while its guests run on."""
        self._report(host, datetime.timedelta(days=-100))

    def _be_heard(self, host='host1'):
        self._report(host, datetime.timedelta(0))

    def _report(self, host, ago):
        service = nova_objects.Service.get_by_id(
            nova_context.get_admin_context(),
            self.computes[host].service_ref.id,
        )
        service.last_seen_up = self.now + ago
        service.save()

    def _guests(self):
        return self.computes['host1'].manager.driver.list_instance_uuids()

    def _deletions_of(self, server):
        actions = self.admin_api.get_instance_actions(server['id'])
        return [action['action'] for action in actions].count('delete')

    def test_a_server_that_is_being_deleted_is_not_looked_at_again(self):
        lease = self._lease_whose_host_was_never_told()
        self.pass_time(seconds=10)
        with mock.patch.object(compute_api.API, 'get') as looked_at:
            ended = self.end(lease)
        self.assertEqual([], looked_at.call_args_list)
        self.assertIn('is being deleted', ended.status_reason)
        # The end asks again when the host is down and can not finish the
        # deletion.
        self.stop_host('host1')
        self.end_completely(lease)
        self._assert_nothing_is_left(lease)

    def test_a_server_whose_guest_is_gone_is_not_asked_to_go_again(self):
        """The guest is gone, but the host has not freed the server's
        allocation yet."""
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
        """A worker, or a broker, was killed before the host got the
        message."""
        lease = self._lease_whose_host_was_never_told()
        self._assert_it_goes_after_a_while(lease)

    def test_a_server_whose_host_was_down_for_a_moment_is_deleted(self):
        """Nova begins a local deletion while the host is down, and fails. The
        task state then makes Nova ignore our next request."""
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
        """Return a lease that ends, with a server whose host never got the
        deletion."""
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
        """The old host is not free: placement still has the server's
        allocation there."""
        self.enrol('host1')
        lease = self.lease()
        server = self.boot(lease)
        self.stop_host('host1')
        self.now = lease.end_date
        with fixtures.MockPatchObject(
            self.services.hosts.cloud._whole.servers,
            'delete_servers',
            return_value={},
        ):
            # The lease's state changes first: then the server counts as one
            # without a lease.
            self.end(lease)
            self._evacuate_server(server)
        self.pass_time(seconds=10)
        ended = self.end(lease)
        self.assertIn('placement holds an allocation', ended.status_reason)
        self.assertEqual(
            'SHUTOFF', self.api.get_server(server['id'])['status']
        )
