# SPDX-License-Identifier: Apache-2.0
from nova_reservations.api.schemas import leases
from nova_reservations.api.schemas import parameters
from nova_reservations.engine.leases import series

SHOW_RESPONSE = parameters.answer(
    series=parameters.exactly(
        'Series',
        id=parameters.UUID,
        leases={
            'type': 'array',
            'items': leases.LEASE,
            'maxItems': series.MOST_LEASES,
            'description': 'in the order of their start',
        },
    )
)

DELETE_RESPONSE = parameters.answer(
    remaining={
        'type': 'array',
        'maxItems': series.MOST_LEASES,
        'description': 'the leases that are not deleted yet',
        'items': parameters.exactly(
            'RemainingLease',
            lease=leases.LEASE,
            reason={
                'type': ['string', 'null'],
                'description': 'why it can not be deleted; null: it '
                'is being deleted',
            },
        ),
    }
)
