# SPDX-License-Identifier: Apache-2.0
"""Leases that ask for whole resources and for shares of others at once."""

from collections.abc import Collection
from collections.abc import Sequence
import dataclasses

from nova_reservations.planner import shares as sharing
from nova_reservations.planner import whole


@dataclasses.dataclass(frozen=True, slots=True)
class Plan:
    """What each of the asks gets, in their order."""

    wholes: list[tuple[whole.Candidate, ...]]
    shares: sharing.Plan


Refusal = whole.TooFew | sharing.TooFew


def assign(
    wholes: Sequence[whole.Ask],
    shares: Sequence[sharing.Ask],
    seed: str,
    best_fit: bool = True,
) -> Plan | Refusal:
    """Return what to book; no resource both as a whole and for a share.

    Whole resources are chosen first, and if that leaves a share without,
    shares are.
    """
    plan = _wholes_first(wholes, shares, seed, best_fit)
    if isinstance(plan, Plan) or not wholes or not shares:
        return plan
    other = _shares_first(wholes, shares, seed, best_fit)
    return other if isinstance(other, Plan) else plan


def generations(plan: Plan, shares: Sequence[sharing.Ask]) -> dict[int, int]:
    """Return resource id -> generation, of all that the plan books."""
    booked = {
        one.resource.id: one.generation
        for chosen in plan.wholes
        for one in chosen
    }
    for ask, slots in zip(shares, plan.shares, strict=True):
        for room in ask.rooms:
            if room.resource.id in slots:
                # Of two looks at one, the older one must still hold.
                booked[room.resource.id] = min(
                    room.generation,
                    booked.get(room.resource.id, room.generation),
                )
    return booked


def _wholes_first(
    wholes: Sequence[whole.Ask],
    shares: Sequence[sharing.Ask],
    seed: str,
    best_fit: bool,
) -> Plan | Refusal:
    kept = {resource for ask in shares for resource in ask.must_keep}
    chosen = whole.assign(_without(wholes, kept), seed, best_fit)
    if isinstance(chosen, whole.TooFew):
        return chosen
    taken = {one.resource.id for each in chosen for one in each}
    slots = sharing.assign(shares, seed, best_fit=best_fit, excluded=taken)
    return slots if isinstance(slots, sharing.TooFew) else Plan(chosen, slots)


def _shares_first(
    wholes: Sequence[whole.Ask],
    shares: Sequence[sharing.Ask],
    seed: str,
    best_fit: bool,
) -> Plan | Refusal:
    kept = {resource for ask in wholes for resource in ask.must_keep}
    slots = sharing.assign(shares, seed, best_fit=best_fit, excluded=kept)
    if isinstance(slots, sharing.TooFew):
        return slots
    taken = {resource for each in slots for resource in each}
    chosen = whole.assign(_without(wholes, taken), seed, best_fit)
    if isinstance(chosen, whole.TooFew):
        return chosen
    return Plan(chosen, slots)


def _without(
    asks: Sequence[whole.Ask], resources: Collection[int]
) -> list[whole.Ask]:
    return [
        dataclasses.replace(
            ask,
            candidates=[
                one
                for one in ask.candidates
                if one.resource.id not in resources
            ],
        )
        for ask in asks
    ]
