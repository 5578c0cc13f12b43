# SPDX-License-Identifier: Apache-2.0
"""Audit of addresses: their floating IPs in Neutron."""

from collections import defaultdict
from collections.abc import Collection
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
from typing import ClassVar

from nova_reservations import objects
from nova_reservations import ports
from nova_reservations.engine.audit import neutron_audit
from nova_reservations.engine.audit.findings import Finding
from nova_reservations.objects import address as addresses


class AddressAudit(neutron_audit.NeutronAudit[ports.FloatingIP]):
    resource_type: ClassVar[str] = addresses.FLOATING_IP
    noun: ClassVar[str] = 'Floating IP'

    def find(
        self, known: Collection[objects.Inventoried]
    ) -> Mapping[str, ports.FloatingIP]:
        return {
            addresses.name(address, network_id): its
            for network_id, theirs in _of_networks(known).items()
            for address, its in self.cloud.networks.find_floating_ips(
                network_id, theirs
            ).items()
        }

    def find_marked(self) -> Collection[ports.FloatingIP]:
        return self.cloud.networks.find_marked()

    def label(self, name: str) -> str:
        return addresses.parse(name)[0]

    def label_of(self, made: ports.FloatingIP) -> str:
        return made.address

    def of_places(
        self, known: Collection[objects.Inventoried]
    ) -> Iterator[Finding]:
        for network_id, theirs in _of_networks(known).items():
            network = self.cloud.networks.find_network(network_id)
            if network is None or not network.external:
                yield Finding(
                    f'Network {network_id} is not there, or not external any '
                    f'more: {len(theirs)} of its addresses can be leased. '
                    'Remove them'
                )
            else:
                yield from _of_network(network, theirs)

    def stranger(self, made: ports.FloatingIP) -> Finding:
        return Finding(
            f'Address {made.address} is for leases, and floating IP '
            f'{made.id} of project {made.project_id} has it, which is of '
            'none: delete it, or remove the address'
        )

    def leftover(self, made: ports.FloatingIP, problem: str) -> Finding:
        def repair() -> None:
            self.cloud.networks.delete_floating_ip(made, check=lambda: None)

        return Finding(problem, repair)


def _of_networks(
    known: Collection[objects.Inventoried],
) -> Mapping[str, Sequence[str]]:
    """Return network -> its addresses that can be leased."""
    found: dict[str, list[str]] = defaultdict(list)
    for each in known:
        address, network_id = addresses.parse(each.name)
        found[network_id].append(address)
    return found


def _of_network(
    network: ports.Network, theirs: Sequence[str]
) -> Iterator[Finding]:
    for address in theirs:
        subnets = [each for each in network.subnets if each.has(address)]
        if not subnets or any(each.gives(address) for each in subnets):
            yield Finding(
                f'Address {address} is in no subnet of network {network.id} '
                'any more, or in an allocation pool, from which Neutron gives '
                'it to anybody: make the pool smaller, or remove the address'
            )
