# SPDX-License-Identifier: Apache-2.0
"""The networks of a cloud in memory."""

from collections.abc import Collection
import dataclasses
from typing import Any
import uuid

from nova_reservations import exception
from nova_reservations import ports
from nova_reservations.testing import fake_state

EXTERNAL = '1e17587e-a7ed-4b82-a17b-4beb32523e28'
SUBNET = 'a2fa9b7e-8451-4868-85f4-92ee7c77eed6'


def external(**changes: Any) -> ports.Network:
    """Return an external network whose allocation pool ends before .100."""
    plain = ports.Network(
        EXTERNAL,
        external=True,
        subnets=(
            ports.Subnet(
                SUBNET,
                '203.0.113.0/24',
                '203.0.113.1',
                (('203.0.113.2', '203.0.113.99'),),
            ),
        ),
    )
    return dataclasses.replace(plain, **changes)


class FakeNetworks:
    def __init__(self, state: fake_state.State) -> None:
        self._state = state

    def acts_everywhere(self) -> bool:
        self._state.check_neutron()
        return self._state.is_administrator

    def find_network(
        self, network_id: str, project_id: str | None = None
    ) -> ports.Network | None:
        self._state.check_neutron()
        seen_by = self._state.network_projects.get(network_id)
        if project_id is None or seen_by is None or project_id in seen_by:
            return self._state.networks_known.get(network_id)
        return None

    def find_floating_ips(
        self, network_id: str, addresses: Collection[str]
    ) -> dict[str, ports.FloatingIP]:
        self._state.check_neutron()
        return {
            each.address: each
            for each in self._state.floating_ips.values()
            if each.network_id == network_id and each.address in addresses
        }

    def find_ports(
        self, network_id: str, addresses: Collection[str]
    ) -> dict[str, str]:
        self._state.check_neutron()
        return {
            address: port
            for (where, address), port in self._state.network_ports.items()
            if where == network_id and address in addresses
        }

    def find_marked(self) -> list[ports.FloatingIP]:
        self._state.check_neutron()
        return [
            each
            for each in self._state.floating_ips.values()
            if each.is_tagged
        ]

    def create_floating_ip(
        self,
        network_id: str,
        address: str,
        project_id: str,
        mark: ports.Mark,
        check: ports.Check,
    ) -> None:
        self._state.ask_neutron('create floating ip', check)
        if (
            network_id not in self._state.networks_known
            or self.find_floating_ips(network_id, [address])
            or self.find_ports(network_id, [address])
            or project_id in self._state.without_quota
        ):
            raise exception.CloudRefused(
                what=f'The floating IP {address}',
                reason='it can not be had',
            )
        made = ports.FloatingIP(
            id=str(uuid.uuid4()),
            project_id=project_id,
            words=frozenset(mark.tags),
            address=address,
            network_id=network_id,
        )
        self._state.floating_ips[made.id] = made
        self.tag(made, mark, check)

    def tag(
        self,
        floating_ip: ports.FloatingIP,
        mark: ports.Mark,
        check: ports.Check,
    ) -> None:
        self._state.ask_neutron('tag floating ip', check)
        self._state.floating_ips[floating_ip.id] = dataclasses.replace(
            self._state.floating_ips[floating_ip.id],
            words=frozenset(mark.tags),
            is_tagged=True,
        )

    def delete_floating_ip(
        self, floating_ip: ports.FloatingIP, check: ports.Check
    ) -> None:
        self._state.ask_neutron('delete floating ip', check)
        self._state.floating_ips.pop(floating_ip.id, None)
