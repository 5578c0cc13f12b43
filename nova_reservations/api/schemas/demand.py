# SPDX-License-Identifier: Apache-2.0
from nova_reservations.api.schemas import parameters

MOST = 1000
"""The maximum, and default, number of refusals in one answer."""

_ID = {
    'type': 'string',
    'pattern': r'\A[0-9]{1,9}\Z',
    'description': 'the number of a refusal',
}

INDEX = parameters.query(
    project_id=parameters.NAME,
    start={
        **parameters.DATE,
        'description': 'only what was asked for then or later',
    },
    end={
        **parameters.DATE,
        'description': 'only what was asked for earlier',
    },
    limit={
        'type': 'string',
        'pattern': r'\A([1-9][0-9]{0,2}|1000)\Z',
        'description': f'a number from 1 to {MOST}',
    },
    marker=_ID,
)

_REFUSAL = parameters.exactly(
    'RefusedLease',
    id=_ID,
    project_id={'type': 'string'},
    asked_at={
        **parameters.SHOWN_DATE,
        'description': 'when it was refused first on its day',
    },
    start_date=parameters.SHOWN_DATE,
    end_date=parameters.SHOWN_DATE,
    kind={
        'type': 'string',
        'description': 'the types of its reservations',
    },
    reservations={
        'type': 'array',
        'items': {
            'type': 'object',
            'properties': {'resource_type': {'type': 'string'}},
            'required': ['resource_type'],
        },
    },
)

INDEX_RESPONSE = parameters.page_of('demand', _REFUSAL, maxItems=MOST)
