# SPDX-License-Identifier: Apache-2.0
"""External networks, and the floating IPs of projects, in Neutron."""

from collections.abc import Collection
from collections.abc import Mapping
from typing import Any

from nova_reservations import exception
from nova_reservations import ports
from nova_reservations.types.neutron import calls as neutron

_FORBIDDEN = 403

_FLOATING = 'network:floatingip'
"""The device_owner of the port of a floating IP in the external network."""

EXTERNAL = 'access_as_external'
SHARED = 'access_as_shared'


class Networks:
    """Opens nothing until it is used, and so may be made before a fork."""

    def acts_everywhere(self) -> bool:
        # Neutron answers other lists with 200 and only the user's own items.
        # This one it refuses to all but administrators.
        answer = neutron.request('GET', '/v2.0/quotas', _FORBIDDEN)
        return bool(answer.status_code != _FORBIDDEN)

    def find_network(
        self, network_id: str, project_id: str | None = None
    ) -> ports.Network | None:
        found = list(neutron.list_all('networks', id=network_id))
        if not found:
            return None
        [network] = found
        if project_id is not None and not _is_seen(network, project_id):
            return None
        return ports.Network(
            network['id'],
            network['router:external'],
            tuple(
                map(
                    _subnet, neutron.list_all('subnets', network_id=network_id)
                )
            ),
        )

    def find_floating_ips(
        self, network_id: str, addresses: Collection[str]
    ) -> Mapping[str, ports.FloatingIP]:
        return {
            each['floating_ip_address']: _floating_ip(each)
            for some in neutron.batches(sorted(addresses))
            for each in neutron.list_all(
                'floatingips',
                floating_network_id=network_id,
                floating_ip_address=some,
            )
        }

    def find_ports(
        self, network_id: str, addresses: Collection[str]
    ) -> Mapping[str, str]:
        return {
            fixed['ip_address']: port['id']
            for some in neutron.batches(sorted(addresses))
            for port in neutron.list_all(
                'ports',
                network_id=network_id,
                fixed_ips=[f'ip_address={each}' for each in some],
            )
            if port['device_owner'] != _FLOATING
            for fixed in port['fixed_ips']
            if fixed['ip_address'] in some
        }

    def find_marked(self) -> Collection[ports.FloatingIP]:
        return [
            _floating_ip(each)
            for each in neutron.list_all('floatingips', tags=ports.TAG)
        ]

    def create_floating_ip(
        self,
        network_id: str,
        address: str,
        project_id: str,
        mark: ports.Mark,
        check: ports.Check,
    ) -> None:
        check()
        answer = neutron.request(
            'POST',
            '/v2.0/floatingips',
            400,
            404,
            409,
            body={
                'floatingip': {
                    'floating_network_id': network_id,
                    'floating_ip_address': address,
                    'project_id': project_id,
                    'description': mark.description,
                }
            },
        )
        if answer.status_code != 201:
            raise exception.CloudRefused(
                what=f'The floating IP {address}', reason=neutron.said(answer)
            )
        self.tag(_floating_ip(answer.json()['floatingip']), mark, check)

    def tag(
        self,
        floating_ip: ports.FloatingIP,
        mark: ports.Mark,
        check: ports.Check,
    ) -> None:
        check()
        neutron.tag('floatingips', floating_ip.id, mark)

    def delete_floating_ip(
        self, floating_ip: ports.FloatingIP, check: ports.Check
    ) -> None:
        check()
        neutron.request('DELETE', f'/v2.0/floatingips/{floating_ip.id}', 404)


def _is_seen(network: Mapping[str, Any], project_id: str) -> bool:
    """Return whether a project sees a network: because it owns the network,
    or by an RBAC policy for the project or for everybody."""
    if network['project_id'] == project_id:
        return True
    return any(
        access['target_tenant'] in (project_id, '*')
        for access in neutron.list_all(
            'rbac-policies', object_type='network', object_id=network['id']
        )
        if access['action'] in (EXTERNAL, SHARED)
    )


def _subnet(found: Mapping[str, Any]) -> ports.Subnet:
    return ports.Subnet(
        found['id'],
        found['cidr'],
        found['gateway_ip'],
        tuple(
            (pool['start'], pool['end']) for pool in found['allocation_pools']
        ),
    )


def _floating_ip(found: Mapping[str, Any]) -> ports.FloatingIP:
    return ports.FloatingIP(
        **neutron.made(found),
        address=found['floating_ip_address'],
        network_id=found['floating_network_id'],
    )
