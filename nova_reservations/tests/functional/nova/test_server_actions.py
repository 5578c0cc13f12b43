# SPDX-License-Identifier: Apache-2.0
"""Workers that may die save, suspend and bring back servers."""

import fixtures
from nova import context
from nova import objects
from nova.compute import api as compute_api
from nova.tests import fixtures as nova_fixtures

from nova_reservations import ports
from nova_reservations.tests.functional.nova import base
from nova_reservations.tests.functional.nova import shared


class Killed(BaseException):
    pass


def _kill(*args, **kwargs):
    raise Killed


def go_on():
    pass


def told(reasons):
    return {server: why.told for server, why in reasons.items()}


class ServerActionsTest(shared.SharedNova):
    hosts = ('host1',)

    def setUp(self):
        super().setUp()
        self.trust()
        self.cloud = self.services.hosts.cloud

    def _find(self, *servers):
        ids = [server['id'] for server in servers]
        found = self.cloud.servers.find_servers(ids)
        return [found[one] for one in ids if one in found]

    def _until_done(self, verb, *servers, attempt=0):
        """Ask until no server waits any more; return the servers that have
        failed."""

        def is_done():
            self.outcome = verb(self._find(*servers), self._order(attempt))
            self.assertEqual({}, self.outcome.waiting)

        self._wait_for_assert(is_done)
        return told(self.outcome.failed)

    def _once(self, verb, server, attempt=0):
        outcome = verb(self._find(server), self._order(attempt))
        return told(outcome.waiting | outcome.failed).get(server['id'])

    def _order(self, attempt=0):
        return ports.Order(
            ports.RequestKey('a lease', attempt), go_on, self.now
        )

    def _killed_at(self, name, verb, server, attempt=0):
        """Have the worker die when it calls the named function."""
        with fixtures.MonkeyPatch(name, _kill):
            self.assertRaises(Killed, self._once, verb, server, attempt)

    def _shelve(self, server):
        self.api.post_server_action(server['id'], {'shelve': None})
        # Nova clears the server's host a moment after the status.
        return self._wait_for_server_parameter(
            server,
            {'status': 'SHELVED_OFFLOADED', 'OS-EXT-SRV-ATTR:host': None},
        )

    def _images(self, name):
        return [
            image
            for image in self.glance.detail(None)
            if image['name'] == name
        ]

    def _task(self, server):
        shown = self.api.get_server(server['id'])
        return shown['OS-EXT-STS:task_state']

    def _a_minute_later(self):
        self.useFixture(
            fixtures.MonkeyPatch(
                'oslo_utils.timeutils.is_older_than', lambda *args: True
            )
        )

    # Finding them

    def test_only_servers_that_nova_has_deleted_are_gone(self):
        servers = [self.boot() for _ in range(3)]
        self._delete_server(servers[0])
        mapping = objects.InstanceMapping.get_by_instance_uuid(
            self._admin(), servers[1]['id']
        )
        # The server's deletion was requested, and failed.
        mapping.queued_for_delete = True
        mapping.save()
        self.assertEqual(
            {servers[0]['id'], 'never made'},
            self.cloud.servers.gone_servers(
                [*(server['id'] for server in servers), 'never made']
            ),
        )

    def _admin(self):
        return context.get_admin_context()

    # Saving

    def test_an_image_is_made_of_each_and_only_once(self):
        servers = [self.boot(name='one'), self.boot(name='two')]
        self.assertEqual(
            {}, self._until_done(self.cloud.servers.save_servers, *servers)
        )
        # Another attempt finds the same image.
        self.assertEqual(
            {},
            self._until_done(
                self.cloud.servers.save_servers, *servers, attempt=7
            ),
        )
        for name in ('reserved_one', 'reserved_two'):
            [image] = self._images(name)
            self.assertEqual(base.MINE, image['owner'])

    def test_a_copy_under_way_is_not_begun_again_by_a_later_attempt(self):
        server = self.boot(name='one')
        with fixtures.MonkeyPatch(
            'nova.virt.fake.FakeDriver.snapshot', lambda *args: None
        ):
            self.assertEqual(
                'is being made',
                self._once(self.cloud.servers.save_servers, server),
            )
        self._wait_for_server_parameter(
            server, {'OS-EXT-STS:task_state': None}
        )
        [image] = self._images('reserved_one')
        self.glance.update(self._admin(), image['id'], {'status': 'saving'})
        self.assertEqual(
            'is being made',
            self._once(self.cloud.servers.save_servers, server, attempt=5),
        )
        self.assertEqual(1, len(self._images('reserved_one')))

    def test_a_worker_that_died_while_saving_leaves_nothing_behind(self):
        for number, step in enumerate(
            (
                'nova.objects.Instance.save',
                'nova.compute.api.API._record_action_start',
                'nova.compute.rpcapi.ComputeAPI.snapshot_instance',
            )
        ):
            server = self.boot(name=f'server{number}')
            self._killed_at(step, self.cloud.servers.save_servers, server)
            self.assertEqual(
                {},
                self._until_done(
                    self.cloud.servers.save_servers, server, attempt=2
                ),
                step,
            )
            [image] = self._images(f'reserved_server{number}')
            self.assertEqual('active', image['status'])
            self.assertIsNone(self._task(server))

    def test_volumes_of_a_server_outlive_it(self):
        server = self._boot_of_volume(delete_on_termination=True)
        self.assertEqual(
            {}, self._until_done(self.cloud.servers.save_servers, server)
        )
        [volume] = self.admin_api.get_server(server['id'])[
            'os-extended-volumes:volumes_attached'
        ]
        self.assertFalse(volume['delete_on_termination'])
        self.assertEqual([], self._images('reserved_of a volume'))

    def _boot_of_volume(self, **mapping):
        self.useFixture(nova_fixtures.CinderFixture(self))
        server = self._build_server(image_uuid='', networks='none')
        server['block_device_mapping_v2'] = [
            {
                'boot_index': 0,
                'source_type': 'volume',
                'destination_type': 'volume',
                'uuid': nova_fixtures.CinderFixture.IMAGE_BACKED_VOL,
                **mapping,
            }
        ]
        server = self.api.post_server({'server': server})
        return self._wait_for_state_change(server, 'ACTIVE')

    def test_the_image_of_a_shelved_server_is_kept_if_it_is_wanted(self):
        for keep, images in ((True, 1), (False, 0)):
            name = f'keep {keep}'
            server = self._shelve(self.boot(name=name))
            self.assertEqual(
                {}, self._until_done(self.cloud.servers.save_servers, server)
            )
            self.cloud.servers.delete_servers(
                self._find(server), go_on, self.now, keep_images=keep
            )
            self._wait_until_deleted(server)
            self.assertEqual(images, len(self._images(f'{name}-shelved')))

    # Suspending

    def test_servers_that_run_are_suspended_and_others_rest_already(self):
        running, locked, stopped, paused, rescued = (
            self.boot() for _ in range(5)
        )
        shelved = self._shelve(self.boot())
        self.admin_api.post_server_action(rescued['id'], {'rescue': None})
        self._wait_for_state_change(rescued, 'RESCUE')
        self._stop_server(stopped)
        self.admin_api.post_server_action(locked['id'], {'lock': {}})
        self.admin_api.post_server_action(paused['id'], {'pause': {}})
        self._wait_for_state_change(paused, 'PAUSED')
        every = (running, locked, stopped, paused, rescued, shelved)
        self.assertEqual(
            {}, self._until_done(self.cloud.servers.suspend_servers, *every)
        )
        for server, status in zip(
            every,
            (
                'SUSPENDED',
                'SUSPENDED',
                'SHUTOFF',
                'SUSPENDED',
                'SUSPENDED',
                'SHELVED_OFFLOADED',
            ),
            strict=True,
        ):
            shown = self.api.get_server(server['id'])
            self.assertEqual(status, shown['status'])

    def test_a_worker_that_died_while_suspending_leaves_no_server_stuck(self):
        for step in (
            'nova.objects.Instance.save',
            'nova.compute.api.API._record_action_start',
            'nova.compute.rpcapi.ComputeAPI.suspend_instance',
        ):
            server = self.boot()
            self._killed_at(step, self.cloud.servers.suspend_servers, server)
            self._a_minute_later()
            self.assertEqual(
                {},
                self._until_done(
                    self.cloud.servers.suspend_servers, server, attempt=1
                ),
                step,
            )
            self._wait_for_state_change(server, 'SUSPENDED')

    # Bringing back

    def test_a_worker_that_died_while_unshelving_leaves_no_server_stuck(self):
        for step in (
            'nova.objects.Instance.save',
            'nova.compute.api.API._record_action_start',
            'nova.conductor.api.ComputeTaskAPI.unshelve_instance',
        ):
            server = self._shelve(self.boot())
            self._killed_at(step, self.cloud.servers.unshelve_servers, server)
            self._a_minute_later()
            self.assertEqual(
                {},
                self._until_done(
                    self.cloud.servers.unshelve_servers, server, attempt=1
                ),
                step,
            )
            self._wait_for_state_change(server, 'ACTIVE')

    def test_an_action_that_is_under_way_is_not_taken_for_lost(self):
        """This holds for as long as the action takes, and for each attempt."""
        server = self._shelve(self.boot())
        self.useFixture(
            fixtures.MonkeyPatch(
                'nova.compute.rpcapi.ComputeAPI.unshelve_instance',
                lambda *args, **kwargs: None,
            )
        )
        self._once(self.cloud.servers.unshelve_servers, server)

        def is_scheduled():
            [action] = [
                one
                for one in self.api.get_instance_actions(server['id'])
                if one['action'] == 'unshelve'
            ]
            detail = self.admin_api.api_get(
                f'/servers/{server["id"]}/os-instance-actions/'
                f'{action["request_id"]}'
            ).body['instanceAction']
            self.assertIn(
                'schedule_instances',
                [event['event'] for event in detail['events']],
            )

        self._wait_for_assert(is_scheduled)
        self._a_minute_later()
        self.assertEqual(
            'it is still unshelving',
            self._once(self.cloud.servers.unshelve_servers, server, attempt=9),
        )

    def test_the_quota_that_counts_is_that_of_the_servers_project(self):
        self.flags(count_usage_from_placement=True, group='quota')
        server = self._shelve(self.boot())
        seen = []
        check = compute_api.API._check_quota_unshelve_offloaded

        def spy(context, instance, request_spec):
            seen.append((context.project_id, context.user_id))
            return check(context, instance, request_spec)

        with fixtures.MonkeyPatch(
            'nova.compute.api.API._check_quota_unshelve_offloaded',
            staticmethod(spy),
        ):
            self._once(self.cloud.servers.unshelve_servers, server)
        instance = objects.Instance.get_by_uuid(self._admin(), server['id'])
        self.assertEqual([(instance.project_id, instance.user_id)], seen)
        self._wait_for_state_change(server, 'ACTIVE')

    def test_nothing_is_begun_without_a_token(self):
        running, shelved = self.boot(), self._shelve(self.boot())
        self.distrust()
        for server, verb in (
            (shelved, self.cloud.servers.unshelve_servers),
            (running, self.cloud.servers.save_servers),
            (running, self.cloud.servers.migrate_servers),
        ):
            with self.assertRaisesRegex(
                Exception, 'Keystone can not be reached'
            ):
                self._once(verb, server)
            self.assertIsNone(self._task(server))
        with self.assertRaisesRegex(Exception, 'Keystone can not be reached'):
            self.cloud.servers.shelve_servers(
                self._find(running), self._order()
            )
        self.assertIsNone(self._task(running))
