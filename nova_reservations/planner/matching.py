# SPDX-License-Identifier: Apache-2.0
"""Matching of whole resources that are free to the reservations of a lease.

Best fit: a resource that is free only shortly around the window goes first,
so that long free windows stay whole. Lengths are compared roughly, and among
equals each lease has an order of its own, so that concurrent writers do not
all reach for the same resource.
"""

import collections
from collections.abc import Collection
from collections.abc import Sequence
import datetime
import hashlib
import itertools

from nova_reservations.objects import search
from nova_reservations.planner import offers

_HOUR = datetime.timedelta(hours=1)
_FOREVER = 64


def assign(
    asks: Sequence[offers.Ask],
    seed: str,
    best_fit: bool,
    excluded: Collection[int] = (),
) -> dict[str, dict[int, int]] | offers.Shortage:
    """Return the resources to book for each ask, best first; no resource
    twice.

    Each ask gets its minimum before any ask gets more. An ask gives up a
    resource if it can have another one, so all is fulfilled that can be.
    Resources that must be kept are given before new ones.

    :param best_fit: whether the best fit goes first. Concurrent writers may
        then choose the same resource and conflict; without best fit each
        lease has an order of its own.
    :param excluded: ids of resources that siblings have a share of.
    """
    plan = _Plan(asks, seed, best_fit, excluded)
    for index, ask in enumerate(asks):
        if not plan.keep(index, ask.wanted.must_keep):
            return offers.Shortage(ask.wanted.reservation_id)
    for index, ask in enumerate(asks):
        minimum = ask.wanted.demand.least
        plan.fill(index, minimum)
        while len(plan.given[index]) < minimum:
            if not plan.augment(index):
                return offers.Shortage(ask.wanted.reservation_id)
    for index, ask in enumerate(asks):
        plan.fill(index, ask.wanted.demand.maximum)
    return plan.result()


def most(asks: Sequence[offers.Ask], seed: str) -> dict[str, dict[int, int]]:
    """Return the resources to book for each ask: as many as there are, up to
    its maximum; no resource twice."""
    plan = _Plan(asks, seed, best_fit=True)
    for index, ask in enumerate(asks):
        maximum = ask.wanted.demand.maximum
        plan.fill(index, maximum)
        while len(plan.given[index]) < maximum:
            if not plan.augment(index):
                break
    return plan.result()


class _Plan:
    """The resources that each reservation has so far."""

    def __init__(
        self,
        asks: Sequence[offers.Ask],
        seed: str,
        best_fit: bool,
        excluded: Collection[int] = (),
    ) -> None:
        self.asks = asks
        self.ranked = [
            [
                offer.resource.id
                for offer in sorted(
                    ask.offers, key=lambda offer: _rank(offer, seed, best_fit)
                )
                if offer.resource.id not in excluded
            ]
            for ask in asks
        ]
        self.given: list[set[int]] = [set() for _ in asks]
        self.owner: dict[int, int] = {}

    def keep(self, ask: int, resources: Collection[int]) -> bool:
        ranked = set(self.ranked[ask])
        for resource in resources:
            if resource not in ranked or resource in self.owner:
                return False
            self._give(ask, resource)
        return len(resources) <= self.asks[ask].wanted.demand.maximum

    def augment(self, ask: int) -> bool:
        """Give the ask one more resource, even if other asks must change.

        This finds the shortest chain of asks in which each takes a resource
        from the next one, and the last one takes a free resource.
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
                    and resource not in self.asks[owner].wanted.must_keep
                ):
                    seen.add(owner)
                    taken_for[owner] = current, resource
                    waiting.append(owner)
        return False

    def fill(self, ask: int, maximum: int) -> None:
        free = (key for key in self.ranked[ask] if key not in self.owner)
        wanted = maximum - len(self.given[ask])
        for resource in list(itertools.islice(free, max(wanted, 0))):
            self._give(ask, resource)

    def result(self) -> dict[str, dict[int, int]]:
        return {
            ask.wanted.reservation_id: {
                resource: 1 for resource in ranked if resource in given
            }
            for ask, ranked, given in zip(
                self.asks, self.ranked, self.given, strict=True
            )
        }

    def _give(self, ask: int, resource: int) -> None:
        if resource in self.owner:
            self.given[self.owner[resource]].remove(resource)
        self.owner[resource] = ask
        self.given[ask].add(resource)


def _rank(
    offer: search.Offer, seed: str, best_fit: bool
) -> tuple[bool, bool, int, int, bytes]:
    before, after = offer.gap_before, offer.gap_after
    left = None if after is None else before + after
    shorter = before if after is None else min(before, after)
    order = hashlib.blake2b(
        f'{seed} {offer.resource.id}'.encode(), digest_size=8
    )
    return (
        not offer.kept,
        not offer.near,
        _bucket(left) if best_fit else 0,
        _bucket(shorter) if best_fit else 0,
        order.digest(),
    )


def _bucket(gap: datetime.timedelta | None) -> int:
    """Return the bucket of a gap: below 1 hour, 2, 4, 8, ..., endless. Gaps
    of one bucket count as equal."""
    return _FOREVER if gap is None else (gap // _HOUR).bit_length()
