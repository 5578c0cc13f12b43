# SPDX-License-Identifier: Apache-2.0
"""What a request to create a server asks of a lease, refused here where the
scheduler would only fail to find a host."""

from collections.abc import Mapping
import re
from typing import Any
from typing import TypeGuard

from nova_reservations import exception
from nova_reservations import states
from nova_reservations.engine import leases

# Nova takes the first of these that is there.
KEYS = ('os:scheduler_hints', 'OS-SCH-HNT:scheduler_hints')
RESERVATION = 'reservation'

_UUID = re.compile('[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}')


def may_ask(body: bytes) -> bool:
    """Whether it is worth parsing; JSON can spell a key with escapes."""
    return (
        b'scheduler_hints' in body and b'reservation' in body
    ) or b'\\u' in body


def check(body: Any, project_id: str, engine: leases.Leases) -> None:
    """Refuse a reservation that the new server could not use.

    :param body: of the request, parsed as Nova does; what Nova's own schema
        refuses is left to it.
    :raises: InvalidInput, NotFound, InvalidState
    """
    reservation_id = asked(body)
    if reservation_id is None:
        return
    access = engine.access(reservation_id)
    if access is None or access.project_id != project_id:
        raise exception.NotFound(kind='Reservation', id=reservation_id)
    if access.status != states.Lease.ACTIVE:
        raise exception.InvalidState(
            kind='Lease',
            id=access.lease_id,
            status=access.status,
            reason='servers can be created in it only while it is ACTIVE',
        )
    if access.in_slots and _flavor(body) != reservation_id:
        raise exception.InvalidInput(
            f'Servers of reservation {reservation_id} must have its flavor, '
            'which has the same id; no hint is needed then'
        )


def _flavor(body: Mapping[str, Any]) -> str | None:
    """Return the flavor's id; requests may give it as a URL, too."""
    server = body.get('server')
    named = server.get('flavorRef') if isinstance(server, dict) else None
    return named.rsplit('/', 1)[-1] if isinstance(named, str) else None


def asked(body: Any) -> str | None:
    """Return the one reservation that the body asks for, if any.

    :raises: InvalidInput
    """
    if not isinstance(body, dict):
        return None
    hints = [body[key] for key in KEYS if isinstance(body.get(key), dict)]
    values = [its[RESERVATION] for its in hints if RESERVATION in its]
    if not values:
        return None
    if len(hints) > 1:
        raise exception.InvalidInput(
            f'{" and ".join(KEYS)} are both given: it is not clear whether '
            'a reservation is asked for'
        )
    value = values[0]
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    if not is_reservation_id(value):
        raise exception.InvalidInput(
            'The hint "reservation" must be the UUID of one reservation'
        )
    return value


def is_reservation_id(value: Any) -> TypeGuard[str]:
    """Whether it could be one; in the one spelling that databases compare."""
    return isinstance(value, str) and _UUID.fullmatch(value) is not None
