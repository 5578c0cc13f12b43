# SPDX-License-Identifier: Apache-2.0
"""Machines that are replaced by others of the same name, on a whole Nova."""

import datetime
from unittest import mock
import uuid

from nova import objects as nova_objects
from oslo_utils.fixture import uuidsentinel

from nova_reservations import objects
from nova_reservations.objects import states
from nova_reservations.tests.functional.nova import shared

HOUR = datetime.timedelta(hours=1)


class ReplacedMachineTest(shared.SharedNova):
    hosts = ('host1', 'host2')

    def setUp(self):
        super().setUp()
        self.enrol('host1', 'host2')

    def delete(self, host):
        """Delete a compute from Nova."""
        service = self.computes[host].service_ref.uuid
        self.computes[host].stop()
        self.admin_api.api_delete(f'/os-services/{service}')

    def replace(self, host):
        """Delete a compute from Nova, and start another one by its name."""
        self.delete(host)
        other = mock.patch.dict(
            uuidsentinel._sentinels, {f'node_{host}': str(uuid.uuid4())}
        )
        other.start()
        self.addCleanup(other.stop)
        self.host_mappings.pop(host)
        self.start_in_cell(host)

    def hand_over(self, source, target):
        """Give a compute the node of another one as well, as services of
        ironic do among them."""
        with self.at(source) as context:
            nodes = nova_objects.ComputeNodeList
            [node] = nodes.get_all_by_host(context, source)
            node.host = target
            node.save()

    def enrolled(self, name):
        [found] = self.services.hosts.find(objects.HostQuery(name=name))
        return found

    def test_a_lease_starts_on_another_host(self):
        lease = self.lease(starts_in=HOUR)
        [lost] = self.hosts_of(lease)
        [other] = {'host1', 'host2'} - {lost}
        old = self.enrolled(lost)
        self.replace(lost)
        self.pass_time(hours=1)
        self.work()
        self.assertEqual(
            states.Lease.ACTIVE, self.services.leases.get(lease.id).status
        )
        self.assertEqual({other}, self.hosts_of(lease))
        self.assertEqual((False, False), self.shown(lease))
        self.assertEqual(other, self.host_of(self.boot(lease)))
        auditor = self.services.audit
        [finding] = auditor.findings(self.now)
        self.assertIn(f'Host {lost} (host {old.id}) is lost', finding.problem)
        [added] = self.enrol(lost)
        self.assertTrue(added.bookable)
        self.assertNotEqual(old.facts.uuid, added.facts.uuid)
        self.assertEqual([], auditor.findings(self.now))
        self.assertEqual({lost}, self.hosts_of(self.lease()))

    def test_a_node_among_several_of_a_service_is_not_replaced(self):
        lease = self.lease(2)
        server = self.boot(lease)
        name = self.host_of(server)
        [other] = {'host1', 'host2'} - {name}
        self.hand_over(other, name)
        self.assertEqual({server['id']}, self.there(name))

    def test_a_node_that_another_service_has_now_is_not_replaced(self):
        lease = self.lease(2)
        server = self.boot(lease)
        name = self.host_of(server)
        [other] = {'host1', 'host2'} - {name}
        self.hand_over(name, 'both')
        self.hand_over(other, name)
        self.assertEqual({server['id']}, self.there(name))

    def there(self, name):
        resource = self.enrolled(name).resource
        found = self.services.hosts.cloud.servers.occupancy([resource])
        return {server.uuid for server in found[name].servers}

    def test_an_audit_has_no_deleted_host_added_again(self):
        self.delete('host1')
        [finding] = self.services.audit.findings(self.now)
        self.assertIn('is lost', finding.problem)
        self.assertIn('remove it', finding.problem)

    def test_a_host_that_leases_have_is_taken_over(self):
        lease = self.lease(2)
        self.replace('host1')
        self.services.hosts.refresh(self.now)
        self.look()
        self.assertEqual({'host2'}, self.hosts_of(lease))
        self.assertEqual((True, False), self.shown(lease))
        old = self.enrolled('host1')
        self.assertIn(old.facts.uuid, old.status_reason)
        [added] = self.enrol('host1')
        self.assertEqual(old.id, added.id)
        self.assertTrue(added.bookable)
        self.look()
        self.assertEqual({'host1', 'host2'}, self.hosts_of(lease))
        self.assertEqual((False, False), self.shown(lease))
        there = {self.host_of(self.boot(lease)) for _ in range(2)}
        self.assertEqual({'host1', 'host2'}, there)
        # What was the other machine's is gone: this one can be removed.
        for server in self.api.get_servers():
            self._delete_server(server)
        self.services.leases.delete(lease.id, self.now)
        self.pass_time(seconds=60)
        self.work()
        self.services.hosts.enrolment.remove(old.id, self.now)
        self.assertEqual('host1', self.host_of(self.boot()))
