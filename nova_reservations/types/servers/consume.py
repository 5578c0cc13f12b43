# SPDX-License-Identifier: Apache-2.0
"""The param ``consume``: whether only servers that ask for a reservation use
it, or also other servers of its project.

Decision 0048: doc/source/decisions/0048-open-hosts
"""

from collections.abc import Mapping
from typing import Any

from nova_reservations import objects

PROPERTIES: Mapping[str, Any] = {
    'consume': {
        'enum': [objects.OPEN, objects.TARGETED],
        'description': 'open: new servers of the project use it without '
        'asking for it, as long as it has room for them',
    }
}
"""The part of a reservation's schema that ``validate`` understands."""


def validate(asked: Mapping[str, Any]) -> dict[str, Any]:
    """Return the param, as it is stored."""
    return {'consume': asked.get('consume', objects.TARGETED)}


def of(params: Mapping[str, Any]) -> dict[str, Any]:
    """Return the param of a stored reservation; older reservations do not
    have it."""
    return {'consume': params.get('consume', objects.TARGETED)}
