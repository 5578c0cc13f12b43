# SPDX-License-Identifier: Apache-2.0
"""The place that a server's own lease has guaranteed it."""

# Nova's objects get their names only when the process registers them.
from __future__ import annotations

import dataclasses

from nova import objects as nova_objects

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations.engine.leases import access as accesses
from nova_reservations.engine.leases import server_leases
from nova_reservations.objects import amounts
from nova_reservations.objects import states
from nova_reservations.scheduler import open_reservations
from nova_reservations.scheduler import requests


@dataclasses.dataclass(frozen=True, slots=True)
class Place:
    """The place that a lease has for its server.

    :ivar slot: the amounts of the slot that the lease has for the server.
    :ivar is_due: whether the server must be in the slot by now.
    """

    access: objects.Access
    slot: amounts.Amounts
    is_due: bool

    @property
    def cell(self) -> str | None:
        """The cell in which the server must run until it is moved into its
        slot; None: any cell, or the cell is not known."""
        cells = self.access.cells
        return next(iter(cells)) if len(cells) == 1 else None


def find(
    granted: accesses.Access, request_spec: nova_objects.RequestSpec
) -> Place | None:
    """Return the place that the server's own lease has for it; None: it has no
    such lease, the lease has no slot for it, or it outlives the lease.

    The lease of a new server must still be valid: it may have been given up
    while nova-api was making the server.

    :raises: RequestFilterFailed if the lease of a new server is not valid
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
    """Return the place that a valid lease has for its server."""
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

    A new server of a lease that starts later is built outside the pool, even
    if the build lasts beyond the start. It is then moved into its slot.
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

    :raises: RequestFilterFailed if the server does not fit into the slot
    """
    asked = open_reservations.amounts(request_spec)
    # The request may ask for the slot already: Nova passes some requests
    # twice.
    own = objects.slot_class(reservation_id)
    if not (asked - {own: asked[own]}).fits(slot):
        raise requests.refusal(
            'The server asks for more than its lease has guaranteed it.'
        )
    open_reservations.ask_for_slot(request_spec, reservation_id)
