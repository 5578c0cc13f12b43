# SPDX-License-Identifier: Apache-2.0
"""Parts of schemas that several resources of the API share."""

from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Mapping
from typing import Any

from nova.api.validation import parameter_types

from nova_reservations.api import validation

UUID = {
    'type': 'string',
    'format': 'uuid',
    'minLength': 36,
    'maxLength': 36,
    'pattern': r'\A[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\Z',
    'description': 'a UUID in its lower case form',
}
PROJECT = {
    'type': 'string',
    'minLength': 1,
    'maxLength': 255,
    'pattern': r'\A[a-zA-Z0-9-]*\Z',
    'description': 'the id of a project: letters, digits and hyphens',
}
NAME = {'type': 'string', 'minLength': 1, 'maxLength': 255}
# It begins with ^, and ends with $.
_LIKE_NOVA = parameter_types.valid_name_regex.regex
LEASE_NAME = {
    **NAME,
    # In Python a line feed may follow what ends with $.
    'pattern': rf'\A{_LIKE_NOVA[1:-1]}\Z',
    'description': 'as names of servers: printable characters, without '
    'white space at the start and the end',
}
DATE = {
    'type': 'string',
    'minLength': 1,
    'maxLength': 64,
    'description': 'a date in UTC as 2050-12-26 12:00, with seconds and an '
    'offset as in ISO 8601 if need be, or now',
}
DAY = {
    'type': 'string',
    'format': 'date',
    'minLength': 10,
    'maxLength': 10,
    'pattern': r'\A[0-9]{4}-[0-9]{2}-[0-9]{2}\Z',
    'description': 'a day as 2050-12-26',
}
DURATION = {
    'type': ['integer', 'string'],
    'minimum': 0,
    'maximum': 10**9 - 1,
    'minLength': 1,
    'maxLength': 64,
    'description': 'seconds, or a number with s, m, h or d, or a duration '
    'of ISO 8601 without years and months',
}
LIMIT = {
    'type': 'string',
    'pattern': r'\A[1-9][0-9]{0,8}\Z',
    'description': 'a number from 1',
}
SORT_DIR = {'enum': ['asc', 'desc']}
BOOLEAN = {'enum': ['True', 'true', '1', 'False', 'false', '0']}

# The format of dates in answers.
SHOWN_DATE = {
    'type': 'string',
    'pattern': r'\A\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}\Z',
}
SHOWN_STAMP = {
    'type': ['string', 'null'],
    'pattern': r'\A\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\Z',
}


def exactly(title: str | None = None, /, **properties: Any) -> dict[str, Any]:
    """Return the schema of an object with all of these and nothing else.

    :param title: by which the OpenAPI document refers to it
    """
    return {
        **_titled(title),
        'type': 'object',
        'properties': properties,
        'required': list(properties),
        'additionalProperties': False,
    }


def optional(title: str | None = None, /, **properties: Any) -> dict[str, Any]:
    """Return the schema of an object with any of these and nothing else.

    :param title: as above
    """
    return {
        **_titled(title),
        'type': 'object',
        'properties': properties,
        'additionalProperties': False,
    }


def _titled(title: str | None) -> dict[str, str]:
    return {} if title is None else {'title': title}


def requiring(
    required: Collection[str], /, **properties: Any
) -> dict[str, Any]:
    """Return the schema of an object with these, any of the others, and
    nothing else."""
    return {**optional(**properties), 'required': [*required]}


def query(**properties: Any) -> validation.Schema:
    """Return the schema of a query with any of these parameters."""
    return validation.Schema(optional(**properties))


def answer(**properties: Any) -> validation.Schema:
    """Return the schema of an answer with all of these."""
    return validation.Schema(exactly(**properties))


def unset_by_null(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema of an object in which null stands for what is not
    given: some clients send all keys that they know."""
    required = schema.get('required', ())
    return {
        **schema,
        'properties': {
            name: its if name in required or not its else _or_null(its)
            for name, its in schema.get('properties', {}).items()
        },
    }


def _or_null(schema: Mapping[str, Any]) -> dict[str, Any]:
    kinds = schema.get('type')
    if kinds is None or 'enum' in schema or 'const' in schema:
        return {'anyOf': [schema, {'type': 'null'}]}
    kinds = [kinds] if isinstance(kinds, str) else kinds
    return {**schema, 'type': list(dict.fromkeys([*kinds, 'null']))}


def as_shown(properties: Iterable[str]) -> dict[str, Any]:
    """Return the schema of properties that an answer has, for a request that
    may only repeat them."""
    return {name: {'description': 'as it is shown'} for name in properties}


def meant(
    query: Mapping[str, Any], schema: Mapping[str, Any]
) -> dict[str, Any]:
    """Return a query without the text None, by which clients mean that a
    parameter is not given; but something may have the name None."""
    properties = schema.get('properties', {})
    unset = {
        name
        for name, value in query.items()
        if value in ('None', ['None'])
        and not properties.get(name, NAME).items() >= NAME.items()
    }
    return {name: its for name, its in query.items() if name not in unset}


def given(
    asked: Mapping[str, Any], required: Collection[str] = ()
) -> dict[str, Any]:
    """Return what is given: what is not null, or is required."""
    return {
        name: value
        for name, value in asked.items()
        if value is not None or name in required
    }


LINKS = {
    'type': 'array',
    'items': exactly(
        rel={'const': 'next'}, href={'type': 'string', 'format': 'uri'}
    ),
}


def page_of(
    name: str, item: Mapping[str, Any], **its: Any
) -> validation.Schema:
    """Return the schema of an answer with a list, and the link to more of it.

    :param its: keywords of the list beside its items
    """
    return validation.Schema(
        requiring(
            [name],
            **{
                name: {'type': 'array', **its, 'items': item},
                f'{name}_links': LINKS,
            },
        )
    )
