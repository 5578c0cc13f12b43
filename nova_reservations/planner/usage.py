# SPDX-License-Identifier: Apache-2.0
"""The number of resources that are held over time, for those who plan."""

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

    The last step may be shorter. Costs the windows and the steps, not one
    times the other.
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
