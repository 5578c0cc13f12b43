# SPDX-License-Identifier: Apache-2.0
from typing import Any

from nova_reservations.api import validation
from nova_reservations.api.schemas import hosts
from nova_reservations.api.schemas import parameters
from nova_reservations.objects import segment as segments

_SHOWN: dict[str, Any] = {
    'id': parameters.UUID,
    'reservable': {'type': 'boolean'},
    'created_at': parameters.SHOWN_STAMP,
    'updated_at': parameters.SHOWN_STAMP,
}
_TYPE = {'const': segments.VLAN}
_PHYSICAL_NETWORK = {
    'type': 'string',
    'minLength': 1,
    'maxLength': 64,
    'description': 'its name in Neutron',
}

CREATE = validation.Schema(
    {
        **hosts.NULLABLE_PROPERTIES,
        'title': 'NewNetwork',
        'properties': {
            **dict.fromkeys((*_SHOWN, 'name'), hosts.NEVER),
            'network_type': _TYPE,
            'physical_network': _PHYSICAL_NETWORK,
            'segment_id': {
                'oneOf': [
                    {
                        'type': 'integer',
                        'minimum': 1,
                        'maximum': segments.LAST_VLAN,
                    },
                    {
                        'type': 'string',
                        'pattern': r'\A[1-9][0-9]{0,3}\Z',
                        'description': 'a VLAN, from 1 to 4094',
                    },
                ]
            },
        },
        'required': list(segments.FACTS),
    }
)

NETWORK = {
    'title': 'Network',
    'type': 'object',
    'properties': {
        **_SHOWN,
        'network_type': _TYPE,
        'physical_network': _PHYSICAL_NETWORK,
        'segment_id': {'type': 'integer'},
    },
    'required': [*_SHOWN, *segments.FACTS],
    'additionalProperties': {'type': 'string'},
}

SHOW_RESPONSE = parameters.answer(network=NETWORK)

INDEX_RESPONSE = parameters.answer(
    networks={'type': 'array', 'items': NETWORK}
)
