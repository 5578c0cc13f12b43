# SPDX-License-Identifier: Apache-2.0
"""The comparison of what a project holds with its limits.

A change is refused only where it adds to what is too much: who has more than
a limit that was lowered can still give back, and ask for other times.
"""

from collections import Counter
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

    :ivar name: of the limit.
    :ivar at: the instant at which it would be exceeded; None: it is of no
        instant.
    """

    name: str
    number: int
    allowed: int
    at: datetime.datetime | None = None

    def told(self, one: str, many: str) -> str:
        """Return it in words, of which these are for what is limited."""
        what = objects.plural(self.number, one, many)
        when = f' at {self.at:%Y-%m-%d %H:%M}' if self.at else ''
        return f'{what}{when}, {self.allowed} allowed for this project'


def of_leases(
    count: limits.Count, limit: limits.Limits, waits: bool
) -> Breach | None:
    """Return the limit that a new lease exceeds, which is counted already.

    :param waits: whether it is one that waits for capacity
    """
    if limit.leases is not None and count.leases > limit.leases:
        return Breach('leases', count.leases, limit.leases)
    if waits and limit.waiting is not None and count.waiting > limit.waiting:
        return Breach('waiting', count.waiting, limit.waiting)
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
    for name, most in limit.peaks.items():
        worst = _worst(others, before, after, name, most, now)
        if worst is not None:
            number, at = worst
            return Breach(name, number, most, at)
    if limit.host_hours is not None:
        was = _host_time([*others, *before], now)
        will_be = _host_time([*others, *after], now)
        if will_be > max(was, limit.host_hours * limits.HOUR):
            hours = -(-will_be // limits.HOUR)
            return Breach('host_hours', hours, limit.host_hours)
    return None


def used(
    count: limits.Count, held: Collection[limits.Held], now: datetime.datetime
) -> limits.Used:
    """Return what is used of each limit."""
    names = {name for each in held for name in each.counts}
    peaks = {name: _peak(held, name, now) for name in sorted(names)}
    return limits.Used(
        leases=count.leases,
        waiting=count.waiting,
        hosts=peaks.pop(limits.HOSTS, 0),
        slots=peaks.pop(limits.SLOTS, 0),
        host_hours=-(-_host_time(held, now) // limits.HOUR),
        resources=peaks,
    )


def _worst(
    others: Iterable[limits.Held],
    before: Iterable[limits.Held],
    after: Iterable[limits.Held],
    name: str,
    most: int,
    now: datetime.datetime,
) -> tuple[int, datetime.datetime] | None:
    """Return the highest number above a limit to which the change adds, and
    the first instant at which it is reached."""
    total = _changes([*others, *after], name, now)
    added = _changes(after, name, now)
    added.subtract(_changes(before, name, now))
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
    name: str,
    now: datetime.datetime,
) -> int:
    changes = _changes(held, name, now)
    return max(
        itertools.accumulate(changes[time] for time in sorted(changes)),
        default=0,
    )


def _changes(
    held: Iterable[limits.Held],
    name: str,
    now: datetime.datetime,
) -> Counter[datetime.datetime]:
    changes = Counter[datetime.datetime]()
    for each in held:
        start = max(each.window.start, now)
        if each.window.end > start:
            changes[start] += each.count(name)
            changes[each.window.end] -= each.count(name)
    return changes


def _host_time(
    held: Iterable[limits.Held], now: datetime.datetime
) -> datetime.timedelta:
    return sum(
        (
            each.count(limits.HOSTS)
            * max(
                each.window.end - max(each.window.start, now),
                datetime.timedelta(0),
            )
            for each in held
        ),
        datetime.timedelta(0),
    )
