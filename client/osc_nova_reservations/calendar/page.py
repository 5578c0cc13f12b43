# SPDX-License-Identifier: Apache-2.0
"""A calendar as a page of HTML that loads no other file.

The page is built as a tree of elements, not as text. So a name that contains
markup stays text, or the value of an attribute.
"""

from collections.abc import Iterator
import datetime
import itertools
from xml.etree import ElementTree

from osc_nova_reservations.calendar import layout
from osc_nova_reservations.calendar import model
from osc_nova_reservations.calendar import style

_MOST_OPEN = "default-src 'none'; style-src 'unsafe-inline'"
"""The policy of the page: it loads nothing and runs nothing."""

_DATE = '%Y-%m-%d %H:%M'

Element = ElementTree.Element


def html(calendar: model.Calendar) -> str:
    """Return the page.

    :param calendar: of whole days
    """
    root = Element('html', lang='en')
    root.append(_head(calendar))
    body = _add(root, 'body')
    body.append(_header(calendar))
    main = _add(body, 'main')
    main.append(_chart(calendar))
    if calendar.leases:
        main.append(_leases(calendar))
    text: str = ElementTree.tostring(root, encoding='unicode', method='html')
    return f'<!DOCTYPE html>\n{text}\n'


def _add(parent: Element, tag: str, text: str = '', **named: str) -> Element:
    """Add an element to another one; ``class_`` stands for ``class``."""
    made = ElementTree.SubElement(
        parent, tag, {key.rstrip('_'): value for key, value in named.items()}
    )
    made.text = text
    return made


def _head(calendar: model.Calendar) -> Element:
    head = Element('head')
    _add(head, 'meta', charset='utf-8')
    ElementTree.SubElement(
        head,
        'meta',
        {'http-equiv': 'Content-Security-Policy', 'content': _MOST_OPEN},
    )
    _add(
        head,
        'meta',
        name='viewport',
        content='width=device-width, initial-scale=1',
    )
    _add(head, 'meta', name='color-scheme', content='light dark')
    _add(head, 'meta', name='referrer', content='no-referrer')
    _add(head, 'title', f'{calendar.title}, {_span(calendar.window)}')
    _add(head, 'style', style.CSS)
    return head


def _span(window: model.Window) -> str:
    """Return the first and the last day of a window."""
    last = window.end - datetime.timedelta(microseconds=1)
    if last.date() == window.start.date():
        return _day(last)
    return f'{_day(window.start)} to {_day(last)}'


def _day(when: datetime.datetime) -> str:
    return f'{when.day} {when:%B %Y}'


def _header(calendar: model.Calendar) -> Element:
    header = Element('header')
    _add(header, 'h1', calendar.title, id='title')
    _add(header, 'p', f'{_span(calendar.window)}, in UTC', class_='span')
    legend = _add(header, 'ul', class_='legend')
    legend.set('aria-label', 'Legend')
    for kind in calendar.kinds:
        item = _add(legend, 'li')
        _add(item, 'i', class_=f'swatch {kind}').set('aria-hidden', 'true')
        _add(item, 'span', model.MEANINGS[kind])
    if _shows_now(calendar):
        item = _add(legend, 'li')
        _add(item, 'i', class_='swatch now').set('aria-hidden', 'true')
        _add(item, 'span', f'now: {calendar.now:{_DATE}}')
    return header


def _shows_now(calendar: model.Calendar) -> bool:
    return calendar.window.start <= calendar.now < calendar.window.end


def _chart(calendar: model.Calendar) -> Element:
    # The keyboard must reach the part that scrolls.
    frame = Element('div', {'class': 'frame', 'role': 'region'})
    frame.set('aria-labelledby', 'title')
    frame.set('tabindex', '0')
    times = layout.columns(calendar.window)
    table = _add(frame, 'table', class_='chart', style=_grid(calendar, times))
    if _shows_now(calendar):
        table.set('class', 'chart with-now')
    columns = _add(table, 'colgroup')
    _add(columns, 'col', class_='names')
    _add(columns, 'col', span=str(len(times)))
    table.append(_times(calendar, times))
    rows = _add(table, 'tbody')
    drawing = _Drawing(calendar, len(times))
    for row in calendar.rows:
        rows.append(drawing.row(row))
    if not calendar.rows:
        _add(
            _add(rows, 'tr'),
            'td',
            'There is nothing in this time.',
            class_='nothing',
            colspan=str(len(times) + 1),
        )
    return frame


def _grid(calendar: model.Calendar, times: list[datetime.datetime]) -> str:
    """Return the numbers from which the style draws lines and the weekends.

    The style draws Saturdays and Sundays on each row; they are no elements.
    """
    weekend = 'linear-gradient(to right'
    for number, when in enumerate(times):
        colour = 'var(--weekend)' if when.weekday() >= 5 else 'transparent'
        first, last = (
            round(100 * place / len(times), 3)
            for place in (number, number + 1)
        )
        weekend += f', {colour} {first}% {last}%'
    now = layout.percent(calendar.now, calendar.window)
    return f'--times: {len(times)}; --now: {now}%; --weekends: {weekend})'


def _times(
    calendar: model.Calendar, times: list[datetime.datetime]
) -> Element:
    """Return the head of the table: months and days, or a day and hours."""
    hourly = layout.is_hourly(calendar.window)
    head = Element('thead')
    upper, lower = _add(head, 'tr'), _add(head, 'tr')
    _add(upper, 'th', calendar.heading, scope='col', rowspan='2')
    groups = itertools.groupby(
        times, lambda when: _day(when) if hourly else f'{when:%B %Y}'
    )
    for name, group in groups:
        cell = _add(upper, 'th', scope='colgroup')
        cell.set('colspan', str(len([*group])))
        _add(cell, 'span', name)
    for when in times:
        cell = _add(lower, 'th', scope='col')
        if hourly:
            cell.text = f'{when:%H}'
            continue
        if when.weekday() >= 5:
            cell.set('class', 'weekend')
        _add(cell, 'abbr', f'{when:%a}'[:2], title=f'{when:%A}')
        _add(cell, 'b', str(when.day))
    return head


class _Drawing:
    """The rows of the chart.

    :ivar colours: lease id -> its colour
    """

    def __init__(self, calendar: model.Calendar, columns: int) -> None:
        self.window = calendar.window
        self.columns = columns
        self.colours = _colours(calendar)

    def row(self, row: model.Row) -> Element:
        line = Element('tr')
        _add(_add(line, 'th', scope='row', title=row.name), 'span', row.name)
        cell = _add(line, 'td', colspan=str(self.columns))
        lanes = layout.lanes(layout.within(row.bars, self.window))
        if not lanes:
            _add(cell, 'span', 'free', class_='unseen')
            return line
        bars = _add(cell, 'ul', style=f'--lanes: {len(lanes)}')
        for number, lane in enumerate(lanes):
            for bar in lane:
                bars.append(self._bar(bar, number))
        return line

    def _bar(self, bar: model.Bar, lane: int) -> Element:
        start, end = (
            layout.percent(when, self.window) for when in (bar.start, bar.end)
        )
        means, told = model.MEANINGS[bar.kind], _told(bar)
        item = Element(
            'li',
            {
                'class': ' '.join(('bar', bar.kind, *self._looks(bar))),
                'title': f'{bar.name}\n{told}\n{means}',
                'style': f'--lane: {lane}; left: {start}%; '
                f'width: {round(end - start, 3)}%',
            },
        )
        inside = item
        if bar.lease_id is not None:
            inside = _add(item, 'a', href=f'#{bar.lease_id}')
        _add(inside, 'span', bar.name)
        _add(inside, 'span', f', {means}, {told}', class_='unseen')
        return item

    def _looks(self, bar: model.Bar) -> Iterator[str]:
        if bar.start < self.window.start:
            yield 'from-before'
        if bar.end > self.window.end:
            yield 'goes-on'
        if bar.lease_id in self.colours:
            yield self.colours[bar.lease_id]


def _told(bar: model.Bar) -> str:
    """Return the time of a bar in words."""
    match bar.start == model.FIRST, bar.end == model.LAST:
        case True, True:
            return 'all the time'
        case True, False:
            return f'until {bar.end:{_DATE}}'
        case False, True:
            return f'from {bar.start:{_DATE}} on'
    return f'{bar.start:{_DATE}} to {bar.end:{_DATE}}'


def _colours(calendar: model.Calendar) -> dict[str | None, str]:
    return {
        lease.id: f'c{number % style.COLOURS}'
        for number, lease in enumerate(calendar.leases)
    }


def _leases(calendar: model.Calendar) -> Element:
    section = Element('section', {'aria-labelledby': 'leases'})
    _add(section, 'h2', 'Leases of your project', id='leases')
    frame = _add(section, 'div', class_='frame', role='region', tabindex='0')
    frame.set('aria-labelledby', 'leases')
    table = _add(frame, 'table', class_='list')
    head = _add(_add(table, 'thead'), 'tr')
    for text in ('Name', 'Reserved', 'Status', 'Start', 'End', 'ID'):
        _add(head, 'th', text, scope='col')
    body = _add(table, 'tbody')
    colours = _colours(calendar)
    for lease in calendar.leases:
        row = _add(body, 'tr', id=lease.id)
        name = _add(row, 'th', scope='row')
        swatch = f'swatch own {colours[lease.id]}'
        _add(name, 'i', class_=swatch).set('aria-hidden', 'true')
        _add(name, 'span', lease.name)
        for text in (
            lease.reserved,
            lease.status,
            f'{lease.start:{_DATE}}',
            f'{lease.end:{_DATE}}',
            lease.id,
        ):
            _add(row, 'td', text)
    return section
