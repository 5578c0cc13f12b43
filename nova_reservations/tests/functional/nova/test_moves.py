# SPDX-License-Identifier: Apache-2.0
"""Servers that move: in leases, beside them, and after their end."""

from nova.compute import instance_actions

from nova_reservations.tests.functional.nova import base


class MoveTest(base.NovaTestCase):
    hosts = ('host1', 'host2', 'host3', 'host4')

    def setUp(self):
        super().setUp()
        self.enrol('host1', 'host2')

    def test_a_leased_server_moves_among_the_hosts_of_its_lease(self):
        lease = self.lease(2)
        server = self.boot(lease)
        first = self.host_of(server)
        [second] = self.hosts_of(lease) - {first}

        self._live_migrate(server)
        self.assertEqual(second, self.host_of(server))
        self._migrate_server(server)
        self._confirm_resize(server)
        self.assertEqual(first, self.host_of(server))
        self._resize_server(server, self.api.get_flavors()[1]['id'])
        self._revert_resize(server)
        self.assertEqual(first, self.host_of(server))
        self._shelve_server(server)
        self._unshelve_server(server)
        self.assertIn(self.host_of(server), self.hosts_of(lease))

    def test_a_leased_server_does_not_leave_its_only_host(self):
        lease = self.lease(1)
        server = self.boot(lease)
        larger = self.api.get_flavors()[1]['id']
        for action, arguments in (
            (instance_actions.MIGRATE, None),
            (instance_actions.RESIZE, {'flavorRef': larger}),
        ):
            self.api.post_server_action(server['id'], {action: arguments})
            self._assert_resize_migrate_action_fail(
                server, action, 'NoValidHost'
            )
        self._live_migrate(server, 'error')
        self._live_migrate(server, 'error', host='host3')
        self.assertIn(self.host_of(server), self.hosts_of(lease))

    def test_an_administrators_move_counts_as_the_owners(self):
        lease = self.lease(2, project_id=base.OTHERS)
        server = self.boot(lease, api=self.others_api)
        [other] = self.hosts_of(lease) - {self.host_of(server)}
        self._live_migrate(server)
        self.assertEqual(other, self.host_of(server))

    def test_a_leased_server_is_evacuated_within_its_lease(self):
        lease = self.lease(2)
        server = self.boot(lease)
        failed = self.host_of(server)
        [other] = self.hosts_of(lease) - {failed}
        self.stop_host(failed)
        self._evacuate_server(server, expected_host=other)

    def test_an_ordinary_server_stays_out_of_the_pool(self):
        server = self.boot()
        first = self.host_of(server)
        [second] = {'host3', 'host4'} - {first}

        self._live_migrate(server)
        self.assertEqual(second, self.host_of(server))
        self._live_migrate(server, 'error', host='host1')
        self.assertEqual(second, self.host_of(server))
        self._migrate_server(server)
        self._confirm_resize(server)
        self.assertEqual(first, self.host_of(server))
        self._shelve_server(server)
        self._unshelve_server(server)
        self.assertIn(self.host_of(server), {'host3', 'host4'})
        failed = self.host_of(server)
        [other] = {'host3', 'host4'} - {failed}
        self.stop_host(failed)
        self._evacuate_server(server, expected_host=other)

    def test_servers_are_rebuilt_where_they_are(self):
        image = self.glance.auto_disk_config_enabled_image['id']
        for lease in (self.lease(1), None):
            server = self.boot(lease)
            before = self.host_of(server)
            self._rebuild_server(server, image)
            self.assertEqual(before, self.host_of(server))

    def test_no_move_past_the_scheduler_goes_to_a_leased_host(self):
        lease = self.lease(2)
        server = self.boot(lease)
        [other] = self.hosts_of(lease) - {self.host_of(server)}
        ordinary = self.boot()
        self.admin_api.microversion = '2.67'
        for moved, target in ((server, 'host3'), (ordinary, other)):
            body = {
                'os-migrateLive': {
                    'host': target,
                    'block_migration': 'auto',
                    'force': True,
                }
            }
            self.assertEqual(
                409,
                self.status_of_refusal(
                    self.admin_api.post_server_action, moved['id'], body
                ),
            )

    def test_a_server_that_outlives_its_lease_moves_as_an_ordinary_one(self):
        lease = self.lease(2)
        server = self.boot(lease)
        # Off its host, it is not among those that go with the lease.
        self._shelve_server(server)
        self.end_completely(lease)
        self._unshelve_server(server)
        first = self.host_of(server)
        self.assertIn(first, {'host3', 'host4'})
        [second] = {'host3', 'host4'} - {first}
        self._live_migrate(server)
        self.assertEqual(second, self.host_of(server))
        self.assertEqual(409, self.status_of_refusal(self.post, lease))
        self.services.leases.delete(lease.id, self.now)
        self._live_migrate(server)
        self.assertEqual(first, self.host_of(server))
