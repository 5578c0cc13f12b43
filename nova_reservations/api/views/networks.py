# SPDX-License-Identifier: Apache-2.0
"""Network segments that can be leased, in the format of Chameleon's Blazar."""

from typing import Any

from nova_reservations import objects
from nova_reservations.api import dates
from nova_reservations.objects import segment as segments


def show(known: objects.Inventoried) -> dict[str, Any]:
    where = segments.Segment.named(known.name)
    return {
        **{
            name: value
            for name, value in known.properties.items()
            if name not in segments.FACTS
        },
        'id': known.resource.uuid,
        'network_type': segments.VLAN,
        'physical_network': where.physical_network,
        'segment_id': where.vlan,
        'reservable': known.reservable,
        'created_at': dates.show_stamp(known.created_at),
        'updated_at': dates.show_stamp(known.updated_at),
    }
