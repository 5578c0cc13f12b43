# SPDX-License-Identifier: Apache-2.0
"""The worker's part when an active lease gives back slots.

Placement counts slots: once it has fewer of them, no new allocation can take
more, and all earlier allocations are visible. So no time to settle is needed:
the slots that are held are read after placement was changed. Slots that were
taken meanwhile stay.

Decision 0034: doc/source/decisions/0034-hosts-are-given-back-early
"""

from collections.abc import Collection
from collections.abc import Mapping
import dataclasses
import datetime
import itertools

from nova_reservations import objects
from nova_reservations.db import api
from nova_reservations.db.holdings import leaving
from nova_reservations.db.leases import leases
from nova_reservations.objects import demand as demands
from nova_reservations.planner import shrinking
from nova_reservations.types import base
from nova_reservations.types import with_slots

CHOICES = 2
"""How often other slots are chosen in place of those that were taken
meanwhile. After that the lease keeps the taken slots, too."""


@dataclasses.dataclass(frozen=True, slots=True)
class Fewer:
    """Slots that a reservation gives back; Nova has only those that it keeps.

    :ivar reservation: the reservation as it is afterwards.
    :ivar slots: resource id -> how many stay, of resources of which some are
        given back.
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
    """Bring Nova in line with what the reservation has. It loses the slots
    above what it asks for now; return these, or None if there are none.

    :raises: ClaimLost, CloudRefused, CloudUnavailable
    """
    demand = _demand(kind, booking)
    if demand is None or not isinstance(kind, with_slots.WithSlots):
        _update(kind, booking)
        return None
    held = kind.slots_held(booking)
    usable = {resource.id for resource in booking.resources}
    for choice in itertools.count(1):
        kept = shrinking.kept(booking.slots, held, demand.slots, usable)
        _update(kind, _with(booking, kept))
        held = kind.slots_held(booking)
        there = _not_taken(kind, booking, kept)
        if not there and all(
            held.get(key, 0) <= count or count == booking.slots[key]
            for key, count in kept.items()
        ):
            break
        if choice > CHOICES:
            # From now on no number of kept slots may fall, so the loop ends.
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
    """Record the slots that reservations have lost; return the ids of their
    resources."""
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
    """Return what the reservation asks for, if it has more slots than that."""
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
    kind: with_slots.WithSlots, booking: base.Booking, kept: Mapping[int, int]
) -> set[int]:
    """Return the ids of resources of which Nova still has all slots, though
    none is to be kept: a server held one when they were to be taken away. That
    server may have left since, and another one come."""
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
