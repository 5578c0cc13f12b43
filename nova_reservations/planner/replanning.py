# SPDX-License-Identifier: Apache-2.0
"""Making room for a newcomer where there is none: promises that have not begun
move to other resources that suit them as well.

The search clears a resource that is free at the newcomer's start. Where an
obstacle begins, the resource exchanges its promises from then on with another
resource that is free at that time. If all resources are equal, and all later
promises may move, this finds room whenever the peak of demand allows it: the
newcomer is not placed yet, so another resource is free when the obstacle
begins. Otherwise the search may find nothing, and gives up at a limit.

Decision 0031: doc/source/decisions/0031-promises-may-move
"""

from collections import defaultdict
from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import datetime

from nova_reservations.planner import timelines

_DEPTH = 2
"""A promise that moves may displace a second one, and that one a third: no
more."""

_CHOICE = 32
"""The resources that are tried for a promise, the best first."""


@dataclasses.dataclass(frozen=True, slots=True)
class Newcomer:
    """A reservation for which room is to be made.

    :ivar end: with the time for cleaning.
    :ivar count: how many resources it must have, with those that it keeps.
    :ivar within: ids of the resources that it may have.
    :ivar keeps: ids of those that it has and keeps: they are cleared for it.
    :ivar most: how many it gets if they are free; None: no more than count.
    """

    reservation_id: str
    start: datetime.datetime
    end: datetime.datetime
    count: int
    within: Collection[int]
    keeps: Sequence[int] = ()
    most: int | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class Move:
    """A promise moves from a resource to another one."""

    reservation_id: str
    source: int
    target: int


@dataclasses.dataclass(frozen=True, slots=True)
class Room:
    """:ivar resources: reservation id -> what a newcomer gets.

    :ivar refused: the indexes of the leases for which no room was found.
    """

    resources: Mapping[str, Collection[int]]
    moves: Sequence[Move]
    refused: Sequence[int] = ()


def make_room(
    held: Mapping[int, Iterable[timelines.Promise]],
    newcomers: Iterable[Newcomer],
    limit: int,
) -> Room | None:
    """Return resources for all newcomers, and the promises that move for
    them; None if the search finds nothing.

    :param held: resource id -> all that it is promised for
    :param limit: exchanges that are tried in all
    """
    room = make_rooms(held, [newcomers], limit)
    return None if room.refused else room


def make_rooms(
    held: Mapping[int, Iterable[timelines.Promise]],
    leases: Iterable[Iterable[Newcomer]],
    limit: int,
    is_spent: Callable[[], bool] = lambda: False,
) -> Room:
    """Return resources for the newcomers of several leases: for all of a
    lease, or for none. Newcomers may move for each other, too.

    :param limit: exchanges that are tried in all
    :param is_spent: returns whether the search must end
    """
    lines = timelines.Timelines(held)
    before = dict(lines.lines)
    search = _Search(lines, limit, is_spent)
    accepted: list[Newcomer] = []
    refused = []
    for number, newcomers in enumerate(leases):
        mark = lines.mark()
        # The newcomer that the fewest resources suit is placed first.
        asked = sorted(newcomers, key=lambda each: len(each.within))
        if all(map(search.place_all, asked)):
            accepted += asked
        else:
            lines.undo(mark)
            refused.append(number)
    for newcomer in accepted:
        search.fill(newcomer)
    return Room(
        _resources(lines.lines, accepted),
        _moves(before, lines.lines),
        tuple(refused),
    )


class _Search:
    """:ivar left: how many exchanges may still be tried."""

    def __init__(
        self,
        lines: timelines.Timelines,
        limit: int,
        is_spent: Callable[[], bool],
    ) -> None:
        self.lines = lines
        self.left = limit
        self.is_spent = is_spent

    def place_all(self, newcomer: Newcomer) -> bool:
        """Clear all resources that the newcomer must have, and give them."""
        wanted: list[int | None] = [*newcomer.keeps]
        wanted += [None] * (newcomer.count - len(wanted))
        return all(self._place(newcomer, resource) for resource in wanted)

    def fill(self, newcomer: Newcomer) -> None:
        """Give the newcomer more of what is free, up to its most."""
        more = (newcomer.most or newcomer.count) - newcomer.count
        for resource in sorted(newcomer.within):
            if more <= 0:
                return
            if not self.lines.overlapping(
                resource, newcomer.start, newcomer.end
            ):
                self._give(newcomer, resource, newcomer.within)
                more -= 1

    def _place(self, newcomer: Newcomer, resource: int | None) -> bool:
        """Clear a resource for the newcomer and give it: this one, or any if
        None."""
        window = newcomer.start, newcomer.end
        choice = (
            self._clearable(newcomer.within, *window)
            if resource is None
            else [resource]
        )
        for depth in range(_DEPTH + 1):
            for each in choice:
                if self._has_ended():
                    return False
                if self._clear(each, *window, depth):
                    # A kept resource must stay with the newcomer; any other
                    # may be exchanged for the next newcomer.
                    within = newcomer.within if resource is None else None
                    self._give(newcomer, each, within)
                    return True
        return False

    def _give(
        self,
        newcomer: Newcomer,
        resource: int,
        within: Collection[int] | None,
    ) -> None:
        self.lines.add(
            resource,
            timelines.Promise(
                newcomer.reservation_id,
                newcomer.start,
                newcomer.end,
                within,
                is_new=True,
            ),
        )

    def _clearable(
        self,
        among: Iterable[int],
        start: datetime.datetime,
        end: datetime.datetime,
    ) -> list[int]:
        """Return resources whose promises in a window may all move; the one
        whose first obstacle begins latest is first."""
        found = []
        for resource in among:
            obstacles = self.lines.overlapping(resource, start, end)
            if all(each.within is not None for each in obstacles):
                first = obstacles[0].start if obstacles else end
                found.append((first <= start, -_seconds(first), resource))
        found.sort()
        return [resource for *_, resource in found[:_CHOICE]]

    def _clear(
        self,
        resource: int,
        start: datetime.datetime,
        end: datetime.datetime,
        depth: int,
    ) -> bool:
        """Clear the window of a resource; nothing is changed if that fails."""
        mark = self.lines.mark()
        while obstacles := self.lines.overlapping(resource, start, end):
            if not self._move_away(resource, obstacles[0], depth):
                self.lines.undo(mark)
                return False
        return True

    def _move_away(
        self, resource: int, promise: timelines.Promise, depth: int
    ) -> bool:
        for other in self._free_at(resource, promise):
            if not self._may_try():
                return False
            if self.lines.exchange(resource, other, promise.start):
                return True
        if not depth:
            return False
        for other in self._clearable(
            _others(promise, resource), promise.start, promise.end
        ):
            if not self._may_try():
                return False
            if self._clear(other, promise.start, promise.end, depth - 1):
                if promise in self.lines.lines[resource]:
                    self.lines.relocate(promise, resource, other)
                return True
        return False

    def _may_try(self) -> bool:
        self.left -= 1
        return not self._has_ended()

    def _has_ended(self) -> bool:
        return self.left < 0 or self.is_spent()

    def _free_at(
        self, resource: int, promise: timelines.Promise
    ) -> Sequence[int]:
        """Return resources that are free when a promise begins: first those
        that are free for all of it, by the shortest free time, then the
        others, by the longest."""
        fitting, others = [], []
        for other in _others(promise, resource):
            until = self.lines.next_start(other, promise.start)
            if until is None:
                fitting.append((float('inf'), other))
            elif until >= promise.end:
                fitting.append((_seconds(until), other))
            elif until > promise.start:
                others.append((-_seconds(until), other))
        found = sorted(fitting)[:_CHOICE] + sorted(others)[:_CHOICE]
        return [other for _, other in found]


def _others(promise: timelines.Promise, resource: int) -> Iterator[int]:
    return (other for other in promise.within or () if other != resource)


def _seconds(time: datetime.datetime) -> float:
    return time.timestamp()


def _resources(
    lines: Mapping[int, timelines.Line], newcomers: Iterable[Newcomer]
) -> dict[str, list[int]]:
    """Return reservation id -> what each of the newcomers has."""
    found: dict[str, list[int]] = {
        each.reservation_id: [] for each in newcomers
    }
    for resource, line in sorted(lines.items()):
        for promise in line:
            if promise.is_new:
                found[promise.reservation_id].append(resource)
    return found


def _moves(
    before: Mapping[int, timelines.Line], after: Mapping[int, timelines.Line]
) -> list[Move]:
    lost, given = (
        defaultdict[str, list[int]](list),
        defaultdict[str, list[int]](list),
    )
    for resource, line in sorted(after.items()):
        old = before.get(resource, ())
        if line is old:
            continue
        had = {each.reservation_id for each in old}
        has = {each.reservation_id for each in line if not each.is_new}
        for reservation_id in had - has:
            lost[reservation_id].append(resource)
        for reservation_id in has - had:
            given[reservation_id].append(resource)
    return [
        Move(reservation_id, source, target)
        for reservation_id, sources in sorted(lost.items())
        for source, target in zip(sources, given[reservation_id], strict=True)
    ]
