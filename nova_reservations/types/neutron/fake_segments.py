# SPDX-License-Identifier: Apache-2.0
"""The networks on segments of a cloud in memory."""

from collections.abc import Collection
import dataclasses
import uuid

from nova_reservations import exception
from nova_reservations import ports
from nova_reservations.objects import segment as segments
from nova_reservations.testing import fake_state


class FakeSegments:
    def __init__(self, state: fake_state.State) -> None:
        self._state = state

    def find_networks(
        self, physical_network: str, vlans: Collection[int]
    ) -> dict[int, ports.SegmentNetwork]:
        self._state.check_neutron()
        return {
            each.segment.vlan: each
            for each in self._state.segment_networks.values()
            if each.segment.physical_network == physical_network
            and each.segment.vlan in vlans
        }

    def find_marked(self) -> list[ports.SegmentNetwork]:
        self._state.check_neutron()
        return [
            each
            for each in self._state.segment_networks.values()
            if each.is_tagged
        ]

    def find_ranges(self, physical_network: str) -> Collection[range] | None:
        self._state.check_neutron()
        if self._state.vlan_ranges is None:
            return None
        return self._state.vlan_ranges.get(physical_network, [])

    def find_unreached(self) -> Collection[str]:
        self._state.check_neutron()
        return self._state.unreached

    def find_ports(
        self, network: ports.SegmentNetwork
    ) -> list[ports.NetworkPort]:
        self._state.check_neutron()
        there = self._state.project_ports.get(network.id, {})
        return [there[key] for key in sorted(there)]

    def create_network(
        self,
        where: segments.Segment,
        name: str,
        description: str,
        project_id: str,
        mark: ports.Mark,
        check: ports.Check,
    ) -> None:
        self._state.ask_neutron('create network', check)
        if (
            self.find_networks(where.physical_network, [where.vlan])
            or project_id in self._state.without_quota
        ):
            raise exception.CloudRefused(
                what=f'A network on VLAN {where}', reason='it can not be had'
            )
        made = ports.SegmentNetwork(
            id=str(uuid.uuid4()),
            project_id=project_id,
            words=frozenset(description.split()),
            segment=where,
            name=name,
        )
        self._state.segment_networks[made.id] = made
        self.tag(made, mark, check)

    def tag(
        self,
        network: ports.SegmentNetwork,
        mark: ports.Mark,
        check: ports.Check,
    ) -> None:
        self._state.ask_neutron('tag network', check)
        self._state.segment_networks[network.id] = dataclasses.replace(
            self._state.segment_networks[network.id],
            words=frozenset(mark.tags),
            is_tagged=True,
        )

    def delete_port(self, port: ports.NetworkPort, check: ports.Check) -> None:
        self._state.ask_neutron('delete port', check)
        if port.id in self._state.stuck_ports:
            raise exception.CloudRefused(
                what=f'To delete port {port.id}', reason='it is needed'
            )
        for there in self._state.project_ports.values():
            there.pop(port.id, None)

    def delete_network(
        self, network: ports.SegmentNetwork, check: ports.Check
    ) -> None:
        self._state.ask_neutron('delete network', check)
        if self.find_ports(network):
            raise exception.CloudRefused(
                what=f'To delete network {network.id}', reason='it is in use'
            )
        self._state.segment_networks.pop(network.id, None)
