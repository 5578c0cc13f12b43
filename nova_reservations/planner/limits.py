# SPDX-License-Identifier: Apache-2.0
"""The comparison of what a project holds with its limits.

A change is refused only where it adds to an excess: a project that has more
than a lowered limit can still give back, and ask for other times.

What a lease that is over has not given back still counts. In the first minute
after its end it counts for the next minute only. Then it counts until its end
is overdue. Once its end is overdue it counts at all times to come.
"""

from collections import Counter
from collections.abc import Iterable
from collections.abc import Mapping
import dataclasses
import datetime

from nova_reservations import objects
from nova_reservations.objects import interval
from nova_reservations.objects import limits
from nova_reservations.planner import levels

SOON = datetime.timedelta(minutes=1)
"""What is over counts for at least this long from now on, because clients give
a start of now to the minute. No ordinary end takes longer."""

FOREVER = datetime.datetime.max.replace(tzinfo=datetime.UTC)


@dataclasses.dataclass(frozen=True, slots=True)
class Breach:
    """A limit that would be exceeded.

    :ivar name: of the limit.
    :ivar at: the instant at which it would be exceeded; None: the limit
        is not about instants.
    :ivar leaving: id -> end, of leases that are over and still count.
    :ivar kept: the part of the number that these leases have not given back.
    """

    name: str
    number: int
    allowed: int
    at: datetime.datetime | None = None
    leaving: Mapping[str, datetime.datetime] = dataclasses.field(
        default_factory=dict
    )
    kept: int = 0

    def told(self, one: str, many: str) -> str:
        """Return the breach in words.

        :param one: the word for one of what is limited
        :param many: the word for several
        """
        what = objects.plural(self.number, one, many)
        when = f' at {self.at:%Y-%m-%d %H:%M}' if self.at else ''
        return (
            f'{what}{when}, {self.allowed} allowed for this project'
            f'{self._why()}'
        )

    def _why(self) -> str:
        if not self.leaving:
            return ''
        ends = sorted((end, each) for each, end in self.leaving.items())
        (end, first), *others = ends
        who = f'lease {first}, which ended at {end:%Y-%m-%d %H:%M},'
        if others:
            who += f' and {objects.plural(len(others), "other", "others")}'
        if self.kept:
            has = 'have' if others else 'has'
            return f'; {who} {has} not given back {self.kept} of them'
        counts = 'count' if others else 'counts'
        return f'; {who} {counts} until all is given back'


def of_leases(
    count: limits.Count,
    limit: limits.Limits,
    waits: bool,
    now: datetime.datetime,
    patience: datetime.timedelta,
) -> Breach | None:
    """Return the limit that a new lease exceeds; ``count`` includes the lease.

    :param waits: whether it is one that waits for capacity
    :param patience: the longest that an end may take
    """
    leaving = _overdue(count, now, patience)
    number = count.leases + len(leaving)
    if limit.leases is not None and number > limit.leases:
        return Breach('leases', number, limit.leases, leaving=leaving)
    if waits and limit.waiting is not None and count.waiting > limit.waiting:
        return Breach('waiting', count.waiting, limit.waiting)
    return None


def of_resources(
    others: Iterable[limits.Counted],
    before: Iterable[limits.Counted],
    after: Iterable[limits.Counted],
    limit: limits.Limits,
    now: datetime.datetime,
    patience: datetime.timedelta,
) -> Breach | None:
    """Return a limit that a lease exceeds.

    :param others: held by the other leases of its project
    :param before: held by this one until now
    :param after: held by it from now on
    :param patience: the longest that an end may take
    """
    others = _counted(others, now, patience)
    # No patience here: what this lease itself has not given back must not
    # count against the time that the lease asks for.
    before, after = _counted(before, now), _counted(after, now)
    for name, most in limit.peaks.items():
        worst = _worst(others, before, after, name, most, now)
        if worst is not None:
            number, at = worst
            return _breach([*others, *after], name, number, most, at)
    if limit.host_hours is not None:
        was = _host_time([*others, *before], now)
        will_be = _host_time([*others, *after], now)
        if will_be > max(was, limit.host_hours * limits.HOUR):
            hours = -(-will_be // limits.HOUR)
            return Breach('host_hours', hours, limit.host_hours)
    return None


def _breach(
    held: Iterable[limits.Counted],
    name: str,
    number: int,
    most: int,
    at: datetime.datetime,
) -> Breach:
    leaving = {}
    kept = 0
    for each in held:
        if (
            each.ended_at is not None
            and each.count(name)
            and each.window.start <= at < each.window.end
        ):
            leaving[each.lease_id] = each.ended_at
            kept += each.count(name)
    return Breach(name, number, most, at, leaving, kept)


def used(
    count: limits.Count,
    held: Iterable[limits.Counted],
    now: datetime.datetime,
    patience: datetime.timedelta,
) -> limits.Used:
    """Return what is used of each limit.

    :param patience: the longest that an end may take
    """
    held = _counted(held, now, patience)
    names = {name for each in held for name in each.counts}
    peaks = {name: _peak(held, name, now) for name in sorted(names)}
    return limits.Used(
        leases=count.leases + len(_overdue(count, now, patience)),
        waiting=count.waiting,
        hosts=peaks.pop(limits.HOSTS, 0),
        slots=peaks.pop(limits.SLOTS, 0),
        host_hours=-(-_host_time(held, now) // limits.HOUR),
        resources=peaks,
    )


def _counted(
    held: Iterable[limits.Counted],
    now: datetime.datetime,
    patience: datetime.timedelta | None = None,
) -> list[limits.Counted]:
    """Return what is held, each for the time in which it counts.

    :param patience: the longest that an end may take; None: nothing is
        overdue
    """
    return [
        each if each.window.end > now else _kept(each, now, patience)
        for each in held
    ]


def _kept(
    held: limits.Counted,
    now: datetime.datetime,
    patience: datetime.timedelta | None,
) -> limits.Counted:
    """Return what should be given back by now, with the window in which it
    counts."""
    end = held.window.end
    until = now + SOON
    if patience is not None and end + patience <= now:
        until = FOREVER
    elif patience is not None and end + SOON <= now:
        # A minute is not enough: a project could keep what is over and ask
        # for a lease a little later, again and again.
        until = max(until, end + patience)
    return dataclasses.replace(
        held, window=interval.Interval(now, until), ended_at=end
    )


def _overdue(
    count: limits.Count, now: datetime.datetime, patience: datetime.timedelta
) -> dict[str, datetime.datetime]:
    """Return id -> end, of leases whose end takes longer than it may."""
    return {
        lease_id: end
        for lease_id, end in count.leaving.items()
        if end + patience <= now
    }


def _worst(
    others: Iterable[limits.Counted],
    before: Iterable[limits.Counted],
    after: Iterable[limits.Counted],
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
    held: Iterable[limits.Counted],
    name: str,
    now: datetime.datetime,
) -> int:
    numbers = levels.of(_changes(held, name, now))
    return max((number for _, number in numbers), default=0)


def _changes(
    held: Iterable[limits.Counted],
    name: str,
    now: datetime.datetime,
) -> Counter[datetime.datetime]:
    changes = Counter[datetime.datetime]()
    for each in held:
        changes[max(each.window.start, now)] += each.count(name)
        changes[each.window.end] -= each.count(name)
    return changes


def _host_time(
    held: Iterable[limits.Counted], now: datetime.datetime
) -> datetime.timedelta:
    return sum(
        (
            each.count(limits.HOSTS)
            * (each.window.end - max(each.window.start, now))
            for each in held
            # A lease that is over has no host hours to come.
            if each.ended_at is None
        ),
        datetime.timedelta(0),
    )
