# SPDX-License-Identifier: Apache-2.0
"""The scheduler hints by which a new server asks for a lease.

Wrong hints are refused here, with a reason: the scheduler could only fail to
find a host."""

from collections.abc import Mapping
import re
from typing import Any

from oslo_utils import uuidutils

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations.api import validation
from nova_reservations.api.schemas import parameters
from nova_reservations.engine import assembly

# Nova uses the first of these keys that a body has.
KEYS = ('os:scheduler_hints', 'OS-SCH-HNT:scheduler_hints')
RESERVATION = 'reservation'
LEASE = 'lease_params'
"""The hint of a server that comes with a lease of its own."""

_LEASE_NAME = validation.Schema(parameters.LEASE_NAME)

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
    flavor; None: none, or the flavor is an ordinary one. Before check() it may
    be a lease that the hint names.

    :raises: InvalidInput
    """
    hinted = asked(body)
    if hinted is not None or not isinstance(body, dict):
        return hinted
    found = flavor(body)
    return found if objects.is_id(found) else None


def check(body: Any, project_id: str, services: assembly.Services) -> None:
    """Refuse a reservation that the new server could not use. A lease that the
    hint names is replaced in the body by its reservation.

    :param body: the body of the request, as Nova would parse it; errors that
        Nova's own schema refuses are left to Nova.
    :raises: InvalidInput, NotFound, InvalidState, NotEnoughResources
    """
    wanted = asked(body)
    if wanted is None:
        services.access.check_flavor(named(body), project_id)
        return
    its_flavor = flavor(body)

    def admit(reservation_id: str) -> None:
        in_slot = its_flavor == reservation_id
        services.access.admit(reservation_id, project_id, in_slot=in_slot)

    if objects.is_id(wanted):
        try:
            admit(wanted)
            return
        except exception.NotFound:
            # Most IDs are those of reservations: a lease is looked for last.
            pass
    reservation_id = services.named_leases.reservation(
        wanted, project_id, its_flavor
    )
    given(body)[RESERVATION] = reservation_id
    admit(reservation_id)


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
    """Return what the hint for a reservation names, if there is one: an ID,
    or a lease by its name.

    :raises: InvalidInput
    """
    hints = given(body)
    if RESERVATION not in hints:
        return None
    value = only(hints[RESERVATION])
    try:
        _LEASE_NAME.check(value)
    except exception.InvalidInput as error:
        raise exception.InvalidInput(
            f'The hint "{RESERVATION}" must be the ID of one reservation, '
            'lease or series, or the name of a lease'
        ) from error
    if uuidutils.is_uuid_like(value) and not objects.is_id(value):
        raise exception.InvalidInput(
            f'The hint "{RESERVATION}" must have an ID in its lower case form'
        )
    return str(value)


def hinted(body: Any) -> list[Any]:
    """Return the hints for a reservation as the body has them."""
    if not isinstance(body, dict):
        return []
    hints = [body[key] for key in KEYS if isinstance(body.get(key), dict)]
    return [its.get(RESERVATION) for its in hints]
