# SPDX-License-Identifier: Apache-2.0
"""Positions of the bars of a row: arithmetic that text and HTML share."""

from collections.abc import Iterable
import dataclasses
import datetime

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


def percent(when: datetime.datetime, window: model.Window) -> float:
    """Return how far a time is into a window, from 0 to 100."""
    inside = min(max(when, window.start), window.end)
    return round(100 * ((inside - window.start) / window.length), 3)


def whole_days(window: model.Window) -> model.Window:
    """Return the days that the window touches."""
    midnight = datetime.time(tzinfo=datetime.UTC)
    start = datetime.datetime.combine(window.start.date(), midnight)
    last = datetime.datetime.combine(window.end.date(), midnight)
    end = last if last == window.end else last + _DAY
    return model.Window(start, end)


def is_hourly(window: model.Window) -> bool:
    return window.length <= _HOURLY


def columns(window: model.Window) -> list[datetime.datetime]:
    """Return the time at which each day of a window begins, or each hour if
    the window is short.

    :param window: of whole days
    """
    step = _HOUR if is_hourly(window) else _DAY
    return [
        window.start + number * step for number in range(window.length // step)
    ]
