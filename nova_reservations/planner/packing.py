# SPDX-License-Identifier: Apache-2.0
"""Packing of slots, shares of resources, for the reservations of a lease.

What is left of a resource is what its inventory has, less the peak of what
others hold while the window lasts: exact at every instant, for each resource
class. All slots of a lease have the same window, so what one reservation takes
is not left for its siblings for the whole window.
"""

from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
import hashlib
from typing import Any

from nova_reservations.objects import amounts
from nova_reservations.objects import demand
from nova_reservations.objects import search
from nova_reservations.planner import offers

_Order = Callable[[search.Offer, demand.Share], Any]
"""The key that offers are sorted by for a share."""


def assign(
    asks: Sequence[offers.Ask],
    seed: str,
    best_fit: bool = True,
    excluded: Collection[int] = (),
) -> dict[str, dict[int, int]] | offers.Shortage:
    """Return how many slots each ask gets of which resource.

    Resources that are shared already go first, and among them those that will
    be full, so that unused resources stay whole. If one of several asks then
    gets too little, a second attempt takes the resources in the order of their
    ids.

    :param excluded: ids of resources that a sibling takes as a whole.
    """

    plan = _Packing(asks, excluded).fill(_best_fit(seed, best_fit))
    if isinstance(plan, offers.Shortage) and len(asks) > 1:
        second = _Packing(asks, excluded).fill(_first)
        return plan if isinstance(second, offers.Shortage) else second
    return plan


class _Packing:
    """The share that each ask has so far, and what is taken of each
    resource."""

    def __init__(
        self, asks: Sequence[offers.Ask], excluded: Collection[int]
    ) -> None:
        self.asks = asks
        self.excluded = excluded
        self.taken: dict[int, amounts.Amounts] = {}
        self.given: dict[str, dict[int, int]] = {
            ask.wanted.reservation_id: {} for ask in asks
        }

    def fill(
        self, order: _Order
    ) -> dict[str, dict[int, int]] | offers.Shortage:
        # Slots that must stay where they are come before all new ones.
        for ask in self.asks:
            if not self._can_keep(ask):
                return offers.Shortage(ask.wanted.reservation_id)
            self._take(ask, ask.wanted.must_keep)
        for ask in self.asks:
            share = _share(ask)
            more = self._more(
                ask, sorted(ask.offers, key=lambda offer: order(offer, share))
            )
            if more is None:
                return offers.Shortage(ask.wanted.reservation_id)
            self._take(ask, more)
        return self.given

    def _take(self, ask: offers.Ask, slots: Mapping[int, int]) -> None:
        slot = _share(ask).slot
        given = self.given[ask.wanted.reservation_id]
        for key, count in slots.items():
            given[key] = given.get(key, 0) + count
            taken = self.taken.get(key, amounts.NOTHING)
            self.taken[key] = taken + slot * count

    def _fit(self, slot: amounts.Amounts, offer: search.Offer) -> int:
        """Return how many slots fit beside those that siblings take."""
        key = offer.resource.id
        if key in self.excluded:
            return 0
        if key in self.taken:
            return slot.times_in(offer.left - self.taken[key])
        return slot.times_in(offer.left)

    def _can_keep(self, ask: offers.Ask) -> bool:
        share, must_keep = _share(ask), ask.wanted.must_keep
        fit = {
            offer.resource.id: self._fit(share.slot, offer)
            for offer in ask.offers
            if offer.resource.id in must_keep
        }
        return sum(must_keep.values()) <= share.slots and all(
            fit.get(key, 0) >= slots for key, slots in must_keep.items()
        )

    def _more(
        self, ask: offers.Ask, ranked: Iterable[search.Offer]
    ) -> dict[int, int] | None:
        """Return the slots that the ask gets beside those that it must keep;
        None: there are not enough."""
        share, must_keep = _share(ask), ask.wanted.must_keep
        slot = share.slot
        wanted = share.slots - sum(must_keep.values())
        more: dict[int, int] = {}
        for offer in ranked:
            if not wanted:
                break
            key = offer.resource.id
            fit = self._fit(slot, offer)
            if share.affinity:
                if fit < wanted or not must_keep.keys() <= {key}:
                    continue
            elif share.affinity is False:
                fit = min(fit, 0 if key in must_keep else 1)
            if fit:
                more[key] = min(fit, wanted)
                wanted -= more[key]
        return None if wanted else more


def _share(ask: offers.Ask) -> demand.Share:
    share = ask.wanted.demand
    assert not share.exclusive
    return share


def _first(offer: search.Offer, _: demand.Share) -> Any:
    return not offer.kept, not offer.near, offer.resource.id


def _best_fit(seed: str, best_fit: bool) -> _Order:
    def rank(offer: search.Offer, share: demand.Share) -> Any:
        fit = share.slot.times_in(offer.left)
        partly = fit < share.slots
        order = hashlib.blake2b(
            f'{seed} {offer.resource.id}'.encode(), digest_size=8
        )
        return (
            not offer.kept,
            not offer.near,
            best_fit and not offer.shared,
            best_fit and partly,
            (-fit if partly else fit) if best_fit else 0,
            order.digest(),
        )

    return rank
