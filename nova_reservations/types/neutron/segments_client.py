# SPDX-License-Identifier: Apache-2.0
"""Networks of Neutron on segments of physical networks."""

from collections.abc import Collection
from collections.abc import Iterator
from collections.abc import Mapping
from typing import Any

from nova_reservations import exception
from nova_reservations import ports
from nova_reservations.objects import segment as segments
from nova_reservations.types.neutron import calls as neutron

_GOES_WITH_IT = frozenset(
    {
        'network:dhcp',
        'network:distributed',
        'network:floatingip_agent_gateway',
    }
)
"""The device_owner of ports that Neutron deletes along with their network."""

_TYPE = 'provider:network_type'
_PHYSICAL = 'provider:physical_network'
_ID = 'provider:segmentation_id'


class Segments:
    """Opens nothing until it is used, and so may be made before a fork."""

    def find_networks(
        self, physical_network: str, vlans: Collection[int]
    ) -> Mapping[int, ports.SegmentNetwork]:
        return {
            segment.vlan: _network(found, segment)
            for some in neutron.batches(sorted(vlans))
            for found in neutron.list_all(
                'networks',
                **{
                    _TYPE: segments.VLAN,
                    _PHYSICAL: physical_network,
                    _ID: list(map(str, some)),
                },
            )
            for segment in _segments(found)
            if segment.physical_network == physical_network
            and segment.vlan in some
        }

    def find_marked(self) -> Collection[ports.SegmentNetwork]:
        return [
            _network(found, segment)
            for found in neutron.list_all('networks', tags=ports.TAG)
            for segment in _segments(found)
        ]

    def find_ranges(self, physical_network: str) -> Collection[range] | None:
        answer = neutron.request(
            'GET',
            '/v2.0/network_segment_ranges',
            404,
            params={
                'network_type': segments.VLAN,
                'physical_network': physical_network,
            },
        )
        if answer.status_code == 404:
            return None
        return [
            range(each['minimum'], each['maximum'] + 1)
            for each in answer.json()['network_segment_ranges']
        ]

    def find_unreached(self) -> Collection[str]:
        alive, all_of = set(), set()
        for agent in neutron.list_all('agents'):
            theirs = _physical_networks(agent['configurations'] or {})
            all_of |= theirs
            if agent['alive']:
                alive |= theirs
        return all_of - alive

    def find_ports(
        self, network: ports.SegmentNetwork
    ) -> list[ports.NetworkPort]:
        found = [
            ports.NetworkPort(
                port['id'],
                port['project_id'],
                port['device_owner'],
                port['device_id'],
            )
            for port in neutron.list_all('ports', network_id=network.id)
            if port['device_owner'] not in _GOES_WITH_IT
        ]
        return sorted(found, key=lambda port: port.id)

    def create_network(
        self,
        where: segments.Segment,
        name: str,
        description: str,
        project_id: str,
        mark: ports.Mark,
        check: ports.Check,
    ) -> None:
        check()
        answer = neutron.request(
            'POST',
            '/v2.0/networks',
            400,
            409,
            body={
                'network': {
                    'name': name,
                    'description': description,
                    'project_id': project_id,
                    _TYPE: segments.VLAN,
                    _PHYSICAL: where.physical_network,
                    _ID: where.vlan,
                }
            },
        )
        if answer.status_code != 201:
            raise exception.CloudRefused(
                what=f'A network on VLAN {where}', reason=neutron.said(answer)
            )
        self.tag(_network(answer.json()['network'], where), mark, check)

    def tag(
        self,
        network: ports.SegmentNetwork,
        mark: ports.Mark,
        check: ports.Check,
    ) -> None:
        check()
        neutron.tag('networks', network.id, mark)

    def delete_port(self, port: ports.NetworkPort, check: ports.Check) -> None:
        check()
        _delete(f'/v2.0/ports/{port.id}', f'To delete port {port.id}')

    def delete_network(
        self, network: ports.SegmentNetwork, check: ports.Check
    ) -> None:
        check()
        _delete(
            f'/v2.0/networks/{network.id}', f'To delete network {network.id}'
        )


def _delete(url: str, what: str) -> None:
    """:raises: CloudRefused"""
    answer = neutron.request('DELETE', url, 404, 409)
    if answer.status_code == 409:
        raise exception.CloudRefused(what=what, reason=neutron.said(answer))


def _network(
    found: Mapping[str, Any], where: segments.Segment
) -> ports.SegmentNetwork:
    return ports.SegmentNetwork(
        **neutron.made(found), segment=where, name=found['name']
    )


def _segments(found: Mapping[str, Any]) -> Iterator[segments.Segment]:
    """Yield the VLANs of a network, which may have several segments."""
    for each in found.get('segments') or [found]:
        if each[_TYPE] == segments.VLAN:
            yield segments.Segment(each[_PHYSICAL], each[_ID])


def _physical_networks(configurations: Mapping[str, Any]) -> set[str]:
    """Return the physical networks of an agent, from the configuration that
    the agents of Open vSwitch, Linux bridge, SR-IOV and OVN report."""
    found: set[str] = set()
    for name in 'bridge_mappings', 'interface_mappings', 'device_mappings':
        found |= {*(configurations.get(name) or ())}
    pairs = str(configurations.get('bridge-mappings') or '').split(',')
    return found | {pair.partition(':')[0] for pair in pairs if ':' in pair}
