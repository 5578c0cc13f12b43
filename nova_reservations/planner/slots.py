# SPDX-License-Identifier: Apache-2.0
"""The number of slots for which there is room over time.

The load of a host has levels over time; a step of time has the room of the
worst level that it meets.
"""

import bisect
from collections import Counter
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import datetime
import itertools
from typing import NamedTuple

from nova_reservations.objects import amounts


@dataclasses.dataclass(frozen=True, slots=True)
class Load:
    """The part of a host that is taken from start to end.

    :ivar amounts: resource class -> units; None: all of the host.
    """

    start: datetime.datetime
    end: datetime.datetime
    amounts: Mapping[str, int] | None


class Level(NamedTuple):
    """:ivar fit: slots for which there is room while the level lasts."""

    start: datetime.datetime
    end: datetime.datetime
    fit: int


@dataclasses.dataclass(frozen=True, slots=True)
class Room:
    """:ivar empty: slots for which a host has room where it has no load.

    :ivar levels: for the times at which the host has load.
    """

    empty: int
    levels: tuple[Level, ...]


def room(
    capacity: amounts.Amounts, slot: amounts.Amounts, loads: Iterable[Load]
) -> Room:
    """Return the room that a host has for slots."""
    return Room(slot.times_in(capacity), tuple(_levels(capacity, slot, loads)))


def _levels(
    capacity: amounts.Amounts, slot: amounts.Amounts, loads: Iterable[Load]
) -> Iterator[Level]:
    changes: list[tuple[datetime.datetime, int, Load]] = []
    for load in loads:
        if load.start < load.end:
            changes += [(load.start, 1, load), (load.end, -1, load)]
    changes.sort(key=lambda change: change[0])
    used: Counter[str] = Counter()
    whole, since = 0, None
    for time, group in itertools.groupby(changes, key=lambda each: each[0]):
        if since is not None:
            fit = 0 if whole else slot.times_in(capacity - used)
            yield Level(since, time, fit)
        for _, sign, load in group:
            whole += sign * (load.amounts is None)
            for name, units in (load.amounts or {}).items():
                used[name] += sign * units
        since = time


def total(
    rooms: Iterable[Room],
    start: datetime.datetime,
    end: datetime.datetime,
    step: datetime.timedelta,
    longer: datetime.timedelta,
) -> list[int]:
    """Return, for each step from start to end, the slots for which all hosts
    together have room throughout.

    :param longer: how far each step reaches beyond the start of the next one
    """
    count = -((start - end) // step)
    changes = [0] * (count + 1)
    for each in rooms:
        changes[0] += each.empty
        met = [
            _Met(first, last, level.fit)
            for level in each.levels
            for first in [max((level.start - longer - start) // step, 0)]
            for last in [min(-((start - level.end) // step), count)]
            if first < last and level.start - longer < end
        ]
        for first, last, fit in _worst(met):
            changes[first] -= max(each.empty - fit, 0)
            changes[last] += max(each.empty - fit, 0)
    return list(itertools.accumulate(changes[:-1]))


class _Met(NamedTuple):
    """A level that the steps from ``first`` until before ``last`` meet."""

    first: int
    last: int
    fit: int


def _worst(met: Sequence[_Met]) -> Iterator[_Met]:
    """Yield the worst level of each step; no step is in two of them.

    :param met: in the order of time
    """
    bounds = sorted({number for each in met for number in each[:2]})
    oldest = 0
    for first, last in itertools.pairwise(bounds):
        while met[oldest].last <= first:
            oldest += 1
        newest = bisect.bisect_right(met, first, key=lambda each: each.first)
        if oldest < newest:
            fit = min(each.fit for each in met[oldest:newest])
            yield _Met(first, last, fit)
