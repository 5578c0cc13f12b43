# SPDX-License-Identifier: Apache-2.0
"""Computes that really stop, on a whole Nova."""

import datetime

from nova import context as nova_context
from nova import objects
from nova.compute import task_states

from nova_reservations import ports
from nova_reservations.tests.functional.nova import base
from nova_reservations.tests.functional.nova import shared


class HealingTest(shared.SharedNova):
    hosts = ('host1', 'host2', 'host3')

    def setUp(self):
        super().setUp()
        self.flags(service_down_time=60)
        self.enrol('host1', 'host2')

    def other(self, host):
        return {'host1': 'host2', 'host2': 'host1'}[host]

    def test_a_host_that_is_forced_down_is_replaced(self):
        lease = self.lease()
        [failed] = self.hosts_of(lease)
        self.stop_host(failed)
        self.look()
        new = self.other(failed)
        self.assertEqual({new}, self.hosts_of(lease))
        [reservation] = lease.reservations
        self.assertEqual([new], self.aggregates()[reservation.id]['hosts'])
        self.assertEqual((False, True), self.shown(lease))
        self.assertEqual(new, self.host_of(self.boot(lease)))

    def test_a_host_that_is_disabled_keeps_its_lease_and_servers(self):
        lease = self.lease()
        server = self.boot(lease)
        host = self.host_of(server)
        service = self.computes[host].service_ref.uuid
        self.admin_api.put_service(service, {'status': 'disabled'})
        self.look()
        # The host reboots, which takes a while.
        self.be_silent(host, 600)
        self.look()
        self.pass_time(seconds=600)
        self.be_silent(host, 1200)
        self.be_silent(self.other(host), 0)
        self.look()
        self.assertEqual({host}, self.hosts_of(lease))
        self.assertEqual((False, False), self.shown(lease))
        with self.assertRaisesRegex(Exception, '1 hosts? match'):
            self.lease(2)
        self.assertEqual(host, self.host_of(server))

    def be_silent(self, host, seconds):
        """Make the last report of a compute this many seconds old."""
        service = objects.Service.get_by_id(
            nova_context.get_admin_context(),
            self.computes[host].service_ref.id,
        )
        service.last_seen_up = self.now - datetime.timedelta(seconds=seconds)
        service.save()

    def test_a_compute_that_does_not_report_has_failed(self):
        lease = self.lease(2)
        self.look()
        self.assertEqual((False, False), self.shown(lease))
        self.be_silent('host1', 100)
        self.look()
        self.assertEqual((False, False), self.shown(lease))
        self.pass_time(seconds=120)
        self.be_silent('host2', 0)
        self.look()
        self.assertEqual({'host2'}, self.hosts_of(lease))
        self.assertEqual((True, False), self.shown(lease))
        self.be_silent('host1', 0)
        self.look()
        self.assertEqual({'host1', 'host2'}, self.hosts_of(lease))
        self.assertEqual((False, False), self.shown(lease))

    def test_a_host_that_is_back_before_the_other_was_used_is_kept(self):
        lease = self.lease()
        server = self.boot(lease)
        old = self.host_of(server)
        self.stop_host(old)
        self.look()
        self.assertEqual({self.other(old)}, self.hosts_of(lease))
        self.start_host(old)
        self.look()
        self.assertEqual({old}, self.hosts_of(lease))
        self.assertEqual((False, False), self.shown(lease))
        self.look()
        self.look()
        self.assertEqual({self.other(old)}, self.hosts_of(self.lease()))

    def start_host(self, host, keep_hypervisor_state=True):
        self.computes[host] = self.restart_compute_service(
            self.computes[host], keep_hypervisor_state=keep_hypervisor_state
        )
        self.admin_api.put_service_force_down(
            self.computes[host].service_ref.uuid, False
        )

    def test_servers_are_evacuated_from_a_host_that_is_forced_down(self):
        self.trust()
        self.flags(heal_evacuate=True, group='reservations')
        lease = self.lease()
        server = self.boot(lease)
        failed = self.host_of(server)
        self.stop_host(failed)
        self.look()
        self._wait_for_server_parameter(
            server,
            {
                'OS-EXT-SRV-ATTR:host': self.other(failed),
                'status': 'ACTIVE',
            },
        )
        # Placement has the server's old allocation until the compute is back.
        self.look()
        self.start_host(failed, keep_hypervisor_state=False)
        self.look()
        self.assertEqual({failed}, self.hosts_of(self.lease()))

    def test_a_server_does_not_leave_a_lease_that_has_no_host(self):
        """The server would outlive the lease, on a host that nobody has
        leased."""
        lease = self.lease(2)
        server = self.boot(lease)
        host = self.host_of(server)
        for name in ('host1', 'host2'):
            self.stop_host(name)
        self.look()
        self.admin_api.post_server_action(server['id'], {'evacuate': {}})
        self._wait_for_migration_status(server, ['error'])
        self.assertEqual(host, self.host_of(server))

    def test_a_server_that_is_being_evacuated_is_left_alone(self):
        """Nova itself would start the evacuation a second time."""
        self.trust()
        lease = self.lease(2)
        server = self.boot(lease)
        host = self.host_of(server)
        self.stop_host(host)
        context = nova_context.get_admin_context()
        mapping = objects.InstanceMapping.get_by_instance_uuid(
            context, server['id']
        )
        with nova_context.target_cell(context, mapping.cell_mapping) as cell:
            instance = objects.Instance.get_by_uuid(cell, server['id'])
            instance.task_state = task_states.REBUILDING
            instance.save()
        refused = self.services.hosts.cloud.servers.evacuate(
            [ports.Server(server['id'], base.MINE, host, 'active')],
            lambda: None,
        )
        self.assertEqual({}, refused)
        migrations = self.admin_api.api_get('/os-migrations').body
        self.assertEqual([], migrations['migrations'])
