# SPDX-License-Identifier: Apache-2.0
"""The number of slots for which there is room over time.

A host is described by the levels of its load; a step of time is as good as
the worst level that it meets.
"""

from collections import Counter
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
import dataclasses
import datetime
import itertools
from typing import NamedTuple

from nova_reservations.objects import amounts


@dataclasses.dataclass(frozen=True, slots=True)
class Load:
    """Something that a host has no room for meanwhile.

    :ivar amounts: resource class -> units; None: it takes all of it.
    """

    start: datetime.datetime
    end: datetime.datetime
    amounts: Mapping[str, int] | None


class Level(NamedTuple):
    """:ivar fit: slots for which there is room, as long as it lasts."""

    start: datetime.datetime
    end: datetime.datetime
    fit: int


@dataclasses.dataclass(frozen=True, slots=True)
class Room:
    """:ivar empty: slots for which a host has room where it has no load.

    :ivar levels: of the times at which it has some.
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

    :param longer: by how much each step is longer than the next one is later
    """
    count = -((start - end) // step)
    found = [0] * count
    empty = 0
    for each in rooms:
        empty += each.empty
        least = dict[int, int]()
        for level in each.levels:
            first = max((level.start - longer - start) // step, 0)
            last = min(-((start - level.end) // step), count)
            if level.fit < each.empty and level.start - longer < end:
                for number in range(first, last):
                    known = least.get(number, each.empty)
                    least[number] = min(known, level.fit)
        for number, fit in least.items():
            found[number] -= each.empty - fit
    return [empty + lack for lack in found]
