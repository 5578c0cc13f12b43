# SPDX-License-Identifier: Apache-2.0
"""Networks on segments of physical networks, which leases have."""

from collections.abc import Collection
from collections.abc import Mapping
import dataclasses
from typing import Protocol

from nova_reservations.objects import segment
from nova_reservations.ports.calls import Check
from nova_reservations.ports.made import Made
from nova_reservations.ports.made import Mark


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class SegmentNetwork(Made):
    """A network on a segment, of any project."""

    segment: segment.Segment
    name: str


@dataclasses.dataclass(frozen=True, slots=True)
class NetworkPort:
    """A port that keeps its network from being deleted.

    :ivar owner: Neutron's device_owner, the kind of thing that has it.
    :ivar device_id: of that thing, such as a server or a router.
    """

    id: str
    project_id: str
    owner: str = ''
    device_id: str = ''

    @property
    def is_of_server(self) -> bool:
        return self.owner.startswith(('compute:', 'baremetal:'))

    @property
    def is_of_router(self) -> bool:
        return self.owner.startswith('network:') and 'router' in self.owner


class Segments(Protocol):
    """The part of Neutron that leases of networks need."""

    def find_networks(
        self, physical_network: str, vlans: Collection[int]
    ) -> Mapping[int, SegmentNetwork]:
        """Return VLAN -> the network that has it, of any project."""

    def find_marked(self) -> Collection[SegmentNetwork]:
        """Return all networks on VLANs with the tag of reservations."""

    def find_ranges(self, physical_network: str) -> Collection[range] | None:
        """Return the VLANs that Neutron gives to networks by itself; None:
        Neutron does not tell."""

    def find_unreached(self) -> Collection[str]:
        """Return the physical networks that have agents, none of which is
        alive."""

    def find_ports(self, network: SegmentNetwork) -> list[NetworkPort]:
        """Return the ports of a network, in the order of their ids, without
        those that Neutron deletes with it."""

    def create_network(
        self,
        where: segment.Segment,
        name: str,
        description: str,
        project_id: str,
        mark: Mark,
        check: Check,
    ) -> None:
        """Create a network for a project, with its tags.

        :raises: CloudRefused if the segment can't be had, or the project's
            quota is used up
        """

    def tag(self, network: SegmentNetwork, mark: Mark, check: Check) -> None:
        """Give a network the tags of a reservation, and no others."""

    def delete_port(self, port: NetworkPort, check: Check) -> None:
        """Delete a port; one that is gone is fine.

        :raises: CloudRefused if something else needs it
        """

    def delete_network(self, network: SegmentNetwork, check: Check) -> None:
        """Delete a network with its subnets, and the ports that are Neutron's
        own; one that is gone is fine.

        :raises: CloudRefused if it is in use
        """
