# SPDX-License-Identifier: Apache-2.0
"""Leases that wait, and resources that came free for them."""

from collections.abc import Collection
from collections.abc import Mapping
import dataclasses
import datetime

from nova_reservations.objects import demand
from nova_reservations.objects import holding
from nova_reservations.objects import host
from nova_reservations.objects import interval
from nova_reservations.objects import requirements
from nova_reservations.objects import stock


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Kind:
    """A type of resource with requirements. Wishes for the same share one
    object."""

    resource_type: str
    requirements: requirements.Expression | None


@dataclasses.dataclass(frozen=True, slots=True)
class Wish:
    """One of the reservations of a lease that waits.

    :ivar window: for how long it would have its resources.
    """

    reservation_id: str
    kind: Kind
    ask: demand.Ask
    window: interval.Interval


@dataclasses.dataclass(frozen=True, slots=True)
class QueuedLease:
    """A lease that waits.

    :ivar arrival: its place in the queue: leases that came before have a lower
        one.
    :ivar window: the lease's, if it gets its resources now.
    """

    lease_id: str
    arrival: int
    window: interval.Interval
    wishes: tuple[Wish, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class FreedResource:
    """A resource that new leases may have, and who has it when.

    :ivar facts: what requirements compare, by key.
    """

    id: int
    resource_type: str
    facts: Mapping[str, float | str]
    traits: Collection[str]
    inventories: Collection[host.Inventory]
    held: Collection[holding.Held]

    def meets(
        self,
        kind: Kind,
        holds: requirements.Holds = requirements.Judged.holds,
    ) -> bool:
        """:param holds: judges what Nova judges; its errors are let through"""
        if kind.resource_type != self.resource_type:
            return False
        if kind.requirements is None:
            return True
        return requirements.meets(
            kind.requirements, self.facts, self.traits, holds
        )

    def is_free(
        self,
        wish: Wish,
        now: datetime.datetime,
        cleaning: datetime.timedelta,
    ) -> bool:
        """Return whether it, or a share of it, is free for the wish."""
        padded = wish.window.padded(cleaning)
        of_shares = not wish.ask.exclusive
        taken = [
            each
            for each in self.held
            if each.is_in_the_way(padded, now, of_shares=of_shares)
        ]
        if wish.ask.exclusive:
            return not taken
        if any(each.whole for each in taken):
            return False
        return self._has_room(wish.ask, wish.window, now)

    def _has_room(
        self,
        share: demand.Share,
        window: interval.Interval,
        now: datetime.datetime,
    ) -> bool:
        if not stock.is_slot(share.amounts, self.inventories):
            return False
        held = [
            each.during(window)
            for each in self.held
            if each.is_in_the_way(window, now, of_shares=True)
        ]
        left = stock.left(self.inventories, held, window)
        return share.slot.times_in(left) >= share.together
