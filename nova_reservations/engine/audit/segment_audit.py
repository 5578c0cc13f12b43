# SPDX-License-Identifier: Apache-2.0
"""Audit of segments of physical networks: the networks on them in Neutron."""

from collections import defaultdict
from collections.abc import Collection
from collections.abc import Iterator
from collections.abc import Mapping
from typing import ClassVar

from nova_reservations import objects
from nova_reservations import ports
from nova_reservations.engine.audit import neutron_audit
from nova_reservations.engine.audit.findings import Finding
from nova_reservations.objects import segment as segments

MOST_TOLD = 20
"""The ports that a finding names."""


class SegmentAudit(neutron_audit.NeutronAudit[ports.SegmentNetwork]):
    resource_type: ClassVar[str] = segments.NETWORK
    noun: ClassVar[str] = 'Network on VLAN'

    def find(
        self, known: Collection[objects.Inventoried]
    ) -> Mapping[str, ports.SegmentNetwork]:
        return {
            its.segment.name: its
            for physical_network, vlans in _of_networks(known).items()
            for its in self.cloud.segments.find_networks(
                physical_network, vlans
            ).values()
        }

    def find_marked(self) -> Collection[ports.SegmentNetwork]:
        return self.cloud.segments.find_marked()

    def label(self, name: str) -> str:
        return str(segments.Segment.named(name))

    def label_of(self, made: ports.SegmentNetwork) -> str:
        return str(made.segment)

    def of_places(
        self, known: Collection[objects.Inventoried]
    ) -> Iterator[Finding]:
        for physical_network, vlans in _of_networks(known).items():
            ranges = self.cloud.segments.find_ranges(physical_network) or ()
            for vlan in sorted(vlans):
                if any(vlan in each for each in ranges):
                    yield Finding(
                        f'VLAN {vlan} of {physical_network} is in a network '
                        'segment range, from which Neutron gives it to any '
                        'network: make the range smaller, or remove the VLAN'
                    )

    def stranger(self, made: ports.SegmentNetwork) -> Finding:
        return Finding(
            f'VLAN {made.segment} is for leases, and network {made.id} of '
            f'project {made.project_id} has it, which is of none: delete it, '
            'or remove the VLAN'
        )

    def leftover(self, made: ports.SegmentNetwork, problem: str) -> Finding:
        there = [port.id for port in self.cloud.segments.find_ports(made)]
        if there:
            return Finding(
                f'{problem}, and has ports: delete them, and it is deleted by '
                f'the next audit: {", ".join(there[:MOST_TOLD])}'
            )

        def repair() -> None:
            self.cloud.segments.delete_network(made, check=lambda: None)

        return Finding(problem, repair)


def _of_networks(
    known: Collection[objects.Inventoried],
) -> Mapping[str, Collection[int]]:
    """Return physical network -> its VLANs that can be leased."""
    found: dict[str, list[int]] = defaultdict(list)
    for each in known:
        where = segments.Segment.named(each.name)
        found[where.physical_network].append(where.vlan)
    return found
