# SPDX-License-Identifier: Apache-2.0
"""Helpers for tests that lease addresses in a region."""

from nova_reservations import objects
from nova_reservations import ports
from nova_reservations.objects import address as addresses
from nova_reservations.testing import region as regions
from nova_reservations.types.neutron import fake_networks
from nova_reservations.types.neutron import floatingip
from nova_reservations.types.neutron import monitors
from nova_reservations.types.servers import host
from nova_reservations.types.servers import monitor as compute

TYPES = {
    objects.HOST: host.PhysicalHost,
    addresses.FLOATING_IP: floatingip.FloatingIP,
}
MONITORS = [compute.ComputeMonitor, monitors.FloatingIPMonitor]


def enrol(region: regions.Region, *last: int) -> None:
    """Add addresses of the external network, by their last numbers."""
    external = fake_networks.external()
    region.cloud.networks_known.setdefault(external.id, external)
    for number in last:
        enrol_at(region, external.id, f'203.0.113.{number}')


def enrol_at(region: regions.Region, network_id: str, address: str) -> None:
    asked = {'floating_network_id': network_id, 'floating_ip_address': address}
    region.services.places.enrol(addresses.FLOATING_IP, asked, region.now)


def asked(
    amount: int, *required: int, **more: object
) -> tuple[str, dict[str, object]]:
    """Return the type and params of a reservation of addresses."""
    return addresses.FLOATING_IP, {
        'network_id': fake_networks.EXTERNAL,
        'amount': amount,
        'required_floatingips': [f'203.0.113.{each}' for each in required],
        **more,
    }


def there(region: regions.Region) -> dict[int, str]:
    """Return last number of the address -> project, of all floating IPs."""
    return {
        int(each.address.rpartition('.')[2]): each.project_id
        for each in region.cloud.floating_ips.values()
    }


def take(region: regions.Region, last: int, project_id: str = 'other') -> str:
    """Create a floating IP outside of any lease; return its id."""
    made = ports.FloatingIP(
        id=f'floating ip {last} of {project_id}',
        project_id=project_id,
        address=f'203.0.113.{last}',
        network_id=fake_networks.EXTERNAL,
    )
    region.cloud.floating_ips[made.id] = made
    return made.id
