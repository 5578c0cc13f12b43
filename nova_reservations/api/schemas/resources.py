# SPDX-License-Identifier: Apache-2.0
from nova_reservations.api import validation
from nova_reservations.api.schemas import hosts
from nova_reservations.api.schemas import parameters
from nova_reservations.objects import inventoried

ID = {
    'type': 'string',
    'pattern': r'\A[0-9]{1,9}\Z',
    'description': 'the number of a resource',
}

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
_PROPERTIES = {
    'type': 'object',
    'propertyNames': hosts.PROPERTY_NAME,
    'additionalProperties': hosts.PROPERTY,
    'maxProperties': 256,
    'description': 'what leases may require',
}

INDEX = validation.Schema(
    {
        **parameters.optional(
            resource_type=_TYPE,
            name=parameters.NAME,
            limit=parameters.LIMIT,
            marker=ID,
        ),
        'required': ['resource_type'],
    }
)

CREATE = validation.Schema(
    parameters.unset_by_null(
        {
            'title': 'NewResource',
            **parameters.optional(
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
                properties=_PROPERTIES,
            ),
            'required': ['resource_type', 'name'],
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
                **_PROPERTIES,
                'additionalProperties': {
                    **hosts.PROPERTY,
                    'type': ['string', 'number', 'boolean', 'null'],
                },
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
RESOURCE = {'title': 'Resource', **parameters.exactly(**_RESOURCE)}

INDEX_RESPONSE = validation.Schema(
    {
        **parameters.optional(
            resources={'type': 'array', 'items': RESOURCE},
            resources_links=parameters.LINKS,
        ),
        'required': ['resources'],
    }
)
CHANGED_RESPONSE = validation.Schema(parameters.exactly(resource=RESOURCE))
SHOW_RESPONSE = validation.Schema(
    parameters.exactly(
        resource=parameters.exactly(
            **_RESOURCE,
            reservations={
                'type': 'array',
                'description': 'those that have it, or are promised it',
                'items': parameters.exactly(
                    id=parameters.UUID,
                    lease_id=parameters.UUID,
                    start_date=parameters.SHOWN_DATE,
                    end_date=parameters.SHOWN_DATE,
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
)

ALLOCATIONS = validation.Schema(
    {
        **hosts.ALLOCATIONS.schema,
        'properties': {
            'resource_type': _TYPE,
            **hosts.PAGE_OF_ALLOCATIONS,
        },
        'required': ['resource_type'],
    }
)
ALLOCATIONS_RESPONSE = validation.Schema(
    {
        **parameters.optional(
            allocations={
                'type': 'array',
                'items': parameters.exactly(
                    name={'type': 'string'}, **hosts.ALLOCATED
                ),
            },
            allocations_links=parameters.LINKS,
        ),
        'required': ['allocations'],
    }
)

_REQUIREMENTS = {
    'type': 'string',
    'maxLength': 4096,
    'description': 'only resources that meet it are counted',
}

CAPACITY = validation.Schema(
    {
        **parameters.optional(
            resource_type=_TYPE,
            resource_class={
                **_CLASS,
                'description': 'count its units, too',
            },
            start=parameters.DATE,
            end=parameters.DATE,
            step=parameters.DURATION,
            resource_properties=_REQUIREMENTS,
        ),
        'required': ['resource_type', 'start', 'end'],
    }
)
_COUNT = {'type': 'integer', 'minimum': 0}
_POINT = {
    'start_date': parameters.SHOWN_DATE,
    'end_date': parameters.SHOWN_DATE,
    'resources': _COUNT,
    'reserved': {
        **_COUNT,
        'description': 'resources that a lease holds, or has a share of, at '
        'some instant',
    },
    'free': {
        **_COUNT,
        'description': 'the most whole resources that a lease of just this '
        'time may be granted',
    },
    'free_without_moves': {
        **_COUNT,
        'description': 'those that it is granted without a move of promises',
    },
    'holds': {
        'type': 'object',
        'additionalProperties': _COUNT,
        'description': 'reason -> resources that it keeps from new leases',
    },
}
CAPACITY_RESPONSE = validation.Schema(
    parameters.exactly(
        capacity={
            'type': 'array',
            'items': {
                **parameters.optional(
                    **_POINT,
                    total={
                        **_COUNT,
                        'description': 'units of the resource class',
                    },
                    available={
                        **_COUNT,
                        'description': 'units of it that leases of just this '
                        'time would be granted, one by one',
                    },
                ),
                'required': [*_POINT],
                'dependentRequired': {
                    'total': ['available'],
                    'available': ['total'],
                },
            },
        }
    )
)

CALENDAR = validation.Schema(
    {
        **hosts.CALENDAR.schema,
        'properties': {
            'resource_type': _TYPE,
            **hosts.CALENDAR.schema['properties'],
        },
        'required': ['resource_type'],
    }
)
CALENDAR_RESPONSE = validation.Schema(
    {
        **parameters.optional(
            resources=hosts.CALENDAR_RESPONSE.schema['properties']['hosts'],
            promised={
                'type': 'array',
                'items': {
                    **parameters.optional(
                        **hosts.WINDOW,
                        resources={'type': 'integer', 'minimum': 1},
                    ),
                    'required': [
                        'kind',
                        'start_date',
                        'end_date',
                        'resources',
                    ],
                },
            },
            resources_links=parameters.LINKS,
        ),
        'required': ['resources'],
    }
)

PROPERTIES = validation.Schema(
    {
        **parameters.optional(
            resource_type=_TYPE,
            detail=parameters.BOOLEAN,
            all=parameters.BOOLEAN,
        ),
        'required': ['resource_type'],
    }
)
