# SPDX-License-Identifier: Apache-2.0
"""Slots that an active lease gives back, as its worker does it.

Placement counts them: as soon as it has fewer, no claim makes more of them,
and every claim that was made before is seen. So nothing has to settle, and
what is held is looked at afterwards. Slots that were taken meanwhile stay.

Decision 0034: doc/source/decisions/0034-hosts-are-given-back-early
"""

from collections.abc import Collection
from collections.abc import Mapping
import dataclasses
import datetime
import itertools

from nova_reservations import objects
from nova_reservations.db import api
from nova_reservations.db import leases
from nova_reservations.db import leaving
from nova_reservations.objects import demand as demands
from nova_reservations.planner import shrinking
from nova_reservations.plugins.resource_types import base

CHOICES = 2
"""How often others are chosen in place of slots that were taken meanwhile,
before as many as these stay."""


@dataclasses.dataclass(frozen=True, slots=True)
class Fewer:
    """Slots that a reservation gives back; Nova has no more than it keeps.

    :ivar reservation: as it is then.
    :ivar slots: resource id -> how many stay, where any are given back.
    :ivar count: how many stay in all.
    """

    reservation: objects.Reservation
    demand: demands.Share
    slots: Mapping[int, int]
    count: int

    @property
    def is_too_many(self) -> bool:
        return self.count > self.demand.slots


def update(kind: base.ResourceType, booking: base.Booking) -> Fewer | None:
    """Bring Nova in line with what the reservation has, but for slots above
    what it asks for by now: these it loses. None: there are none.

    :raises: ClaimLost, CloudRefused, CloudUnavailable
    """
    demand = _demand(kind, booking)
    held = kind.slots_held(booking) if demand is not None else None
    if demand is None or held is None:
        _update(kind, booking)
        return None
    usable = {resource.id for resource in booking.resources}
    for choice in itertools.count(1):
        kept = shrinking.kept(booking.slots, held, demand.slots, usable)
        _update(kind, _with(booking, kept))
        held = kind.slots_held(booking) or {}
        there = _not_taken(kind, booking, kept)
        if not there and all(
            held.get(key, 0) <= count or count == booking.slots[key]
            for key, count in kept.items()
        ):
            break
        if choice > CHOICES:
            # No fewer than now, anywhere: this comes to an end.
            held = {
                key: max(count, held.get(key, 0), key in there)
                for key, count in kept.items()
            }
    count = sum(kept.values())
    return Fewer(
        dataclasses.replace(
            booking.reservation,
            params=kind.ranged(booking.reservation.params, count, count),
        ),
        demand,
        {
            key: slots
            for key, slots in kept.items()
            if slots < booking.slots[key]
        },
        count,
    )


def write(
    session: api.Session,
    lease: objects.Lease,
    fewer: Collection[Fewer],
    now: datetime.datetime,
) -> list[int]:
    """Record what reservations have lost; return the ids of the resources that
    it was of."""
    freed: list[int] = []
    for part in fewer:
        leaving.lower(
            session, part.reservation.id, part.slots, part.demand.amounts, now
        )
        freed += part.slots
        if part.is_too_many:
            leases.set_params(session, lease, part.reservation, now)
    return freed


def _demand(
    kind: base.ResourceType, booking: base.Booking
) -> demands.Share | None:
    """Return what the reservation asks for, if it has more slots."""
    if not booking.slots:
        return None
    demand = kind.demand(booking.reservation.params)
    if (
        demand is None
        or demand.exclusive
        or sum(booking.slots.values()) <= demand.slots
    ):
        return None
    return demand


def _not_taken(
    kind: base.ResourceType, booking: base.Booking, kept: Mapping[int, int]
) -> set[int]:
    """Return the ids of resources where Nova has all slots still, though none
    is kept: a server held one when they were to go. It may have left since,
    and another one come."""
    if all(kept.values()):
        return set()
    offered = kind.slots_offered(booking)
    return {key for key, count in kept.items() if not count and key in offered}


def _with(booking: base.Booking, slots: Mapping[int, int]) -> base.Booking:
    return dataclasses.replace(
        booking,
        slots=slots,
        resources=tuple(
            resource for resource in booking.resources if slots[resource.id]
        ),
    )


def _update(kind: base.ResourceType, booking: base.Booking) -> None:
    if booking.left:
        kind.heal(booking)
    else:
        kind.update(booking)
