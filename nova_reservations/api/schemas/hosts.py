# SPDX-License-Identifier: Apache-2.0
from collections.abc import Mapping
from typing import Any

from nova_reservations import objects
from nova_reservations.api import validation
from nova_reservations.api.schemas import parameters
from nova_reservations.planner import bars

ID = {
    'type': 'string',
    'pattern': r'\A[0-9]{1,9}\Z',
    'description': 'the number of a host',
}

FACTS = {
    'id': ID,
    'vcpus': {'type': 'integer'},
    'cpu_info': {'type': 'string'},
    'hypervisor_type': {'type': 'string'},
    'hypervisor_version': {'type': 'integer'},
    'hypervisor_hostname': {'type': 'string'},
    'service_name': {'type': 'string'},
    'memory_mb': {'type': 'integer'},
    'local_gb': {'type': 'integer'},
    'status': {'type': 'null'},
    'availability_zone': {'type': 'string'},
    'trust_id': {'type': 'null'},
    'reservable': {'type': 'boolean'},
    'created_at': parameters.SHOWN_STAMP,
    'updated_at': parameters.SHOWN_STAMP,
}
"""The fields of a host that Blazar has."""

_DETAILS = {
    'cell': {
        'type': ['string', 'null'],
        'description': "the UUID of the host's cell of Nova; with detail only",
    },
    'status_reason': {
        'type': ['string', 'null'],
        'description': 'what the enrolment of the host waits for; with detail '
        'only',
    },
}

FIELDS = {**FACTS, **_DETAILS}
"""All fields of a host. The operator's properties are in the same object, so
they can't have these names."""

NEVER: dict[str, Any] = {'not': {}}
PROPERTY_NAME = {
    'type': 'string',
    'maxLength': 64,
    'pattern': r'\A[\w.:-]+\Z',
    # Requirements use these names for facts of the host.
    'not': {
        'pattern': r'\A(region|free_memory_mb|free_disk_gb'
        r'|(trait|inventory|capabilities):.*)\Z'
    },
    'description': 'letters, digits and . : - _, and no name that '
    'requirements read as a fact: region, free_memory_mb, free_disk_gb, '
    'trait:..., inventory:..., capabilities:...',
}
PROPERTY = {
    'type': ['string', 'number', 'boolean'],
    'maxLength': 1024,
    # JSON can have numbers that exceed a double.
    'minimum': -(2**63),
    'maximum': 2**63,
}
GIVEN_PROPERTIES = {
    'type': 'object',
    'propertyNames': PROPERTY_NAME,
    'additionalProperties': PROPERTY,
    'maxProperties': 256,
}
"""The properties that operators give a resource."""

NULLABLE_PROPERTIES = {
    **GIVEN_PROPERTIES,
    'additionalProperties': {
        **PROPERTY,
        'type': ['string', 'number', 'boolean', 'null'],
    },
}
"""As above, where null says that it has no such property, or no more."""

_DETAIL = {
    **parameters.BOOLEAN,
    'description': 'whether the cell and the status_reason are wanted, which '
    'clients of Blazar take for properties',
}
SHOW = parameters.query(detail=_DETAIL)

INDEX = parameters.query(
    detail=_DETAIL,
    limit=parameters.LIMIT,
    marker=ID,
    name=parameters.NAME,
    availability_zone=parameters.NAME,
    sort_key={
        'enum': [
            'id',
            'name',
            'hypervisor_hostname',
            'availability_zone',
            'vcpus',
            'memory_mb',
            'local_gb',
            'created_at',
        ]
    },
    sort_dir=parameters.SORT_DIR,
)

SORTED_BY_NAME = frozenset({'name', 'hypervisor_hostname'})
"""The keys by which a list tells names."""

CREATE = validation.Schema(
    {
        **NULLABLE_PROPERTIES,
        'title': 'NewHost',
        'properties': {
            **dict.fromkeys(FIELDS, NEVER),
            'name': parameters.NAME,
        },
        'required': ['name'],
    }
)

OWN_PROPERTIES = validation.Schema(
    {
        **GIVEN_PROPERTIES,
        'properties': dict.fromkeys([*FIELDS, 'name'], NEVER),
    }
)
"""The properties of a host by themselves, as commands take them."""

UPDATE = validation.Schema(
    {
        **NULLABLE_PROPERTIES,
        'title': 'ChangedHost',
        # The host's name, and what clients send back that they have read.
        'properties': {
            **parameters.as_shown(FIELDS),
            'name': parameters.NAME,
        },
    }
)

_SELECTED = {
    'lease_id': parameters.UUID,
    'reservation_id': parameters.UUID,
    'start': {
        **parameters.DATE,
        'description': 'only what overlaps the time from then on',
    },
    'end': {
        **parameters.DATE,
        'description': 'only what overlaps the time from start, or now, '
        'until then',
    },
    'at': {
        **parameters.DATE,
        'description': 'only what there is at that instant; without start '
        'and end',
    },
}
ALLOCATION = parameters.query(**_SELECTED)
PAGE_OF_ALLOCATIONS = {'limit': parameters.LIMIT, 'marker': ID, **_SELECTED}
ALLOCATIONS = parameters.query(
    host={
        **parameters.NAME,
        'description': 'only of this host: its number, service host or '
        'hypervisor hostname',
    },
    **PAGE_OF_ALLOCATIONS,
)

CALENDAR_HOSTS = 100
"""The maximum, and default, number of hosts in one answer."""

CALENDAR = parameters.query(
    start={
        **parameters.DATE,
        'description': 'the start of the calendar; by default now',
    },
    end={
        **parameters.DATE,
        'description': 'its end, at most 366 days later; by default 28',
    },
    limit={
        'type': 'string',
        'pattern': r'\A([1-9][0-9]?|100)\Z',
        'description': f'a number from 1 to {CALENDAR_HOSTS}',
    },
    marker={
        **ID,
        'description': 'the number of the last host of the page before',
    },
)

REQUIREMENTS = {
    'type': 'string',
    'maxLength': 4096,
    'description': 'as in a reservation of hosts: only those that meet it '
    'are counted',
}

CAPACITY = validation.Schema(
    parameters.requiring(
        ['start', 'end'],
        start=parameters.DATE,
        end=parameters.DATE,
        step=parameters.DURATION,
        hypervisor_properties=REQUIREMENTS,
        resource_properties=REQUIREMENTS,
        availability_zone=parameters.NAME,
        flavor_id={
            'type': 'string',
            'minLength': 1,
            'maxLength': 255,
            'description': 'a flavor, to count the slots of leases of '
            'flavor:instance, too',
        },
        by_project={
            **parameters.BOOLEAN,
            'description': 'whether to tell what each project holds',
        },
    )
)

PROPERTIES = parameters.query(
    detail=parameters.BOOLEAN, all=parameters.BOOLEAN
)

UPDATE_PROPERTY = validation.Schema(
    parameters.exactly(private={'type': 'boolean'})
)

HOST = {
    'title': 'Host',
    'type': 'object',
    'properties': FIELDS,
    'required': list(FACTS),
    'additionalProperties': {'type': 'string'},
}

INDEX_RESPONSE = parameters.page_of('hosts', HOST)
SHOW_RESPONSE = parameters.answer(host=HOST)

_UNKNOWN_DATE = {**parameters.SHOWN_DATE, 'type': ['string', 'null']}
HOLD = parameters.exactly(
    reason={
        'type': 'string',
        'description': 'why no new lease gets the host',
    },
    start_date={
        **_UNKNOWN_DATE,
        'description': 'from when on; null: that is not known',
    },
    end_date={
        **_UNKNOWN_DATE,
        'description': 'until when; null: until the reason is gone',
    },
)

_RESERVATION = {
    'id': parameters.UUID,
    'lease_id': parameters.UUID,
    'start_date': parameters.SHOWN_DATE,
    'end_date': parameters.SHOWN_DATE,
}


def reservations(**more: Any) -> dict[str, Any]:
    """Return the schema of who has a resource, and when."""
    return {
        'type': 'array',
        'items': parameters.exactly(**_RESERVATION, **more),
    }


def allocation(name_key: str) -> dict[str, Any]:
    """:param name_key: the key of the name of the resource"""
    return parameters.exactly(
        **{name_key: {'type': 'string'}},
        resource_id=ID,
        reservations=reservations(),
        holds={'type': 'array', 'items': HOLD},
    )


_ALLOCATION = allocation('service_name')

ALLOCATIONS_RESPONSE = parameters.page_of('allocations', _ALLOCATION)
ALLOCATION_RESPONSE = parameters.answer(allocation=_ALLOCATION)

_WINDOW = {
    'kind': {
        'enum': [*bars.Kind],
        'description': 'whether it is a lease of the own project, is taken '
        'as a whole or shared by others, or is held: no new lease gets the '
        'host',
    },
    'start_date': parameters.SHOWN_DATE,
    'end_date': parameters.SHOWN_DATE,
    'lease_id': parameters.UUID,
    'reservation_id': parameters.UUID,
}

_ALWAYS = ('kind', 'start_date', 'end_date')


def calendar_response(
    items: str,
    promised: Mapping[str, Any],
    count: Mapping[str, Any],
) -> validation.Schema:
    """:param items: hosts or resources
    :param promised: keywords for what is promised
    :param count: keywords for how many are promised
    """
    return validation.Schema(
        parameters.requiring(
            [items],
            **{
                items: {
                    'type': 'array',
                    'items': parameters.exactly(
                        number={
                            'type': 'integer',
                            'minimum': 1,
                            'description': 'the place of the host among all',
                        },
                        windows={
                            'type': 'array',
                            'items': parameters.requiring(_ALWAYS, **_WINDOW),
                        },
                    ),
                },
                'promised': {
                    'type': 'array',
                    **promised,
                    'items': parameters.requiring(
                        [*_ALWAYS, items],
                        **_WINDOW,
                        **{items: {'type': 'integer', 'minimum': 1, **count}},
                    ),
                },
                f'{items}_links': parameters.LINKS,
            },
        )
    )


CALENDAR_RESPONSE = calendar_response(
    'hosts',
    {
        'description': 'the whole hosts of leases that have not begun, which '
        'are no certain ones until then; on the first page only',
    },
    {
        'description': 'how many the lease has; or, taken, all leases of '
        'others together',
    },
)

COUNT = {'type': 'integer', 'minimum': 0}


def capacity_response(
    items: str,
    reserved: str,
    free: str,
    unmoved: str,
    more: Mapping[str, Any],
    **rules: Any,
) -> validation.Schema:
    """:param items: hosts or resources
    :param reserved: says what is counted as such; free and unmoved likewise
    :param more: schemas of further counts, which are there if asked for
    :param rules: keywords for a point beside its properties
    """
    point = {
        'start_date': parameters.SHOWN_DATE,
        'end_date': parameters.SHOWN_DATE,
        items: COUNT,
        'reserved': {**COUNT, 'description': reserved},
        'free': {**COUNT, 'description': free},
        'free_without_moves': {**COUNT, 'description': unmoved},
        'holds': {
            'type': 'object',
            'additionalProperties': COUNT,
            'description': f'reason -> {items} that it keeps from new leases',
        },
    }
    return parameters.answer(
        capacity={
            'type': 'array',
            'items': {
                **parameters.requiring([*point], **point, **more),
                **rules,
            },
        }
    )


CAPACITY_RESPONSE = capacity_response(
    'hosts',
    'hosts that a lease holds at some instant',
    'the most hosts that a lease of just this time may be granted',
    'hosts that it is granted without a move of promises',
    {
        'slots': {
            **COUNT,
            'description': 'servers of the flavor that would be granted a '
            'slot',
        },
        'projects': {
            'type': 'object',
            'additionalProperties': COUNT,
            'description': 'project -> hosts that its leases hold at some '
            'instant',
        },
    },
)

PROPERTIES_RESPONSE = parameters.answer(
    resource_properties={
        'type': 'array',
        'items': {
            **parameters.requiring(
                ['property'],
                property={'type': 'string'},
                private={'type': 'boolean'},
                values={'type': 'array', 'items': {'type': 'string'}},
            ),
            'dependentRequired': {
                'private': ['values'],
                'values': ['private'],
            },
        },
    }
)
PROPERTY_RESPONSE = parameters.answer(
    resource_property=parameters.exactly(
        id={'type': 'string'},
        resource_type={'const': objects.HOST},
        property_name={'type': 'string'},
        private={'type': 'boolean'},
        created_at=parameters.SHOWN_DATE,
        updated_at={**parameters.SHOWN_DATE, 'type': ['string', 'null']},
    )
)
