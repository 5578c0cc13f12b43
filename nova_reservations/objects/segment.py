# SPDX-License-Identifier: Apache-2.0
"""Segments of physical networks that can be leased, and the names that they
have as resources."""

from collections import defaultdict
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
from typing import Self

from nova_reservations import exception

NETWORK = 'virtual:network'

VLAN = 'vlan'
LAST_VLAN = 4094

_AT = '@'

FACTS = ('network_type', 'physical_network', 'segment_id')
"""The properties that each has as a resource."""


@dataclasses.dataclass(frozen=True, slots=True, order=True)
class Segment:
    """A VLAN of a physical network, as Neutron calls that."""

    physical_network: str
    vlan: int

    def __str__(self) -> str:
        return f'{self.vlan} of {self.physical_network}'

    @property
    def name(self) -> str:
        """The name that it has as a resource."""
        return f'{self.vlan}{_AT}{self.physical_network}'

    @classmethod
    def named(cls, name: str) -> Self:
        vlan, _, physical_network = name.partition(_AT)
        return cls(physical_network, int(vlan))

    @property
    def properties(self) -> Mapping[str, str]:
        """The properties by which leases ask for it."""
        values = (VLAN, self.physical_network, str(self.vlan))
        return dict(zip(FACTS, values, strict=True))

    def check(self) -> None:
        """:raises: InvalidInput"""
        if not 1 <= self.vlan <= LAST_VLAN:
            raise exception.InvalidInput(
                f'segment_id must be a VLAN from 1 to {LAST_VLAN}'
            )


def of_networks(names: Iterable[str]) -> Mapping[str, Sequence[int]]:
    """Return physical network -> its VLANs, of resources of these names."""
    found: dict[str, list[int]] = defaultdict(list)
    for each in names:
        where = Segment.named(each)
        found[where.physical_network].append(where.vlan)
    return found
