# SPDX-License-Identifier: Apache-2.0
"""Turns of those who wait, when something comes free.

They are gone through once, from the first that came to the last. What would
do for one of them, at a time that it wants, is not for those behind it, also
where it is too little for the first. Of each thing it is remembered who wants
it: so each is compared with each wish once, however many are tried.
"""

from collections.abc import Collection
import dataclasses
import datetime
import itertools

from nova_reservations.objects import interval
from nova_reservations.objects import wishes


@dataclasses.dataclass(slots=True)
class _Known:
    """What was found out of a thing.

    :ivar meets: what it would do for.
    :ivar compared: with how many of the wishes ahead.
    :ivar kept: when those ahead want it.
    """

    meets: dict[wishes.Kind, bool] = dataclasses.field(default_factory=dict)
    compared: int = 0
    kept: list[interval.Interval] = dataclasses.field(default_factory=list)


class Line:
    """Those who wait, from the first on, and what they keep from the rest."""

    def __init__(
        self, now: datetime.datetime, cleaning: datetime.timedelta
    ) -> None:
        self._now = now
        self._cleaning = cleaning
        self._ahead: list[tuple[wishes.Kind, interval.Interval]] = []
        self._wanted: dict[wishes.Kind, list[interval.Interval]] = {}
        self._known: dict[int, _Known] = {}

    def join(self, queued: wishes.QueuedLease) -> None:
        """Have one that gets nothing now be ahead of all that follow."""
        for wish in queued.wishes:
            wanted = self._wanted.setdefault(wish.kind, [])
            if not any(_covers(one, queued.window) for one in wanted):
                self._ahead.append((wish.kind, queued.window))
                _add(wanted, queued.window)

    def is_behind_its_like(self, queued: wishes.QueuedLease) -> bool:
        """Whether one ahead wants the very same: there can be nothing for
        the waiter, which is known without looking at any thing."""
        return any(
            _overlap(self._wanted.get(wish.kind, ()), queued.window)
            for wish in queued.wishes
        )

    def offers(
        self,
        queued: wishes.QueuedLease,
        wish: wishes.Wish,
        thing: wishes.FreedResource,
    ) -> bool:
        """Whether the waiter, if it is the next, could have the thing."""
        known = self._known.setdefault(thing.id, _Known())
        return (
            _meets(known, thing, wish.kind)
            and not self._is_kept(known, thing, queued.window)
            and thing.is_free(wish, self._now, self._cleaning)
        )

    def _is_kept(
        self,
        known: _Known,
        thing: wishes.FreedResource,
        window: interval.Interval,
    ) -> bool:
        for kind, wanted in itertools.islice(
            self._ahead, known.compared, None
        ):
            if _meets(known, thing, kind):
                _add(known.kept, wanted)
        known.compared = len(self._ahead)
        return _overlap(known.kept, window)


def _meets(
    known: _Known, thing: wishes.FreedResource, kind: wishes.Kind
) -> bool:
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
