# SPDX-License-Identifier: Apache-2.0
"""The scheduler hints by which a new server asks for a lease.

Wrong hints are refused here, with a reason: the scheduler could only fail to
find a host."""

from collections.abc import Mapping
import re
from typing import Any

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations.engine.leases import access

# Nova uses the first of these keys that a body has.
KEYS = ('os:scheduler_hints', 'OS-SCH-HNT:scheduler_hints')
RESERVATION = 'reservation'
LEASE = 'lease_params'
"""The hint of a server that comes with a lease of its own."""


_OURS = re.compile(
    rb'"flavorRef"[^,}]{,300}[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-'
)
"""A flavor with an id like those of our reservations, which begin with the
time. Other flavors have random ones, or names. It may be given as a URL."""


def may_ask(body: bytes) -> bool:
    """Return whether the body may have our hints, or the flavor of a
    reservation, without parsing it. JSON can be written with escapes."""
    return (
        (
            b'scheduler_hints' in body
            and (b'reservation' in body or b'lease_params' in body)
        )
        or b'\\u' in body
        or _OURS.search(body) is not None
    )


def named(body: Any) -> str | None:
    """Return the reservation that the body asks for, by the hint or as its
    flavor; None: none, or the flavor is an ordinary one.

    :raises: InvalidInput
    """
    hinted = asked(body)
    if hinted is not None or not isinstance(body, dict):
        return hinted
    found = flavor(body)
    return found if objects.is_id(found) else None


def check(body: Any, project_id: str, access: access.Access) -> None:
    """Refuse a reservation that the new server could not use.

    :param body: the body of the request, as Nova would parse it; errors that
        Nova's own schema refuses are left to Nova.
    :raises: InvalidInput, NotFound, InvalidState, NotEnoughResources
    """
    reservation_id = asked(body)
    if reservation_id is None:
        access.check_flavor(named(body), project_id)
    else:
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
    """Return all hints in the body if one of them is ours; else none.

    :raises: InvalidInput if the hints are ambiguous
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
    """Return whether the body is well formed, as far as put() needs it."""
    return (
        isinstance(body, dict)
        and isinstance(body.get('server'), dict)
        and all(isinstance(body[key], dict) for key in KEYS if key in body)
    )


def put(body: dict[str, Any], name: str, value: str) -> None:
    """Add a hint to a body that has no hints or well-formed ones."""
    key = next((key for key in KEYS if key in body), KEYS[0])
    body.setdefault(key, {})[name] = value


def only(value: Any) -> Any:
    """Return the value of a hint; Nova accepts it alone, or in a list."""
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
