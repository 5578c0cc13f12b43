# SPDX-License-Identifier: Apache-2.0
"""Resources as timelines: who is promised each of them, and when.

Promises that overlap on a timeline, as shares of a host do, are merged into
one promise that must stay.
"""

import bisect
from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import datetime
import operator

_start = operator.attrgetter('start')


@dataclasses.dataclass(frozen=True, slots=True)
class Promise:
    """A resource is promised from start until just before end.

    :ivar end: with the time for cleaning.
    :ivar within: resources that the promise may move to; None: it must stay.
    :ivar is_new: whether it belongs to a newcomer, and is not made yet.
    """

    reservation_id: str
    start: datetime.datetime
    end: datetime.datetime
    within: Collection[int] | None = None
    is_new: bool = False

    def may_have(self, resource: int) -> bool:
        return self.within is not None and resource in self.within


Line = tuple[Promise, ...]
"""In the order of time; no two overlap."""


class Timelines:
    """The timelines of resources; changes to them can be undone.

    :ivar lines: resource id -> its timeline; a resource without promises may
        be missing.
    """

    def __init__(self, held: Mapping[int, Iterable[Promise]]) -> None:
        self.lines = {key: _merged(its) for key, its in held.items()}
        self._undo: list[tuple[int, Line]] = []

    def overlapping(
        self, resource: int, start: datetime.datetime, end: datetime.datetime
    ) -> Line:
        """Return the promises of a resource in a window."""
        line = self.lines.get(resource, ())
        first = _index(line, start)
        return line[first : bisect.bisect_left(line, end, first, key=_start)]

    def next_start(
        self, resource: int, at: datetime.datetime
    ) -> datetime.datetime | None:
        """Return the start of the first promise that ends after a time; None
        if there is none."""
        line = self.lines.get(resource, ())
        first = _index(line, at)
        return line[first].start if first < len(line) else None

    def add(self, resource: int, promise: Promise) -> None:
        """:param promise: it overlaps no other"""
        line = self.lines.get(resource, ())
        first = _index(line, promise.start)
        self._set(resource, (*line[:first], promise, *line[first:]))

    def relocate(self, promise: Promise, source: int, target: int) -> None:
        """Move a promise to a resource that is free for it."""
        line = self.lines[source]
        self._set(source, tuple(each for each in line if each != promise))
        self.add(target, promise)

    def exchange(self, one: int, other: int, at: datetime.datetime) -> bool:
        """Exchange the promises of two resources from a time on, until both
        are free; change nothing and return False if one may not move.

        :param at: a promise of ``one`` begins then; ``other`` is free then
        """
        mine, theirs = self.lines[one], self.lines.get(other, ())
        i, j = _index(mine, at), _index(theirs, at)
        first, second, until = i, j, at
        while True:
            if i < len(mine) and (i == first or mine[i].start < until):
                until = max(until, mine[i].end)
                i += 1
            elif j < len(theirs) and theirs[j].start < until:
                until = max(until, theirs[j].end)
                j += 1
            else:
                break
        if not (
            all(promise.may_have(other) for promise in mine[first:i])
            and all(promise.may_have(one) for promise in theirs[second:j])
        ):
            return False
        self._set(one, (*mine[:first], *theirs[second:j], *mine[i:]))
        self._set(other, (*theirs[:second], *mine[first:i], *theirs[j:]))
        return True

    def mark(self) -> int:
        """Return a mark with which undo() restores the present lines."""
        return len(self._undo)

    def undo(self, mark: int) -> None:
        while len(self._undo) > mark:
            resource, line = self._undo.pop()
            self.lines[resource] = line

    def _set(self, resource: int, line: Line) -> None:
        self._undo.append((resource, self.lines.get(resource, ())))
        self.lines[resource] = line


def _index(line: Sequence[Promise], at: datetime.datetime) -> int:
    """Return the place of the first promise that ends after a time."""
    # Promises of a line do not overlap: of those that begin by ``at``, only
    # the last one may reach beyond it.
    place = bisect.bisect_right(line, at, key=_start)
    return place - 1 if place and line[place - 1].end > at else place


def _merged(promises: Iterable[Promise]) -> Line:
    merged: list[Promise] = []
    for promise in sorted(promises, key=_start):
        if merged and promise.start < merged[-1].end:
            before = merged[-1]
            merged[-1] = Promise(
                before.reservation_id,
                before.start,
                max(before.end, promise.end),
            )
        else:
            merged.append(promise)
    return tuple(merged)
