# SPDX-License-Identifier: Apache-2.0
"""Addresses that can be leased, and the names that they have as resources."""

from collections import defaultdict
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import datetime
import ipaddress
from typing import Self

from nova_reservations import exception
from nova_reservations.objects import inventoried

FLOATING_IP = 'virtual:floatingip'

_AT = '@'


NETWORK = 'network_id'
SUBNET = 'subnet_id'
"""The properties that an address has as a resource."""


@dataclasses.dataclass(frozen=True, slots=True)
class Address:
    """An address that can be leased.

    :ivar id: of the resource; uuid: by which clients know it.
    :ivar network_id: of the external network that it is in.
    """

    id: int
    uuid: str
    name: str
    address: str
    network_id: str
    subnet_id: str
    reservable: bool
    created_at: datetime.datetime
    updated_at: datetime.datetime | None

    @classmethod
    def of(cls, known: inventoried.Inventoried) -> Self:
        """Return the address that a resource stands for."""
        address, network_id = parse(known.name)
        return cls(
            id=known.id,
            uuid=known.resource.uuid,
            name=known.name,
            address=address,
            network_id=network_id,
            subnet_id=known.properties.get(SUBNET, ''),
            reservable=known.reservable,
            created_at=known.created_at,
            updated_at=known.updated_at,
        )


def name(address: str, network_id: str) -> str:
    """Return the name of the resource: two networks may have the same
    addresses."""
    return f'{address}{_AT}{network_id}'


def parse(name: str) -> tuple[str, str]:
    """Return the address and the network in a resource's name."""
    address, _, network_id = name.partition(_AT)
    return address, network_id


def of_networks(names: Iterable[str]) -> Mapping[str, Sequence[str]]:
    """Return network -> its addresses, of resources of these names."""
    found: dict[str, list[str]] = defaultdict(list)
    for each in names:
        address, network_id = parse(each)
        found[network_id].append(address)
    return found


def plain(text: str) -> str:
    """Return an address as Neutron writes it.

    :raises: InvalidInput
    """
    try:
        return str(ipaddress.ip_address(text))
    except ValueError:
        raise exception.InvalidInput(
            f'IP address {text} is invalid form.'
        ) from None
