# SPDX-License-Identifier: Apache-2.0
"""Times that repeat at the same local time, across daylight saving."""

from collections.abc import Iterable
import datetime
import zoneinfo

from nova_reservations import exception

LAST_YEAR = 9998
"""The last year that a date of a lease may have."""


def zone(name: str) -> zoneinfo.ZoneInfo:
    """:raises: InvalidInput if there is no such time zone"""
    try:
        return zoneinfo.ZoneInfo(name)
    # ZoneInfo raises OSError for the name of a folder of zones.
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise exception.InvalidInput(
            f'There is no time zone {name}: give one as Europe/Rome, or UTC'
        ) from error


def repeated(
    first: datetime.datetime,
    every: datetime.timedelta,
    count: int,
    within: datetime.tzinfo,
) -> list[datetime.datetime]:
    """Return the first time, and the same local time again and again, in UTC.

    A local time that occurs twice, when clocks are put back, means the first
    occurrence; ``first`` itself stays as it was given.

    :param every: how much later the next one is
    :raises: InvalidInput for a local time that does not exist because clocks
        are put forward, or that is later than any date may be
    """
    local = first.astimezone(within).replace(tzinfo=None, fold=0)
    return [
        first,
        *(
            _in_utc(local, every * number, within)
            for number in range(1, count)
        ),
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
            'another timezone'
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
