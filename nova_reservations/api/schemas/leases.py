# SPDX-License-Identifier: Apache-2.0
from typing import Any

from nova_reservations.api import validation
from nova_reservations.api.schemas import parameters
from nova_reservations.engine.booking import parts
from nova_reservations.engine.leases import series
from nova_reservations.objects import states

INDEX = parameters.query(
    limit=parameters.LIMIT,
    marker=parameters.UUID,
    sort_key={
        'enum': [
            'created_at',
            'start_date',
            'end_date',
            'name',
            'status',
            'id',
        ]
    },
    sort_dir=parameters.SORT_DIR,
    status={
        'type': 'array',
        'items': {'enum': [str(state) for state in states.Lease]},
        'maxItems': len(states.Lease),
        'description': 'repeat it for leases in any of several',
    },
    name=parameters.NAME,
    lease_name={**parameters.NAME, 'description': 'the same as name'},
    lease_id=parameters.UUID,
    project_id=parameters.NAME,
    all_tenants={
        **parameters.BOOLEAN,
        'description': 'whether the leases of all projects are wanted, '
        'or those of the own one; by default all that the caller may see',
    },
    shared={
        **parameters.BOOLEAN,
        'description': 'whether leases are wanted of which other projects '
        'share a reservation with the own one, in place of its own',
    },
    start_after=parameters.DATE,
    start_before={
        **parameters.DATE,
        'description': 'leases that start before it; with end_after: '
        'those whose windows overlap the one between the two',
    },
    end_before=parameters.DATE,
    end_after={
        **parameters.DATE,
        'description': 'leases that end after it',
    },
    **{
        'changes-since': {
            **parameters.DATE,
            'description': 'leases that were created or changed then, '
            'or later; those that were deleted only for whom the policy '
            'reservations:leases:deleted allows it',
        }
    },
    deleted={
        **parameters.BOOLEAN,
        'description': 'whether those leases are wanted that were '
        'deleted, and no others',
    },
)

SHOW = parameters.query(
    deleted={
        **parameters.BOOLEAN,
        'description': 'whether the lease is wanted even if it was '
        'deleted; otherwise that is 404 for everybody',
    }
)

DRY_RUN = parameters.query(
    dry_run={
        **parameters.BOOLEAN,
        'description': 'whether to answer as if it were done, and do nothing',
    }
)

# Blazar's clients send events. They are ignored, because the engine makes the
# events of a lease.
_EVENTS = {'type': ['array', 'null']}
_BEFORE_END_DATE = {**parameters.DATE, 'type': ['string', 'null']}

# Each resource type has a schema of its own for its other properties.
NEW_RESERVATION: dict[str, Any] = {
    'title': 'NewReservation',
    'type': 'object',
    'properties': {
        'resource_type': {'type': 'string', 'minLength': 1, 'maxLength': 64}
    },
    'required': ['resource_type'],
    'maxProperties': 64,
}
CHANGED_RESERVATION: dict[str, Any] = {
    'title': 'ChangedReservation',
    'type': 'object',
    'properties': {
        'id': parameters.UUID,
        'resource_type': {'type': 'string', 'maxLength': 64},
        'resources_changed': {
            'type': 'boolean',
            'description': 'false: the owner acknowledges that resources '
            'were changed',
        },
    },
    'required': ['id'],
    'maxProperties': 64,
}

IDEMPOTENCY_KEY = 'Idempotency-Key'

CREATE_HEADERS = validation.Schema(
    parameters.optional(
        **{
            IDEMPOTENCY_KEY: {
                'type': 'string',
                'minLength': 1,
                'maxLength': 255,
                'pattern': r'\A[ -~]+\Z',
                'description': '1 to 255 printable characters of ASCII, '
                'which the client has not sent before: within a day the '
                'same request with the same key makes no other lease, and '
                'is answered with the one that was made',
            }
        }
    )
)
_REPEAT = {
    'title': 'Repeat',
    'required': ['every'],
    **parameters.optional(
        every={
            'enum': ['P1D', 'P1W'],
            'description': 'a day or a week, by local time',
        },
        weekdays={
            'type': 'array',
            'items': {'enum': ['MO', 'TU', 'WE', 'TH', 'FR', 'SA', 'SU']},
            'minItems': 1,
            'maxItems': 7,
            'uniqueItems': True,
            'description': 'with P1W: there is a lease on each of these days '
            'of a week, the first on or after the day of start_date; by '
            'default on the weekday of that',
        },
        count={
            'type': 'integer',
            'minimum': 1,
            'maximum': series.MOST_LEASES,
            'description': 'the number of leases, with the first, and with '
            'those that except leaves out',
        },
        until={
            'type': 'string',
            'minLength': 1,
            'maxLength': 64,
            'description': 'in place of count: a local day as 2050-12-26 or '
            'a date; no lease starts after it',
        },
        timezone={
            'type': 'string',
            'minLength': 1,
            'maxLength': 64,
            'description': 'whose local time stays the same across daylight '
            'saving, and whose days are meant, as Europe/Rome; by default UTC',
        },
        partial={
            'type': 'boolean',
            'description': 'whether those leases are wanted for which there '
            'is room if there is not for all; by default all or none',
        },
        **{
            'except': {
                'type': 'array',
                'items': parameters.DAY,
                'maxItems': series.MOST_LEASES,
                'description': 'days of the series on which there is no lease',
            }
        },
    ),
}

_NEW_LEASE = {
    'title': 'NewLease',
    'required': ['name', 'start_date'],
    **parameters.optional(
        name=parameters.LEASE_NAME,
        start_date=parameters.DATE,
        end_date=parameters.DATE,
        duration=parameters.DURATION,
        lease_type={'enum': [str(kind) for kind in states.LeaseType]},
        max_retries={'type': 'integer', 'minimum': 0, 'maximum': 10**6},
        project_id={
            **parameters.PROJECT,
            'description': 'whose lease it is to be; by default of the '
            'own project',
        },
        before_end_date=_BEFORE_END_DATE,
        reservations={
            'type': 'array',
            'maxItems': parts.MOST_RESERVATIONS,
            'items': NEW_RESERVATION,
        },
        repeat=parameters.unset_by_null(_REPEAT),
        events=_EVENTS,
    ),
}
CREATE = validation.Schema(parameters.unset_by_null(_NEW_LEASE))

LEASE_PARAMS = validation.Schema(
    parameters.requiring(
        ['name'],
        name=parameters.LEASE_NAME,
        start=parameters.DATE,
        start_date=parameters.DATE,
        end=parameters.DATE,
        end_date=parameters.DATE,
        before_end_date=_BEFORE_END_DATE,
        # Sent by users who wrote the hint for Blazar.
        reservations={},
        # The schema of the resource type checks these.
        before_end={},
        on_end={},
        guaranteed={},
    )
)
"""The schema of the JSON text in the hint ``lease_params``."""

_EVENT = parameters.exactly(
    'Event',
    id=parameters.UUID,
    lease_id=parameters.UUID,
    event_type={'enum': [str(state) for state in states.EventType]},
    time=parameters.SHOWN_DATE,
    status={'enum': [str(state) for state in states.Event]},
    created_at=parameters.SHOWN_STAMP,
    updated_at=parameters.SHOWN_STAMP,
)

_ALWAYS = parameters.exactly(
    id=parameters.UUID,
    lease_id=parameters.UUID,
    resource_id=parameters.UUID,
    resource_type={'type': 'string'},
    status={'enum': [str(state) for state in states.Reservation]},
    missing_resources={'type': 'boolean'},
    resources_changed={'type': 'boolean'},
    created_at=parameters.SHOWN_STAMP,
    updated_at=parameters.SHOWN_STAMP,
)

# Only if one lease is shown, and not in lists, because Nova is queried.
_USE = {
    'used': {
        'type': 'integer',
        'minimum': 0,
        'description': 'how many slots of an active reservation of slots '
        'are held now; a server that is being moved holds two',
    },
    'servers': {
        'type': 'array',
        'maxItems': 1000,
        'items': parameters.UUID,
        'description': 'the servers that hold them, in the order of their '
        'ids; of an active reservation of whole hosts, those that were '
        'created in it and are on its hosts; at most 1000',
    },
    'hosts': {
        'type': 'array',
        'items': parameters.exactly(
            'LeasedHost',
            id={'type': 'string'},
            service_name={'type': 'string'},
        ),
        'description': 'the hosts of an active reservation of whole hosts, '
        'for whom the policy reservations:leases:show:hosts allows it',
    },
}

# Only parts of reservations have these.
_IF_PART = {
    'part_of': {
        **parameters.UUID,
        'description': 'the reservation of the same lease that was asked '
        'for, and that this one is made for; only that one can be changed',
    },
    'part_name': {
        'type': 'string',
        'minLength': 1,
        'maxLength': 64,
        'description': 'its name there',
    },
}

_RESERVATION = {
    'title': 'Reservation',
    **_ALWAYS,
    'properties': {**_ALWAYS['properties'], **_USE, **_IF_PART},
    # Each resource type adds properties of its own.
    'additionalProperties': True,
}

_LEASE = parameters.exactly(
    id=parameters.UUID,
    name=parameters.NAME,
    series_id={
        'type': ['string', 'null'],
        'description': 'what all leases of a series have in common; '
        'null: the lease is of none',
    },
    project_id={'type': 'string'},
    user_id={'type': 'string'},
    start_date=parameters.SHOWN_DATE,
    end_date=parameters.SHOWN_DATE,
    lease_type={'enum': [str(kind) for kind in states.LeaseType]},
    max_retries={'type': ['integer', 'null']},
    trust_id={'type': 'null'},
    status={'enum': [str(state) for state in states.Lease]},
    status_reason={'type': ['string', 'null']},
    queue_position={
        'type': ['integer', 'null'],
        'minimum': 1,
        'description': 'the number of a lease of type retry among all '
        'that wait for capacity; null: it does not wait',
    },
    degraded={'type': 'boolean'},
    created_at=parameters.SHOWN_STAMP,
    updated_at=parameters.SHOWN_STAMP,
    reservations={'type': 'array', 'items': _RESERVATION},
    events={'type': 'array', 'items': _EVENT},
)

# Only deleted leases have these.
_IF_DELETED = {
    'deleted': {'enum': [True]},
    'deleted_at': parameters.SHOWN_STAMP,
}

LEASE = {
    'title': 'Lease',
    **_LEASE,
    'properties': {**_LEASE['properties'], **_IF_DELETED},
}

SETTABLE = frozenset(
    {
        'name',
        'start_date',
        'end_date',
        'before_end_date',
        'reservations',
        'replace_failed',
        'events',
    }
)
"""The keys of a change that ask for something; events never do."""

UPDATE = validation.Schema(
    parameters.optional(
        'ChangedLease',
        **{
            # What clients send back that they have read.
            **parameters.as_shown(_LEASE['properties']),
            'name': parameters.LEASE_NAME,
            'start_date': parameters.DATE,
            'end_date': parameters.DATE,
            'before_end_date': _BEFORE_END_DATE,
            'reservations': {
                'type': 'array',
                'maxItems': parts.MOST_RESERVATIONS,
                'items': CHANGED_RESERVATION,
            },
            # Replaces failed resources by free ones; no other change can
            # be combined with it.
            'replace_failed': {'enum': [True]},
            'events': _EVENTS,
        },
    )
)

SHARED_LEASE = parameters.exactly(
    'SharedLease',
    id=parameters.UUID,
    name=parameters.NAME,
    start_date=parameters.SHOWN_DATE,
    end_date=parameters.SHOWN_DATE,
    status={'enum': [str(state) for state in states.Lease]},
    reservations={
        'type': 'array',
        'description': 'those that are shared with the project',
        'items': parameters.exactly(id=parameters.UUID),
    },
)
"""A lease as other projects see it, with which it is shared."""

INDEX_RESPONSE = parameters.page_of('leases', {'anyOf': [LEASE, SHARED_LEASE]})
SHOW_RESPONSE = parameters.answer(lease={'anyOf': [LEASE, SHARED_LEASE]})
UPDATE_RESPONSE = parameters.answer(lease=LEASE)
CREATE_RESPONSE = validation.Schema(
    parameters.requiring(
        ['lease'],
        lease=LEASE,
        leases={
            'type': 'array',
            'items': LEASE,
            'maxItems': series.MOST_LEASES,
            'description': 'all leases of a series; the first of them '
            'is lease',
        },
        refused={
            'type': 'array',
            'maxItems': series.MOST_LEASES,
            'description': 'the leases of a series for which there is no room',
            'items': parameters.exactly(
                'Refused',
                start_date=parameters.SHOWN_DATE,
                end_date=parameters.SHOWN_DATE,
                reason={'type': 'string'},
            ),
        },
    )
)
