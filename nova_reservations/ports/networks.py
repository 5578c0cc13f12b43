# SPDX-License-Identifier: Apache-2.0
"""Networks, as Neutron has them, and the floating IPs of reservations."""

from collections.abc import Collection
from collections.abc import Mapping
import dataclasses
import ipaddress
from typing import Protocol

from nova_reservations.ports.calls import Check
from nova_reservations.ports.made import Made
from nova_reservations.ports.made import Mark


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class FloatingIP(Made):
    """A floating IP of any project."""

    address: str
    network_id: str


@dataclasses.dataclass(frozen=True, slots=True)
class Subnet:
    """:ivar pools: first and last address of each allocation pool."""

    id: str
    cidr: str
    gateway: str | None
    pools: tuple[tuple[str, str], ...]

    def has(self, address: str) -> bool:
        """Return whether a port of the subnet could have the address."""
        network = ipaddress.ip_network(self.cidr)
        found = ipaddress.ip_address(address)
        if found not in network:
            return False
        ends = (network.network_address, network.broadcast_address)
        return network.num_addresses <= 2 or found not in ends

    def gives(self, address: str) -> bool:
        """Return whether Neutron may allocate the address to anybody, or uses
        it for the gateway."""
        found = int(ipaddress.ip_address(address))
        return address == self.gateway or any(
            int(ipaddress.ip_address(first))
            <= found
            <= int(ipaddress.ip_address(last))
            for first, last in self.pools
        )


@dataclasses.dataclass(frozen=True, slots=True)
class Network:
    """:ivar external: whether floating IPs can be in it."""

    id: str
    external: bool
    subnets: tuple[Subnet, ...]


class Networks(Protocol):
    """The part of Neutron that floating IPs need."""

    def acts_everywhere(self) -> bool:
        """Return whether Neutron takes us for an administrator, who can see
        and make things of other projects."""

    def find_network(
        self, network_id: str, project_id: str | None = None
    ) -> Network | None:
        """Return a network; None if there is none.

        :param project_id: as this project, which may not see every network;
            None: as an administrator
        """

    def find_floating_ips(
        self, network_id: str, addresses: Collection[str]
    ) -> Mapping[str, FloatingIP]:
        """Return address -> the floating IP that has it, of any project."""

    def find_ports(
        self, network_id: str, addresses: Collection[str]
    ) -> Mapping[str, str]:
        """Return address -> the port that has it, without ports of floating
        IPs."""

    def find_marked(self) -> Collection[FloatingIP]:
        """Return all floating IPs with the tag of reservations."""

    def create_floating_ip(
        self,
        network_id: str,
        address: str,
        project_id: str,
        mark: Mark,
        check: Check,
    ) -> None:
        """Create a floating IP for a project, with its tags.

        :raises: CloudRefused if the address can't be had, or the project's
            quota is used up
        """

    def tag(self, floating_ip: FloatingIP, mark: Mark, check: Check) -> None:
        """Give a floating IP the tags of a reservation, and no others."""

    def delete_floating_ip(
        self, floating_ip: FloatingIP, check: Check
    ) -> None:
        """Delete a floating IP, even if a port has it; one that is gone is
        fine."""
