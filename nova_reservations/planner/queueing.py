# SPDX-License-Identifier: Apache-2.0
"""Whose turn it is among those who wait, when something comes free.

They are gone through once, from the first that came to the last. What would
do for one of them, at a time that it wants, is not for those behind it, also
where it is too little for the first. Of each thing it is remembered who wants
it: so each is compared with each wish once, however many are tried.
"""

from collections.abc import Collection
from collections.abc import Mapping
import dataclasses
import datetime
import itertools

from nova_reservations import objects
from nova_reservations.objects import amounts
from nova_reservations.objects import demand
from nova_reservations.objects import interval
from nova_reservations.objects import requirements


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Kind:
    """What somebody wants of a resource. There is one for all who want the
    same."""

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

    :ivar arrival: its place: those who came before have a lower one.
    :ivar window: the lease's, if it gets its resources now.
    """

    lease_id: str
    arrival: int
    window: interval.Interval
    wishes: tuple[Wish, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class Use:
    """What is not released of a resource.

    :ivar exclusive: all of it, or else the amounts.
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
        """Whether it takes the window; what is over and not released is in
        the way of what begins now."""
        return self.start < window.end and (
            window.start <= now or self.end > window.start
        )


@dataclasses.dataclass(frozen=True, slots=True)
class FreedResource:
    """A resource that new leases may have, and who uses it when.

    :ivar facts: what requirements compare, by key; None: it is no host, and
        meets none.
    """

    id: int
    resource_type: str
    facts: Mapping[str, float | str] | None
    traits: Collection[str]
    inventories: Collection[objects.Inventory]
    uses: Collection[Use]

    def meets(self, kind: Kind) -> bool:
        if kind.resource_type != self.resource_type:
            return False
        if kind.requirements is None:
            return True
        return self.facts is not None and requirements.meets(
            kind.requirements, self.facts, self.traits
        )

    def is_free(
        self,
        wish: Wish,
        now: datetime.datetime,
        cleaning: datetime.timedelta,
    ) -> bool:
        """Whether it, or a share of it, is free for the wish."""
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
        if not amounts.is_slot(share.amounts, self.inventories):
            return False
        held = [
            amounts.Held(
                interval.Interval(
                    use.start,
                    # Over and not left: nobody knows for how long.
                    use.end if use.end > window.start else window.end,
                ),
                use.amounts,
            )
            for use in self.uses
            if use.is_in_the_way(window, now)
            or (use.replaced and use.start < window.end)
        ]
        left = amounts.left(self.inventories, held, window)
        return share.slot.times_in(left) >= share.together


@dataclasses.dataclass(slots=True)
class _Known:
    """What was found out of a thing.

    :ivar meets: what it would do for.
    :ivar compared: with how many of the wishes ahead.
    :ivar kept: when those ahead want it.
    """

    meets: dict[Kind, bool] = dataclasses.field(default_factory=dict)
    compared: int = 0
    kept: list[interval.Interval] = dataclasses.field(default_factory=list)


class Line:
    """Those who wait, from the first on, and what they keep from the rest."""

    def __init__(
        self, now: datetime.datetime, cleaning: datetime.timedelta
    ) -> None:
        self._now = now
        self._cleaning = cleaning
        self._ahead: list[tuple[Kind, interval.Interval]] = []
        self._wanted: dict[Kind, list[interval.Interval]] = {}
        self._known: dict[int, _Known] = {}

    def join(self, queued: QueuedLease) -> None:
        """Have one that gets nothing now be ahead of all that follow."""
        for wish in queued.wishes:
            wanted = self._wanted.setdefault(wish.kind, [])
            if not any(_covers(one, queued.window) for one in wanted):
                self._ahead.append((wish.kind, queued.window))
                _add(wanted, queued.window)

    def is_behind_its_like(self, queued: QueuedLease) -> bool:
        """Whether one ahead wants the very same: there can be nothing for
        the waiter, which is known without looking at any thing."""
        return any(
            _overlap(self._wanted.get(wish.kind, ()), queued.window)
            for wish in queued.wishes
        )

    def offers(
        self, queued: QueuedLease, wish: Wish, thing: FreedResource
    ) -> bool:
        """Whether the waiter, if it is the next, could have the thing."""
        known = self._known.setdefault(thing.id, _Known())
        return (
            _meets(known, thing, wish.kind)
            and not self._is_kept(known, thing, queued.window)
            and thing.is_free(wish, self._now, self._cleaning)
        )

    def _is_kept(
        self, known: _Known, thing: FreedResource, window: interval.Interval
    ) -> bool:
        for kind, wanted in itertools.islice(
            self._ahead, known.compared, None
        ):
            if _meets(known, thing, kind):
                _add(known.kept, wanted)
        known.compared = len(self._ahead)
        return _overlap(known.kept, window)


def _meets(known: _Known, thing: FreedResource, kind: Kind) -> bool:
    if kind not in known.meets:
        known.meets[kind] = thing.meets(kind)
    return known.meets[kind]


def _overlap(
    windows: Collection[interval.Interval], window: interval.Interval
) -> bool:
    return any(one.overlaps(window) for one in windows)


def _covers(one: interval.Interval, other: interval.Interval) -> bool:
    return one.start <= other.start and other.end <= one.end


def _add(windows: list[interval.Interval], more: interval.Interval) -> None:
    """Add to windows that do not overlap, and have them stay so."""
    met = [one for one in windows if one.overlaps(more)]
    if met:
        windows[:] = [one for one in windows if not one.overlaps(more)]
        more = interval.Interval(
            min(more.start, *(one.start for one in met)),
            max(more.end, *(one.end for one in met)),
        )
    windows.append(more)
