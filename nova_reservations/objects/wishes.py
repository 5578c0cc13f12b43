# SPDX-License-Identifier: Apache-2.0
"""Leases that wait, and resources that came free for them."""

from collections.abc import Collection
from collections.abc import Mapping
import dataclasses
import datetime

from nova_reservations.objects import amounts
from nova_reservations.objects import demand
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
class Use:
    """A holding of a resource that is not released.

    :ivar exclusive: whether the whole resource is held, or only the amounts.
    :ivar replaced: nobody knows when the last of it leaves.
    """

    start: datetime.datetime
    end: datetime.datetime
    exclusive: bool
    replaced: bool
    amounts: Mapping[str, int]

    def is_in_the_way(
        self, window: interval.Interval, now: datetime.datetime
    ) -> bool:
        """Return whether it blocks the window. A use that is past its end but
        not released blocks a window that begins now."""
        return self.start < window.end and (
            window.start <= now or self.end > window.start
        )


@dataclasses.dataclass(frozen=True, slots=True)
class FreedResource:
    """A resource that new leases may have, and who uses it when.

    :ivar facts: what requirements compare, by key.
    """

    id: int
    resource_type: str
    facts: Mapping[str, float | str]
    traits: Collection[str]
    inventories: Collection[host.Inventory]
    uses: Collection[Use]

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
        taken = [use for use in self.uses if use.is_in_the_way(padded, now)]
        if wish.ask.exclusive:
            return not taken
        if any(use.exclusive for use in taken):
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
            amounts.Held(
                interval.Interval(
                    use.start,
                    # It is past its end but not released, nobody knows for how
                    # long.
                    use.end if use.end > window.start else window.end,
                ),
                use.amounts,
            )
            for use in self.uses
            if use.is_in_the_way(window, now)
            or (use.replaced and use.start < window.end)
        ]
        left = stock.left(self.inventories, held, window)
        return share.slot.times_in(left) >= share.together
