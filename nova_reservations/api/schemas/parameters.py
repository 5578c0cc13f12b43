# SPDX-License-Identifier: Apache-2.0
"""Parts of schemas that several resources of the API share."""

from typing import Any

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
DATE = {
    'type': 'string',
    'minLength': 1,
    'maxLength': 64,
    'description': 'a date in UTC as 2050-12-26 12:00, with seconds and an '
    'offset as in ISO 8601 if need be, or now',
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


def exactly(**properties: Any) -> dict[str, Any]:
    """Return the schema of an object with all of these and nothing else."""
    return {
        'type': 'object',
        'properties': properties,
        'required': list(properties),
        'additionalProperties': False,
    }


def optional(**properties: Any) -> dict[str, Any]:
    """Return the schema of an object with any of these and nothing else."""
    return {
        'type': 'object',
        'properties': properties,
        'additionalProperties': False,
    }


LINKS = {
    'type': 'array',
    'items': exactly(
        rel={'const': 'next'}, href={'type': 'string', 'format': 'uri'}
    ),
}
