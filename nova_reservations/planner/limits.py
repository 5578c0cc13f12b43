# SPDX-License-Identifier: Apache-2.0
"""The comparison of what a project holds with its limits.

A change is refused only where it adds to what is too much: who has more than
a limit that was lowered can still give back, and ask for other times.
"""

from collections import Counter
from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Iterable
import dataclasses
import datetime
import itertools

from nova_reservations import objects
from nova_reservations.objects import limits


@dataclasses.dataclass(frozen=True, slots=True)
class Breach:
    """A limit that would be exceeded.

    :ivar what: in words, with the number.
    :ivar at: the instant at which it would be exceeded; None: it is of no
        instant.
    """

    what: str
    allowed: int
    at: datetime.datetime | None = None

    def __str__(self) -> str:
        when = f' at {self.at:%Y-%m-%d %H:%M}' if self.at else ''
        return f'{self.what}{when}, {self.allowed} allowed for this project'


def of_leases(
    count: limits.Count, limit: limits.Limits, waits: bool
) -> Breach | None:
    """Return the limit that a new lease exceeds, which is counted already.

    :param waits: whether it is one that waits for capacity
    """
    if limit.leases is not None and count.leases > limit.leases:
        what = objects.plural(count.leases, 'lease', 'leases')
        return Breach(what, limit.leases)
    if waits and limit.waiting is not None and count.waiting > limit.waiting:
        what = objects.plural(
            count.waiting, 'lease that waits', 'leases that wait'
        )
        return Breach(what, limit.waiting)
    return None


def of_resources(
    others: Collection[limits.Held],
    before: Collection[limits.Held],
    after: Collection[limits.Held],
    limit: limits.Limits,
    now: datetime.datetime,
) -> Breach | None:
    """Return a limit that a lease exceeds.

    :param others: held by the other leases of its project
    :param before: held by this one until now
    :param after: held by it from now on
    """
    for most, of, one, many in (
        (limit.hosts, _hosts, 'host', 'hosts'),
        (limit.slots, _slots, 'slot', 'slots'),
    ):
        if most is None:
            continue
        worst = _worst(others, before, after, of, most, now)
        if worst is not None:
            number, at = worst
            return Breach(objects.plural(number, one, many), most, at)
    if limit.host_hours is not None:
        was = _host_time([*others, *before], now)
        will_be = _host_time([*others, *after], now)
        if will_be > max(was, limit.host_hours * limits.HOUR):
            hours = -(-will_be // limits.HOUR)
            what = objects.plural(hours, 'host hour', 'host hours')
            return Breach(f'{what} from now on', limit.host_hours)
    return None


def used(
    count: limits.Count, held: Collection[limits.Held], now: datetime.datetime
) -> limits.Used:
    """Return what is used of each limit."""
    return limits.Used(
        leases=count.leases,
        waiting=count.waiting,
        hosts=_peak(held, _hosts, now),
        slots=_peak(held, _slots, now),
        host_hours=-(-_host_time(held, now) // limits.HOUR),
    )


def _hosts(held: limits.Held) -> int:
    return held.hosts


def _slots(held: limits.Held) -> int:
    return held.slots


def _worst(
    others: Iterable[limits.Held],
    before: Iterable[limits.Held],
    after: Iterable[limits.Held],
    of: Callable[[limits.Held], int],
    most: int,
    now: datetime.datetime,
) -> tuple[int, datetime.datetime] | None:
    """Return the highest number above a limit to which the change adds, and
    the first instant at which it is reached."""
    total = _changes([*others, *after], of, now)
    added = _changes(after, of, now)
    added.subtract(_changes(before, of, now))
    worst: tuple[int, datetime.datetime] | None = None
    number = more = 0
    for time in sorted({*total, *added}):
        number += total[time]
        more += added[time]
        if more > 0 and number > most and (worst is None or number > worst[0]):
            worst = number, time
    return worst


def _peak(
    held: Iterable[limits.Held],
    of: Callable[[limits.Held], int],
    now: datetime.datetime,
) -> int:
    changes = _changes(held, of, now)
    return max(
        itertools.accumulate(changes[time] for time in sorted(changes)),
        default=0,
    )


def _changes(
    held: Iterable[limits.Held],
    of: Callable[[limits.Held], int],
    now: datetime.datetime,
) -> Counter[datetime.datetime]:
    changes = Counter[datetime.datetime]()
    for each in held:
        start = max(each.window.start, now)
        if each.window.end > start:
            changes[start] += of(each)
            changes[each.window.end] -= of(each)
    return changes


def _host_time(
    held: Iterable[limits.Held], now: datetime.datetime
) -> datetime.timedelta:
    return sum(
        (
            each.hosts
            * max(
                each.window.end - max(each.window.start, now),
                datetime.timedelta(0),
            )
            for each in held
        ),
        datetime.timedelta(0),
    )
