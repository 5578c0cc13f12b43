# SPDX-License-Identifier: Apache-2.0
"""Names that leases give to things of Nova and of placement."""

import re
from typing import Any
from typing import TypeGuard
import uuid

OPEN = 'open'


TARGETED = 'targeted'


def is_id(value: Any) -> TypeGuard[str]:
    """Return whether value is spelled as ids of leases and reservations are:
    databases may take other spellings of a UUID for the same, placement does
    not."""
    return isinstance(value, str) and _UUID.fullmatch(value) is not None


_UUID = re.compile('[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}')


SLOTS = 'CUSTOM_RESERVATION_'


def slot_class(reservation_id: str) -> str:
    """Return the resource class by which a reservation's slots count."""
    return SLOTS + reservation_id.upper().replace('-', '_')


def group_id(reservation_id: str) -> str:
    """Return the UUID of the server group of a reservation's servers."""
    return str(uuid.uuid5(uuid.UUID(reservation_id), 'server group'))


def slots_of(resource_class: str) -> str | None:
    """Return the reservation whose slots the class counts; None: of none."""
    if not resource_class.startswith(SLOTS):
        return None
    name = resource_class.removeprefix(SLOTS).lower().replace('_', '-')
    return name if is_id(name) else None


HINT = 'reservation'
"""The scheduler hint by which a server is created in a reservation."""


HOST = 'physical:host'


SERVER = 'virtual:server'
"""The type of reservation of a lease that servers carry. Clients know it as
one of virtual:instance."""


RESOURCE_TYPES = 'nova_reservations.resources'
"""The entry points of the types of resource that can be leased."""
