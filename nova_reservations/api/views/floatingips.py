# SPDX-License-Identifier: Apache-2.0
"""Addresses that can be leased, in the format of Blazar."""

from typing import Any

from nova_reservations.api import dates
from nova_reservations.objects import address as addresses


def show(address: addresses.Address) -> dict[str, Any]:
    return {
        'id': address.uuid,
        'floating_network_id': address.network_id,
        'subnet_id': address.subnet_id,
        'floating_ip_address': address.address,
        'reservable': address.reservable,
        'created_at': dates.show_stamp(address.created_at),
        'updated_at': dates.show_stamp(address.updated_at),
    }
