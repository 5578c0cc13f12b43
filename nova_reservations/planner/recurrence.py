# SPDX-License-Identifier: Apache-2.0
"""Times that repeat at the same local time, across daylight saving.

Decision 0035: doc/source/decisions/0035-a-series-is-one-booking
"""

from collections.abc import Iterable
from collections.abc import Sequence
import dataclasses
import datetime
import itertools
import zoneinfo

from dateutil import rrule

from nova_reservations import exception

LAST_YEAR = 9998
"""The last year that a date of a lease may have."""

MOST = 64
"""The most times that a rule may give."""

WEEK = datetime.timedelta(days=7)


@dataclasses.dataclass(frozen=True, slots=True)
class Rule:
    """When something repeats by the clock, as a RRULE of RFC 5545 has it.
    Either ``count`` or ``until`` is given.

    :ivar every: how much later the next time is.
    :ivar count: how many times there are, with those that are left out.
    :ivar until: the local day, or the time, after which none begins.
    :ivar timezone: the time zone of the local time.
    :ivar weekdays: names as MO: each of these days of every week is meant;
        none: that of the first.
    :ivar left_out: local days on which it is not repeated.
    """

    every: datetime.timedelta
    count: int | None = None
    until: datetime.date | None = None
    timezone: str = 'UTC'
    weekdays: Sequence[str] = ()
    left_out: frozenset[datetime.date] = frozenset()


def zone(name: str) -> zoneinfo.ZoneInfo:
    """:raises: InvalidInput if there is no such time zone"""
    try:
        return zoneinfo.ZoneInfo(name)
    # ZoneInfo raises OSError for the name of a folder of zones.
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise exception.InvalidInput(
            f'There is no time zone {name}: give one as Europe/Rome, or UTC'
        ) from error


def later(first: datetime.datetime, rule: Rule) -> list[datetime.timedelta]:
    """Return how much later than the first time each time of the rule is, by
    the clock. The first is none of them if its day is not of the rule.

    :raises: InvalidInput for a rule that gives none or too many, or leaves
        out what it does not have
    """
    if rule.weekdays and rule.every != WEEK:
        raise exception.InvalidInput('weekdays go with every P1W only')
    # rrule has whole seconds.
    local = _clock(first, zone(rule.timezone)).replace(microsecond=0)
    times = _times(local, rule)
    if not times:
        raise exception.InvalidInput(
            f'The series would have 0 leases: until {rule.until} is before '
            'the first of them; give a later one'
        )
    days = [time.date() for time in times]
    kept = [time for time in times if time.date() not in rule.left_out]
    if len(kept) > MOST:
        raise exception.InvalidInput(
            f'The series would have more than {MOST} leases, which is the '
            f'most: lease {MOST} is on {kept[MOST - 1]:%Y-%m-%d}; give that '
            'as until, and another series for the time after it'
        )
    if strange := sorted(rule.left_out.difference(days)):
        raise exception.InvalidInput(
            f'{strange[0]} is no day of the series, so except can not leave '
            f'it out: the days are from {days[0]} to {days[-1]}, as every, '
            'weekdays and timezone say'
        )
    if not kept:
        raise exception.InvalidInput(
            'The series would have 0 leases: except leaves out all of its '
            f'days, of which there are {len(days)}'
        )
    return [time - local for time in kept]


def _times(local: datetime.datetime, rule: Rule) -> list[datetime.datetime]:
    """Return the times of the rule by the clock, with those that are left
    out; if there are too many, one more than there may be."""
    until = rule.until
    if isinstance(until, datetime.datetime):
        until = _clock(until, zone(rule.timezone))
    elif until is not None:
        until = datetime.datetime.combine(until, datetime.time.max)
    often = (
        {'freq': rrule.WEEKLY, 'byweekday': _weekdays(rule)}
        if rule.weekdays
        else {
            'freq': rrule.SECONDLY,
            'interval': int(rule.every.total_seconds()),
        }
    )
    times = rrule.rrule(dtstart=local, count=rule.count, until=until, **often)
    return list(itertools.islice(times, MOST + len(rule.left_out) + 1))


def _weekdays(rule: Rule) -> list[rrule.weekday]:
    return [getattr(rrule, name) for name in rule.weekdays]


def _clock(
    time: datetime.datetime, within: datetime.tzinfo
) -> datetime.datetime:
    """Return what clocks show."""
    return time.astimezone(within).replace(tzinfo=None, fold=0)


def repeated(
    first: datetime.datetime,
    delays: Iterable[datetime.timedelta],
    within: datetime.tzinfo,
) -> list[datetime.datetime]:
    """Return the times that are so much later by the clock, in UTC.

    A local time that occurs twice, when clocks are put back, means the first
    occurrence; ``first`` itself stays as it was given.

    :raises: InvalidInput for a local time that does not exist because clocks
        are put forward, or that is later than any date may be
    """
    local = _clock(first, within)
    return [
        _in_utc(local, delay, within) if delay else _bounded(first)
        for delay in delays
    ]


def _in_utc(
    local: datetime.datetime,
    later: datetime.timedelta,
    within: datetime.tzinfo,
) -> datetime.datetime:
    """:raises: InvalidInput"""
    try:
        wanted = local + later
        found = _bounded(
            wanted.replace(tzinfo=within).astimezone(datetime.UTC)
        )
    except OverflowError as error:
        raise _beyond() from error
    if found.astimezone(within).replace(tzinfo=None, fold=0) != wanted:
        raise exception.InvalidInput(
            f'There is no {wanted:%H:%M} in {within} on {wanted:%Y-%m-%d}: '
            'the clocks are put forward over it; take another time, or '
            'another timezone, or leave the day out with except'
        )
    return found


def after(
    times: Iterable[datetime.datetime], duration: datetime.timedelta
) -> list[datetime.datetime]:
    """Return each of the times, later by the duration.

    :raises: InvalidInput if one is later than any date may be
    """
    try:
        return [_bounded(time + duration) for time in times]
    except OverflowError as error:
        raise _beyond() from error


def _bounded(time: datetime.datetime) -> datetime.datetime:
    """:raises: InvalidInput"""
    if time.year > LAST_YEAR:
        raise _beyond()
    return time


def _beyond() -> exception.InvalidInput:
    return exception.InvalidInput(
        f'The series ends after the year {LAST_YEAR}'
    )
