# SPDX-License-Identifier: Apache-2.0
"""Network segments that can be leased, in the format of Chameleon's Blazar."""

from typing import Any

from nova_reservations.api import dates
from nova_reservations.objects import segment as segments


def show(known: segments.Leasable) -> dict[str, Any]:
    return {
        **known.properties,
        'id': known.uuid,
        'network_type': segments.VLAN,
        'physical_network': known.segment.physical_network,
        'segment_id': known.segment.vlan,
        'reservable': known.reservable,
        'created_at': dates.show_stamp(known.created_at),
        'updated_at': dates.show_stamp(known.updated_at),
    }
