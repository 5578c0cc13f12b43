# SPDX-License-Identifier: Apache-2.0
"""Servers at the end of their lease, where they are not deleted."""

from unittest import mock

import fixtures
from nova import objects
from nova.compute import rpcapi

from nova_reservations import ports
from nova_reservations.cloud.servers import instance_actions
from nova_reservations.objects import states
from nova_reservations.tests.functional.nova import base
from nova_reservations.tests.functional.nova import shared


class EndActionsTest(shared.SharedNova):
    def setUp(self):
        super().setUp()
        self.trust()
        self.enrol('host1')

    def _images_named(self, name):
        return [
            image
            for image in self.glance.detail(None)
            if image['name'] == name
        ]

    def _assert_empty(self, host):
        provider = self._get_provider_uuid_by_host(host)
        self.assertEqual({}, self._get_allocations_by_provider_uuid(provider))

    def test_servers_are_shelved_and_live_on_outside_of_the_pool(self):
        lease = self.lease(end_action='shelve')
        server = self.boot(lease, name='kept')
        self.end_completely(lease)
        self._assert_empty('host1')
        server = self.api.get_server(server['id'])
        self.assertEqual('SHELVED_OFFLOADED', server['status'])
        self.assertIsNone(server['OS-EXT-SRV-ATTR:host'])
        self.assertEqual(1, len(self._images_named('kept-shelved')))
        # The server was created with a hint of a lease that is over by now.
        self.api.post_server_action(server['id'], {'unshelve': None})
        server = self._wait_for_state_change(server, 'ACTIVE')
        self.assertNotEqual('host1', self.host_of(server))

    def test_a_server_is_unshelved_into_a_lease_that_lasts(self):
        lease = self.lease()
        server = self.boot(lease)
        self.api.post_server_action(server['id'], {'shelve': None})
        server = self._wait_for_state_change(server, 'SHELVED_OFFLOADED')
        self.api.post_server_action(server['id'], {'unshelve': None})
        server = self._wait_for_state_change(server, 'ACTIVE')
        self.assertEqual('host1', self.host_of(server))

    def test_servers_in_any_state_leave_and_none_holds_up_another(self):
        self.flags(shelved_offload_time=3600)
        self.enrol('host2')
        lease = self.lease(2, end_action='shelve')
        act = self.admin_api.post_server_action
        locked, stopped, paused, shelved, resized, failed = (
            self.boot(lease) for _ in range(6)
        )
        act(locked['id'], {'lock': {}})
        self._stop_server(stopped)
        act(paused['id'], {'pause': {}})
        self._wait_for_state_change(paused, 'PAUSED')
        act(shelved['id'], {'shelve': None})
        self._wait_for_state_change(shelved, 'SHELVED')
        self._resize_server(resized, self.api.get_flavors()[1]['id'])
        act(failed['id'], {'os-resetState': {'state': 'error'}})

        def others_are_shelved():
            self.pass_time(seconds=10)
            self.end(lease)
            for server in (locked, stopped, paused, shelved, resized):
                self.assertEqual(
                    'SHELVED_OFFLOADED',
                    self.api.get_server(server['id'])['status'],
                )

        self._wait_for_assert(others_are_shelved)
        self.pass_time(seconds=10)
        ended = self.end(lease)
        self.assertEqual(states.Lease.TERMINATING, ended.status)
        self.assertEqual(
            f'server {failed["id"]} (error) on host {self.host_of(failed)} '
            'can not be shelved: it is in state error',
            ended.status_reason,
        )
        act(failed['id'], {'os-resetState': {'state': 'active'}})
        self.end_completely(lease)
        for host in ('host1', 'host2'):
            self._assert_empty(host)

    def test_a_volume_backed_server_is_shelved_without_an_image(self):
        lease = self.lease(end_action='shelve')
        server = self.boot_of_volume(lease, name='of a volume')
        self.end_completely(lease)
        server = self.api.get_server(server['id'])
        self.assertEqual('SHELVED_OFFLOADED', server['status'])
        self.assertEqual([], self._images_named('of a volume-shelved'))

    def test_a_host_is_asked_once_for_all_its_servers(self):
        lease = self.lease(end_action='shelve')
        servers = [
            ports.Server(self.boot(lease)['id'], base.MINE, 'host1', 'active')
            for _ in range(3)
        ]
        with mock.patch.object(
            objects.Service,
            'get_by_host_and_binary',
            wraps=objects.Service.get_by_host_and_binary,
        ) as asked:
            refused = self.services.hosts.cloud.servers.stop_servers(
                servers, ports.RequestKey('look'), lambda: None, self.now
            )
        self.assertEqual({}, refused)
        self.assertEqual(1, asked.call_count)

    def test_servers_have_time_to_stop(self):
        lease = self.lease(end_action='shelve', end_grace=5)
        server = self.boot(lease)
        self.admin_api.post_server_action(server['id'], {'lock': {}})
        stopping = self.end(lease)
        self.assertIn('is to stop', stopping.status_reason)
        self._wait_for_state_change(server, 'SHUTOFF')
        self.end_completely(lease)
        self._wait_for_state_change(server, 'SHELVED_OFFLOADED')

    def test_a_worker_that_died_in_the_middle_leaves_no_server_stuck(self):
        """The worker dies when Nova has set the task, and not yet sent the
        message."""
        lease = self.lease(end_action='shelve')
        server = self.boot(lease)
        cast = 'nova.compute.rpcapi.ComputeAPI.shelve_instance'
        with fixtures.MonkeyPatch(cast, lambda *args, **kwargs: None):
            self.end(lease)
        self._wait_for_server_parameter(
            server, {'OS-EXT-STS:task_state': 'shelving'}
        )
        self.pass_time(seconds=10)
        self.end(lease)
        self.assertEqual(
            'shelving',
            self.api.get_server(server['id'])['OS-EXT-STS:task_state'],
        )
        self.pass_time(minutes=1)
        self.end_completely(lease)
        self._wait_for_state_change(server, 'SHELVED_OFFLOADED')

    def test_what_its_user_deletes_is_not_kept(self):
        """This holds even if the message to its host was lost."""
        for action in ('shelve', 'migrate'):
            lease = self.lease(end_action=action)
            server = self.boot(lease)
            with mock.patch.object(rpcapi.ComputeAPI, 'terminate_instance'):
                self.api.delete_server(server['id'])
            self.assertIn('is being deleted', self.end(lease).status_reason)
            with mock.patch.object(instance_actions, 'PATIENCE', -1):
                self.end_completely(lease)
            self._wait_until_deleted(server)
            self._assert_empty('host1')

    def test_servers_are_migrated_out_of_the_pool(self):
        lease = self.lease(end_action='migrate')
        running, stopped = self.boot(lease), self.boot(lease)
        self._stop_server(stopped)
        self.end_completely(lease)
        self._assert_empty('host1')
        for server, status in ((running, 'ACTIVE'), (stopped, 'SHUTOFF')):
            shown = self.admin_api.get_server(server['id'])
            self.assertEqual(status, shown['status'])
            self.assertIn(shown['OS-EXT-SRV-ATTR:host'], ('host2', 'host3'))

    def test_what_finds_no_place_is_shelved(self):
        lease = self.lease(end_action='migrate')
        servers = self.boot(lease), self.boot(lease)
        self._stop_server(servers[1])
        for host in ('host2', 'host3'):
            self.admin_api.put_service(
                self.computes[host].service_ref.uuid, {'status': 'disabled'}
            )
        self.end_completely(lease)
        self._assert_empty('host1')
        for server in servers:
            self.assertEqual(
                'SHELVED_OFFLOADED',
                self.api.get_server(server['id'])['status'],
            )
