# SPDX-License-Identifier: Apache-2.0
"""The number of resources that are held over time, for those who plan."""

import collections
from collections import Counter
from collections.abc import Iterable
import datetime
import itertools

from nova_reservations.objects import interval


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
    upto = dict[int, int]()
    for resource, begin, over in sorted(windows):
        first = max((begin - start) // step, upto.get(resource, 0))
        last = min(-((start - over) // step), count)
        if first < last:
            changes[first] += 1
            changes[last] -= 1
            upto[resource] = last
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
    times, counts = _levels(windows, start)
    found = []
    most = collections.deque[int]()
    known = 0
    for number in range(-((start - end) // step)):
        begin = start + number * step
        # ``begin + step`` and ``times[known] + longer`` could exceed the last
        # date that Python knows.
        until = begin + min(step, end - begin)
        while known < len(times) and times[known] - longer < until:
            while most and counts[most[-1]] <= counts[known]:
                most.pop()
            most.append(known)
            known += 1
        # A level lasts until the next one.
        while most[0] + 1 < len(times) and times[most[0] + 1] <= begin:
            most.popleft()
        found.append(counts[most[0]])
    return found


def _levels(
    windows: Iterable[interval.Taken], start: datetime.datetime
) -> tuple[list[datetime.datetime], list[int]]:
    """Return the times from start on at which the number of resources that
    are held may change, and the number from then on."""
    changes = Counter[datetime.datetime]({start: 0})
    upto = dict[int, datetime.datetime]()
    for resource, begin, over in sorted(windows):
        first = max(begin, start, upto.get(resource, start))
        if first < over:
            changes[first] += 1
            changes[over] -= 1
            upto[resource] = over
    times = sorted(changes)
    return times, list(itertools.accumulate(changes[time] for time in times))


def peak(
    windows: Iterable[interval.Taken],
    start: datetime.datetime,
    end: datetime.datetime,
) -> int:
    """Return the most resources that are held at one instant from start until
    just before end; one that two windows hold counts once."""
    changes = Counter[datetime.datetime]()
    upto = dict[int, datetime.datetime]()
    for resource, begin, over in sorted(windows):
        first, last = max(begin, start, upto.get(resource, start)), over
        if first < min(last, end):
            changes[first] += 1
            changes[last] -= 1
            upto[resource] = last
    held = (changes[time] for time in sorted(changes))
    return max(itertools.accumulate(held), default=0)
