# SPDX-License-Identifier: Apache-2.0
"""Servers of the size of an existing flavor: ``flavor:instance``.

The flavor is read when the lease is requested; later changes of the flavor do
not change the reservation.
"""

from collections.abc import Mapping
import dataclasses
import json
from typing import Any

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations import ports
from nova_reservations.objects import demand
from nova_reservations.objects import host_specs
from nova_reservations.objects import requirements
from nova_reservations.types import schemas
from nova_reservations.types.servers import slots

_PROPERTIES = {
    'flavor_id': {'type': ['string', 'integer'], 'maxLength': 255},
    # Blazar accepts this property, and ignores it.
    'resource_properties': {'type': ['string', 'null'], 'maxLength': 16384},
    **slots.PROPERTIES,
}

FOUND = ('source', 'flavor', 'amounts', 'required', 'forbidden')
"""Params that look_up() adds."""


class FlavorInstance(slots.Slots):
    """Servers of the size of an existing flavor."""

    schema = schemas.closed(_PROPERTIES, 'flavor_id', 'amount', 'affinity')
    update_schema = schemas.closed(_PROPERTIES)

    def look_up(
        self, asked: Mapping[str, Any], project_id: str
    ) -> Mapping[str, Any]:
        """Add the properties of Nova's flavor.

        :raises: InvalidInput if the project has no such flavor
        """
        if 'flavor_id' not in asked:
            return asked
        flavor_id = str(asked['flavor_id'])
        try:
            known = self.cloud.slots.find_flavor(flavor_id, project_id)
        except exception.CloudRefused as error:
            raise exception.InvalidInput(str(error)) from error
        return {
            **asked,
            'flavor_id': known.id,
            'source': {'name': known.name, 'is_public': known.is_public},
            'flavor': dataclasses.asdict(known.flavor),
            'amounts': dict(known.amounts),
            'required': sorted(known.required),
            'forbidden': sorted(known.forbidden),
        }

    def validate(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        return {
            'flavor_id': asked['flavor_id'],
            **self.common(asked),
            **{name: asked[name] for name in FOUND},
        }

    def demand(self, params: Mapping[str, Any]) -> demand.Share:
        """:raises: InvalidInput for an extra spec that can't be planned by"""
        traits = tuple(
            requirements.Trait(name, required)
            for names, required in (
                (params['required'], True),
                (params['forbidden'], False),
            )
            for name in names
        )
        specs = host_specs.of_flavor(
            self.flavor(params).extra_specs, self.cloud.hosts.passes
        )
        return demand.Share(
            objects.HOST,
            params['amount'],
            params['amounts'],
            params['affinity'],
            requirements.AllOf((*traits, *specs)) if traits or specs else None,
        )

    def flavor(self, params: Mapping[str, Any]) -> ports.Flavor:
        return ports.Flavor(**params['flavor'])

    def show(self, reservation: objects.Reservation) -> Mapping[str, Any]:
        params = reservation.params
        flavor = self.flavor(params)
        source = {
            'id': params['flavor_id'],
            'name': params['source']['name'],
            'ram': flavor.memory_mb,
            'disk': flavor.root_gb,
            'swap': flavor.swap_mb,
            'OS-FLV-EXT-DATA:ephemeral': flavor.ephemeral_gb,
            'OS-FLV-DISABLED:disabled': False,
            'vcpus': flavor.vcpus,
            'os-flavor-access:is_public': params['source']['is_public'],
            'rxtx_factor': flavor.rxtx_factor,
            'extra_specs': dict(flavor.extra_specs),
        }
        return {
            **slots.shown(reservation, flavor),
            'resource_properties': json.dumps(source),
        }
