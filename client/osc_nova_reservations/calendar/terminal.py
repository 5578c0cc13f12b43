# SPDX-License-Identifier: Apache-2.0
"""A calendar as text, for a terminal or a file."""

from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Iterator
import dataclasses
import datetime

import wcwidth

from osc_nova_reservations.calendar import layout
from osc_nova_reservations.calendar import model

_FILL = {
    model.Kind.OWN: '#',
    model.Kind.WAITS: '?',
    model.Kind.TAKEN: '-',
    model.Kind.SHARED: '~',
    model.Kind.HELD: 'x',
}
_COLOURS = {
    model.Kind.OWN: '1;97;44',
    model.Kind.WAITS: '1;94',
    model.Kind.TAKEN: '30;47',
    model.Kind.SHARED: '37;100',
    model.Kind.HELD: '30;43',
}
"""The parameters of the escape sequences that select the colours."""

_MOST_NAME = 24
"""The most columns for the names of rows."""

_LEAST_CHART = 20
"""The fewest columns of the chart, however narrow the terminal is."""

_HOUR = datetime.timedelta(hours=1)
_DAY = datetime.timedelta(days=1)
_STEPS = (
    *(hours * _HOUR for hours in (1, 2, 3, 6, 12)),
    *(days * _DAY for days in (1, 2, 7, 14, 28, 56, 112)),
)
"""Lengths of time from one mark to the next."""

_MARK = len('00 Mon ')
"""The fewest columns of a mark."""


def lines(
    calendar: model.Calendar, width: int, colours: bool
) -> Iterator[str]:
    """Yield the lines of a calendar.

    :param width: of the terminal
    """
    titles = [calendar.heading, *(row.name for row in calendar.rows)]
    names = min(max(map(_width, titles)), _MOST_NAME)
    chart = max(width - names - 1, _LEAST_CHART)
    drawing = _Drawing(calendar.window, names, chart, colours)
    window = calendar.window
    start, end = map(window.local, (window.start, window.end))
    yield (
        f'{calendar.title}, {start:%Y-%m-%d %H:%M} to '
        f'{end:%Y-%m-%d %H:%M} {window.zone}'
    )
    yield ''
    yield from drawing.header(calendar.heading)
    for row in calendar.rows:
        yield from drawing.row(row)
    yield ''
    if calendar.kinds:
        yield ', '.join(map(drawing.explained, calendar.kinds))
    else:
        yield 'There is nothing in this time.'


@dataclasses.dataclass(frozen=True, slots=True)
class _Drawing:
    """:ivar names, chart: how many columns the names of rows have, and the
    chart beside them."""

    window: model.Window
    names: int
    chart: int
    colours: bool

    def header(self, heading: str) -> Iterator[str]:
        """Yield the lines that name the time of the columns."""
        step = self._step()
        marks = self._marks(step)
        upper, lower = ('%m-%d %a', '%H:%M')
        if step >= _DAY:
            upper, lower = ('%Y-%m', '%d %a')
        yield self._named('', _spread(self._texts(marks, upper), self.chart))
        yield self._named(
            heading, _spread(self._texts(marks, lower), self.chart)
        )

    def _step(self) -> datetime.timedelta:
        """Return the time between marks, of which there is room for all."""
        room = max(self.chart // _MARK, 1)
        for step in _STEPS:
            if self.window.length <= room * step:
                break
        return step

    def _marks(self, step: datetime.timedelta) -> list[datetime.datetime]:
        """Return the times to mark, in UTC."""
        if step >= _DAY:
            found = layout.days(self.window)[:: step // _DAY]
        else:
            every = step // _HOUR
            found = [
                when
                for when in layout.hours(self.window)
                if self.window.local(when).hour % every == 0
            ]
        return [when for when in found if when >= self.window.start]

    def _texts(
        self, marks: Collection[datetime.datetime], form: str
    ) -> Iterator[tuple[int, str]]:
        """Yield the columns and texts of marks. Successive marks with the
        same text yield it once."""
        before = None
        for mark in marks:
            text = f'{self.window.local(mark):{form}}'
            if text != before:
                yield layout.column(mark, self.window, self.chart), text
            before = text

    def row(self, row: model.Row) -> Iterator[str]:
        """Yield the lines of a row: one, or more if bars overlap."""
        name = row.name
        bars = layout.within(row.bars, self.window)
        for lane in layout.lanes(bars) or [[]]:
            yield self._named(name, self._lane(lane))
            name = ''

    def _lane(self, lane: Iterable[model.Bar]) -> str:
        shown, hidden = layout.cells(lane, self.window, self.chart)
        line, used = '', 0
        for cell in shown:
            line += ' ' * (cell.first - used) + self._bar(cell)
            used = cell.last
        if hidden:
            line += ' ' * (self.chart - used) + f' (+{hidden})'
        return line

    def _bar(self, cell: layout.Cells) -> str:
        kind, width = cell.bar.kind, cell.last - cell.first
        fill = ' ' if self.colours else _FILL[kind]
        text = fill * width
        if width > 2:
            name = _cut(cell.bar.name, width - 2)
            text = f'[{name}{fill * (width - 2 - _width(name))}]'
        return self._painted(text, kind)

    def _painted(self, text: str, kind: model.Kind) -> str:
        if not self.colours:
            return text
        return f'\x1b[{_COLOURS[kind]}m{text}\x1b[0m'

    def _named(self, name: str, rest: str) -> str:
        name = _cut(name, self.names)
        return f'{name}{" " * (self.names - _width(name))} {rest}'.rstrip()

    def explained(self, kind: model.Kind) -> str:
        sample = '   ' if self.colours else _FILL[kind] * 3
        return f'{self._painted(sample, kind)} {model.MEANINGS[kind]}'


def _spread(texts: Iterable[tuple[int, str]], width: int) -> str:
    """Return a line with texts at their columns, as far as they fit."""
    line = ''
    for place, text in texts:
        if len(line) <= place and place + len(text) <= width:
            line += ' ' * (place - len(line)) + text + ' '
    return line


def _width(text: str) -> int:
    """Return how many columns of a terminal the text has."""
    return sum(max(wcwidth.wcwidth(sign), 0) for sign in text)


def _cut(text: str, width: int) -> str:
    """Return the text, cut to that many columns if it is wider."""
    if _width(text) <= width:
        return text
    kept = ''
    for sign in text:
        if _width(kept + sign) > width - 1:
            break
        kept += sign
    return f'{kept}~' if width > 0 else ''
