# SPDX-License-Identifier: Apache-2.0
"""Places of the bars of a row: pure reckoning, on text and on paper alike."""

from collections.abc import Iterable
import dataclasses
import datetime

from osc_nova_reservations.calendar import model

_HOUR = datetime.timedelta(hours=1)
_DAY = datetime.timedelta(days=1)
_HOURLY = 2 * _DAY
"""The longest window that has a column for each hour, and not each day."""


def within(bars: Iterable[model.Bar], window: model.Window) -> list[model.Bar]:
    """Return those of the bars that are, at some time, in the window."""
    return [
        bar
        for bar in bars
        if max(bar.start, window.start) < min(bar.end, window.end)
    ]


def lanes(bars: Iterable[model.Bar]) -> list[list[model.Bar]]:
    """Return the bars in as few lanes as they need for none to overlap
    another one of its lane; each in the first lane that is free."""
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
    """A bar on columns of text, from first until just before last."""

    first: int
    last: int
    bar: model.Bar


def column(when: datetime.datetime, window: model.Window, width: int) -> int:
    """Return the column of a time in a window that is so wide; the next one
    for the end and later, and 0 for what was before."""
    inside = min(max(when, window.start), window.end)
    return (inside - window.start) * width // window.length


def cells(
    lane: Iterable[model.Bar], window: model.Window, width: int
) -> tuple[list[Cells], int]:
    """Return the columns of the bars of a lane, and how many bars are left
    out because others have their columns already.

    :param lane: in their order; each is, at some time, in the window
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
    """Return the begins of the days of a window, or of its hours if it is
    short.

    :param window: of whole days
    """
    step = _HOUR if is_hourly(window) else _DAY
    return [
        window.start + number * step for number in range(window.length // step)
    ]
