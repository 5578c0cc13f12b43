# SPDX-License-Identifier: Apache-2.0
"""The place that a server's own lease has guaranteed it."""

# Nova's objects get their names only when the process registers them.
from __future__ import annotations

import dataclasses

from nova import objects as nova_objects

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations.engine import access as accesses
from nova_reservations.engine import server_leases
from nova_reservations.objects import amounts
from nova_reservations.objects import states
from nova_reservations.scheduler import open_reservations
from nova_reservations.scheduler import requests


@dataclasses.dataclass(frozen=True, slots=True)
class Place:
    """The place that a lease has for its server.

    :ivar slot: what the slot holds that the lease has for it.
    :ivar is_due: whether the server must be there by now.
    """

    access: objects.Access
    slot: amounts.Amounts
    is_due: bool

    @property
    def cell(self) -> str | None:
        """The cell in which the server must be until it is brought there;
        None: any, or it is not known."""
        cells = self.access.cells
        return next(iter(cells)) if len(cells) == 1 else None


def find(
    granted: accesses.Access, request_spec: nova_objects.RequestSpec
) -> Place | None:
    """Return where the server's own lease has it; None: it has none, or
    leaves it to run where there is room.

    That of a new server must stand: it may have been given up while
    nova-api was making the server.

    :raises: RequestFilterFailed if it does not
    :raises: NotEnoughResources if there is no host at this moment
    """
    carried = request_spec.get_scheduler_hint(requests.CARRIED)
    if carried is None:
        return None
    access = None
    if objects.is_id(carried):
        access = granted.find(carried)
    if access is None or access.project_id != request_spec.project_id:
        refusal = f'The hint {requests.CARRIED} is of no lease.'
    elif access.status not in server_leases.CARRYING:
        refusal = f'Lease {access.lease_id} of the server is {access.status}.'
    else:
        return _place_of(granted, access, request_spec)
    if requests.exists(request_spec):
        return None
    raise requests.refusal(refusal)


def _place_of(
    granted: accesses.Access,
    access: objects.Access,
    request_spec: nova_objects.RequestSpec,
) -> Place | None:
    """Return where a lease that stands has its server."""
    slot = granted.slot(access)
    if slot is None:
        return None
    is_due = _is_due(access, request_spec)
    if is_due and not access.hosts:
        raise exception.NotEnoughResources(
            reason=f'those of reservation {access.reservation_id} have '
            'failed, or are not free yet'
        )
    return Place(access, slot, is_due)


def _is_due(
    access: objects.Access, request_spec: nova_objects.RequestSpec
) -> bool:
    """Return whether a new or moved server must be in its slot by now.

    One for later is made beside the pool, also where that takes until its
    start: then it is brought in.
    """
    return access.lease_type == states.LeaseType.IMMEDIATE or (
        access.status in (states.Lease.STARTING, states.Lease.ACTIVE)
        and requests.exists(request_spec)
    )


def send(
    request_spec: nova_objects.RequestSpec,
    reservation_id: str,
    slot: amounts.Amounts,
) -> None:
    """Make the request ask for the slot that its server was guaranteed.

    :raises: RequestFilterFailed if it does not fit in there
    """
    asked = open_reservations.amounts(request_spec)
    # It may ask already: Nova passes some requests twice.
    own = objects.slot_class(reservation_id)
    if not (asked - {own: asked[own]}).fits(slot):
        raise requests.refusal(
            'The server asks for more than its lease has guaranteed it.'
        )
    open_reservations.ask_for_slot(request_spec, reservation_id)
