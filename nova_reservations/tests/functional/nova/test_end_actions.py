# SPDX-License-Identifier: Apache-2.0
"""Servers at the end of their lease, where they are not deleted."""

import threading
from unittest import mock

import fixtures
from glanceclient import exc as glance_exc
from nova import context
from nova import objects
from nova.compute import rpcapi
from nova.compute import task_states
from nova.compute import vm_states

from nova_reservations import ports
from nova_reservations.cloud.servers import actions
from nova_reservations.cloud.servers import instance_actions
from nova_reservations.objects import states
from nova_reservations.tests.functional.nova import base
from nova_reservations.tests.functional.nova import shared

UNIMPLEMENTED = '501 Not Implemented: no store takes it on host glance7'


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

    def _task(self, server):
        return self.api.get_server(server['id'])['OS-EXT-STS:task_state']

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
                servers,
                ports.Order(ports.RequestKey('look'), lambda: None, self.now),
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

    def test_a_shelve_that_its_host_forgot_is_asked_for_once_overdue(self):
        """nova-compute is killed while it shelves, and starts again."""
        lease = self.lease(end_action='shelve')
        servers = [self.boot(lease) for _ in actions.SHELVING]
        shelves = 'nova.compute.manager.ComputeManager._shelve_instance'
        with fixtures.MonkeyPatch(shelves, lambda *args, **kwargs: None):
            self.end(lease)
            for server in servers:
                self._wait_for_instance_action_event(
                    server,
                    'shelve',
                    'compute_shelve_instance',
                    'success',
                )
        for server, task in zip(
            servers, sorted(actions.SHELVING), strict=True
        ):
            instance = objects.Instance.get_by_uuid(
                context.get_admin_context(), server['id']
            )
            instance.task_state = task
            if task == task_states.SHELVING_OFFLOADING:
                instance.vm_state = vm_states.SHELVED
            instance.save()
        self.pass_time(minutes=1)
        self.end(lease)
        self.assertEqual(
            sorted(actions.SHELVING),
            [self._task(server) for server in servers],
        )
        self.flags(end_timeout=1, group='reservations')
        self._force_down('host1', True)
        self.pass_time(minutes=1)
        self.end(lease)
        # It may go on with them, for all that anybody knows.
        self.assertEqual(
            sorted(actions.SHELVING),
            [self._task(server) for server in servers],
        )
        self._force_down('host1', False)
        self.pass_time(minutes=1)
        self.end_completely(lease)
        for server in servers:
            self._wait_for_state_change(server, 'SHELVED_OFFLOADED')

    def _force_down(self, host, forced):
        self.admin_api.put_service(
            self.computes[host].service_ref.uuid, {'forced_down': forced}
        )

    def test_a_host_that_forgot_to_let_a_shelved_server_go_is_empty(self):
        """nova-compute is killed when it has deleted the guest."""
        lease = self.lease(end_action='shelve')
        server = self.boot(lease)
        clears = (
            'nova.compute.manager.ComputeManager.'
            '_nil_out_instance_obj_host_and_node'
        )
        with fixtures.MonkeyPatch(clears, lambda *args: None):
            self.end(lease)
            self._wait_for_instance_action_event(
                server, 'shelve', 'compute_shelve_instance', 'success'
            )
        self.pass_time(minutes=1)
        waits = self.end(lease)
        self.assertEqual(states.Lease.TERMINATING, waits.status)
        self.assertEqual('host1', self.host_of(server))
        self.flags(end_timeout=1, group='reservations')
        self.end_completely(lease)
        self.assertIsNone(self.host_of(server))
        self.api.post_server_action(server['id'], {'unshelve': None})
        self._wait_for_state_change(server, 'ACTIVE')

    def test_a_host_that_hangs_ends_once_what_it_was_asked_for_twice(self):
        """It takes the guest down for longer than anybody waits."""
        lease = self.lease(end_action='shelve')
        server = self.boot(lease)
        goes_on = threading.Event()
        self.addCleanup(goes_on.set)
        destroyed = []

        def destroy(driver, context, instance, *args, **kwargs):
            destroyed.append(instance.uuid)
            goes_on.wait(60)

        self.useFixture(
            fixtures.MonkeyPatch('nova.virt.fake.FakeDriver.destroy', destroy)
        )
        self.flags(end_timeout=1, group='reservations')
        self.end(lease)
        self._wait_for_assert(lambda: self.assertEqual(1, len(destroyed)))

        def was_asked_again():
            self.pass_time(seconds=10)
            self.end(lease)
            found = self.api.get_instance_actions(server['id'])
            self.assertEqual('shelveOffload', found[0]['action'])

        self._wait_for_assert(was_asked_again)
        self.assertEqual(1, len(destroyed))
        goes_on.set()
        self.end_completely(lease)
        self._wait_for_state_change(server, 'SHELVED_OFFLOADED')
        self._assert_empty('host1')

    def test_an_upload_that_is_only_slow_is_not_disturbed(self):
        """The host is asked again, and is done with the first request."""
        lease = self.lease(end_action='shelve')
        server = self.boot(lease)
        uploaded = threading.Event()
        uploads = []

        def upload(driver, context, instance, image_id, update_task_state):
            update_task_state(task_state=task_states.IMAGE_UPLOADING)
            uploads.append(image_id)
            uploaded.wait(60)

        self.useFixture(
            fixtures.MonkeyPatch('nova.virt.fake.FakeDriver.snapshot', upload)
        )
        self.flags(end_timeout=1, group='reservations')

        def was_asked_again():
            self.pass_time(seconds=10)
            self.end(lease)
            self.assertEqual('shelving', self._task(server))
            self.assertEqual(1, len(uploads))

        self.addCleanup(uploaded.set)
        self.end(lease)
        self._wait_for_server_parameter(
            server, {'OS-EXT-STS:task_state': 'shelving_image_uploading'}
        )
        self._wait_for_assert(was_asked_again)
        uploaded.set()
        self.end_completely(lease)
        self._wait_for_state_change(server, 'SHELVED_OFFLOADED')
        instance = objects.Instance.get_by_uuid(
            context.get_admin_context(), server['id']
        )
        self.assertEqual(
            uploads, [instance.system_metadata['shelved_image_id']]
        )

    def _assert_words(self, lease, told, words):
        """Check what the owner, and what an administrator reads."""
        self.assertIn(told, lease.status_reason)
        self.assertNotIn('501', lease.status_reason)
        self.assertIn(told, lease.status_detail)
        self.assertIn(words, lease.status_detail)

    def test_an_administrator_reads_why_an_image_was_not_uploaded(self):
        """Nova records the words of glance with the fault of the server."""
        lease = self.lease(end_action='shelve')
        server = self.boot(lease)

        def upload(driver, context, instance, image_id, update_task_state):
            raise glance_exc.HTTPNotImplemented(UNIMPLEMENTED)

        with fixtures.MonkeyPatch(
            'nova.virt.fake.FakeDriver.snapshot', upload
        ):
            self.end(lease)
            self._wait_for_instance_action_event(
                server, 'shelve', 'compute_shelve_instance', 'error'
            )
            self._wait_for_server_parameter(
                server, {'OS-EXT-STS:task_state': None}
            )
            self.pass_time(seconds=10)
            waits = self.end(lease)
        self._assert_words(
            waits,
            'can not be shelved: Nova has failed at it',
            'compute_shelve_instance on host1: '
            f'glanceclient.exc.HTTPNotImplemented: HTTP {UNIMPLEMENTED}',
        )
        self.pass_time(minutes=1)
        self.end_completely(lease)

    def test_an_administrator_reads_why_an_image_was_not_created(self):
        """Nova leaves the task as it is, and records nothing of it."""
        lease = self.lease(end_action='shelve')
        server = self.boot(lease)

        def create(images, context, info, data=None):
            raise glance_exc.HTTPNotImplemented(UNIMPLEMENTED)

        words = f'HTTPNotImplemented: HTTP {UNIMPLEMENTED}'
        with fixtures.MonkeyPatch(
            'nova_reservations.cloud.servers.images.Images.create', create
        ):
            self._assert_words(self.end(lease), 'Nova failed at it', words)
            self.assertIsNone(self._task(server))
            self.pass_time(seconds=10)
            waits = self.end(lease)
        self._assert_words(waits, 'Nova has failed at it', words)
        self.pass_time(minutes=1)
        self.end_completely(lease)
        self._wait_for_state_change(server, 'SHELVED_OFFLOADED')

    def test_a_server_that_its_user_deletes_is_not_kept(self):
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

    def test_a_server_that_finds_no_place_is_shelved(self):
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
