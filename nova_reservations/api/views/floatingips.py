# SPDX-License-Identifier: Apache-2.0
"""Addresses that can be leased, in the format of Blazar."""

from typing import Any

from nova_reservations import objects
from nova_reservations.api import dates
from nova_reservations.objects import address as addresses


def show(known: objects.Inventoried) -> dict[str, Any]:
    address, network_id = addresses.parse(known.name)
    return {
        'id': known.resource.uuid,
        'floating_network_id': network_id,
        'subnet_id': known.properties.get(addresses.SUBNET, ''),
        'floating_ip_address': address,
        'reservable': known.reservable,
        'created_at': dates.show_stamp(known.created_at),
        'updated_at': dates.show_stamp(known.updated_at),
    }
