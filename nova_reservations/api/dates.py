# SPDX-License-Identifier: Apache-2.0
"""Formats of dates and durations in requests and answers: in UTC, with whole
seconds."""

import datetime
import re

from nova_reservations import exception
from nova_reservations.objects import interval

FIRST_YEAR = 1970
LAST = interval.LAST
LAST_YEAR = LAST.year

_TIME = (
    r'[ T](?P<hour>[0-9]{1,2})'
    r'(?P<rest>:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,6})?)?'
    r'(Z|[+-][0-9]{2}:?[0-9]{2})?)'
)
# As with strptime, which Blazar uses, months, days and hours may have a digit.
_DATE = re.compile(
    r'(?P<year>[0-9]{4})-(?P<month>[0-9]{1,2})-(?P<day>[0-9]{1,2})' + _TIME
)
_DAY = re.compile('[0-9]{4}-[0-9]{2}-[0-9]{2}')
# The last day that Python knows: clients mean that there is no end.
_FOR_EVER = re.compile(rf'9999-12-31({_TIME})?')
# The format of python-blazarclient; a number without a unit is seconds.
_SHORT_DURATION = re.compile(r'([0-9]{1,9})([smhd]?)')
_UNITS = {
    '': 'seconds',
    's': 'seconds',
    'm': 'minutes',
    'h': 'hours',
    'd': 'days',
}
# ISO 8601, without years and months because their lengths vary.
_ISO_DURATION = re.compile(
    r'P(?=.)(?:(?P<weeks>[0-9]{1,9})W)?(?:(?P<days>[0-9]{1,9})D)?'
    r'(?:T(?=.)(?:(?P<hours>[0-9]{1,9})H)?(?:(?P<minutes>[0-9]{1,9})M)?'
    r'(?:(?P<seconds>[0-9]{1,9})S)?)?'
)


def parse(text: str, now: datetime.datetime) -> datetime.datetime:
    """Return an aware date in UTC; a text without offset means UTC.

    :raises: InvalidInput
    """
    if text == 'now':
        return now
    if _FOR_EVER.fullmatch(text):
        return LAST
    try:
        if not (found := _DATE.fullmatch(text)):
            raise ValueError(text)
        date = datetime.datetime.fromisoformat(_padded(found))
        if date.tzinfo is None:
            date = date.replace(tzinfo=datetime.UTC)
        return _bounded(date.astimezone(datetime.UTC)).replace(microsecond=0)
    except (ValueError, OverflowError) as error:
        raise exception.InvalidInput(
            f'{text} is an invalid date. Required format: %Y-%m-%d %H:%M, '
            f'or ISO 8601 with seconds and offset, or now; from '
            f'{FIRST_YEAR} to {LAST_YEAR}'
        ) from error


def _padded(found: re.Match[str]) -> str:
    """Return a date of ISO 8601."""
    month, day, hour = (
        found[name].zfill(2) for name in ('month', 'day', 'hour')
    )
    return f'{found["year"]}-{month}-{day}T{hour}{found["rest"]}'


def parse_day(text: str) -> datetime.date:
    """Return a day, in whatever time zone is meant.

    :raises: InvalidInput
    """
    try:
        if not _DAY.fullmatch(text):
            raise ValueError(text)
        return datetime.date.fromisoformat(text)
    except ValueError as error:
        raise exception.InvalidInput(
            f'{text} is an invalid day. Required format: %Y-%m-%d'
        ) from error


def parse_until(text: str, now: datetime.datetime) -> datetime.date:
    """Return a day if the text has no time, else an aware date in UTC.

    :raises: InvalidInput
    """
    return parse_day(text) if _DAY.fullmatch(text) else parse(text, now)


def due(text: str, now: datetime.datetime) -> datetime.datetime:
    """Return when something is to begin or end: a client whose dates have
    minutes means now by the minute that has just passed.

    :raises: InvalidInput
    """
    date = parse(text, now)
    minute = now.replace(second=0)
    passed = minute - datetime.timedelta(minutes=1)
    return now if passed <= date < minute else date


def parse_duration(text: int | str) -> datetime.timedelta:
    """Parse a duration: a number of seconds, ``90m``, or ``PT1H30M``.

    :raises: InvalidInput
    """
    try:
        if short := _SHORT_DURATION.fullmatch(str(text)):
            return datetime.timedelta(**{_UNITS[short[2]]: int(short[1])})
        if iso := _ISO_DURATION.fullmatch(str(text)):
            return datetime.timedelta(
                **{
                    unit: int(count)
                    for unit, count in iso.groupdict(default='0').items()
                }
            )
        raise ValueError(text)
    except (ValueError, OverflowError) as error:
        raise exception.InvalidInput(
            f'{text} is an invalid duration. Required format: seconds, or a '
            f'number with s, m, h or d, or ISO 8601 as P1DT12H'
        ) from error


def after(
    start: datetime.datetime, duration: datetime.timedelta
) -> datetime.datetime:
    """:raises: InvalidInput if the end is later than any date may be"""
    try:
        return _bounded(start + duration)
    except (ValueError, OverflowError) as error:
        raise exception.InvalidInput(
            f'The duration ends after the year {LAST_YEAR}'
        ) from error


def check_order(start: datetime.datetime, end: datetime.datetime) -> None:
    """:raises: InvalidInput"""
    if end <= start:
        raise exception.InvalidInput('end must be later than start')


def _bounded(date: datetime.datetime) -> datetime.datetime:
    if not FIRST_YEAR <= date.year <= LAST_YEAR:
        raise ValueError(date)
    return date


def show(date: datetime.datetime) -> str:
    """Return the format that Blazar's clients parse:
    2050-12-26T12:00:00.000000."""
    # The database keeps no fractions. Slicing is fast, which matters because
    # lists show very many dates.
    return date.isoformat()[:19] + '.000000'


def show_stamp(date: datetime.datetime | None) -> str | None:
    """Return the format of Blazar's created_at: 2050-12-26 12:00:00."""
    return None if date is None else date.isoformat(' ')[:19]
