# SPDX-License-Identifier: Apache-2.0
"""Which of the resources that are free the reservations of a lease get.

Best fit: what is free only shortly around the window goes first, so that
long free windows stay whole. How shortly is told apart only roughly: among
equals the order is each lease's own, so that writers at the same moment do
not all reach for the same resource.
"""

import collections
from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Sequence
import dataclasses
import datetime
import hashlib
import itertools

from nova_reservations import objects
from nova_reservations.objects import demand

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

    resource: objects.Resource
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


@dataclasses.dataclass(frozen=True, slots=True)
class Ask:
    """One of the reservations of a lease, which are planned together.

    :ivar candidates: no resource twice.
    :ivar must_keep: ids of what an active lease has, all of which stays.
    """

    candidates: Iterable[Candidate]
    demand: demand.Demand
    must_keep: Collection[int] = ()


@dataclasses.dataclass(frozen=True, slots=True)
class TooFew:
    """:ivar ask: the index of the one that can't have what it wants."""

    ask: int


def assign(
    asks: Sequence[Ask], seed: str, best_fit: bool = True
) -> list[tuple[Candidate, ...]] | TooFew:
    """Return what to book for each ask, best first; no resource twice.

    Each has its minimum before any has more, and gives way to another where
    it can have something else: what can be fulfilled is. What is kept goes
    before what is new.

    :param seed: the same choice for the same seed; the id of the lease.
    :param best_fit: whether the best fit goes first. Writers that find the
        same resource to be it are in each other's way; without, each has an
        order of its own.
    """
    plan = _Plan(asks, seed, best_fit)
    for index, ask in enumerate(asks):
        if not plan.keep(index, ask.must_keep):
            return TooFew(index)
    for index, ask in enumerate(asks):
        plan.fill(index, ask.demand.minimum)
        while len(plan.given[index]) < ask.demand.minimum:
            if not plan.augment(index):
                return TooFew(index)
    for index, ask in enumerate(asks):
        plan.fill(index, ask.demand.maximum)
    return [plan.result(index) for index in range(len(asks))]


def most(asks: Sequence[Ask], seed: str) -> list[tuple[Candidate, ...]]:
    """Return what to book for each ask: as much as there is, up to its
    maximum; no resource twice."""
    plan = _Plan(asks, seed, best_fit=True)
    for index, ask in enumerate(asks):
        plan.fill(index, ask.demand.maximum)
        while len(plan.given[index]) < ask.demand.maximum:
            if not plan.augment(index):
                break
    return [plan.result(index) for index in range(len(asks))]


class _Plan:
    """Who has which resource so far."""

    def __init__(self, asks: Sequence[Ask], seed: str, best_fit: bool) -> None:
        self.asks = asks
        self.ranked = [
            {
                one.resource.id: one
                for one in sorted(
                    ask.candidates, key=lambda one: _rank(one, seed, best_fit)
                )
            }
            for ask in asks
        ]
        self.given: list[set[int]] = [set() for _ in asks]
        self.owner: dict[int, int] = {}

    def keep(self, ask: int, resources: Collection[int]) -> bool:
        for resource in resources:
            if resource not in self.ranked[ask]:
                return False
            self._give(ask, resource)
        return len(resources) <= self.asks[ask].demand.maximum

    def augment(self, ask: int) -> bool:
        """Give the ask one more, even if others must change for it.

        The shortest chain of asks, each of which takes a resource from the
        one after it, to one that can have a free one.
        """
        taken_for: dict[int, tuple[int, int]] = {}
        seen = {ask}
        waiting = collections.deque([ask])
        while waiting:
            current = waiting.popleft()
            for resource in self.ranked[current]:
                owner = self.owner.get(resource)
                if owner is None:
                    self._give(current, resource)
                    while current != ask:
                        current, resource = taken_for[current]
                        self._give(current, resource)
                    return True
                if (
                    owner not in seen
                    and resource not in self.asks[owner].must_keep
                ):
                    seen.add(owner)
                    taken_for[owner] = current, resource
                    waiting.append(owner)
        return False

    def fill(self, ask: int, maximum: int) -> None:
        free = (one for one in self.ranked[ask] if one not in self.owner)
        wanted = maximum - len(self.given[ask])
        for resource in list(itertools.islice(free, max(wanted, 0))):
            self._give(ask, resource)

    def result(self, ask: int) -> tuple[Candidate, ...]:
        return tuple(
            candidate
            for resource, candidate in self.ranked[ask].items()
            if resource in self.given[ask]
        )

    def _give(self, ask: int, resource: int) -> None:
        if resource in self.owner:
            self.given[self.owner[resource]].remove(resource)
        self.owner[resource] = ask
        self.given[ask].add(resource)


def _rank(
    candidate: Candidate, seed: str, best_fit: bool
) -> tuple[bool, int, int, bytes]:
    before, after = candidate.gap_before, candidate.gap_after
    left = None if after is None else before + after
    shorter = before if after is None else min(before, after)
    order = hashlib.blake2b(
        f'{seed} {candidate.resource.id}'.encode(), digest_size=8
    )
    return (
        not candidate.kept,
        _bucket(left) if best_fit else 0,
        _bucket(shorter) if best_fit else 0,
        order.digest(),
    )


def _bucket(gap: datetime.timedelta | None) -> int:
    """Gaps of one bucket are alike: up to 1 hour, 2, 4, 8, ..., for good."""
    return _FOREVER if gap is None else (gap // _HOUR).bit_length()
