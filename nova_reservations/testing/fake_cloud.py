# SPDX-License-Identifier: Apache-2.0
"""A cloud in memory, for tests that do not need a real Nova.

It fulfils the contract of ``ports.Cloud``: all its methods may be repeated.
"""

import dataclasses
from typing import Any
import uuid

from nova_reservations import objects
from nova_reservations.testing import fake_aggregates
from nova_reservations.testing import fake_hosts
from nova_reservations.testing import fake_servers
from nova_reservations.testing import fake_slots
from nova_reservations.testing import fake_state
from nova_reservations.types.cinder import fake as fake_volumes
from nova_reservations.types.heat import fake as fake_stacks
from nova_reservations.types.neutron import fake_networks
from nova_reservations.types.neutron import fake_segments

NAMESPACE = uuid.UUID('8f6ab0b0-6f9c-4c1e-9a35-9b6fe4a1f0de')


def facts(name: str, **changes: Any) -> objects.HostFacts:
    """Return the facts of a new host of the cloud."""
    plain = objects.HostFacts(
        uuid=str(uuid.uuid5(NAMESPACE, name)),
        service_host=name,
        hypervisor_hostname=f'{name}.example.org',
        vcpus=16,
        memory_mb=65536,
        local_gb=1000,
        free_memory_mb=65024,
        free_disk_gb=1000,
        cpu_info='{}',
        hypervisor_type='QEMU',
        hypervisor_version=8002000,
        availability_zone='nova',
        provider_generation=1,
        traits=frozenset({'HW_CPU_X86_VMX'}),
        inventories=(
            objects.Inventory('DISK_GB', 1000, 0, 1, 1000, 1, 1.0),
            objects.Inventory('MEMORY_MB', 65536, 512, 1, 65536, 1, 1.0),
            objects.Inventory('VCPU', 16, 0, 1, 16, 1, 4.0),
        ),
        cell=fake_state.CELL,
    )
    return dataclasses.replace(plain, **changes)


class FakeCloud(fake_state.State):
    """The state, which tests read and change, and the parts of ports.Cloud."""

    def __init__(self, *names: str) -> None:
        super().__init__({name: facts(name) for name in names})
        self.hosts = fake_hosts.FakeHosts(self)
        self.aggregates = fake_aggregates.FakeAggregates(self)
        self.servers = fake_servers.FakeServers(self)
        self.slots = fake_slots.FakeSlots(self)
        self.networks = fake_networks.FakeNetworks(self)
        self.segments = fake_segments.FakeSegments(self)
        self.volumes = fake_volumes.FakeVolumes(self)
        self.stacks = fake_stacks.FakeStacks(self)
