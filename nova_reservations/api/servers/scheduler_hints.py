# SPDX-License-Identifier: Apache-2.0
"""The hints by which a new server asks for a lease, refused here where the
scheduler would only fail to find a host."""

from collections.abc import Mapping
from typing import Any

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations.engine import access

# Nova takes the first of these that is there.
KEYS = ('os:scheduler_hints', 'OS-SCH-HNT:scheduler_hints')
RESERVATION = 'reservation'
LEASE = 'lease_params'
"""By which a server comes with a lease of its own."""


def may_ask(body: bytes) -> bool:
    """Return whether the body is worth parsing; JSON can spell a key with
    escapes."""
    return (
        b'scheduler_hints' in body
        and (b'reservation' in body or b'lease_params' in body)
    ) or b'\\u' in body


def check(body: Any, project_id: str, access: access.Access) -> None:
    """Refuse a reservation that the new server could not use.

    :param body: of the request, parsed as Nova does; what Nova's own schema
        refuses is left to it.
    :raises: InvalidInput, NotFound, InvalidState, NotEnoughResources
    """
    reservation_id = asked(body)
    if reservation_id is not None:
        access.admit(
            reservation_id,
            project_id,
            in_slot=flavor(body) == reservation_id,
        )


def flavor(body: Mapping[str, Any]) -> str | None:
    """Return the flavor's id; requests may give it as a URL, too."""
    server = body.get('server')
    named = server.get('flavorRef') if isinstance(server, dict) else None
    return named.rsplit('/', 1)[-1] if isinstance(named, str) else None


def given(body: Any) -> dict[str, Any]:
    """Return the hints of the body, as they are in it; none of them, unless
    one is ours.

    :raises: InvalidInput if it is not clear what is asked for
    """
    if not isinstance(body, dict):
        return {}
    hints = [body[key] for key in KEYS if isinstance(body.get(key), dict)]
    if not any(name in its for its in hints for name in (RESERVATION, LEASE)):
        return {}
    if len(hints) > 1:
        raise exception.InvalidInput(
            f'{" and ".join(KEYS)} are both given: it is not clear whether '
            'a reservation is asked for'
        )
    [found] = hints
    if RESERVATION in found and LEASE in found:
        raise exception.InvalidInput(
            f'The hints "{RESERVATION}" and "{LEASE}" are both given: a '
            'server is in one lease only'
        )
    return found


def can_be_put(body: Any) -> bool:
    """Return whether Nova may take the body, as far as put() needs it."""
    return (
        isinstance(body, dict)
        and isinstance(body.get('server'), dict)
        and all(isinstance(body[key], dict) for key in KEYS if key in body)
    )


def put(body: dict[str, Any], name: str, value: str) -> None:
    """Add a hint to the body, whose hints are none or well formed."""
    key = next((key for key in KEYS if key in body), KEYS[0])
    body.setdefault(key, {})[name] = value


def only(value: Any) -> Any:
    """Return the value of a hint; Nova takes it alone, or in a list."""
    return value[0] if isinstance(value, list) and len(value) == 1 else value


def asked(body: Any) -> str | None:
    """Return the one reservation that the body asks for, if any.

    :raises: InvalidInput
    """
    hints = given(body)
    if RESERVATION not in hints:
        return None
    value = only(hints[RESERVATION])
    if not objects.is_id(value):
        raise exception.InvalidInput(
            'The hint "reservation" must be the UUID of one reservation'
        )
    return value
