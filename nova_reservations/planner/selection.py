# SPDX-License-Identifier: Apache-2.0
"""Which of the resources that are free a reservation gets.

Best fit: what is free only shortly around the window goes first, so that
long free windows stay whole. How shortly is told apart only roughly: among
equals the order is each lease's own, so that writers at the same moment do
not all reach for the same resource.
"""

from collections.abc import Collection
from collections.abc import Iterable
import dataclasses
import datetime
import hashlib

from nova_reservations import demand
from nova_reservations import values

_HOUR = datetime.timedelta(hours=1)
_FOREVER = 64


@dataclasses.dataclass(frozen=True, slots=True)
class Candidate:
    """A resource that meets the demand and is free in the window.

    :ivar generation: as it was when the resource was seen to be free; the
        booking compares and sets it.
    :ivar gap_before: how long it has been free when the window begins,
        counted from now on at the earliest.
    :ivar gap_after: how long it is free after the window; None: for good.
    :ivar kept: the reservation has it already.
    """

    resource: values.Resource
    generation: int
    gap_before: datetime.timedelta
    gap_after: datetime.timedelta | None
    kept: bool = False


@dataclasses.dataclass(frozen=True, slots=True)
class Shortage:
    """Why a demand was refused.

    :ivar matching: resources of the type that meet the requirements.
    :ivar taken: those of matching that are not free in the window.
    """

    matching: int
    taken: int


def choose(
    candidates: Iterable[Candidate],
    demand: demand.Demand,
    seed: str,
    must_keep: Collection[int] = (),
) -> tuple[Candidate, ...] | None:
    """Return what to book, best first; None: too few.

    What is kept goes before what is new.

    :param candidates: no resource twice.
    :param seed: the same choice for the same seed; the id of the lease.
    :param must_keep: ids of what an active lease has: all of it, or None.
    """
    chosen = sorted(candidates, key=lambda one: _rank(one, seed))
    chosen = chosen[: demand.maximum]
    if len(chosen) < demand.minimum or not {
        one.resource.id for one in chosen
    }.issuperset(must_keep):
        return None
    return tuple(chosen)


def _rank(candidate: Candidate, seed: str) -> tuple[bool, int, int, bytes]:
    before, after = candidate.gap_before, candidate.gap_after
    left = None if after is None else before + after
    shorter = before if after is None else min(before, after)
    order = hashlib.blake2b(
        f'{seed} {candidate.resource.id}'.encode(), digest_size=8
    )
    return (
        not candidate.kept,
        _bucket(left),
        _bucket(shorter),
        order.digest(),
    )


def _bucket(gap: datetime.timedelta | None) -> int:
    """Gaps of one bucket are alike: up to 1 hour, 2, 4, 8, ..., for good."""
    return _FOREVER if gap is None else (gap // _HOUR).bit_length()
