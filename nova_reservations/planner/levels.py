# SPDX-License-Identifier: Apache-2.0
"""Numbers of what is held over time, and of what is left, for those who plan.

They have levels: each lasts from one time to the next. A window, or a step
of time, has the worst of the levels that it meets.
"""

import bisect
import collections
from collections import Counter
from collections import defaultdict
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import datetime
import itertools
from typing import NamedTuple
from typing import TypeVar

from nova_reservations.objects import amounts
from nova_reservations.objects import holding
from nova_reservations.objects import interval
from nova_reservations.objects import search

Line = Sequence[tuple[datetime.datetime, int]]
"""A number from each time on, in the order of time; it is never asked about a
time before the first."""

_Time = TypeVar('_Time', int, datetime.datetime)


@dataclasses.dataclass(frozen=True, slots=True)
class Load:
    """The part of a resource that nobody else can have from start until just
    before end; the time for cleaning is included.

    :ivar end: None: nobody knows.
    :ivar units: resource class -> units; None: all of the resource.
    """

    start: datetime.datetime
    end: datetime.datetime | None
    units: Mapping[str, int] | None = None


def load(
    held: holding.Held, terms: search.Search, *, whole: bool = False
) -> Load:
    """Return the load that something held is.

    :param whole: whether the resource is wanted as a whole
    """
    start, end = held.start, held.over(terms.now)
    units = None if whole or held.whole else held.units
    if units is None:
        start, end = start - terms.cleaning, end + terms.cleaning
    # Nobody knows when the servers leave a resource that was replaced.
    is_endless = held.replaced and not whole
    return Load(start, None if is_endless else end, units)


def line(
    loads: Iterable[Load],
    begin: datetime.datetime,
    capacity: amounts.Amounts | None = None,
    slot: amounts.Amounts = amounts.NOTHING,
) -> Line:
    """Return how many slots are free on a resource from a time on; a whole
    resource is one slot.

    :param capacity: resource class -> units that can be shared; None: the
        resource is wanted as a whole, so any load leaves nothing
    """
    changes = defaultdict[datetime.datetime, list[tuple[int, Load]]](list)
    for load in loads:
        if load.end is None or load.end > begin:
            changes[max(load.start, begin)].append((1, load))
        if load.end is not None and load.end > begin:
            changes[load.end].append((-1, load))
    used: Counter[str] = Counter()
    # How many loads are of the whole resource, and how many are of any of it.
    wholes = everybody = 0
    found: list[tuple[datetime.datetime, int]] = []
    for time in sorted({begin, *changes}):
        for sign, load in changes.get(time, ()):
            everybody += sign
            wholes += sign * (load.units is None)
            for name, units in (load.units or {}).items():
                used[name] += sign * units
        if capacity is None:
            free = int(not everybody)
        else:
            free = 0 if wholes else slot.times_in(capacity - used)
        if not found or found[-1][1] != free:
            found.append((time, free))
    return found


def of(changes: Mapping[datetime.datetime, int]) -> Line:
    """Return the number from each time on at which it changes."""
    times = sorted(changes)
    numbers = itertools.accumulate(changes[time] for time in times)
    return list(zip(times, numbers, strict=True))


def least(
    lines: Iterable[Line],
    start: datetime.datetime,
    end: datetime.datetime,
    step: datetime.timedelta,
    longer: datetime.timedelta,
) -> list[int]:
    """Return, for each step from start to end, the sum of the least that each
    of the lines has in it.

    :param lines: from start on
    :param longer: how far each step reaches beyond the start of the next one
    """
    count = -((start - end) // step)
    changes = [0] * (count + 1)
    for each in lines:
        # The last level lasts for good.
        ends = [*(time for time, _ in each[1:]), end]
        met = [
            _Met(first, last, number)
            for (since, number), until in zip(each, ends, strict=True)
            for first in [max((since - longer - start) // step, 0)]
            for last in [min(-((start - until) // step), count)]
            if first < last and since - longer < end
        ]
        for first, last, number in _worst(met):
            changes[first] += number
            changes[last] -= number
    return list(itertools.accumulate(changes[:-1]))


class _Met(NamedTuple):
    """A level that the steps from ``first`` until before ``last`` meet."""

    first: int
    last: int
    number: int


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
            worst = min(each.number for each in met[oldest:newest])
            yield _Met(first, last, worst)


def held(
    windows: Iterable[interval.Taken],
    start: datetime.datetime,
    end: datetime.datetime,
    step: datetime.timedelta,
) -> list[int]:
    """Return, for each step from start to end, how many resources are held
    at some instant of it; one that two windows hold counts once.

    The last step may be shorter. The cost grows with the sum of windows and
    steps, not with their product.
    """
    count = -((start - end) // step)
    changes = [0] * (count + 1)
    met = (
        (
            resource,
            (begin - start) // step,
            min(-((start - over) // step), count),
        )
        for resource, begin, over in windows
    )
    for first, last in _apart(met, 0):
        changes[first] += 1
        changes[last] -= 1
    return list(itertools.accumulate(changes[:-1]))


def peaks(
    windows: Iterable[interval.Taken],
    start: datetime.datetime,
    end: datetime.datetime,
    step: datetime.timedelta,
    longer: datetime.timedelta = datetime.timedelta(0),
) -> list[int]:
    """Return, for each step from start to end, the most resources that are
    held at one instant of it; one that two windows hold counts once.

    The cost grows with the sum of windows and steps, not with their product.

    :param longer: how far each step reaches beyond the start of the next one
    """
    known = _numbers(windows, start)
    found = []
    most = collections.deque[int]()
    seen = 0
    for number in range(-((start - end) // step)):
        begin = start + number * step
        # ``begin + step`` and ``known[seen][0] + longer`` could exceed the
        # last date that Python knows.
        until = begin + min(step, end - begin)
        while seen < len(known) and known[seen][0] - longer < until:
            while most and known[most[-1]][1] <= known[seen][1]:
                most.pop()
            most.append(seen)
            seen += 1
        # A level lasts until the next one.
        while most[0] + 1 < len(known) and known[most[0] + 1][0] <= begin:
            most.popleft()
        found.append(known[most[0]][1])
    return found


def peak(
    windows: Iterable[interval.Taken],
    start: datetime.datetime,
    end: datetime.datetime,
) -> int:
    """Return the most resources that are held at one instant from start until
    just before end; one that two windows hold counts once."""
    return max(
        number for time, number in _numbers(windows, start) if time < end
    )


def _numbers(
    windows: Iterable[interval.Taken], start: datetime.datetime
) -> Line:
    """Return how many resources are held from start on, and from each time at
    which that may change."""
    changes = Counter[datetime.datetime]({start: 0})
    for first, over in _apart(windows, start):
        changes[first] += 1
        changes[over] -= 1
    return of(changes)


def _apart(
    windows: Iterable[tuple[int, _Time, _Time]], start: _Time
) -> Iterator[tuple[_Time, _Time]]:
    """Yield when resources are held from start on; no window of a resource
    overlaps another one of it."""
    upto = dict[int, _Time]()
    for resource, begin, over in sorted(windows):
        first = max(begin, start, upto.get(resource, start))
        if first < over:
            yield first, over
            upto[resource] = over
