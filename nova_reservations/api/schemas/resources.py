# SPDX-License-Identifier: Apache-2.0
from typing import Any

from nova_reservations.api import validation
from nova_reservations.api.schemas import hosts
from nova_reservations.api.schemas import parameters
from nova_reservations.objects import inventoried

ID = {**hosts.ID, 'description': 'the number of a resource'}

_TYPE = {
    'type': 'string',
    'minLength': 1,
    'maxLength': 64,
    'description': 'a type of resource other than hosts, as its plugin '
    'names it',
}
_CLASS = {
    'type': 'string',
    'pattern': r'\A[A-Z0-9_]{1,255}\Z',
    'description': 'a resource class: A-Z, 0-9 and _',
}
_TOTAL = {'type': 'integer', 'minimum': 1, 'maximum': inventoried.MOST}
_INVENTORIES = {
    'type': 'object',
    'propertyNames': _CLASS,
    'additionalProperties': _TOTAL,
    'maxProperties': 64,
    'description': 'resource class -> how many units of it leases can have',
}


def _of_type(**properties: Any) -> validation.Schema:
    """Return the schema of a query about resources of one type."""
    return validation.Schema(
        parameters.requiring(
            ['resource_type'], resource_type=_TYPE, **properties
        )
    )


INDEX = _of_type(name=parameters.NAME, limit=parameters.LIMIT, marker=ID)

CREATE = validation.Schema(
    parameters.unset_by_null(
        {
            'title': 'NewResource',
            **parameters.requiring(
                ['resource_type', 'name'],
                resource_type=_TYPE,
                name=parameters.NAME,
                uuid={
                    'type': 'string',
                    'minLength': 1,
                    'maxLength': 36,
                    'description': 'the UUID of the resource in the cloud; by '
                    'default it follows from its name',
                },
                inventories=_INVENTORIES,
                properties={
                    **hosts.GIVEN_PROPERTIES,
                    'description': 'what leases may require',
                },
            ),
        }
    )
)

UPDATE = validation.Schema(
    {
        'title': 'ChangedResource',
        **parameters.optional(
            inventories={
                **_INVENTORIES,
                'additionalProperties': {
                    **_TOTAL,
                    'type': ['integer', 'null'],
                },
                'description': 'of these resource classes alone; null: '
                'there is none any more',
            },
            properties={
                **hosts.NULLABLE_PROPERTIES,
                'description': 'these alone; null: it has it no more',
            },
            cordoned={
                'type': 'boolean',
                'description': 'whether no new lease gets it; those that '
                'have not begun get others, if there are any',
            },
        ),
        'minProperties': 1,
    }
)

_RESOURCE = {
    'id': ID,
    'resource_type': _TYPE,
    'name': {'type': 'string'},
    'uuid': {'type': 'string'},
    'inventories': {'type': 'object', 'additionalProperties': _TOTAL},
    'properties': {
        'type': 'object',
        'additionalProperties': {'type': 'string'},
    },
    'reservable': {
        'type': 'boolean',
        'description': 'whether a new lease may get it, if it is free',
    },
    'cordoned': {'type': 'boolean'},
    'holds': {'type': 'array', 'items': hosts.HOLD},
    'created_at': parameters.SHOWN_STAMP,
    'updated_at': parameters.SHOWN_STAMP,
}
RESOURCE = parameters.exactly('Resource', **_RESOURCE)

INDEX_RESPONSE = parameters.page_of('resources', RESOURCE)
CHANGED_RESPONSE = parameters.answer(resource=RESOURCE)
SHOW_RESPONSE = parameters.answer(
    resource=parameters.exactly(
        **_RESOURCE,
        reservations={
            'description': 'those that have it, or are promised it',
            **hosts.reservations(
                amounts={
                    'type': 'object',
                    'additionalProperties': _TOTAL,
                    'description': 'resource class -> units; empty: all '
                    'of the resource',
                },
            ),
        },
    )
)


ALLOCATIONS = _of_type(**hosts.PAGE_OF_ALLOCATIONS)
ALLOCATIONS_RESPONSE = parameters.page_of(
    'allocations', hosts.allocation('name')
)

CAPACITY = validation.Schema(
    parameters.requiring(
        ['resource_type', 'start', 'end'],
        resource_type=_TYPE,
        resource_class={**_CLASS, 'description': 'count its units, too'},
        start=parameters.DATE,
        end=parameters.DATE,
        step=parameters.DURATION,
        resource_properties={
            **hosts.REQUIREMENTS,
            'description': 'only resources that meet it are counted',
        },
    )
)
CAPACITY_RESPONSE = hosts.capacity_response(
    'resources',
    'resources that a lease holds, or has a share of, at some instant',
    'the most whole resources that a lease of just this time may be granted',
    'those that it is granted without a move of promises',
    {
        'total': {
            **hosts.COUNT,
            'description': 'units of the resource class',
        },
        'available': {
            **hosts.COUNT,
            'description': 'units of it that leases of just this time would '
            'be granted, one by one',
        },
    },
    dependentRequired={'total': ['available'], 'available': ['total']},
)

CALENDAR = _of_type(**hosts.CALENDAR.schema['properties'])
CALENDAR_RESPONSE = hosts.calendar_response('resources', {}, {})

PROPERTIES = _of_type(**hosts.PROPERTIES.schema['properties'])
