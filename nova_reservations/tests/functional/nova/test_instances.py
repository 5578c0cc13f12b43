# SPDX-License-Identifier: Apache-2.0
"""Reservations of slots, on a whole Nova."""

import datetime

from nova import context as nova_context
import nova.conf
from nova.tests.functional.api import client as api_client

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations.engine.booking import lease_requests
from nova_reservations.tests.functional.nova import base
from nova_reservations.tests.functional.nova import shared

CONF = nova.conf.CONF
SLOT = {'vcpus': 1, 'memory_mb': 512, 'disk_gb': 1}


class InstancesTestCase(shared.SharedNova):
    def _install(self, directory) -> None:
        super()._install(directory)
        self.flags(
            resource_types=[
                'physical:host',
                'virtual:instance',
                'flavor:instance',
            ],
            group='reservations',
        )

    def slots(
        self,
        amount,
        *,
        affinity=None,
        project_id=base.MINE,
        starts_in=datetime.timedelta(0),
        lasts=datetime.timedelta(hours=1),
        flavor_id=None,
        **others,
    ) -> objects.Lease:
        """Lease slots, and start the lease if it begins now."""
        start = self.now + starts_in
        asked = {'amount': amount, 'affinity': affinity}
        if flavor_id is None:
            asked |= {**SLOT, 'resource_properties': ''}
        else:
            asked |= {'flavor_id': flavor_id}
        asked |= others
        kind = 'flavor:instance' if flavor_id else 'virtual:instance'
        lease = self.services.leases.create(
            lease_requests.NewLease(
                name='lease',
                project_id=project_id,
                user_id='user',
                start=start,
                end=start + lasts,
                before_end=None,
                reservations=(lease_requests.NewReservation(kind, asked),),
            ),
            self.now,
        )
        self.work()
        return self.services.leases.get(lease.id)

    def id_of(self, lease) -> str:
        [reservation] = lease.reservations
        return reservation.id

    def update(self, lease, **asked) -> objects.Lease:
        """Change the lease's only reservation, and let the worker change
        Nova."""
        self.services.leases.update(
            lease.id,
            lease_requests.LeaseChanges(
                reservations={self.id_of(lease): asked}
            ),
            self.now,
        )
        self.work()
        return self.services.leases.get(lease.id)

    def boot_in(self, lease, **asked):
        return self.boot(flavor_id=self.id_of(lease), **asked)

    def refused_in(self, lease, **asked) -> str:
        return self.why_not(flavor_id=self.id_of(lease), **asked)

    def inventories(self, lease) -> dict[str, int]:
        """Return host -> slots, by the inventories in placement."""
        name = objects.slot_class(self.id_of(lease))
        found = {}
        for provider in self._get_all_providers():
            inventory = self._get_provider_inventory(provider['uuid'])
            if name in inventory:
                host = provider['name'].removeprefix('reservations_')
                found[host] = inventory[name]['total']
        return found

    def classes(self) -> set[str]:
        answer = self.placement.get('/resource_classes', version='1.7')
        return {known['name'] for known in answer.body['resource_classes']}

    def update_computes(self) -> None:
        context = nova_context.get_admin_context()
        for compute in self.computes.values():
            compute.manager.update_available_resource(context)


class TestSlots(InstancesTestCase):
    def test_servers_of_the_flavor_take_slots_and_no_more_than_there_are(self):
        self.enrol('host1', 'host2')
        lease = self.slots(3, affinity=None)
        self.assertEqual('ACTIVE', lease.status)
        hosts = self.hosts_of(lease)
        self.assertEqual(3, sum(self.inventories(lease).values()))
        servers = [self.boot_in(lease) for _ in range(3)]
        for server in servers:
            self.assertIn(self.host_of(server), hosts)
        self.assertIn('No valid host', self.refused_in(lease))
        usage = self.services.lease_lists.usage(lease, lease.reservations[0])
        self.assertEqual(3, usage['used'])
        self.assertEqual(
            sorted(server['id'] for server in servers), usage['servers']
        )

    def test_slots_that_are_given_back_are_had_by_others(self):
        self.enrol('host1')
        lease = self.slots(4)
        self.boot_in(lease)
        lease = self.update(lease, amount=2)
        self.assertEqual({'host1': 2}, self.inventories(lease))
        self.boot_in(lease)
        self.assertIn('No valid host', self.refused_in(lease))
        other = self.slots(2)
        self.assertEqual('host1', self.host_of(self.boot_in(other)))

    def test_a_request_for_several_servers_gets_all_slots_or_none(self):
        self.enrol('host1')
        lease = self.slots(2)
        self.refused_in(lease, count=3)
        self.boot_in(lease, count=2)

    def test_the_rest_of_the_host_is_nobodys(self):
        self.enrol('host1')
        self.computes['host2'].stop()
        self.computes['host3'].stop()
        for host in ('host2', 'host3'):
            self.stop_host(host)
        lease = self.slots(1)
        self.boot_in(lease)
        self.assertIn('No valid host', self.why_not())

    def test_an_administrator_of_another_project_gets_no_slot(self):
        self.enrol('host1')
        lease = self.slots(1, project_id=base.OTHERS)
        why = self.refused_in(lease, api=self.admin_api)
        self.assertIn('could not be found', why)

    def test_another_flavor_that_asks_for_slots_gets_none(self):
        self.enrol('host1')
        lease = self.slots(1, project_id=base.OTHERS)
        self._create_flavor(
            id='thief',
            extra_spec={
                f'resources:{objects.slot_class(self.id_of(lease))}': '1'
            },
        )
        why = self.why_not(flavor_id='thief')
        self.assertIn('could not be found', why)

    def test_the_hint_alone_is_refused_with_the_reason(self):
        self.enrol('host1')
        lease = self.slots(1)
        self.assertEqual(400, self.status_of_refusal(self.post, lease))

    def test_the_flavor_can_not_be_used_before_the_start(self):
        self.enrol('host1')
        lease = self.slots(1, starts_in=datetime.timedelta(minutes=5))
        self.assertEqual({'host1': 1}, self.inventories(lease))
        member = api_client.TestOpenStackClient(
            'fake',
            self.api_fixture.base_url,
            project_id=base.MINE,
            roles=['reader', 'member'],
        )
        for person in (member, self.admin_api):
            refusal = self.assertRaises(
                api_client.OpenStackApiException,
                self.post,
                flavor_id=self.id_of(lease),
                api=person,
            )
            self.assertEqual(409, refusal.response.status_code)
            self.assertIn('PENDING', refusal.response.text)

    def test_affinity_keeps_servers_together_and_apart(self):
        self.enrol('host1', 'host2')
        together = self.slots(2, affinity=True)
        hosts = {self.host_of(self.boot_in(together)) for _ in range(2)}
        self.assertEqual(1, len(hosts))
        apart = self.slots(2, affinity=False)
        hosts = {self.host_of(self.boot_in(apart)) for _ in range(2)}
        self.assertEqual(2, len(hosts))
        for lease, policy in (
            (together, 'affinity'),
            (apart, 'anti-affinity'),
        ):
            group = self.api.api_get(
                f'/os-server-groups/{objects.group_id(self.id_of(lease))}'
            ).body['server_group']
            self.assertEqual(policy, group['policy'])

    def test_nova_compute_keeps_the_slots_that_are_not_its_own(self):
        self.enrol('host1')
        lease = self.slots(2)
        self.boot_in(lease)
        for compute in self.computes.values():
            compute.manager.reportclient.clear_provider_cache()
        self.update_computes()
        self.update_computes()
        self.assertEqual({'host1': 2}, self.inventories(lease))
        self.end_completely(lease)
        self.update_computes()
        self.assertEqual({}, self.inventories(lease))

    def test_two_leases_share_a_host_and_its_capacity(self):
        self.enrol('host1')
        one, other = self.slots(1), self.slots(2, project_id=base.OTHERS)
        self.boot_in(one)
        for _ in range(2):
            self.boot_in(other, api=self.others_api)
        self.assertIn('No valid host', self.refused_in(one))


class TestEnd(InstancesTestCase):
    def test_at_the_end_nothing_is_left(self):
        self.enrol('host1')
        lease = self.slots(2, affinity=True)
        server = self.boot_in(lease)
        self.end_completely(lease)
        self._wait_until_deleted(server)
        self.assertEqual(
            404, self.status_of_refusal(self.api.get_flavor, self.id_of(lease))
        )
        self.assertNotIn(self.id_of(lease), self.aggregates())
        self.assertNotIn(objects.slot_class(self.id_of(lease)), self.classes())
        self.assertEqual({}, self.inventories(lease))
        self.assertEqual(
            404,
            self.status_of_refusal(
                self.api.api_get,
                f'/os-server-groups/{objects.group_id(self.id_of(lease))}',
            ),
        )

    def test_servers_that_were_resized_in_and_back_are_left(self):
        self.enrol('host1')
        lease = self.slots(1)
        server = self.boot()
        self._resize_server(server, self.id_of(lease))
        self._revert_resize(server)
        self.end_completely(lease)
        self.assertEqual('ACTIVE', self.api.get_server(server['id'])['status'])

    def test_servers_are_moved_and_live_on_outside_of_the_pool(self):
        self.trust()
        self.enrol('host1')
        lease = self.slots(1, end_action='migrate')
        server = self.boot_in(lease)
        self.end_completely(lease)
        self.assertNotIn(objects.slot_class(self.id_of(lease)), self.classes())
        server = self._wait_for_state_change(server, 'ACTIVE')
        self.assertNotEqual('host1', self.host_of(server))


class TestMoves(InstancesTestCase):
    def test_a_server_is_resized_into_a_slot(self):
        self.enrol('host1')
        lease = self.slots(1)
        server = self.boot()
        self._resize_server(server, self.id_of(lease))
        self._confirm_resize(server)
        self.assertEqual('host1', self.host_of(server))
        self.assertIn('No valid host', self.refused_in(lease))

    def test_a_server_is_not_resized_into_a_slot_of_others(self):
        self.enrol('host1')
        lease = self.slots(1, project_id=base.OTHERS)
        server = self.boot()
        resize = {'resize': {'flavorRef': self.id_of(lease)}}
        status = self.status_of_refusal(
            self.api.post_server_action, server['id'], resize
        )
        self.assertEqual(400, status)

    def test_a_server_is_resized_out_of_its_slot(self):
        self.enrol('host1')
        lease = self.slots(1)
        server = self.boot_in(lease)
        self._create_flavor(id='plain')
        self._resize_server(server, 'plain')
        self._confirm_resize(server)
        self.assertIn(self.host_of(server), ('host2', 'host3'))
        self.boot_in(lease)

    def test_a_server_migrates_inside_its_reservation(self):
        self.enrol('host1', 'host2')
        lease = self.slots(2, affinity=False)
        server = self.boot_in(lease)
        source = self.host_of(server)
        self._migrate_server(server)
        self._confirm_resize(server)
        self.assertEqual({'host1', 'host2'} - {source}, {self.host_of(server)})

    def test_a_server_migrates_live_inside_its_reservation(self):
        self.enrol('host1', 'host2')
        lease = self.slots(2, affinity=False)
        server = self.boot_in(lease)
        source = self.host_of(server)
        self._live_migrate(server)
        self.assertEqual({'host1', 'host2'} - {source}, {self.host_of(server)})

    def test_a_server_does_not_migrate_out_of_its_reservation(self):
        self.enrol('host1', 'host2')
        lease = self.slots(1)
        server = self.boot_in(lease)
        self.admin_api.post_server_action(server['id'], {'migrate': None})
        self._assert_resize_migrate_action_fail(
            server, 'migrate', 'NoValidHost'
        )

    def test_a_shelved_server_takes_a_slot_when_it_comes_back(self):
        self.enrol('host1')
        lease = self.slots(1)
        server = self.boot_in(lease)
        self._shelve_server(server)
        other = self.boot_in(lease)
        self.api.post_server_action(server['id'], {'unshelve': None})
        self._wait_for_server_parameter(
            server,
            {'OS-EXT-STS:task_state': None, 'status': 'SHELVED_OFFLOADED'},
        )
        self._delete_server(other)
        self._unshelve_server(server)
        self.assertEqual('host1', self.host_of(server))


class TestFlavorInstance(InstancesTestCase):
    def test_all_that_a_flavor_asks_for_is_known(self):
        self._create_flavor(
            id='all',
            vcpu=2,
            memory_mb=1024,
            disk=10,
            ephemeral=5,
            swap=1500,
            extra_spec={
                'hw:cpu_policy': 'dedicated',
                'resources:CUSTOM_LICENCE': '2',
                'resources1:CUSTOM_CARD': '1',
                'trait:HW_CPU_X86_VMX': 'required',
                'trait1:CUSTOM_FAST': 'required',
                'trait:CUSTOM_OLD': 'forbidden',
            },
        )
        cloud = self.services.hosts.cloud
        known = cloud.slots.find_flavor('all', base.MINE)
        self.assertEqual(
            {
                'PCPU': 2,
                'MEMORY_MB': 1024,
                # Swap is counted in whole GiB.
                'DISK_GB': 10 + 5 + 2,
                # The shape of a class tells which providers it may come from.
                'CUSTOM_LICENCE/2~+HW_CPU_X86_VMX!CUSTOM_OLD': 2,
                'CUSTOM_CARD/1+CUSTOM_FAST': 1,
            },
            known.amounts,
        )
        self.assertEqual(set(), known.required)
        self.assertEqual({'CUSTOM_OLD'}, known.forbidden)

    def test_a_flavor_that_asks_for_nothing_can_not_be_counted(self):
        self._create_flavor(
            id='nothing',
            extra_spec={
                'resources:VCPU': '0',
                'resources:MEMORY_MB': '0',
                'resources:DISK_GB': '0',
            },
        )
        with self.assertRaisesRegex(
            exception.InvalidInput, 'asks placement for nothing'
        ):
            self.slots(1, flavor_id='nothing')

    def test_servers_have_the_size_of_the_flavor(self):
        self.enrol('host1')
        self._create_flavor(
            id='small', vcpu=1, memory_mb=256, disk=1, ephemeral=1
        )
        lease = self.slots(2, flavor_id='small')
        server = self.boot_in(lease)
        flavor = self.api.get_server(server['id'])['flavor']
        self.assertEqual(
            (1, 256, 1, 1),
            tuple(
                flavor[name] for name in ('vcpus', 'ram', 'disk', 'ephemeral')
            ),
        )
        self.boot_in(lease)
        self.assertIn('No valid host', self.refused_in(lease))
        self.end_completely(lease)
        self.assertIsNotNone(self.admin_api.get_flavor('small'))

    def test_an_image_does_not_get_cpus_that_were_not_reserved(self):
        self.enrol('host1')
        lease = self.slots(1)
        image = self._create_image({'hw_cpu_policy': 'dedicated'})
        status = self.status_of_refusal(
            lambda: self.post(
                flavor_id=self.id_of(lease), image_uuid=image['id']
            )
        )
        self.assertEqual(400, status)

    def test_leases_stop_where_placement_would(self):
        self.enrol('host1')
        [host] = self.services.hosts.find(objects.HostQuery(name='host1'))
        capacity = {
            each.resource_class: each.capacity
            for each in host.facts.inventories
        }
        disk = capacity['DISK_GB'] // 2
        lease = self.slots(2, disk_gb=disk)
        for _ in range(2):
            self.boot_in(lease)
        with self.assertRaisesRegex(Exception, 'Not enough hosts'):
            self.slots(1, disk_gb=disk)


class TestWithoutOurApi(InstancesTestCase):
    api_is_ours = False

    def test_a_resize_into_a_slot_of_others_finds_no_host(self):
        self.enrol('host1')
        lease = self.slots(1, project_id=base.OTHERS)
        server = self.boot()
        resize = {'resize': {'flavorRef': self.id_of(lease)}}
        self.api.post_server_action(server['id'], resize)
        self._assert_resize_migrate_action_fail(
            server, 'resize', 'NoValidHost'
        )
