# SPDX-License-Identifier: Apache-2.0
"""A server that was moved by force landed on a host that was enrolled between
nova-api's look and nova-conductor's claim. Issue 13, item 1.
"""

from unittest import mock

from nova.compute import task_states
from nova.conductor import manager
from nova.conductor import rpcapi
from nova.conductor.tasks import live_migrate

from nova_reservations.tests.functional.nova import conductor
from nova_reservations.tests.functional.nova import shared


class MovesByForceTest(shared.SharedNova):
    hosts = ('host1', 'host2')

    def setUp(self):
        super().setUp()
        self.useFixture(conductor.Conductor(guarded=True))
        self.server = self.boot()
        self.source = self.host_of(self.server)
        [self.target] = {*self.hosts} - {self.source}
        # The last microversion in which a forced host bypasses the scheduler.
        self.admin_api.microversion = '2.67'

    def enrol_before(self, owner, method):
        """Enrol the target after nova-api's check, and before the claim."""
        original = getattr(owner, method)

        def enrolling(*args, **kwargs):
            self.enrol(self.target)
            return original(*args, **kwargs)

        self.stub_out(
            f'{owner.__module__}.{owner.__name__}.{method}', enrolling
        )

    def held_of(self, host):
        uuid = self._get_provider_uuid_by_host(host)
        return self._get_allocations_by_provider_uuid(uuid)

    def assert_it_stays(self):
        self.assertEqual({}, self.held_of(self.target))
        self.assertEqual([self.server['id']], list(self.held_of(self.source)))
        self.assertEqual(self.source, self.host_of(self.server))
        shown = self.admin_api.get_server(self.server['id'])
        self.assertNotEqual(
            task_states.MIGRATING, shown['OS-EXT-STS:task_state']
        )

    def test_a_live_migration_does_not_land_on_a_host_that_was_enrolled(self):
        self.enrol_before(
            live_migrate.LiveMigrationTask,
            '_check_compatible_with_source_hypervisor',
        )
        self.admin_api.post_server_action(
            self.server['id'],
            {
                'os-migrateLive': {
                    'host': self.target,
                    'block_migration': 'auto',
                    'force': True,
                }
            },
        )
        self._wait_for_migration_status(self.server, ['error'])
        self.assert_it_stays()

    def test_an_evacuation_does_not_land_on_a_host_that_was_enrolled(self):
        self.stop_host(self.source)
        self.enrol_before(
            manager.ComputeTaskManager, '_allocate_for_evacuate_dest_host'
        )
        self.admin_api.post_server_action(
            self.server['id'],
            {'evacuate': {'host': self.target, 'force': True}},
        )
        self._wait_for_migration_status(self.server, ['error'])
        self.assert_it_stays()


class NotGuardedTest(shared.SharedNova):
    """Enrolments wait for forced moves if nova-conductors are not guarded."""

    hosts = ('host1', 'host2', 'host3')

    def setUp(self):
        super().setUp()
        self.server = self.boot()
        self.source = self.host_of(self.server)
        self.target, self.other = sorted({*self.hosts} - {self.source})
        self.admin_api.microversion = '2.67'

    def in_flight(self, name):
        cloud = self.services.hosts.cloud
        [host] = cloud.hosts.find_hosts(name)
        return set(cloud.servers.in_flight([host])[name])

    def force(self, action, **asked):
        self.admin_api.post_server_action(
            self.server['id'],
            {action: {'host': self.target, 'force': True, **asked}},
        )

    def live_migrate(self):
        self.force('os-migrateLive', block_migration='auto')

    def assert_waited_for(self, *targets):
        left = self.services.hosts.enrolment.builds.left({self.server['id']})
        self.assertEqual({self.server['id']}, left)
        for host in targets:
            self.assertEqual({self.server['id']}, self.in_flight(host))

    def test_a_live_migration_that_nova_conductor_has_not_begun(self):
        with mock.patch.object(rpcapi.ComputeTaskAPI, 'live_migrate_instance'):
            self.live_migrate()
        # The target is not recorded yet: any host may be the target.
        self.assert_waited_for(self.target, self.other)

    def test_a_live_migration_that_has_not_claimed_its_host(self):
        with mock.patch.object(
            live_migrate.LiveMigrationTask, 'execute'
        ) as begun:
            self.live_migrate()
            self._wait_for_assert(begun.assert_called_once)
        self.assert_waited_for(self.target)
        self.assertEqual(set(), self.in_flight(self.other))

    def test_an_evacuation_that_has_not_claimed_its_host(self):
        self.stop_host(self.source)
        with mock.patch.object(rpcapi.ComputeTaskAPI, 'rebuild_instance'):
            self.force('evacuate')
        self.assert_waited_for(self.target)
        self.assertEqual(set(), self.in_flight(self.other))

    def test_a_server_that_is_where_it_was_forced_to(self):
        self.live_migrate()
        self._wait_for_migration_status(self.server, ['completed'])
        self.assertEqual(set(), self.in_flight(self.target))
