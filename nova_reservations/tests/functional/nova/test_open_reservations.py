# SPDX-License-Identifier: Apache-2.0
"""Reservations that are open, on a whole Nova. Servers of the project use them
without a hint."""

import datetime
from unittest import mock

import fixtures
from nova import context as nova_context
from nova import exception as nova_exception
from nova import objects as nova_objects

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations.db.holdings import slot_servers as servers_db
from nova_reservations.scheduler import open_reservations
from nova_reservations.tests.functional.nova import base
from nova_reservations.tests.functional.nova import test_instances

OUTSIDE = ('host2', 'host3')


class OpenTestCase(test_instances.InstancesTestCase):
    def opened(self, amount, **asked) -> objects.Lease:
        return self.slots(amount, consume='open', **asked)

    def used(self, lease) -> list[str]:
        """Return the servers in the lease's slots, as the API shows them."""
        return self.services.lease_lists.usage(lease, lease.reservations[0])[
            'servers'
        ]

    def slots_of(self, server) -> dict[str, int]:
        """Return resource class -> units of all slots that the server
        holds."""
        found = self.placement.get(f'/allocations/{server["id"]}').body
        return {
            name: units
            for held in found['allocations'].values()
            for name, units in held['resources'].items()
            if name.startswith(objects.SLOTS)
        }

    def stored(self, server) -> set[str]:
        """Return the names of the extra specs that Nova has stored for the
        server."""
        context = nova_context.get_admin_context()
        spec = nova_objects.RequestSpec.get_by_instance_uuid(
            context, server['id']
        )
        mapping = nova_objects.InstanceMapping.get_by_instance_uuid(
            context, server['id']
        )
        with nova_context.target_cell(context, mapping.cell_mapping) as cell:
            instance = nova_objects.Instance.get_by_uuid(
                cell, server['id'], expected_attrs=['flavor']
            )
        return {
            *spec.flavor.extra_specs,
            *instance.flavor.extra_specs,
            *(spec.scheduler_hints or ()),
        }

    def recorded(self, lease) -> frozenset[str]:
        with self.services.database.reader() as session:
            return servers_db.chosen(session, self.id_of(lease))


class TestOpen(OpenTestCase):
    def test_a_server_that_fits_takes_a_slot_by_itself(self):
        self.enrol('host1')
        lease = self.opened(1)
        server = self.boot()
        self.assertEqual('host1', self.host_of(server))
        self.assertEqual(
            {objects.slot_class(self.id_of(lease)): 1}, self.slots_of(server)
        )
        self.assertEqual([server['id']], self.used(lease))
        self.assertEqual(set(), self.stored(server))

    def test_a_server_that_finds_no_free_slot_is_an_ordinary_one(self):
        self.enrol('host1')
        lease = self.opened(1)
        self.boot()
        server = self.boot()
        self.assertIn(self.host_of(server), OUTSIDE)
        self.assertEqual({}, self.slots_of(server))
        self.assertNotIn(server['id'], self.recorded(lease))

    def test_nobody_takes_a_slot_that_is_for_those_who_ask(self):
        self.enrol('host1')
        self.slots(1)
        self.assertIn(self.host_of(self.boot()), OUTSIDE)

    def test_servers_of_others_do_not_use_it(self):
        self.enrol('host1')
        self.opened(1, project_id=base.OTHERS)
        self.assertIn(self.host_of(self.boot()), OUTSIDE)

    def test_the_flavor_of_an_open_reservation_is_there_too(self):
        self.enrol('host1')
        lease = self.opened(2)
        self.boot_in(lease)
        self.assertEqual('host1', self.host_of(self.boot()))
        self.assertEqual(2, len(self.used(lease)))

    def test_a_server_that_asks_for_another_reservation_is_there(self):
        self.enrol('host1', 'host2')
        self.opened(1)
        whole = self.lease()
        self.assertIn(self.host_of(self.boot(whole)), self.hosts_of(whole))

    def test_a_server_that_does_not_fit_into_a_slot_goes_elsewhere(self):
        self.enrol('host1')
        self.opened(2)
        self._create_flavor(
            id='large', vcpu=2, memory_mb=512, disk=1, ephemeral=0, swap=0
        )
        self._create_flavor(
            id='small', vcpu=1, memory_mb=256, disk=1, ephemeral=0, swap=0
        )
        self.assertIn(self.host_of(self.boot(flavor_id='large')), OUTSIDE)
        self.assertEqual('host1', self.host_of(self.boot(flavor_id='small')))

    def test_all_servers_of_a_request_find_slots_or_none(self):
        self.enrol('host1')
        lease = self.opened(2)
        self.boot(count=3)
        self.assertEqual([], self.used(lease))
        self.boot(count=2)
        self._wait_for_assert(
            lambda: self.assertEqual(2, len(self.used(lease)))
        )

    def test_the_one_that_ends_first_is_used_first(self):
        self.enrol('host1')
        self.opened(1, lasts=datetime.timedelta(hours=3))
        soon = self.opened(1, lasts=datetime.timedelta(hours=1))
        late = self.opened(1, lasts=datetime.timedelta(hours=2))
        first, second = self.boot(), self.boot()
        self.assertEqual([first['id']], self.used(soon))
        self.assertEqual([second['id']], self.used(late))

    def test_servers_of_two_sizes_take_slots_of_their_own(self):
        self.enrol('host1')
        large = self.opened(
            1, vcpus=2, memory_mb=512, lasts=datetime.timedelta(hours=1)
        )
        small = self.opened(1, lasts=datetime.timedelta(hours=2))
        self._create_flavor(
            id='large', vcpu=2, memory_mb=512, disk=1, ephemeral=0, swap=0
        )
        first, second = self.boot(), self.boot(flavor_id='large')
        self.assertEqual([first['id']], self.used(small))
        self.assertEqual([second['id']], self.used(large))

    def test_a_server_without_a_host_there_is_scheduled_once_more(self):
        self.enrol('host1')
        lease = self.opened(1)
        self.admin_api.put_service(
            self.computes['host1'].service_ref.uuid, {'status': 'disabled'}
        )
        server = self.boot()
        self.assertIn(self.host_of(server), OUTSIDE)
        self.end_completely(lease)
        self.assertEqual('ACTIVE', self.api.get_server(server['id'])['status'])

    def test_a_request_that_is_too_late_for_all_slots_keeps_none(self):
        self.enrol('host1')
        lease = self.opened(2)
        self.boot()
        with mock.patch.object(
            open_reservations.placement, 'usages', return_value={}
        ):
            server = self.boot(count=2)
        self.assertIn(self.host_of(server), OUTSIDE)
        self.assertEqual({}, self.slots_of(server))
        self.assertEqual(1, len(self.recorded(lease)))
        self.assertEqual(1, len(self.used(lease)))

    def test_a_server_that_can_not_be_forgotten_is_refused(self):
        self.enrol('host1')
        self.opened(2)
        self.boot()
        with (
            mock.patch.object(
                open_reservations.placement, 'usages', return_value={}
            ),
            mock.patch.object(
                servers_db,
                'unrecord',
                side_effect=exception.DatabaseUnavailable(reason='gone'),
            ),
        ):
            self.assertIn('No valid host', self.why_not(count=2))

    def test_a_request_that_fits_nowhere_is_refused_as_ever(self):
        self.enrol('host1')
        self.opened(1)
        for host in OUTSIDE:
            self.stop_host(host)
        self.boot()
        self.assertIn('No valid host', self.why_not())

    def test_a_server_that_is_built_again_takes_a_slot_there(self):
        self.enrol('host1', 'host2')
        lease = self.opened(2, affinity=False)
        failed = []

        def spawn(context, instance, *args, **kwargs):
            if not failed:
                failed.append(instance.host)
                raise nova_exception.ComputeResourcesUnavailable(reason='full')
            return spawned(context, instance, *args, **kwargs)

        driver = self.computes['host1'].manager.driver
        spawned = driver.spawn
        for compute in self.computes.values():
            self.useFixture(
                fixtures.MockPatchObject(
                    compute.manager.driver, 'spawn', spawn
                )
            )
        server = self._wait_for_server_parameter(
            # The server is built twice, as one host fails.
            self.post(),
            {'status': 'ACTIVE'},
            max_retries=100,
        )
        self.assertEqual(
            {'host1', 'host2'} - set(failed), {self.host_of(server)}
        )
        self.assertEqual(
            {objects.slot_class(self.id_of(lease)): 1}, self.slots_of(server)
        )

    def test_a_reservation_can_not_be_closed_while_it_is_active(self):
        self.enrol('host1')
        lease = self.opened(1)
        self.assertRaises(
            exception.InvalidState,
            self.update,
            lease,
            consume='targeted',
        )

    def test_a_reservation_can_be_opened_before_its_start(self):
        self.enrol('host1')
        lease = self.slots(1, starts_in=datetime.timedelta(minutes=5))
        self.update(lease, consume='open')
        self.assertIn(self.host_of(self.boot()), OUTSIDE)
        self.pass_time(minutes=5)
        self.work()
        self.assertEqual('host1', self.host_of(self.boot()))


class TestMoves(OpenTestCase):
    def in_slot(self, lease):
        server = self.boot()
        self.assertEqual([server['id']], self.used(lease))
        return server, self.host_of(server)

    def assert_in_slot(self, lease, server):
        self.assertIn(self.host_of(server), ('host1', 'host2'))
        self.assertEqual(
            {objects.slot_class(self.id_of(lease)): 1}, self.slots_of(server)
        )
        self.assertEqual([server['id']], self.used(lease))

    def test_a_server_migrates_from_slot_to_slot(self):
        self.enrol('host1', 'host2')
        lease = self.opened(2, affinity=False)
        server, source = self.in_slot(lease)
        self._migrate_server(server)
        self._confirm_resize(server)
        self.assertNotEqual(source, self.host_of(server))
        self.assert_in_slot(lease, server)

    def test_a_server_migrates_live_from_slot_to_slot(self):
        self.enrol('host1', 'host2')
        lease = self.opened(2, affinity=False)
        server, source = self.in_slot(lease)
        self._live_migrate(server)
        self.assertNotEqual(source, self.host_of(server))
        self.assert_in_slot(lease, server)

    def test_a_server_is_evacuated_from_slot_to_slot(self):
        self.enrol('host1', 'host2')
        lease = self.opened(2, affinity=False)
        server, source = self.in_slot(lease)
        self.stop_host(source)
        self._evacuate_server(server)
        self.assertEqual({'host1', 'host2'} - {source}, {self.host_of(server)})

    def test_a_server_takes_a_slot_when_it_comes_back_from_its_shelf(self):
        self.enrol('host1')
        lease = self.opened(1)
        server, _ = self.in_slot(lease)
        self._shelve_server(server)
        self.assertEqual([], self.used(lease))
        self._unshelve_server(server)
        self.assert_in_slot(lease, server)

    def test_a_server_without_a_free_slot_comes_back_elsewhere(self):
        self.enrol('host1')
        lease = self.opened(1)
        server, _ = self.in_slot(lease)
        self._shelve_server(server)
        self.boot()
        self._unshelve_server(server)
        self.assertIn(self.host_of(server), OUTSIDE)
        self.assertNotIn(server['id'], self.used(lease))

    def test_a_server_is_rebuilt_where_it_is(self):
        self.enrol('host1')
        lease = self.opened(1)
        server, _ = self.in_slot(lease)
        self._rebuild_server(server, '155d900f-4e14-4e4c-a73d-069cbf4541e6')
        self.assert_in_slot(lease, server)

    def test_a_server_resized_to_what_fits_stays_in_slots(self):
        self.enrol('host1', 'host2')
        lease = self.opened(2, affinity=False)
        server, _ = self.in_slot(lease)
        self._create_flavor(
            id='small', vcpu=1, memory_mb=256, disk=1, ephemeral=0, swap=0
        )
        self._resize_server(server, 'small')
        self._confirm_resize(server)
        self.assert_in_slot(lease, server)

    def test_a_server_resized_to_what_does_not_fit_leaves(self):
        self.enrol('host1')
        lease = self.opened(1)
        server, _ = self.in_slot(lease)
        self._create_flavor(
            id='large', vcpu=2, memory_mb=512, disk=1, ephemeral=0, swap=0
        )
        self._resize_server(server, 'large')
        self._confirm_resize(server)
        self.assertIn(self.host_of(server), OUTSIDE)
        self.assertEqual([], self.used(lease))
        self.end_completely(lease)
        self.assertEqual('ACTIVE', self.api.get_server(server['id'])['status'])

    def test_an_ordinary_server_stays_ordinary(self):
        self.enrol('host1')
        server = self.boot()
        lease = self.opened(1)
        self._migrate_server(server)
        self._confirm_resize(server)
        self.assertIn(self.host_of(server), OUTSIDE)
        self.assertEqual([], self.used(lease))


class TestEnd(OpenTestCase):
    def test_a_server_ends_with_its_reservation(self):
        self.enrol('host1')
        lease = self.opened(1)
        server = self.boot()
        self.end_completely(lease)
        self._wait_until_deleted(server)
        self.assertEqual({}, self.inventories(lease))
        self.assertIn(self.host_of(self.boot()), OUTSIDE)

    def test_a_server_is_shelved_and_lives_on_as_any_other(self):
        self.trust()
        self.enrol('host1')
        lease = self.opened(1, end_action='shelve')
        server = self.boot()
        self.end_completely(lease)
        self.assertNotIn(objects.slot_class(self.id_of(lease)), self.classes())
        self.assertEqual(set(), self.stored(server))
        self.api.post_server_action(server['id'], {'unshelve': None})
        server = self._wait_for_state_change(server, 'ACTIVE')
        self.assertIn(self.host_of(server), OUTSIDE)

    def test_a_server_is_moved_and_lives_on_as_any_other(self):
        self.trust()
        self.enrol('host1')
        lease = self.opened(1, end_action='migrate')
        server = self.boot()
        self.end_completely(lease)
        server = self._wait_for_state_change(server, 'ACTIVE')
        self.assertIn(self.host_of(server), OUTSIDE)
