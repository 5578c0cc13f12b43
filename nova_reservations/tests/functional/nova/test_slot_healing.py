# SPDX-License-Identifier: Apache-2.0
"""Computes with slots that really stop, on a whole Nova."""

from nova_reservations.tests.functional.nova import test_instances

HOSTS = ('host1', 'host2', 'host3', 'host4')


class SlotHealingTestCase(test_instances.InstancesTestCase):
    hosts = HOSTS

    def restart_host(self, host) -> None:
        """Start the failed host again."""
        self.computes[host] = self.restart_compute_service(
            self.computes[host], keep_hypervisor_state=False
        )
        self.admin_api.put_service_force_down(
            self.computes[host].service_ref.uuid, False
        )

    def assert_in_nova(self, lease, slots) -> None:
        """Check that the lease has exactly these slots, everywhere in Nova."""
        key = self.id_of(lease)
        self.assertEqual(slots, self.inventories(lease))
        self.assertEqual(set(slots), self.hosts_of(lease))
        self.assertEqual(
            sorted(slots), sorted(self.aggregates()[key]['hosts'])
        )
        flavor = self.api.get_flavor(key)
        self.assertEqual(f'reservation:{key}', flavor['name'])


class TestSlotHealing(SlotHealingTestCase):
    def test_slots_of_a_host_that_fails_are_had_on_another_one(self):
        self.enrol('host1', 'host2')
        lease = self.slots(2)
        [failed] = self.hosts_of(lease)
        [other] = {'host1', 'host2'} - {failed}
        self.stop_host(failed)
        self.look()
        self.assertEqual((False, True), self.shown(lease))
        self.assert_in_nova(lease, {other: 2})
        for _ in range(2):
            self.assertEqual(other, self.host_of(self.boot_in(lease)))
        self.assertIn('No valid host', self.refused_in(lease))

    def test_a_lease_without_room_lacks_slots_until_the_host_is_back(self):
        self.enrol('host1')
        lease = self.slots(2)
        self.stop_host('host1')
        self.look()
        self.assertEqual((True, False), self.shown(lease))
        self.assertEqual(set(), self.hosts_of(lease))
        self.refused_in(lease)
        self.restart_host('host1')
        self.look()
        self.assertEqual((False, False), self.shown(lease))
        self.assert_in_nova(lease, {'host1': 2})
        self.assertEqual('host1', self.host_of(self.boot_in(lease)))

    def test_servers_are_evacuated_into_slots(self):
        self.trust()
        self.flags(heal_evacuate=True, group='reservations')
        self.enrol('host1', 'host2')
        lease = self.slots(1)
        server = self.boot_in(lease)
        failed = self.host_of(server)
        [other] = {'host1', 'host2'} - {failed}
        self.stop_host(failed)
        self.look()
        self._wait_for_server_parameter(
            server, {'OS-EXT-SRV-ATTR:host': other, 'status': 'ACTIVE'}
        )
        self.assertEqual({other}, self.hosts_of(lease))
        # Placement has the server's old allocation until the compute is back.
        self.look()
        self.assertEqual({failed: 1, other: 1}, self.inventories(lease))
        self.restart_host(failed)
        self.look()
        self.look()
        self.assert_in_nova(lease, {other: 1})
        self.assertEqual({failed}, self.hosts_of(self.lease()))

    def test_servers_that_came_by_themselves_are_evacuated_too(self):
        self.trust()
        self.flags(heal_evacuate=True, group='reservations')
        self.enrol('host1', 'host2')
        lease = self.slots(1, consume='open')
        server = self.boot()
        failed = self.host_of(server)
        [other] = {'host1', 'host2'} - {failed}
        self.stop_host(failed)
        self.look()
        self._wait_for_server_parameter(
            server, {'OS-EXT-SRV-ATTR:host': other, 'status': 'ACTIVE'}
        )
        [reservation] = lease.reservations
        shown = self.services.lease_lists.usage(lease, reservation)
        self.assertEqual([server['id']], shown['servers'])

    def test_servers_on_a_failed_host_go_with_the_lease(self):
        self.enrol('host1', 'host2')
        lease = self.slots(1)
        server = self.boot_in(lease)
        self.stop_host(self.host_of(server))
        self.look()
        self.end_completely(lease)
        self._wait_until_deleted(server)
