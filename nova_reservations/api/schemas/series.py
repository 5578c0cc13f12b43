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

DELETE = parameters.query(
    **{
        'from': {
            **parameters.DATE,
            'description': 'only leases that start then or later are deleted; '
            'by default all',
        }
    }
)
DELETE_RESPONSE = parameters.answer(
    remaining={
        'type': 'array',
        'maxItems': series.MOST_LEASES,
        'description': 'the leases that are to be deleted, and are not yet',
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
