# SPDX-License-Identifier: Apache-2.0
"""Servers that move: in leases, beside them, and after their end."""

import fixtures
from nova import context as nova_context
from nova import objects
from nova.compute import instance_actions
from nova.tests.functional.api import client as api_client

from nova_reservations import exception
from nova_reservations.engine.pool import hosts
from nova_reservations.tests.functional.nova import base
from nova_reservations.tests.functional.nova import shared


def past_the_scheduler(host):
    """Return microversion and body of each move to a host for which Nova does
    not ask its scheduler."""
    old = {'block_migration': False, 'disk_over_commit': False}
    forced = {'host': host, 'block_migration': 'auto', 'force': True}
    return [
        (
            '2.29',
            {'os-migrateLive': {'host': host, 'block_migration': 'auto'}},
        ),
        ('2.67', {'os-migrateLive': forced}),
        ('2.1', {'os-migrateLive': {'host': host, **old}}),
        ('2.1', {'evacuate': {'host': host, 'onSharedStorage': 'False'}}),
        ('2.28', {'evacuate': {'host': host}}),
        ('2.67', {'evacuate': {'host': host, 'force': True}}),
    ]


class MoveTest(shared.SharedNova):
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
        # Nova refuses to evacuate from a host that is up, but only after our
        # check.
        for moved, target in ((server, 'host3'), (ordinary, other)):
            for microversion, body in past_the_scheduler(target):
                self.admin_api.microversion = microversion
                refusal = self.assertRaises(
                    api_client.OpenStackApiException,
                    self.admin_api.post_server_action,
                    moved['id'],
                    body,
                )
                self.assertEqual(409, refusal.response.status_code, body)
                self.assertIn('by force', refusal.response.text)

    def test_a_server_of_a_lease_that_is_elsewhere_is_not_moved_by_force(self):
        lease = self.lease(1)
        server = self.boot(lease)
        self._on_no_enrolled_host(server)
        microversion, body = past_the_scheduler('host3')[1]
        self.admin_api.microversion = microversion
        refusal = self.status_of_refusal(
            self.admin_api.post_server_action, server['id'], body
        )
        self.assertEqual(409, refusal)

    def _on_no_enrolled_host(self, server):
        context = nova_context.get_admin_context()
        for cell in objects.CellMappingList.get_all(context):
            with nova_context.target_cell(context, cell) as target:
                for instance in objects.InstanceList.get_all(target):
                    if instance.uuid == server['id']:
                        instance.host = 'elsewhere'
                        instance.save()

    def test_a_server_without_a_lease_is_moved_by_force(self):
        server = self.boot()
        [other] = {'host3', 'host4'} - {self.host_of(server)}
        microversion, body = past_the_scheduler(other)[1]
        self.admin_api.microversion = microversion
        self.admin_api.post_server_action(server['id'], body)
        self._wait_for_migration_status(server, ['completed'])
        self.assertEqual(other, self.host_of(server))

    def test_while_our_database_is_down_no_move_goes_past_the_scheduler(self):
        server = self.boot()
        microversion, body = past_the_scheduler('host4')[1]
        self.admin_api.microversion = microversion
        self.useFixture(
            fixtures.MockPatchObject(
                hosts.Hosts,
                'is_enrolled',
                side_effect=exception.DatabaseUnavailable(reason='down'),
            )
        )
        refusal = self.assertRaises(
            api_client.OpenStackApiException,
            self.admin_api.post_server_action,
            server['id'],
            body,
        )
        self.assertEqual(503, refusal.response.status_code)
        self.assertEqual('5', refusal.response.headers['Retry-After'])

    def test_a_server_that_outlives_its_lease_moves_as_an_ordinary_one(self):
        lease = self.lease(2)
        server = self.boot(lease)
        # A shelved server is on no host of the lease, and stays when the lease
        # ends.
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
