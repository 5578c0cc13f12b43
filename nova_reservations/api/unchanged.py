# SPDX-License-Identifier: Apache-2.0
"""Changes in which clients send back what they were shown.

Many clients read an object, change a key of it, and send back all of it. What
is as it is shown asks for nothing; what can not be changed is refused if it
differs.
"""

from collections.abc import Mapping
from collections.abc import Set
import json
from typing import Any

from nova_reservations import exception

_PASSING = frozenset(
    {
        'updated_at',
        'status_reason',
        'queue_position',
        'events',
        'used',
        'servers',
        'hosts',
    }
)
"""Keys whose values change by themselves: a client may have read old ones."""


def changes(
    asked: Mapping[str, Any],
    shown: Mapping[str, Any],
    settable: Set[str],
) -> dict[str, Any]:
    """Return a change without what is shown and can not be set.

    :param shown: all that is shown of the object
    :param settable: the keys that can be set
    :raises: InvalidInput for such a key if its value is not as it is shown
    """
    left = {}
    for key, value in asked.items():
        if key in settable or key not in shown.keys() | _PASSING:
            left[key] = value
        elif key not in _PASSING and value != _sent(shown[key]):
            raise exception.InvalidInput(f'{key} cannot be set')
    return left


def is_copy(asked: Mapping[str, Any], settable: Set[str]) -> bool:
    """Return whether somebody sends back what was shown, and does not only
    name what is to change."""
    return not settable >= asked.keys()


def differing(
    asked: Mapping[str, Any], shown: Mapping[str, Any]
) -> dict[str, Any]:
    """Return what is not as it is shown."""
    return {
        key: value
        for key, value in asked.items()
        if key not in shown or value != _sent(shown[key])
    }


def _sent(value: Any) -> Any:
    """Return the value as clients read it."""
    return json.loads(json.dumps(value))
