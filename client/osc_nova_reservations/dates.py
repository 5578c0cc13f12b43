# SPDX-License-Identifier: Apache-2.0
"""Dates as they are typed, and as they are sent to the API."""

import contextlib
import datetime
import re
import zoneinfo

from osc_lib import exceptions

_DAY = re.compile(r'[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}')
_MINUTE = '%Y-%m-%d %H:%M'


def typed(text: str) -> str:
    """Return the date that is meant: a day without a time is its midnight.

    Whether it is a date is judged by the API.
    """
    return f'{text} 00:00' if _DAY.fullmatch(text) else text


def zone(name: str) -> zoneinfo.ZoneInfo:
    """:raises: CommandError if there is no such time zone"""
    try:
        return zoneinfo.ZoneInfo(name)
    # ZoneInfo raises OSError for the name of a folder of zones.
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise exceptions.CommandError(
            f'There is no time zone {name} on this machine: give one as '
            'Europe/Rome (if it has none at all, install tzdata), or give '
            'dates with an offset, as 2050-12-26T12:00+01:00'
        ) from error


def within(text: str, local: zoneinfo.ZoneInfo) -> str:
    """Return a date with an offset; a text without one means local time.

    A local time that occurs twice, when clocks are put back, means the first
    occurrence.

    :raises: CommandError
    """
    if text == 'now':
        return text
    wanted = _parsed(text)
    if wanted.tzinfo:
        return text
    found = wanted.replace(tzinfo=local)
    try:
        same = found.astimezone(datetime.UTC).astimezone(local)
    except OverflowError as error:
        raise _no_date(text) from error
    if same.replace(tzinfo=None, fold=0) != wanted:
        raise exceptions.CommandError(
            f'There is no {wanted:%H:%M} in {local} on {wanted:%Y-%m-%d}: '
            'the clocks are put forward over it; take another time'
        )
    return found.isoformat()


def _parsed(text: str) -> datetime.datetime:
    """:raises: CommandError"""
    with contextlib.suppress(ValueError):
        return datetime.datetime.fromisoformat(text)
    with contextlib.suppress(ValueError):
        return datetime.datetime.strptime(text, _MINUTE)
    raise _no_date(text)


def _no_date(text: str) -> exceptions.CommandError:
    return exceptions.CommandError(
        f'{text} is no date, such as 2050-12-26 or "2050-12-26 12:00"'
    )
