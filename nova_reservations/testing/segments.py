# SPDX-License-Identifier: Apache-2.0
"""Helpers for tests that lease networks in a region."""

from nova_reservations import objects
from nova_reservations import ports
from nova_reservations.objects import segment
from nova_reservations.testing import region as regions
from nova_reservations.types.neutron import monitors
from nova_reservations.types.neutron import network
from nova_reservations.types.servers import host
from nova_reservations.types.servers import monitor as compute

PHYSICAL = 'physnet1'

TYPES = {
    objects.HOST: host.PhysicalHost,
    segment.NETWORK: network.Network,
    'network': network.Network,
}
MONITORS = [compute.ComputeMonitor, monitors.NetworkMonitor]


def on(vlan: int, physical_network: str = PHYSICAL) -> segment.Segment:
    return segment.Segment(physical_network, vlan)


def enrol(
    region: regions.Region,
    *vlans: int,
    physical_network: str = PHYSICAL,
    **properties: str,
) -> None:
    for vlan in vlans:
        asked = {'physical_network': physical_network, 'segment_id': vlan}
        region.services.places.enrol(
            segment.NETWORK, asked, region.now, properties
        )


def asked(
    vlan: int | None = None, **more: object
) -> tuple[str, dict[str, object]]:
    """Return the type and params of a reservation of a network."""
    wanted = '' if vlan is None else f'["==", "$segment_id", "{vlan}"]'
    return segment.NETWORK, {
        'network_name': 'lab',
        'network_properties': wanted,
        **more,
    }


def there(region: regions.Region) -> dict[int, str]:
    """Return VLAN -> project, of all networks."""
    return {
        each.segment.vlan: each.project_id
        for each in region.cloud.segment_networks.values()
    }


def take(region: regions.Region, vlan: int, project_id: str = 'other') -> str:
    """Create a network outside of any lease; return its id."""
    made = ports.SegmentNetwork(
        id=f'network {vlan} of {project_id}',
        project_id=project_id,
        segment=on(vlan),
        name='',
    )
    region.cloud.segment_networks[made.id] = made
    return made.id


def plug(
    region: regions.Region,
    vlan: int,
    port: str,
    project_id: str = 'lessee',
    owner: str = '',
    device_id: str = '',
) -> None:
    """Create a port in the network that has a VLAN."""
    [network] = region.cloud.segments.find_networks(PHYSICAL, [vlan]).values()
    region.cloud.project_ports[network.id][port] = ports.NetworkPort(
        port, project_id, owner, device_id
    )
