# SPDX-License-Identifier: Apache-2.0
"""The times at which a lease finds room: when it can start, and how long it
can last.

The line of a resource says how many slots are free on it from one change to
the next; a whole resource is one slot. A window has the least that is free at
any of its instants. The lines give the slots of a window for each time at
which it can begin, and one sweep finds when all reservations have enough.

Decision 0032: doc/source/decisions/0032-refusals-tell-when
"""

import bisect
from collections import Counter
from collections import deque
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import datetime
import itertools
import operator

from nova_reservations.objects import demand as demands
from nova_reservations.planner import draining
from nova_reservations.planner import levels

TRIES = 100
"""The most starts for which several reservations are matched to resources."""

_SECOND = datetime.timedelta(seconds=1)
"""Windows begin at whole seconds."""

_LATEST = datetime.datetime(9998, 12, 31, tzinfo=datetime.UTC)
"""No lease ends after it."""

_time = operator.itemgetter(0)


@dataclasses.dataclass(frozen=True, slots=True)
class Prospect:
    """A reservation of a lease, and the resources that it could have.

    :ivar lines: by the ids of the resources.
    :ivar aftermath: for how long after the lease they stay held.
    :ivar keeps: resource id -> slots that the reservation has and keeps there.
    :ivar is_pool: its only line is the sum of all resources.
    """

    demand: demands.Ask
    lines: Mapping[int, levels.Line]
    aftermath: datetime.timedelta = datetime.timedelta()
    keeps: Mapping[int, int] = dataclasses.field(default_factory=dict)
    is_pool: bool = False

    @property
    def need(self) -> int:
        """The least sum of count() over its resources that is enough."""
        if self.demand.exclusive:
            return self.demand.minimum
        return 1 if self.demand.affinity else self.demand.slots

    def count(self, resource: int, slots: int) -> int:
        """Return what the resource adds to the sum that must reach ``need``,
        if so many slots are free there."""
        if self.is_pool:
            return slots
        if self.demand.exclusive or self.demand.affinity is False:
            return self.keeps.get(resource) or min(slots, 1)
        if self.demand.affinity is None:
            return slots
        return int(
            slots >= self.demand.slots and self.keeps.keys() <= {resource}
        )


def pooled(prospect: Prospect) -> Prospect:
    """Return the prospect for as many resources at each instant, but not
    necessarily the same resources all the time."""
    changes = Counter[datetime.datetime]()
    for its in prospect.lines.values():
        before = 0
        for time, slots in its:
            changes[time] += slots - before
            before = slots
    line = levels.of(changes)
    return dataclasses.replace(
        prospect, lines={0: line} if line else {}, is_pool=True
    )


def starts(
    prospects: Sequence[Prospect],
    begin: datetime.datetime,
    duration: datetime.timedelta,
    until: datetime.datetime | None = None,
    *,
    sure: bool = True,
) -> Iterator[datetime.datetime]:
    """Yield, in order, times at which a lease can start: the first one, and
    each later time at which what is free changes and is enough.

    With several reservations, one of them of shares, no start is sure.

    :param until: the lines know all that begins before it; None: they know all
    :param sure: whether the reservations must have enough beside each other;
        otherwise each must have enough by itself
    """
    if sure and not _can_tell(prospects):
        return
    changes = sorted(
        (
            (time, index, resource, slots)
            for index, prospect in enumerate(prospects)
            for resource, its in prospect.lines.items()
            for time, slots in _windows(
                its, begin, duration + prospect.aftermath
            )
        ),
        key=_time,
    )
    longest = max(
        (prospect.aftermath for prospect in prospects), default=_SECOND
    )
    free: list[dict[int, int]] = [{} for _ in prospects]
    counts = [0] * len(prospects)
    tries = TRIES
    for time, together in itertools.groupby(changes, key=_time):
        if until is not None and time + duration + longest > until:
            return
        for _, index, resource, slots in together:
            prospect = prospects[index]
            before = free[index].get(resource, 0)
            counts[index] += prospect.count(resource, slots)
            counts[index] -= prospect.count(resource, before)
            free[index][resource] = slots
        if any(
            count < prospect.need
            for prospect, count in zip(prospects, counts, strict=True)
        ):
            continue
        if sure and len(prospects) > 1:
            if not tries:
                return
            tries -= 1
            if not _is_matched(prospects, free):
                continue
        yield time


def latest_end(
    prospects: Sequence[Prospect],
    begin: datetime.datetime,
    after: datetime.datetime,
    before: datetime.datetime,
    until: datetime.datetime | None = None,
) -> datetime.datetime | None:
    """Return the latest end between ``after`` and ``before`` that a lease can
    have if it begins at ``begin``; None if that is not known.

    :param until: the lines know all that begins before it; None: they know all
    """
    if not _can_tell(prospects):
        return None
    falling = [
        {
            resource: _falling(its, begin)
            for resource, its in prospect.lines.items()
        }
        for prospect in prospects
    ]
    ends = sorted(
        {
            time - prospect.aftermath
            for prospect, lines in zip(prospects, falling, strict=True)
            for its in lines.values()
            for time, _ in its
            if until is None or time <= until
        }
    )
    ends = [end for end in ends if after < end < before]

    def is_too_late(end: datetime.datetime) -> bool:
        free = [
            {
                resource: its[
                    bisect.bisect_left(
                        its, end + prospect.aftermath, key=_time
                    )
                    - 1
                ][1]
                for resource, its in lines.items()
            }
            for prospect, lines in zip(prospects, falling, strict=True)
        ]
        return not _is_enough(prospects, free)

    # A lease that has enough until some end has enough until earlier ends.
    fitting = bisect.bisect_left(ends, True, key=is_too_late)
    return ends[fitting - 1] if fitting else None


def _can_tell(prospects: Sequence[Prospect]) -> bool:
    return len(prospects) == 1 or all(
        prospect.demand.exclusive for prospect in prospects
    )


def _windows(
    its: levels.Line, begin: datetime.datetime, length: datetime.timedelta
) -> Iterator[tuple[datetime.datetime, int]]:
    """Yield begin -> slots of a window that begins then, for each begin at
    which the number of slots changes."""
    # Windows that begin less than a length before a change meet what comes
    # after the change; windows that begin at the change or later no longer
    # meet what was before it.
    times = {begin}
    for time, _ in its:
        times |= {time, time - length + _SECOND}
    ends = [*(time for time, _ in its[1:]), None]
    coming = deque(zip(its, ends, strict=True))
    # The levels in the window, without those that a later one undercuts: the
    # first of the rest is the least.
    inside: deque[tuple[int, datetime.datetime | None]] = deque()
    last = None
    latest = _LATEST - length
    for begins in sorted(time for time in times if begin <= time <= latest):
        while coming and coming[0][0][0] < begins + length:
            (_, slots), end = coming.popleft()
            while inside and inside[-1][0] >= slots:
                inside.pop()
            inside.append((slots, end))
        while (end := inside[0][1]) is not None and end <= begins:
            inside.popleft()
        if inside[0][0] != last:
            last = inside[0][0]
            yield begins, last


def _falling(its: levels.Line, begin: datetime.datetime) -> levels.Line:
    """Return the least that is free from begin until each time, as a line of
    the times at which this least falls."""
    first = bisect.bisect_right(its, begin, key=_time) - 1
    falling = [its[first]]
    for time, slots in its[first + 1 :]:
        if slots < falling[-1][1]:
            falling.append((time, slots))
    return falling


def _is_enough(
    prospects: Sequence[Prospect], free: Sequence[Mapping[int, int]]
) -> bool:
    """:param free: of each reservation, resource id -> slots"""
    for prospect, slots in zip(prospects, free, strict=True):
        kept = sum(prospect.keeps.values())
        most = (
            prospect.demand.maximum
            if prospect.demand.exclusive
            else prospect.demand.slots
        )
        if kept > most or any(
            slots.get(resource, 0) < count
            for resource, count in prospect.keeps.items()
        ):
            return False
        counts = (prospect.count(key, count) for key, count in slots.items())
        if sum(counts) < prospect.need:
            return False
    return len(prospects) == 1 or _is_matched(prospects, free)


def _is_matched(
    prospects: Sequence[Prospect], free: Sequence[Mapping[int, int]]
) -> bool:
    """Return whether each of them can have enough resources of its own."""
    kept = {resource for prospect in prospects for resource in prospect.keeps}
    wants = [
        draining.Want(
            max(prospect.need - len(prospect.keeps), 0),
            {key for key, count in slots.items() if count} - kept,
        )
        for prospect, slots in zip(prospects, free, strict=True)
    ]
    anybody = sorted({key for want in wants for key in want.offers})
    return draining.cheapest(wants, anybody) is not None
