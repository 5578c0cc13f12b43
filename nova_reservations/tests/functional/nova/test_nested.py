# SPDX-License-Identifier: Apache-2.0
"""Reservations of providers below hosts, with Nova's own fixtures for virtual
GPUs and for PCI devices in placement."""

import json

import fixtures
import nova.conf
from nova.tests.fixtures import libvirt as fakelibvirt
from nova.tests.functional.libvirt import base as libvirt_base
from nova.tests.functional.libvirt import test_vgpu

from nova_reservations import exception
from nova_reservations.engine.booking import lease_requests
from nova_reservations.tests.functional.nova import base

CONF = nova.conf.CONF


class NestedTestCase(base.WithLeases):
    # Nova's test case starts the hosts, with their devices.
    hosts = ()

    def _install(self, directory) -> None:
        super()._install(directory)
        self.flags(
            resource_types=['physical:host', 'flavor:instance'],
            group='reservations',
        )

    def flavor(self, **extra_spec) -> str:
        return self._create_flavor(
            memory_mb=512, disk=1, vcpu=1, extra_spec=extra_spec
        )

    def slots(self, amount, flavor_id, project_id=base.MINE):
        reservation = lease_requests.NewReservation(
            'flavor:instance',
            {'amount': amount, 'affinity': None, 'flavor_id': flavor_id},
        )
        lease = self.services.leases.create(
            lease_requests.NewLease(
                name='lease',
                project_id=project_id,
                user_id='user',
                start=self.now,
                end=self.now + base.datetime.timedelta(hours=1),
                before_end=None,
                reservations=(reservation,),
            ),
            self.now,
        )
        self.work()
        lease = self.services.leases.get(lease.id)
        self.assertEqual('ACTIVE', lease.status)
        return lease

    def boot_in(self, lease, **asked):
        return self.boot(flavor_id=lease.reservations[0].id, **asked)

    def refused_in(self, lease, **asked) -> str:
        return self.why_not(flavor_id=lease.reservations[0].id, **asked)

    def check_last_two(self, flavor_id: str, resource_class: str) -> None:
        """Check that two projects get one each of two units, and nobody else
        gets any."""
        mine = self.slots(1, flavor_id)
        theirs = self.slots(1, flavor_id, base.OTHERS)
        self.assertRaises(
            exception.NotEnoughResources, self.slots, 1, flavor_id
        )
        first = self.boot_in(mine)
        # One unit is left, which is promised to the other project.
        self.assertIn('No valid host', self.refused_in(mine))
        self.assertIn('No valid host', self.why_not(flavor_id=flavor_id))
        self.assertIn(
            'No valid host',
            self.why_not(flavor_id=flavor_id, api=self.others_api),
        )
        second = self.boot_in(theirs, api=self.others_api)
        providers = {
            provider
            for server in (first, second)
            for provider, held in self._get_allocations_by_server_uuid(
                server['id']
            ).items()
            if resource_class in held['resources']
        }
        self.assertEqual(2, len(providers))
        self.end_completely(mine)

    def check_whole(self, flavor_id: str) -> None:
        """Check that a host is leased as a whole, and is empty after the
        end."""
        lease = self.lease()
        self.boot(lease, flavor_id=flavor_id)
        self.end_completely(lease)
        self.services.hosts.enrolment.remove(self.host.id, self.now)


class TestVirtualGpus(NestedTestCase, test_vgpu.VGPUTestBase):
    def setUp(self) -> None:
        super().setUp()
        self.flags(
            enabled_mdev_types=fakelibvirt.NVIDIA_11_VGPU_TYPE,
            group='devices',
        )
        # There are two GPUs with 16 virtual ones each.
        self.start_compute_with_vgpu('host1')
        [self.host] = self.enrol('host1')

    def test_a_promised_gpu_is_kept_for_its_servers(self) -> None:
        self.check_last_two(self.flavor(**{'resources:VGPU': '16'}), 'VGPU')

    def test_a_group_is_of_one_gpu_with_its_traits(self) -> None:
        host = self.host
        self.assertEqual({16}, {each.total for each in host.facts.nested})
        one = host.facts.nested[0].provider
        self._create_trait('CUSTOM_FAST')
        self._set_provider_traits(one, ['CUSTOM_FAST'])
        self.services.hosts.refresh_changed([host.id], self.now)
        fast = self.flavor(
            **{'resources:VGPU': '8', 'trait:CUSTOM_FAST': 'required'}
        )
        large = self.flavor(**{'resources1:VGPU': '17'})
        self.assertRaises(exception.NotEnoughResources, self.slots, 1, large)
        self.assertRaises(exception.NotEnoughResources, self.slots, 3, fast)
        lease = self.slots(2, fast)
        for _ in range(2):
            server = self.boot_in(lease)
            held = self._get_allocations_by_server_uuid(server['id'])
            self.assertEqual({'VGPU': 8}, held[one]['resources'])
        self.end_completely(lease)
        self.check_whole(fast)


DEVICE = {
    'vendor_id': fakelibvirt.PCI_VEND_ID,
    'product_id': fakelibvirt.PCI_PROD_ID,
}


class TestPciDevices(NestedTestCase, libvirt_base.ServersTestBase):
    microversion = 'latest'
    ADMIN_API = True
    ADDITIONAL_FILTERS = ('NUMATopologyFilter', 'PciPassthroughFilter')

    def _install(self, directory) -> None:
        super()._install(directory)
        self.flags(pci_in_placement=True, group='filter_scheduler')
        self.flags(
            report_in_placement=True,
            device_spec=[json.dumps(DEVICE)],
            alias=[json.dumps({'name': 'a-device', **DEVICE})],
            group='pci',
        )

    def setUp(self) -> None:
        super().setUp()
        # The devices of this machine do not count.
        for name, answer in (
            ('is_physical_function', False),
            ('get_function_by_ifname', (None, False)),
        ):
            self.useFixture(
                fixtures.MockPatch(
                    f'nova.pci.utils.{name}', return_value=answer
                )
            )
        self.start_compute(
            'host1',
            pci_info=fakelibvirt.HostPCIDevicesInfo(
                num_pci=2, num_pfs=0, num_vfs=0
            ),
        )
        [self.host] = self.enrol('host1')

    def test_a_promised_device_is_kept_for_its_servers(self) -> None:
        flavor_id = self.flavor(**{'pci_passthrough:alias': 'a-device:1'})
        name = 'CUSTOM_PCI_{vendor_id}_{product_id}'.format_map(DEVICE)
        # nova-compute has added traits since the host was enrolled.
        self.services.hosts.refresh(self.now)
        self.check_last_two(flavor_id, name)
        # Allocations of servers do not change the facts of the host.
        self.assertEqual(0, self.services.hosts.refresh(self.now))

    def test_devices_that_placement_does_not_count_are_refused(self) -> None:
        flavor_id = self.flavor(**{'pci_passthrough:alias': 'a-device:1'})
        self.flags(pci_in_placement=False, group='filter_scheduler')
        refusal = self.assertRaises(
            exception.InvalidInput, self.slots, 1, flavor_id
        )
        self.assertIn('pci_in_placement', str(refusal))
