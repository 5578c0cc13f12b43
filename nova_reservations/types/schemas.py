# SPDX-License-Identifier: Apache-2.0
"""Parts of the schemas of resource types."""

from collections.abc import Mapping
from typing import Any


def closed(properties: Mapping[str, Any], *required: str) -> dict[str, Any]:
    """Return the schema of an object that has these properties, and no
    others."""
    return {
        'type': 'object',
        'properties': properties,
        **({'required': [*required]} if required else {}),
        'additionalProperties': False,
    }


def whole_number(
    maximum: int, digits: int, minimum: int = 1
) -> dict[str, Any]:
    """Return the schema of a number that some clients send as text.

    :param digits: how many a text may have
    :param minimum: 1 or 0
    """
    text = (
        {
            'pattern': f'^[1-9][0-9]{{0,{digits - 1}}}$',
            'description': 'a whole number from 1 on',
        }
        if minimum
        else {
            'pattern': f'^[0-9]{{1,{digits}}}$',
            'description': 'a whole number',
        }
    )
    return {
        'oneOf': [
            {'type': 'integer', 'minimum': minimum, 'maximum': maximum},
            {'type': 'string', **text},
        ]
    }
