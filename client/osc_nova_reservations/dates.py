# SPDX-License-Identifier: Apache-2.0
"""Times and durations as people type and read them.

A time without an offset is in one zone: that of the machine, or the one that
``--timezone`` names. The API is sent times with an offset, and answers in UTC.
"""

import argparse
from collections.abc import Callable
import contextlib
import dataclasses
import datetime
import functools
import re
from typing import Any
import zoneinfo

from cliff import columns
from osc_lib import exceptions
import tzlocal

NOW = 'now'
HELP = (
    'now, +2h, "tomorrow 9:00", "monday 9:00", 2050-12-26, '
    '"2050-12-26 12:00", or ISO 8601 with an offset'
)
DURATION_HELP = '90m, 12h, 7d, 2w, 1h30m, PT1H30M'

_LATER = re.compile(r'(?P<now>now)?\s*\+\s*(?P<duration>\S+)')
_DAY = re.compile(
    r'(?P<year>[0-9]{4})-(?P<month>[0-9]{1,2})-(?P<day>[0-9]{1,2})'
)
_WORDS = re.compile(
    r'(?P<day>.*?)(?:[ t]|^)(?P<time>[0-9]{1,2}:[0-9]{2}(:[0-9]{2})?)'
)
_WEEKS = r'(?:(?P<weeks>[0-9]{1,5})w)?'
_DAYS = r'(?:(?P<days>[0-9]{1,6})d)?'
_TIMES = r'(?:(?P<hours>[0-9]{1,7})h)?(?:(?P<minutes>[0-9]{1,9})m)?'
_DURATIONS = [
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        f'{_WEEKS}{_DAYS}{_TIMES}',
        # ISO 8601: months come before the T, and have no length.
        f'P(?=.){_WEEKS}{_DAYS}(?:T(?=.){_TIMES})?',
    )
]
WEEKDAYS = (
    *('monday', 'tuesday', 'wednesday', 'thursday', 'friday'),
    *('saturday', 'sunday'),
)
_ONE_DAY = datetime.timedelta(days=1)
_MINUTE = '%Y-%m-%d %H:%M'


def now() -> datetime.datetime:
    return datetime.datetime.now(datetime.UTC)


def local() -> zoneinfo.ZoneInfo:
    """Return the zone of this machine, which TZ may set.

    :raises: CommandError
    """
    try:
        return zoneinfo.ZoneInfo(tzlocal.get_localzone_name())
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise exceptions.CommandError(
            'The time zone of this machine is not known: give one by '
            '--timezone, as Europe/Rome, or UTC'
        ) from error


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


def duration(text: str) -> datetime.timedelta:
    """Parse a duration, such as ``90m``, ``1h30m`` or ``PT1H30M``; for
    argparse.

    :raises: ArgumentTypeError
    """
    for pattern in _DURATIONS:
        found = pattern.fullmatch(text)
        parts = found.groupdict(default='0') if found else {}
        with contextlib.suppress(OverflowError):
            if length := datetime.timedelta(
                **{unit: int(count) for unit, count in parts.items()}
            ):
                return length
    raise argparse.ArgumentTypeError(
        f'{text} is no duration, such as {DURATION_HELP}'
    )


def sent_duration(length: datetime.timedelta) -> str:
    """Return a duration as the API takes it."""
    return f'PT{round(length.total_seconds())}S'


@dataclasses.dataclass(frozen=True, slots=True)
class Clock:
    """The meaning of times in a zone, at a moment.

    :ivar now: aware.
    :ivar before: what is before the times that are meant; None: now.
    """

    zone: zoneinfo.ZoneInfo
    now: datetime.datetime
    before: datetime.datetime | None = None

    def after(self, start: datetime.datetime) -> 'Clock':
        """Return what times mean that come after a start: on which Monday,
        and how much later."""
        return dataclasses.replace(self, before=start)

    @property
    def _before(self) -> datetime.datetime:
        return (self.before or self.now).astimezone(self.zone)

    def sent(self, text: str) -> str:
        """Return a time that was typed as it is sent. ``now`` stays as it
        is: the clock of the cloud counts.

        :raises: CommandError
        """
        if text.strip().lower() == NOW:
            return NOW
        return self.moment(text).isoformat(timespec='seconds')

    def given(self, **texts: str | None) -> dict[str, str]:
        """Return the times that were given, as they are sent.

        :raises: CommandError
        """
        return {key: self.sent(text) for key, text in texts.items() if text}

    def moment(self, text: str) -> datetime.datetime:
        """Return the time that is meant, in the zone; aware.

        A local time that occurs twice, when clocks are put back, means the
        first occurrence.

        :raises: CommandError
        """
        words = text.strip().lower()
        if words == NOW:
            return self.now.astimezone(self.zone)
        if later := _LATER.fullmatch(words):
            clock = self.after(self.now) if later['now'] else self
            try:
                return clock.later(duration(later['duration']))
            except (argparse.ArgumentTypeError, OverflowError) as error:
                raise _no_time(text) from error
        with contextlib.suppress(ValueError):
            exact = datetime.datetime.fromisoformat(text.strip())
            if exact.tzinfo:
                return exact.astimezone(self.zone)
        if found := _WORDS.fullmatch(words):
            return self._at(self._days(found['day']), found['time'], text)
        return self._at(self._days(words) if words else [], '', text)

    def later(self, length: datetime.timedelta) -> datetime.datetime:
        """Return the time so much later than what is before.

        :raises: OverflowError
        """
        # Hours are counted, and not the hands of the clock.
        since = self._before.astimezone(datetime.UTC)
        return (since + length).astimezone(self.zone)

    def day(self, text: str) -> str:
        """Return a local day that was typed, as 2050-12-26.

        :raises: CommandError
        """
        return f'{self.moment(text):%Y-%m-%d}'

    def shown(self, moment: datetime.datetime) -> str:
        return f'{moment.astimezone(self.zone):{_MINUTE}}'

    def _days(self, word: str) -> list[datetime.date]:
        """Return the days that a word may mean; the first that is not over
        is meant."""
        today = self.now.astimezone(self.zone).date()
        if word == 'today':
            return [today]
        if word == 'tomorrow':
            return [today + _ONE_DAY]
        first = self._before.date()
        if not word:
            return [first, first + _ONE_DAY]
        for number, name in enumerate(WEEKDAYS):
            if len(word) >= 3 and name.startswith(word):
                ahead = (number - first.weekday()) % 7
                day = first + ahead * _ONE_DAY
                return [day, day + 7 * _ONE_DAY]
        if found := _DAY.fullmatch(word):
            with contextlib.suppress(ValueError):
                return [datetime.date(*map(int, found.groups()))]
        return []

    def _at(
        self, days: list[datetime.date], time: str, text: str
    ) -> datetime.datetime:
        """:raises: CommandError"""
        try:
            at = datetime.time.fromisoformat(_padded(time))
            for day in days:
                found = self._local(datetime.datetime.combine(day, at))
                if found > self._before or day == days[-1]:
                    return found
        except (ValueError, OverflowError) as error:
            raise _no_time(text) from error
        raise _no_time(text)

    def _local(self, wanted: datetime.datetime) -> datetime.datetime:
        """:raises: CommandError for a time that clocks are put forward
        over"""
        found = wanted.replace(tzinfo=self.zone)
        same = found.astimezone(datetime.UTC).astimezone(self.zone)
        if same.replace(tzinfo=None, fold=0) != wanted:
            raise exceptions.CommandError(
                f'There is no {wanted:%H:%M} in {self.zone} on '
                f'{wanted:%Y-%m-%d}: the clocks are put forward over it; '
                'take another time'
            )
        return found


def _padded(time: str) -> str:
    """Return the time with two digits for the hour; none is midnight."""
    hour, colon, rest = time.partition(':')
    return hour.zfill(2) + colon + rest


def _no_time(text: str) -> exceptions.CommandError:
    return exceptions.CommandError(f'{text} is no time, such as {HELP}')


def parsed(text: str) -> datetime.datetime:
    """Return a time that the API has sent, which is in UTC."""
    found = datetime.datetime.fromisoformat(text)
    return found if found.tzinfo else found.replace(tzinfo=datetime.UTC)


class Column(columns.FormattableColumn[Any]):
    """A time: local in tables, in UTC for machines."""

    def __init__(self, value: str | None, clock: Clock) -> None:
        super().__init__(value)
        self._clock = clock

    def human_readable(self) -> str:
        return self._clock.shown(parsed(self._value)) if self._value else ''

    def machine_readable(self) -> str | None:
        if not self._value:
            return None
        moment = parsed(self._value).astimezone(datetime.UTC)
        return f'{moment:%Y-%m-%dT%H:%M:%SZ}'


def columns_of(clock: Clock) -> Callable[[str | None], Column]:
    return functools.partial(Column, clock=clock)
