# SPDX-License-Identifier: Apache-2.0
from nova_reservations.api import validation
from nova_reservations.api.schemas import leases
from nova_reservations.api.schemas import parameters
from nova_reservations.engine.leases import series

SHOW_RESPONSE = validation.Schema(
    parameters.exactly(
        series={
            'title': 'Series',
            **parameters.exactly(
                id=parameters.UUID,
                leases={
                    'type': 'array',
                    'items': leases.LEASE,
                    'maxItems': series.MOST_LEASES,
                    'description': 'in the order of their start',
                },
            ),
        }
    )
)

DELETE_RESPONSE = validation.Schema(
    parameters.exactly(
        remaining={
            'type': 'array',
            'maxItems': series.MOST_LEASES,
            'description': 'the leases that are not deleted yet',
            'items': {
                'title': 'RemainingLease',
                **parameters.exactly(
                    lease=leases.LEASE,
                    reason={
                        'type': ['string', 'null'],
                        'description': 'why it can not be deleted; null: it '
                        'is being deleted',
                    },
                ),
            },
        }
    )
)
