# SPDX-License-Identifier: Apache-2.0
"""Servers that stand between two reservations, on a whole Nova: each belongs
to the reservation that counts it now.

All states and all ends are in ``tests/functional/engine/test_owners.py``.
Decision 0063: doc/source/decisions/0063-who-counts-it-has-it
"""

import datetime
from unittest import mock

from nova import context as nova_context
from nova import objects as nova_objects
from nova.compute import rpcapi
from nova.policies import servers as server_policies

from nova_reservations.db.record import server_usage
from nova_reservations.engine.worker import deleted_servers
from nova_reservations.objects import states
from nova_reservations.tests.functional.nova import test_instances


def on(host):
    """Return requirements that only this host meets."""
    return f'["==", "$hypervisor_hostname", "{host}"]'


class OwnersTestCase(test_instances.InstancesTestCase):
    def leases(self):
        """Return two leases of slots, on two hosts; the second ends later."""
        self.enrol('host1', 'host2')
        return [
            self.slots(
                1,
                resource_properties=on(f'host{number}'),
                lasts=datetime.timedelta(hours=number),
            )
            for number in (1, 2)
        ]

    def recorded_in(self, server):
        """Look where servers are; return which reservation the server uses by
        the record."""
        deleted_servers.DeletedServers(
            self.services.database, self.services.hosts.cloud
        ).look(self.services.database.now())
        with self.services.database.reader() as session:
            [found] = [
                stay.reservation_id
                for stay in server_usage.watched(session, '', 9)
                if stay.server_uuid == server['id']
            ]
        return found

    def is_left(self, server):
        """Check that a server outlives the end of a lease."""
        found = self.api.get_server(server['id'])
        self.assertEqual('ACTIVE', found['status'])
        self.assertIsNone(found['OS-EXT-STS:task_state'])


class TestResized(OwnersTestCase):
    def test_a_server_belongs_to_the_lease_that_it_was_resized_into(self):
        first, second = self.leases()
        server = self.boot_in(first)
        self._resize_server(server, self.id_of(second))
        self._confirm_resize(server)
        self.end_completely(first)
        self.is_left(server)
        self.end_completely(second)
        self._wait_until_deleted(server)

    def test_an_open_resize_is_confirmed_when_the_lease_it_left_ends(self):
        first, second = self.leases()
        server = self.boot_in(first)
        self._resize_server(server, self.id_of(second))
        waits = self.end(first)
        self.assertEqual(states.Lease.TERMINATING, waits.status)
        self.assertIn('its resize is being confirmed', waits.status_reason)
        self.end_completely(first)
        self.is_left(server)

    def test_an_open_resize_ends_with_the_lease_that_it_came_to(self):
        first, second = self.leases()
        server = self.boot_in(second)
        self._resize_server(server, self.id_of(first))
        self.end_completely(first)
        self._wait_until_deleted(server)

    def test_a_server_that_is_on_its_way_out_is_waited_for(self):
        first, second = self.leases()
        server = self.boot_in(first)
        with mock.patch.object(rpcapi.ComputeAPI, 'prep_resize') as chosen:
            self.api.post_server_action(
                server['id'], {'resize': {'flavorRef': self.id_of(second)}}
            )
            self._wait_for_assert(chosen.assert_called_once)
            waits = self.end(first)
        self.assertIn('is being moved out', waits.status_reason)
        self.pass_time(seconds=10)
        self.assertEqual(states.Lease.TERMINATING, self.end(first).status)
        context = nova_context.get_admin_context()
        instance = nova_objects.Instance.get_by_uuid(context, server['id'])
        self.assertEqual('resize_prep', instance.task_state)

    def test_a_server_that_is_on_its_way_in_goes_with_the_lease(self):
        first, second = self.leases()
        server = self.boot_in(second)
        with mock.patch.object(rpcapi.ComputeAPI, 'prep_resize') as chosen:
            self.api.post_server_action(
                server['id'], {'resize': {'flavorRef': self.id_of(first)}}
            )
            self._wait_for_assert(chosen.assert_called_once)
        self.end_completely(first)
        self._wait_until_deleted(server)

    def test_a_server_whose_resize_was_reverted_is_where_it_was(self):
        first, second = self.leases()
        server = self.boot_in(second)
        self.pass_time(minutes=1)
        self._resize_server(server, self.id_of(first))
        self.assertEqual(self.id_of(first), self.recorded_in(server))
        self._revert_resize(server)
        self.pass_time(minutes=1)
        self.assertEqual(self.id_of(second), self.recorded_in(server))
        self.end_completely(first)
        self.is_left(server)
        self.end_completely(second)
        self._wait_until_deleted(server)

    def test_a_shelved_server_belongs_to_the_lease_that_it_was_last_in(self):
        first, second = self.leases()
        server = self.boot_in(first)
        self._resize_server(server, self.id_of(second))
        self._confirm_resize(server)
        self._shelve_server(server)
        self.end_completely(first)
        self.assertEqual(
            'SHELVED_OFFLOADED', self.api.get_server(server['id'])['status']
        )
        self.end_completely(second)
        self._wait_until_deleted(server)

    def test_a_server_that_was_resized_to_an_ordinary_flavor_lives_on(self):
        first, _ = self.leases()
        server = self.boot_in(first)
        self._create_flavor(id='plain')
        self._resize_server(server, 'plain')
        self.assertNotEqual('host1', self.host_of(server))
        # Its resize is not confirmed yet.
        self.end_completely(first)
        self.is_left(server)


class TestAcrossCells(OwnersTestCase):
    """Nova resizes a server into another cell by a copy of it there; each cell
    has it until the resize is confirmed."""

    NUMBER_OF_CELLS = 2
    hosts = ('host1', 'host2')
    far_hosts = ('host2',)

    def setUp(self):
        super().setUp()
        self.policy.set_rules(
            {server_policies.CROSS_CELL_RESIZE: '@'}, overwrite=False
        )

    def test_a_server_moved_within_a_lease_of_slots_stays_until_its_end(self):
        self.enrol('host1', 'host2')
        lease = self.slots(2, affinity=False)
        self._goes_with(lease, self.boot_in(lease))

    def test_a_server_moved_within_a_lease_of_hosts_stays_until_its_end(self):
        self.enrol('host1', 'host2')
        lease = self.lease(2)
        self._goes_with(lease, self.boot(lease))

    def test_a_resize_out_of_a_lease_is_confirmed_when_that_ends(self):
        first, second = self.leases()
        server = self.boot_in(first)
        self.admin_api.post_server_action(
            server['id'], {'resize': {'flavorRef': self.id_of(second)}}
        )
        self._wait_for_state_change(server, 'VERIFY_RESIZE')
        self.assertEqual('host2', self.host_of(server))
        self.end_completely(first)
        self.is_left(server)
        self.end_completely(second)
        self._wait_until_deleted(server)

    def _goes_with(self, lease, server):
        source = self.host_of(server)
        self.admin_api.post_server_action(server['id'], {'migrate': None})
        self._wait_for_state_change(server, 'VERIFY_RESIZE')
        self.assertNotEqual(source, self.host_of(server))
        self.end_completely(lease)
        self._wait_until_deleted(server)
        for host in self.hosts:
            uuid = self._get_provider_uuid_by_host(host)
            self.assertEqual({}, self._get_allocations_by_provider_uuid(uuid))
