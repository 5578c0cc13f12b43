# SPDX-License-Identifier: Apache-2.0
"""Addresses that can be leased, and the names that they have as resources."""

from collections import defaultdict
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
import ipaddress

from nova_reservations import exception

FLOATING_IP = 'virtual:floatingip'

_AT = '@'


NETWORK = 'network_id'
SUBNET = 'subnet_id'
"""The properties that an address has as a resource."""


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
