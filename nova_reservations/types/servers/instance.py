# SPDX-License-Identifier: Apache-2.0
"""Servers of a size that the request gives: ``virtual:instance``."""

from collections.abc import Mapping
from typing import Any

from nova_reservations import objects
from nova_reservations import ports
from nova_reservations.objects import demand
from nova_reservations.objects import host_specs
from nova_reservations.objects import requirements
from nova_reservations.types import base
from nova_reservations.types import schemas
from nova_reservations.types.servers import slots

_PROPERTIES = {
    'vcpus': slots.COUNT,
    'memory_mb': slots.COUNT,
    'disk_gb': schemas.whole_number(0x7FFFFFFF, digits=9, minimum=0),
    'resource_properties': base.EXPRESSION,
    **slots.PROPERTIES,
}


class VirtualInstance(slots.Slots):
    """Servers of a size that the request gives."""

    schema = schemas.closed(
        _PROPERTIES,
        'vcpus',
        'memory_mb',
        'disk_gb',
        'amount',
        'affinity',
        'resource_properties',
    )
    update_schema = schemas.closed(_PROPERTIES)

    def validate(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        params = {
            'vcpus': int(asked['vcpus']),
            'memory_mb': int(asked['memory_mb']),
            'disk_gb': int(asked['disk_gb']),
            **self.common(asked),
            'resource_properties': asked.get('resource_properties') or '',
        }
        self._requirements(params)
        return params

    def demand(self, params: Mapping[str, Any]) -> demand.Share:
        amounts = {
            'VCPU': params['vcpus'],
            'MEMORY_MB': params['memory_mb'],
            'DISK_GB': params['disk_gb'],
        }
        return demand.Share(
            objects.HOST,
            params['amount'],
            # Placement accepts no request for 0 units of a class.
            {name: units for name, units in amounts.items() if units},
            params['affinity'],
            self._requirements(params),
        )

    def flavor(self, params: Mapping[str, Any]) -> ports.Flavor:
        return ports.Flavor(
            params['vcpus'], params['memory_mb'], params['disk_gb']
        )

    def show(self, reservation: objects.Reservation) -> Mapping[str, Any]:
        return {
            **slots.shown(reservation, self.flavor(reservation.params)),
            'resource_properties': reservation.params['resource_properties'],
        }

    def _requirements(
        self, params: Mapping[str, Any]
    ) -> requirements.Expression | None:
        """:raises: InvalidInput"""
        return requirements.parse(
            params['resource_properties'],
            constants={'region': self.conf.reservations.region_name},
            nova=host_specs.Words(self.cloud.hosts.passes),
        )
