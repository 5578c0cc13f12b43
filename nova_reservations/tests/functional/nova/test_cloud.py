# SPDX-License-Identifier: Apache-2.0
"""The cloud on Nova's own objects and a real placement, beyond the promises
of its ports, which ``tests/contract`` proves."""

import uuid

import fixtures
from keystoneauth1 import exceptions as ks_exc
from kombu import exceptions as kombu_exc
from nova import context as nova_context
from nova import objects as nova_objects
from nova.scheduler.client import report
import oslo_messaging
from oslo_messaging import transport

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations.cloud import parallel
from nova_reservations.db.resources import hosts as hosts_db
from nova_reservations.tests.functional.nova import base
from nova_reservations.tests.functional.nova import shared

RESERVATION = 'c0c0c0c0-0000-4000-8000-0000000000c0'
DATABASE = 'd0d0d0d0-0000-4000-8000-0000000000d0'


def go_on() -> None:
    """Let the worker go on: it still has its claim of the lease."""


class CloudTest(shared.SharedNova):
    def setUp(self):
        super().setUp()
        self.cloud = self.services.hosts.cloud
        self.resources = [self._resource(host) for host in self.hosts]

    def _resource(self, host):
        [resource] = self.cloud.hosts.find_hosts(host)
        return resource

    def _gather(self, *resources):
        self.cloud.aggregates.set_aggregate_hosts(
            RESERVATION, base.MINE, resources, go_on, DATABASE
        )

    def _members(self, aggregate):
        """Return the aggregate's hosts in Nova, and its hosts in placement."""
        return (
            {
                host
                for known in self.aggregates().values()
                if known['uuid'] == aggregate
                for host in known['hosts']
            },
            {
                resource.name
                for resource in self.resources
                if aggregate in self._get_provider_aggregates(resource.uuid)
            },
        )

    def test_an_aggregate_says_what_it_is_for(self):
        self._gather(self.resources[0])
        self.assertEqual(
            {
                'reservations:reservation': RESERVATION,
                'reservations:owner': base.MINE,
                'blazar:owner': base.MINE,
                'reservations:database': DATABASE,
            },
            self.aggregates()[RESERVATION]['metadata'],
        )

    def test_gathering_mends_what_others_changed(self):
        self._gather(*self.resources[:2])
        self._set_aggregate(self.resources[0].uuid, str(uuid.uuid4()))
        self._set_aggregate(self.resources[2].uuid, RESERVATION)
        self.admin_api.add_host_to_aggregate(
            self.aggregates()[RESERVATION]['id'], 'host3'
        )
        self.assertFalse(
            self.cloud.aggregates.has_aggregate_hosts(
                RESERVATION, self.resources[:2]
            )
        )
        self._gather(*self.resources[:2])
        self.assertTrue(
            self.cloud.aggregates.has_aggregate_hosts(
                RESERVATION, self.resources[:2]
            )
        )
        self.assertEqual(({'host1', 'host2'},) * 2, self._members(RESERVATION))

    def test_two_workers_that_do_the_same_both_succeed(self):
        self.cloud.aggregates.ensure_pool()

        def act(_):
            self._gather(*self.resources)
            for resource in self.resources:
                self.cloud.aggregates.mark(resource)
                self.cloud.aggregates.join_pool(resource)

        parallel.each(act, range(2))
        everything = set(self.hosts)
        for aggregate in self.aggregates().values():
            self.assertEqual(
                (everything, everything), self._members(aggregate['uuid'])
            )
        self.assertCountEqual(['freepool', RESERVATION], self.aggregates())

    def _not_seen(self):
        """Return the hosts whose provider generation has changed since our
        last look."""
        sightings = self.cloud.hosts.pool_generations()
        with self.services.database.reader() as session:
            marks = hosts_db.marks(session)
        return {
            resource.name
            for resource in self.resources
            if sightings[resource.uuid].provider_generation
            != marks[resource.uuid].provider_generation
        }

    def _delete(self, lease):
        """Delete the lease before hosts are looked at again."""
        self.services.leases.delete(lease.id, self.now)
        self.work()
        self.pass_time(seconds=30)
        self.work()
        self.assertRaises(
            exception.NotFound, self.services.leases.get, lease.id
        )

    def test_hosts_are_not_looked_at_again_for_what_we_changed(self):
        self.enrol(*self.hosts)
        # Periodic tasks run now, and are not due again for a minute.
        self.work()
        lease = self.lease(3)
        self.assertEqual(set(self.hosts), self.hosts_of(lease))
        self.assertEqual(set(), self._not_seen())
        self._delete(lease)
        self.assertEqual(set(), self._not_seen())

    def test_hosts_are_looked_at_again_for_what_others_changed_before(self):
        self.enrol(*self.hosts)
        self.work()
        self._set_aggregate(self.resources[0].uuid, str(uuid.uuid4()))
        lease = self.lease(3)
        self.assertEqual({'host1'}, self._not_seen())
        self._set_aggregate(self.resources[1].uuid, lease.reservations[0].id)
        self._delete(lease)
        self.assertEqual({'host1', 'host2'}, self._not_seen())
        self.services.hosts.refresh(self.now)
        self.assertEqual(set(), self._not_seen())

    def test_disbanding_finds_what_only_placement_has(self):
        self._gather(*self.resources[:2])
        self._set_aggregate(self.resources[2].uuid, RESERVATION)
        for _ in range(2):
            self.cloud.aggregates.delete_aggregate(RESERVATION, go_on)
            self.assertEqual((set(), set()), self._members(RESERVATION))
        self.assertEqual({}, self.aggregates())

    def test_another_ones_aggregate_of_this_name_is_left_alone(self):
        self.admin_api.post_aggregate({'aggregate': {'name': RESERVATION}})
        self.assertRaises(
            exception.CloudRefused, self._gather, self.resources[0]
        )

    def test_a_freepool_that_is_there_is_taken_up(self):
        self.admin_api.post_aggregate({'aggregate': {'name': 'freepool'}})
        for _ in range(2):
            self.cloud.aggregates.ensure_pool()
            self.cloud.aggregates.join_pool(self.resources[0])
        [pool] = self.aggregates().values()
        self.assertEqual(({'host1'},) * 2, self._members(pool['uuid']))
        for _ in range(2):
            self.cloud.aggregates.leave_pool(self.resources[0])
        self.assertEqual((set(), set()), self._members(pool['uuid']))

    def test_a_freepool_with_an_availability_zone_is_refused(self):
        self._create_aggregate('freepool', availability_zone='a')
        self.assertRaises(
            exception.CloudRefused, self.cloud.aggregates.ensure_pool
        )

    def test_facts_are_those_of_nova_and_placement(self):
        flavor = self._create_flavor(
            memory_mb=512, disk=3, ephemeral=0, swap=0
        )
        self.boot(az='nova:host1', flavor_id=flavor)
        gone = objects.Resource(0, objects.HOST, 'gone', str(uuid.uuid4()))
        [facts] = self.cloud.hosts.facts([self.resources[0], gone])
        inventories = {
            inventory.resource_class: inventory
            for inventory in facts.inventories
        }
        self.assertEqual('host1', facts.service_host)
        self.assertEqual('host1', facts.hypervisor_hostname)
        self.assertEqual(10, facts.vcpus)
        self.assertEqual(8192, facts.memory_mb)
        self.assertEqual(1028, facts.local_gb)
        self.assertEqual('fake', facts.hypervisor_type)
        self.assertEqual('nova', facts.availability_zone)
        self.assertIn('COMPUTE_NODE', facts.traits)
        self.assertEqual(
            inventories['MEMORY_MB'].capacity - 512, facts.free_memory_mb
        )
        self.assertEqual(
            inventories['DISK_GB'].capacity - 3, facts.free_disk_gb
        )

    def test_a_resized_server_is_on_both_its_hosts(self):
        server = self.boot()
        first = self.host_of(server)
        self._migrate_server(server)
        second = self.host_of(server)
        occupancy = self.cloud.servers.occupancy(self.resources)
        for host in (first, second):
            [found] = occupancy[host].servers
            self.assertEqual(server['id'], found.uuid)
            self.assertEqual(base.MINE, found.project_id)
            self.assertEqual((), occupancy[host].leftovers)

    def test_a_server_that_nova_keeps_is_told_with_the_reason(self):
        server = self.boot()
        host = self.host_of(server)
        self._set_disable_terminate(server)
        [found] = self.cloud.servers.occupancy(self.resources)[host].servers
        refused = self.cloud.servers.delete_servers([found], go_on, self.now)
        self.assertEqual(
            'its termination is disabled', refused[server['id']].told
        )

    def _set_disable_terminate(self, server):
        context = nova_context.get_admin_context()
        mapping = nova_objects.InstanceMapping.get_by_instance_uuid(
            context, server['id']
        )
        with nova_context.target_cell(context, mapping.cell_mapping) as cell:
            instance = nova_objects.Instance.get_by_uuid(cell, server['id'])
            instance.disable_terminate = True
            instance.save()

    def test_a_flavor_that_is_deleted_while_it_is_read_has_no_servers(self):
        nova_objects.Flavor(
            nova_context.get_admin_context(),
            flavorid=RESERVATION,
            name='reserved',
            memory_mb=512,
            vcpus=1,
            root_gb=1,
            is_public=False,
        ).create()
        read = nova_objects.Flavor.get_by_flavor_id

        def deleted_then(context, flavor_id):
            flavor = read(context, flavor_id)
            read(context, flavor_id).destroy()
            return flavor

        self.useFixture(
            fixtures.MockPatchObject(
                nova_objects.Flavor, 'get_by_flavor_id', deleted_then
            )
        )
        occupancy = self.cloud.slots.servers_in_slots(RESERVATION, (), ())
        self.assertEqual((), tuple(occupancy.servers))

    def test_a_cloud_without_placement_says_so(self):
        self.useFixture(
            fixtures.MockPatchObject(
                report.SchedulerReportClient,
                'get',
                side_effect=ks_exc.ConnectFailure('no route'),
            )
        )
        for call in (
            lambda: self._gather(self.resources[0]),
            lambda: self.cloud.aggregates.delete_aggregate(RESERVATION, go_on),
            lambda: self.cloud.aggregates.mark(self.resources[0]),
            lambda: self.cloud.servers.occupancy(self.resources),
            lambda: self.cloud.hosts.facts(self.resources),
            self.cloud.hosts.pool_generations,
            self.cloud.aggregates.ensure_pool,
        ):
            refusal = self.assertRaises(exception.CloudUnavailable, call)
            self.assertIn('no route', str(refusal))

    def test_without_the_message_bus_leases_are_made_and_taken_apart(self):
        bus = self.useFixture(
            fixtures.MockPatchObject(transport.Transport, '_send')
        ).mock
        for failure in (
            oslo_messaging.MessageDeliveryFailure('no route'),
            kombu_exc.OperationalError('connection reset'),
            ConnectionResetError(),
        ):
            bus.side_effect = failure
            self._gather(*self.resources)
            self.assertEqual(
                (set(self.hosts),) * 2, self._members(RESERVATION)
            )
            self.cloud.aggregates.delete_aggregate(RESERVATION, go_on)
            self.assertEqual({}, self.aggregates())

    def test_a_cell_that_does_not_answer_is_not_taken_for_empty(self):
        self.useFixture(
            fixtures.MockPatchObject(
                nova_objects.InstanceList,
                'get_by_filters',
                side_effect=ConnectionError('gone away'),
            )
        )
        self.assertRaises(
            exception.CloudUnavailable,
            self.cloud.servers.occupancy,
            self.resources,
        )
