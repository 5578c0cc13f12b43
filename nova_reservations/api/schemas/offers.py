# SPDX-License-Identifier: Apache-2.0
from nova_reservations.api import validation
from nova_reservations.api.schemas import leases
from nova_reservations.api.schemas import parameters
from nova_reservations.engine.booking import parts

MOST = 20

FIND = validation.Schema(
    {
        'title': 'WantedOffers',
        **parameters.requiring(
            ['duration', 'reservations'],
            duration=parameters.DURATION,
            project_id=parameters.PROJECT,
            start_after={
                **parameters.DATE,
                'description': 'the earliest start; by default now',
            },
            start_before={
                **parameters.DATE,
                'description': 'the latest start; by default there is none',
            },
            limit={
                'type': 'integer',
                'minimum': 1,
                'maximum': MOST,
                'description': 'how many offers are wanted; by default 5',
            },
            reservations={
                'type': 'array',
                'minItems': 1,
                'maxItems': parts.MOST_RESERVATIONS,
                'items': leases.NEW_RESERVATION,
            },
        ),
    }
)

FIND_RESPONSE = parameters.answer(
    offers={
        'type': 'array',
        'maxItems': MOST,
        'items': parameters.exactly(
            'Offer',
            start_date=parameters.SHOWN_DATE,
            end_date=parameters.SHOWN_DATE,
        ),
    },
    truncated={
        'type': 'boolean',
        'description': 'whether there may be later ones that were not '
        'looked for: it would have taken too long',
    },
)
