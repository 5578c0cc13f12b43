# SPDX-License-Identifier: Apache-2.0
"""Refused requests, as administrators see them."""

from typing import Any

from nova_reservations.api import dates
from nova_reservations.objects import refusal as refusals

_SHOWN = (
    'min',
    'max',
    'hypervisor_properties',
    'resource_properties',
    'amount',
    'flavor_id',
    'vcpus',
    'memory_mb',
    'disk_gb',
    'affinity',
)
"""Params that describe the size of a request."""


def show(refusal: refusals.Refusal) -> dict[str, Any]:
    return {
        'id': str(refusal.id),
        'project_id': refusal.project_id,
        'asked_at': dates.show(refusal.asked_at),
        'start_date': dates.show(refusal.start),
        'end_date': dates.show(refusal.end),
        'kind': refusal.kind,
        'reservations': [
            {
                'resource_type': part.resource_type,
                **{
                    name: part.params[name]
                    for name in _SHOWN
                    if part.params.get(name) not in (None, '')
                },
            }
            for part in refusal.parts
        ],
    }
