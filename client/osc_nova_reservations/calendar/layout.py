# SPDX-License-Identifier: Apache-2.0
"""Positions of the bars of a row: arithmetic that text and HTML share."""

import bisect
from collections.abc import Iterable
import dataclasses
import datetime
import itertools

from osc_nova_reservations.calendar import model

_HOUR = datetime.timedelta(hours=1)
_DAY = datetime.timedelta(days=1)
_HOURLY = 2 * _DAY
"""The longest window that has a column for each hour, and not each day."""


def within(bars: Iterable[model.Bar], window: model.Window) -> list[model.Bar]:
    """Return the bars that overlap the window."""
    return [
        bar
        for bar in bars
        if max(bar.start, window.start) < min(bar.end, window.end)
    ]


def lanes(bars: Iterable[model.Bar]) -> list[list[model.Bar]]:
    """Return the bars in as few lanes as possible, so that no two bars of a
    lane overlap. Each bar goes to the first lane that is free."""
    found: list[list[model.Bar]] = []
    for bar in sorted(bars, key=lambda bar: (bar.start, bar.end)):
        for lane in found:
            if lane[-1].end <= bar.start:
                lane.append(bar)
                break
        else:
            found.append([bar])
    return found


@dataclasses.dataclass(frozen=True, slots=True)
class Cells:
    """A bar on columns of text, from first up to, but without, last."""

    first: int
    last: int
    bar: model.Bar


def column(when: datetime.datetime, window: model.Window, width: int) -> int:
    """Return the column of a time in a window of that width.

    Times before the window are in column 0. The end of the window, and later
    times, are in the column after the last one.
    """
    inside = min(max(when, window.start), window.end)
    return (inside - window.start) * width // window.length


def cells(
    lane: Iterable[model.Bar], window: model.Window, width: int
) -> tuple[list[Cells], int]:
    """Return the columns of the bars of a lane, and how many bars are left
    out because earlier bars occupy all their columns.

    :param lane: bars in the order of time, all of which overlap the window
    """
    shown: list[Cells] = []
    hidden = used = 0
    for bar in lane:
        start = column(bar.start, window, width)
        last = max(column(bar.end, window, width), start + 1)
        first = max(start, used)
        if first < last:
            shown.append(Cells(first, last, bar))
            used = last
        else:
            hidden += 1
    return shown, hidden


def midnight(day: datetime.date, zone: datetime.tzinfo) -> datetime.datetime:
    """Return when a day begins in a zone, in UTC. That is later than 0:00
    where the clocks are put forward at midnight."""
    start = datetime.datetime.combine(day, datetime.time(), zone)
    return start.astimezone(datetime.UTC)


def whole_days(window: model.Window) -> model.Window:
    """Return the days that the window touches, in its zone."""
    first = window.local(window.start).date()
    last = window.local(window.end).date()
    end = midnight(last, window.zone)
    if end < window.end:
        end = midnight(last + _DAY, window.zone)
    return dataclasses.replace(
        window, start=midnight(first, window.zone), end=end
    )


def is_hourly(window: model.Window) -> bool:
    """Return whether a calendar has a column for each hour."""
    first = window.local(window.start).date()
    return window.end <= midnight(first + _HOURLY, window.zone)


def columns(window: model.Window) -> list[datetime.datetime]:
    """Return the time at which each day of a window begins, or each hour if
    the window is short; in UTC, because times of one zone are compared as
    clocks show them, which is wrong for an hour that occurs twice.

    :param window: of whole days
    """
    return hours(window) if is_hourly(window) else days(window)


def days(window: model.Window) -> list[datetime.datetime]:
    """Return when the days begin of which the window has some time."""
    day = window.local(window.start).date()
    found = [midnight(day, window.zone)]
    while True:
        day += _DAY
        begin = midnight(day, window.zone)
        if begin >= window.end:
            return found
        # A day that the zone skipped begins with the next one.
        if begin > found[-1]:
            found.append(begin)


def hours(window: model.Window) -> list[datetime.datetime]:
    """Return when the hours begin of which the window has some time. A day of
    a change of the clocks has 23 or 25."""
    found = []
    for begin, end in itertools.pairwise((*days(window), window.end)):
        number = -((begin - end) // _HOUR)
        found += [begin + hour * _HOUR for hour in range(number)]
    return [begin for begin in found if begin + _HOUR > window.start]


@dataclasses.dataclass(frozen=True, slots=True)
class Scale:
    """Columns of the same width, however long their days are.

    :ivar marks: when each column begins, and when the last one ends.
    """

    marks: tuple[datetime.datetime, ...]

    @classmethod
    def of(cls, window: model.Window) -> 'Scale':
        """:param window: of whole days"""
        return cls((*columns(window), window.end))

    @property
    def columns(self) -> int:
        return len(self.marks) - 1

    def place(self, when: datetime.datetime) -> float:
        """Return how many columns, and parts of one, are before a time that
        is moved into the window if it is outside."""
        inside = min(max(when, self.marks[0]), self.marks[-1])
        number = bisect.bisect_right(self.marks, inside) - 1
        if number == self.columns:
            return float(number)
        begin, end = self.marks[number : number + 2]
        return number + (inside - begin) / (end - begin)

    def percent(self, when: datetime.datetime) -> float:
        """Return how far a time is into the window, from 0 to 100."""
        return round(100 * self.place(when) / self.columns, 3)
