# SPDX-License-Identifier: Apache-2.0
"""Servers to which their own lease guarantees a place, on a whole Nova."""

from unittest import mock

from nova.tests.functional.api import client as api_client

from nova_reservations import objects
from nova_reservations.engine.leases import server_leases
from nova_reservations.tests.functional.nova import shelving
from nova_reservations.tests.functional.nova import test_open_reservations

HINTS = shelving.HINTS
IMAGE = '155d900f-4e14-4e4c-a73d-069cbf4541e6'


class GuaranteedTestCase(
    shelving.ShelvingTestCase, test_open_reservations.OpenTestCase
):
    def _install(self, directory) -> None:
        super()._install(directory)
        self.flags(
            resource_types=[objects.HOST, objects.SERVER, 'virtual:instance'],
            group='reservations',
        )

    def setUp(self):
        super().setUp()
        # A host has room for one server of this flavor.
        self._create_flavor(
            id='large', vcpu=1, memory_mb=5000, disk=1, ephemeral=0, swap=0
        )
        self._create_flavor(
            id='small', vcpu=1, memory_mb=256, disk=1, ephemeral=0, swap=0
        )
        self._create_flavor(
            id='larger', vcpu=1, memory_mb=5001, disk=1, ephemeral=0, swap=0
        )

    def sure(self, starts_in=0, flavor='large', count=1, **server):
        """Ask for servers with a guaranteed place."""
        body = self._build_server(
            networks='none', flavor_id=flavor, **server
        ) | {'min_count': count, 'max_count': count}
        return self.ask(starts_in=starts_in, server=body, guaranteed=True)

    def in_place(self, **asked):
        """Return a server in its guaranteed place; its lease is active."""
        server = self._wait_for_state_change(self.sure(**asked), 'ACTIVE')
        self.until('ACTIVE')
        self.assert_in_place(server)
        return server

    def two_in_place(self):
        """Return two servers of one lease, on one host each."""
        self.enrol('host1', 'host2')
        self.sure(count=2)
        self.until('ACTIVE')
        servers = self.api.get_servers()
        for server in servers:
            self.assert_in_place(server)
        return servers

    def one_of_two_places(self):
        """Return one of two servers; the place of the other is free."""
        server, other = self.two_in_place()
        self.api.delete_server(other['id'])
        self._wait_until_deleted(other)
        return server

    def assert_in_place(self, server) -> None:
        lease = self.only_lease()
        self.assertIn(self.host_of(server), self.hosts_of(lease))
        self.assertEqual(
            {objects.slot_class(self.id_of(lease)): 1}, self.slots_of(server)
        )

    def assert_nothing_is_left(self) -> None:
        self.assertEqual(
            [],
            [
                name
                for name in self.classes()
                if name.startswith(objects.SLOTS)
            ],
        )
        self.assertEqual(['freepool'], list(self.aggregates()))


class FromNowOnTest(GuaranteedTestCase):
    def test_a_server_has_its_place_until_the_end(self):
        self.enrol('host1')
        server = self.in_place()
        lease = self.only_lease()
        self.assertEqual('host1', self.host_of(server))
        self.assertEqual({'host1': 1}, self.inventories(lease))
        # Nova stores nothing of the place that would outlive the lease.
        self.assertEqual({'lease_params'}, self.stored(server))
        [reservation] = lease.reservations
        self.assertEqual(
            {'used': 1}, self.services.lease_lists.usage(lease, reservation)
        )
        self.end_completely(lease)
        self._wait_until_deleted(server)
        self.assert_nothing_is_left()

    def test_the_zone_of_the_server_is_that_of_its_place(self):
        self.enrol('host1', 'host2')
        [_, second] = self.services.hosts.find(objects.HostQuery())
        aggregate = self.admin_api.post_aggregate(
            {'aggregate': {'name': 'a', 'availability_zone': 'there'}}
        )
        self.admin_api.add_host_to_aggregate(
            aggregate['id'], second.facts.service_host
        )
        self.services.hosts.refresh(self.now)
        server = self.in_place(az='there')
        self.assertEqual(second.facts.service_host, self.host_of(server))


class LaterTest(GuaranteedTestCase):
    def test_a_server_is_built_beside_and_brought_into_its_place(self):
        self.enrol('host1')
        server = self.sure(starts_in=20)
        self._wait_for_state_change(server, 'ACTIVE')
        self.assertIn(self.host_of(server), test_open_reservations.OUTSIDE)
        self.until_shelved(server)
        self.assertEqual({}, self.inventories(self.only_lease()))
        self.until_the_start()
        self.until('ACTIVE')
        self.assertEqual('ACTIVE', self.status_of(server))
        self.assert_in_place(server)
        self.end_completely(self.only_lease())
        self._wait_until_deleted(server)
        self.assert_nothing_is_left()

    def test_a_server_that_its_user_has_brought_back_before_is_brought_in(
        self,
    ):
        self.enrol('host1')
        server = self.sure(starts_in=20)
        self.until_shelved(server)
        self._unshelve_server(server)
        self.assertIn(self.host_of(server), test_open_reservations.OUTSIDE)
        self.until_the_start()
        self.until('ACTIVE')
        self.assert_in_place(server)


class CellsTest(GuaranteedTestCase):
    NUMBER_OF_CELLS = 2
    hosts = ('host1', 'host2', 'host3')
    far_hosts = ('host1', 'host2')

    def test_a_server_is_built_in_the_cell_of_its_place(self):
        self.enrol('host1')
        self.sure(starts_in=20, flavor='small', count=4)
        servers = self.api.get_servers()
        for server in servers:
            self._wait_for_state_change(server, 'ACTIVE')
            self.assertEqual('host2', self.host_of(server))
        self.until_the_start()
        self.until('ACTIVE')
        for server in servers:
            self.assertEqual('host1', self.host_of(server))

    def test_a_server_is_not_built_where_it_could_not_be_brought_from(self):
        self.enrol('host1', 'host2')
        why = self.fault_of(self.sure(starts_in=20))
        self.assertIn('No valid host', why)

    def test_a_server_without_a_place_is_built_in_any_cell(self):
        self.enrol('host1', 'host2')
        server = self._wait_for_state_change(self.ask(starts_in=20), 'ACTIVE')
        self.assertEqual('host3', self.host_of(server))


class MovesTest(GuaranteedTestCase):
    def test_a_server_is_migrated_to_a_free_place(self):
        server = self.one_of_two_places()
        source = self.host_of(server)
        self._live_migrate(server)
        self.assertNotEqual(source, self.host_of(server))
        self.assert_in_place(server)
        self._migrate_server(server)
        self._confirm_resize(server)
        self.assertEqual(source, self.host_of(server))
        self.assert_in_place(server)

    def test_a_server_is_migrated_to_free_places_only(self):
        server, _ = self.two_in_place()
        source = self.host_of(server)
        self.admin_api.post_server_action(server['id'], {'migrate': None})
        self._assert_resize_migrate_action_fail(
            server, 'migrate', 'NoValidHost'
        )
        self.assertEqual(source, self.host_of(server))
        self.assert_in_place(server)

    def test_a_server_is_resized_to_a_flavor_that_fits(self):
        server = self.one_of_two_places()
        self._resize_server(server, 'small')
        self._confirm_resize(server)
        self.assert_in_place(server)
        # The server can also return to the flavor that it was asked for with.
        self._resize_server(server, 'large')
        self._confirm_resize(server)
        self.assert_in_place(server)

    def test_a_server_is_not_resized_to_a_flavor_that_does_not_fit(self):
        server = self.one_of_two_places()
        larger = {'resize': {'flavorRef': 'larger'}}
        refusal = self.assertRaises(
            api_client.OpenStackApiException,
            self.api.post_server_action,
            server['id'],
            larger,
        )
        self.assertEqual(409, refusal.response.status_code)
        self.assertIn(
            'asks for more than it was guaranteed', refusal.response.text
        )
        with mock.patch.object(server_leases.ServerLeases, 'check_resize'):
            self.api.post_server_action(server['id'], larger)
        self._assert_resize_migrate_action_fail(
            server, 'resize', 'NoValidHost'
        )
        self.assert_in_place(server)

    def test_a_server_is_not_resized_into_another_reservation(self):
        server = self.one_of_two_places()
        self.enrol('host3')
        flavor = self.id_of(self.slots(1))
        status = self.status_of_refusal(
            lambda: self.api.post_server_action(
                server['id'], {'resize': {'flavorRef': flavor}}
            )
        )
        self.assertEqual(409, status)

    def test_a_server_is_evacuated_to_a_free_place(self):
        server = self.one_of_two_places()
        source = self.host_of(server)
        self.stop_host(source)
        self._evacuate_server(server)
        self.assertEqual({'host1', 'host2'} - {source}, {self.host_of(server)})

    def test_a_server_that_its_user_shelved_comes_back_into_its_place(self):
        self.enrol('host1')
        server = self.in_place()
        self._shelve_server(server)
        self.assertEqual({}, self.slots_of(server))
        self._unshelve_server(server)
        self.assert_in_place(server)

    def test_a_server_is_rebuilt_where_it_is(self):
        self.enrol('host1')
        server = self.in_place()
        self._rebuild_server(server, IMAGE)
        self.assert_in_place(server)

    def test_a_server_whose_host_fails_follows_its_place(self):
        self.flags(heal_evacuate=True, group='reservations')
        self.enrol('host1', 'host2')
        server = self.in_place()
        failed = self.host_of(server)
        [other] = {'host1', 'host2'} - {failed}
        self.stop_host(failed)
        self.look()
        self.assertEqual((False, True), self.shown(self.only_lease()))

        def is_there():
            self.look()
            self.assertEqual(other, self.host_of(server))

        self._wait_for_assert(is_there)
        self._wait_for_state_change(server, 'ACTIVE')
        self.assertIn(other, self.inventories(self.only_lease()))
