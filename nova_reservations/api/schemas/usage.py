# SPDX-License-Identifier: Apache-2.0
from nova_reservations.api.schemas import parameters

INDEX = parameters.query(
    start={
        **parameters.DATE,
        'description': 'the start of the window; by default that of '
        'this month',
    },
    end={
        **parameters.DATE,
        'description': 'its end; by default now',
    },
    project_id={
        **parameters.NAME,
        'description': 'only this project; by default the own one, '
        'for administrators all',
    },
    detailed={
        **parameters.BOOLEAN,
        'description': 'with the usage of each lease',
    },
    limit=parameters.LIMIT,
    marker={
        **parameters.NAME,
        'description': 'only projects whose ids come after this one',
    },
)

_HOURS = {'type': 'number', 'minimum': 0}
_BY_CLASS = {
    'title': 'HoursByClass',
    'type': 'object',
    'additionalProperties': _HOURS,
    'description': 'resource class -> units times hours',
}
_AMOUNT = {
    'type': ['string', 'null'],
    'pattern': r'\A-?[0-9]+(\.[0-9]+)?\Z',
    'description': 'what it costs; null: nobody rates it',
}
_UNIT = {'type': ['string', 'null']}
_DATE_OR_NULL = {
    **parameters.SHOWN_DATE,
    'type': ['string', 'null'],
    'description': 'null: it goes on',
}

_LEASE = parameters.exactly(
    'LeaseUsage',
    lease_id=parameters.UUID,
    name={'type': 'string'},
    tenant_id={'type': 'string'},
    user_id={'type': 'string'},
    lease_type={'type': 'string'},
    state={'enum': ['active', 'ended']},
    started_at=parameters.SHOWN_DATE,
    ended_at=_DATE_OR_NULL,
    hours=_HOURS,
    reserved=_BY_CLASS,
    degraded=_BY_CLASS,
    used=_BY_CLASS,
    amount=_AMOUNT,
    unit=_UNIT,
)

_TOTALS = {
    'tenant_id': {'type': 'string'},
    'start': parameters.SHOWN_DATE,
    'stop': parameters.SHOWN_DATE,
    'total_hours': _HOURS,
    'total_vcpus_usage': _HOURS,
    'total_memory_mb_usage': _HOURS,
    'total_local_gb_usage': _HOURS,
    'reserved': _BY_CLASS,
    'degraded': _BY_CLASS,
    'used': _BY_CLASS,
    'total_amount': _AMOUNT,
    'unit': _UNIT,
}

_PROJECT = {
    'title': 'ProjectUsage',
    **parameters.requiring(
        list(_TOTALS),
        **_TOTALS,
        lease_usages={'type': 'array', 'items': _LEASE},
    ),
}

INDEX_RESPONSE = parameters.page_of('tenant_usages', _PROJECT)
