# SPDX-License-Identifier: Apache-2.0
"""Two cells, of which one does not answer."""

import contextlib
import threading

from nova import context as nova_context
from nova import objects as nova_objects
import nova.conf
from nova.db.main import api as main_db
from oslo_db import exception as db_exc
import oslo_messaging
import sqlalchemy as sa

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations.cloud import lines
from nova_reservations.objects import states
from nova_reservations.tests.functional.nova import base
from nova_reservations.tests.functional.nova import shared

CONF = nova.conf.CONF


class CellsTest(shared.SharedNova):
    NUMBER_OF_CELLS = 2
    hosts = ('host1', 'host2', 'other1', 'other2')
    far_hosts = ('other1', 'other2')

    def setUp(self):
        super().setUp()
        self.enrol('host1', 'other1')
        self.back = threading.Event()
        self.addCleanup(self.back.set)

    @contextlib.contextmanager
    def silent(self, hangs=False):
        """Have the database of the second cell refuse connections, or hang."""
        with nova_context.target_cell(
            nova_context.get_admin_context(), self.cell_mappings['cell2']
        ) as context:
            engine = main_db.get_context_manager(context).writer.get_engine()

        def refuse(*args):
            if hangs:
                self.back.wait()
            raise db_exc.DBConnectionError('no route to the second cell')

        if hangs:
            self.useFixture(base.fixtures.MockPatchObject(lines, 'LIVE', 0.1))
        sa.event.listen(engine, 'before_cursor_execute', refuse)
        try:
            yield
        finally:
            self.back.set()
            sa.event.remove(engine, 'before_cursor_execute', refuse)

    def in_cell(self, cell, **asked):
        """Lease the enrolled host of a cell."""
        name = {'cell1': 'host1', 'cell2': 'other1'}[cell]
        return self.lease(
            hypervisor_properties=f'["==", "$hypervisor_hostname", "{name}"]',
            **asked,
        )

    def test_leases_of_the_other_cell_start_and_end(self):
        for hangs in (False, True):
            ending = self.in_cell('cell1')
            server = self.boot(ending)
            with self.subTest(hangs=hangs), self.silent(hangs):
                self.end_completely(ending)
                self._wait_until_deleted(server)
                starting = self.in_cell('cell1')
                self.assertEqual(states.Lease.ACTIVE, starting.status)
                self.end_completely(starting)
            self.back.clear()

    def test_a_lease_there_waits_and_ends_when_the_cell_is_back(self):
        lease = self.in_cell('cell2')
        server = self.boot(lease)
        with self.silent():
            ended = self.end(lease)
            self.assertEqual(states.Lease.TERMINATING, ended.status)
            self.assertIn('can not be reached', ended.status_reason)
        self.hear_all_cells()
        self.end_completely(lease)
        self._wait_until_deleted(server)

    def test_a_lease_of_both_loses_its_servers_where_it_can(self):
        lease = self.lease(2)
        servers = {
            self.host_of(server): server
            for server in (self.boot(lease), self.boot(lease))
        }
        self.assertEqual({'host1', 'other1'}, set(servers))
        with self.silent():
            self.assertEqual(states.Lease.TERMINATING, self.end(lease).status)
        self._wait_until_deleted(servers['host1'])
        self.hear_all_cells()
        self.end_completely(lease)

    def test_hosts_there_neither_fail_nor_recover(self):
        self.flags(service_down_time=60)
        self.pass_time(seconds=600)
        with self.silent():
            monitor = self.services.monitoring.monitors[0]
            seen = monitor.check_states(['host1', 'other1'], self.now)
        self.assertEqual({'host1'}, seen.names)
        self.assertEqual({'host1'}, set(seen.down))

    def test_a_cell_whose_mapping_is_wrong_is_silent(self):
        target = nova_context.target_cell

        def refuse(context, cell):
            if cell.uuid == self.cell_mappings['cell2'].uuid:
                raise oslo_messaging.InvalidTransportURL('far', 'no such bus')
            return target(context, cell)

        monitor = self.services.monitoring.monitors[0]
        with base.fixtures.MockPatchObject(
            nova_context, 'target_cell', refuse
        ):
            seen = monitor.check_states(['host1', 'other1'], self.now)
        self.assertEqual({'host1'}, seen.names)

    def test_a_service_that_was_left_behind_in_another_cell_is_none(self):
        with nova_context.target_cell(
            nova_context.get_admin_context(), self.cell_mappings['cell2']
        ) as context:
            nova_objects.Service(
                context,
                host='host1',
                binary='nova-compute',
                topic='compute',
                forced_down=True,
            ).create()
        found = self.services.hosts.cloud.hosts.services_by_cell(self.now)
        near, far = (
            found[self.cell_mappings[cell].uuid] for cell in ('cell1', 'cell2')
        )
        self.assertFalse(near['host1'].forced_down)
        self.assertNotIn('host1', far)

    def test_hosts_of_the_other_cell_are_enrolled(self):
        with self.silent(hangs=True):
            [host] = self.enrol('host2')
            self.assertTrue(host.reservable)
            self.assertRaises(exception.CloudUnavailable, self.enrol, 'other2')
        self.hear_all_cells()
        [host] = self.enrol('other2')
        self.assertTrue(host.reservable)

    def test_facts_of_the_other_cell_are_read(self):
        for host in ('host1', 'other1'):
            self._change(host)
        with self.silent():
            self.services.hosts.refresh(self.now)
            self.assertEqual({'host1'}, self._changed())
        self.hear_all_cells()
        self.services.hosts.refresh(self.now)
        self.assertEqual({'host1', 'other1'}, self._changed())

    def _change(self, host):
        uuid = self._get_provider_uuid_by_host(host)
        self._create_trait('CUSTOM_CHANGED')
        self._set_provider_traits(
            uuid, [*self._get_provider_traits(uuid), 'CUSTOM_CHANGED']
        )

    def _changed(self):
        return {
            host.facts.service_host
            for host in self.services.hosts.find(objects.HostQuery())
            if 'CUSTOM_CHANGED' in host.facts.traits
        }

    def test_five_looks_that_hang_leave_nova_its_own(self):
        with self.silent(hangs=True):
            for _ in range(5):
                with self.assertRaises(exception.CloudUnavailable):
                    self.services.hosts.cloud.servers.occupancy(
                        [objects.Resource(0, objects.HOST, 'other1', '')]
                    )
            context = nova_context.get_admin_context()
            found = nova_context.scatter_gather_cells(
                context,
                [self.cell_mappings['cell1']],
                1,
                lambda context: 'an answer',
            )
        self.assertEqual(['an answer'], list(found.values()))

    def test_a_cell_that_is_disabled_is_not_looked_through(self):
        mapping = nova_objects.CellMapping.get_by_uuid(
            nova_context.get_admin_context(),
            self.cell_mappings['cell2'].uuid,
        )
        mapping.disabled = True
        mapping.save()
        with self.silent():
            self.assertEqual(
                [], self.services.hosts.cloud.hosts.find_hosts('nobody')
            )
