# SPDX-License-Identifier: Apache-2.0
from nova_reservations.api import validation
from nova_reservations.api.schemas import parameters

_NETWORK = {'type': 'string', 'minLength': 1, 'maxLength': 36}
_ADDRESS = {'type': 'string', 'minLength': 1, 'maxLength': 64}

CREATE = validation.Schema(
    parameters.exactly(
        'NewFloatingIP',
        floating_network_id={
            **_NETWORK,
            'description': 'the ID of an external network',
        },
        floating_ip_address={
            **_ADDRESS,
            'description': 'an address in a subnet of it, and outside of '
            'the allocation pools',
        },
    )
)

FLOATING_IP = parameters.exactly(
    'FloatingIP',
    id=parameters.UUID,
    floating_network_id=_NETWORK,
    subnet_id=_NETWORK,
    floating_ip_address=_ADDRESS,
    reservable={'type': 'boolean'},
    created_at=parameters.SHOWN_STAMP,
    updated_at=parameters.SHOWN_STAMP,
)

SHOW_RESPONSE = parameters.answer(floatingip=FLOATING_IP)

INDEX_RESPONSE = parameters.answer(
    floatingips={'type': 'array', 'items': FLOATING_IP}
)
