# SPDX-License-Identifier: Apache-2.0
"""Resources other than hosts, and their capacity over time."""

from collections.abc import Iterable
from typing import Any

from nova_reservations import objects
from nova_reservations.api import dates
from nova_reservations.api.views import hosts
from nova_reservations.engine.pool import resources
from nova_reservations.objects import holds


def show(known: objects.Inventoried) -> dict[str, Any]:
    return {
        'id': str(known.id),
        'resource_type': known.resource.resource_type,
        'name': known.name,
        'uuid': known.resource.uuid,
        'inventories': dict(known.inventories),
        'properties': dict(known.properties),
        'reservable': known.bookable,
        'cordoned': known.cordoned_at is not None,
        'holds': [hosts.hold(each) for each in holds.of(known)],
        'created_at': dates.show_stamp(known.created_at),
        'updated_at': dates.show_stamp(known.updated_at),
    }


def in_full(
    known: objects.Inventoried, allocated: Iterable[resources.Allocated]
) -> dict[str, Any]:
    return {
        **show(known),
        'reservations': [
            {
                **hosts.reservation(each.allocation),
                'amounts': dict(each.amounts),
            }
            for each in allocated
        ],
    }


def capacity(point: objects.CapacityPoint) -> dict[str, Any]:
    return {
        **hosts.counts(point, 'resources'),
        **(
            {}
            if point.slots is None
            else {'total': point.total, 'available': point.slots}
        ),
    }
