# SPDX-License-Identifier: Apache-2.0
"""Reservations of a lease with the offers that each of them has."""

from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses

from nova_reservations.objects import amounts
from nova_reservations.objects import search

Slots = Mapping[str, Mapping[int, int]]
"""Reservation id -> resource id -> how many slots; a whole resource is one."""


@dataclasses.dataclass(frozen=True, slots=True)
class Ask:
    """One of the reservations of a lease, which are planned together.

    :ivar offers: no resource twice.
    """

    wanted: search.Wanted
    offers: Sequence[search.Offer]


@dataclasses.dataclass(frozen=True, slots=True)
class Shortage:
    """:ivar reservation_id: of the reservation that can't be fulfilled."""

    reservation_id: str


def beside(
    offers: Iterable[search.Offer],
    wanted: search.Wanted,
    taken: Mapping[int, amounts.Amounts | None],
) -> list[search.Offer]:
    """Return what others leave of the offers.

    :param taken: resource id -> what the others take of it at that time;
        None: all of it
    """
    if not taken:
        return list(offers)
    demand, left = wanted.demand, []
    for offer in offers:
        if (key := offer.resource.id) not in taken:
            left.append(offer)
        elif not demand.exclusive and (units := taken[key]) is not None:
            rest = offer.left - units
            if demand.slot.times_in(rest) >= demand.together:
                left.append(dataclasses.replace(offer, left=rest, shared=True))
    return left


def enough(wanted: search.Wanted, offers: Collection[search.Offer]) -> bool:
    """Return whether a reservation can have what it wants of these, whatever
    its siblings take."""
    demand = wanted.demand
    if demand.exclusive:
        return len(offers) >= demand.minimum + wanted.siblings
    fit = sorted(demand.slot.times_in(offer.left) for offer in offers)
    sure = fit[: max(0, len(fit) - wanted.siblings)]
    if demand.affinity:
        return bool(sure) and sure[-1] >= demand.slots
    if demand.affinity is False:
        return sum(1 for slots in sure if slots) >= demand.slots
    return sum(sure) >= demand.slots
