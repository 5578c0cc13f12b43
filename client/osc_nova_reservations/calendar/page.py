# SPDX-License-Identifier: Apache-2.0
"""A calendar as a page of HTML that loads no other file.

The page is built as a tree of elements, not as text. So a name that contains
markup stays text, or the value of an attribute.
"""

from collections.abc import Iterable
from collections.abc import Iterator
import datetime
import itertools
from xml.etree import ElementTree

from osc_nova_reservations.calendar import labels
from osc_nova_reservations.calendar import layout
from osc_nova_reservations.calendar import model
from osc_nova_reservations.calendar import style

_MOST_OPEN = "default-src 'none'; style-src 'unsafe-inline'"
"""The policy of the page: it loads nothing and runs nothing."""

_DATE = '%Y-%m-%d %H:%M'

_COLUMN, _NARROW = 3.25, 2.1
"""The least width of a column, in rem: of a day, and of an hour or of a day
among many."""

_MANY = 31
""":data:`_COLUMN` is for so many days at most."""

_LEGIBLE = 2.2
"""A bar that is narrower, in rem, has no name inside."""

_HEADINGS = 'Name', 'Reserved', 'Status', 'Start', 'End', 'ID'
"""Of the list of leases."""

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
    first = window.local(window.start)
    last = window.local(window.end - datetime.timedelta(microseconds=1))
    if last.date() == first.date():
        return _day(last)
    return f'{_day(first)} to {_day(last)}'


def _day(when: datetime.datetime) -> str:
    return f'{when.day} {when:%B %Y}'


def _header(calendar: model.Calendar) -> Element:
    window = calendar.window
    header = Element('header')
    _add(header, 'h1', calendar.title, id='title')
    _add(header, 'p', f'{_span(window)}, in {_zone(window)}', class_='span')
    legend = _add(header, 'ul', class_='legend')
    legend.set('aria-label', 'Legend')
    for kind in calendar.kinds:
        item = _add(legend, 'li')
        _add(item, 'i', class_=f'swatch {kind}').set('aria-hidden', 'true')
        _add(item, 'span', model.MEANINGS[kind])
    if _shows_now(calendar):
        item = _add(legend, 'li')
        _add(item, 'i', class_='swatch now').set('aria-hidden', 'true')
        _add(item, 'span', f'now: {window.local(calendar.now):{_DATE}}')
    return header


def _zone(window: model.Window) -> str:
    """Return the zone, and what its clocks have ahead of UTC."""
    told, before = str(window.zone), None
    if told == 'UTC':
        return told
    offsets = []
    marks = [*layout.days(window), window.end]
    for begin, end in itertools.pairwise(marks):
        first, last = (_offset(window.local(when)) for when in (begin, end))
        if before is None:
            offsets.append(first)
        if first != last:
            offsets.append(f'from {_day(window.local(begin))} on {last}')
        before = last
    return f'{told} ({", ".join(offsets)})'


def _offset(when: datetime.datetime) -> str:
    return str(datetime.timezone(when.utcoffset() or datetime.timedelta()))


def _shows_now(calendar: model.Calendar) -> bool:
    return calendar.window.start <= calendar.now < calendar.window.end


def _frame(label: str) -> Element:
    # The keyboard must reach the part that scrolls.
    frame = Element('div', {'class': 'frame', 'role': 'region'})
    frame.set('aria-labelledby', label)
    frame.set('tabindex', '0')
    return frame


def _chart(calendar: model.Calendar) -> Element:
    frame = _frame('title')
    drawing = _Drawing(calendar)
    table = _add(frame, 'table', class_='chart', style=drawing.grid())
    if _shows_now(calendar):
        table.set('class', 'chart with-now')
    columns = _add(table, 'colgroup')
    _add(columns, 'col', class_='names')
    _add(columns, 'col', span=str(drawing.scale.columns))
    table.append(_times(calendar, drawing.column))
    rows = _add(table, 'tbody')
    for row in calendar.rows:
        rows.append(drawing.row(row))
    if not calendar.rows:
        _add(
            _add(rows, 'tr'),
            'td',
            'There is nothing in this time.',
            class_='nothing',
            colspan=str(drawing.scale.columns + 1),
        )
    return frame


def _times(calendar: model.Calendar, column: float) -> Element:
    """Return the head of the table: months and days, or a day and hours.

    :param column: the least width of a column, in rem
    """
    window = calendar.window
    hourly = layout.is_hourly(window)
    times = [window.local(when) for when in layout.columns(window)]
    head = Element('thead')
    upper, lower = _add(head, 'tr'), _add(head, 'tr')
    _add(upper, 'th', calendar.heading, scope='col', rowspan='2')
    groups = itertools.groupby(
        times, lambda when: when.date() if hourly else (when.year, when.month)
    )
    for _, group in groups:
        first, *others = group
        number = 1 + len(others)
        name = _day(first) if hourly else f'{first:%B %Y}'
        cell = _add(upper, 'th', scope='colgroup', title=name)
        cell.set('colspan', str(number))
        _add(cell, 'span', _short(name, number * column))
    for when in times:
        cell = _add(lower, 'th', scope='col')
        if hourly:
            cell.text = f'{when:%H:%M}' if when.minute else f'{when:%H}'
            continue
        if when.weekday() >= 5:
            cell.set('class', 'weekend')
        _add(cell, 'abbr', f'{when:%a}'[:2], title=f'{when:%A}')
        _add(cell, 'b', str(when.day))
    return head


def _short(month: str, width: float) -> str:
    """Return the name of a month, or of a day of one, as far as it fits."""
    if width >= labels.SIGN * len(month) + labels.MARGIN:
        return month
    name, _, year = month.partition(' ')
    return f'{name[:3]} {year}' if width > 5.5 else name[:3]


class _Drawing:
    """The rows of the chart.

    :ivar column: the least width of a column, in rem.
    :ivar colours: lease id -> its colour
    """

    def __init__(self, calendar: model.Calendar) -> None:
        self.calendar = calendar
        self.window = calendar.window
        self.scale = layout.Scale.of(self.window)
        self.column = _COLUMN
        if layout.is_hourly(self.window) or self.scale.columns > _MANY:
            self.column = _NARROW
        self.colours = _colours(calendar)

    def grid(self) -> str:
        """Return the numbers of the style, and how it draws the columns on
        each row: with a line before each, and weekends in their colour. They
        are no elements.
        """
        number = self.scale.columns
        days = 'linear-gradient(to right'
        for place, when in enumerate(self.scale.marks[:-1]):
            day = self.window.local(when).weekday()
            # What is transparent gets dark edges when it is printed.
            colour = 'var(--weekend)' if day >= 5 else 'var(--paper)'
            first, last = (
                round(100 * each / number, 3) for each in (place, place + 1)
            )
            days += (
                f', var(--line) {first}% calc({first}% + 1px)'
                f', {colour} 0 {last}%'
            )
        now = self.scale.percent(self.calendar.now)
        return (
            f'--times: {number}; --least: {self.column}rem; --now: {now}%; '
            f'--days: {days})'
        )

    def row(self, row: model.Row) -> Element:
        line = Element('tr')
        _add(_add(line, 'th', scope='row', title=row.name), 'span', row.name)
        cell = _add(line, 'td', colspan=str(self.scale.columns))
        within = layout.within(row.bars, self.window)
        placed = labels.placed(within, self.scale, self.column)
        if not placed:
            _add(cell, 'span', 'free', class_='unseen')
            return line
        lanes = 1 + max(each.lane for each in placed)
        bars = _add(cell, 'ul', style=f'--lanes: {lanes}')
        for each in placed:
            bars.append(self._bar(each))
        return line

    def _bar(self, placed: labels.Placed) -> Element:
        bar = placed.bar
        start, end = map(self.scale.percent, (bar.start, bar.end))
        means, told = model.MEANINGS[bar.kind], self._told(bar)
        item = Element(
            'li',
            {
                'class': ' '.join(('bar', bar.kind, *self._looks(placed))),
                'title': f'{bar.name}\n{told}\n{means}',
                'style': f'--lane: {placed.lane}; left: {start}%; '
                f'width: {round(end - start, 3)}%; '
                f'--room: {round(placed.room, 2)}rem',
            },
        )
        inside = item
        if bar.lease_id is not None:
            inside = _add(item, 'a', href=f'#{bar.lease_id}')
        _add(inside, 'span', bar.name, class_='name')
        _add(inside, 'span', f', {means}, {told}', class_='unseen')
        return item

    def _told(self, bar: model.Bar) -> str:
        """Return the time of a bar in words."""
        start, end = (
            # The first and the last date have no place in another zone.
            '' if when in (model.FIRST, model.LAST) else self._date(when)
            for when in (bar.start, bar.end)
        )
        match bool(start), bool(end):
            case False, False:
                return 'all the time'
            case False, True:
                return f'until {end}'
            case True, False:
                return f'from {start} on'
        return f'{start} to {end}'

    def _date(self, when: datetime.datetime) -> str:
        return f'{self.window.local(when):{_DATE}}'

    def _looks(self, placed: labels.Placed) -> Iterator[str]:
        bar = placed.bar
        if bar.start < self.window.start:
            yield 'from-before'
        if bar.end > self.window.end:
            yield 'goes-on'
        if bar.lease_id in self.colours:
            yield self.colours[bar.lease_id]
        if placed.side != labels.Side.INSIDE:
            yield placed.side
        elif placed.end - placed.start < _LEGIBLE:
            yield 'bare'


def _colours(calendar: model.Calendar) -> dict[str | None, str]:
    """Return lease id -> the class of its colour: leases of the same name,
    such as those of a series, have the same."""
    names = {
        name: number
        for number, name in enumerate(
            dict.fromkeys(lease.name for lease in calendar.leases)
        )
    }
    return {
        lease.id: f'c{names[lease.name] % style.COLOURS}'
        for lease in calendar.leases
    }


def _leases(calendar: model.Calendar) -> Element:
    section = Element('section', {'aria-labelledby': 'leases'})
    _add(section, 'h2', 'Leases of your project', id='leases')
    ended = [lease for lease in calendar.leases if lease.has_ended]
    current = [lease for lease in calendar.leases if not lease.has_ended]
    if current:
        section.append(_list(calendar, current, 'leases'))
    if ended:
        folded = _add(section, 'details')
        _add(folded, 'summary', f'Ended ({len(ended)})', id='ended')
        folded.append(_list(calendar, ended, 'ended'))
    return section


def _list(
    calendar: model.Calendar, leases: Iterable[model.Lease], label: str
) -> Element:
    """:param label: the id of the element that is its heading"""
    frame = _frame(label)
    table = _add(frame, 'table', class_='list')
    head = _add(_add(table, 'thead'), 'tr')
    for text in _HEADINGS:
        _add(head, 'th', text, scope='col')
    body = _add(table, 'tbody')
    colours = _colours(calendar)
    local = calendar.window.local
    for lease in leases:
        row = _add(body, 'tr', id=lease.id)
        name = _add(row, 'th', scope='row')
        swatch = f'swatch own {colours[lease.id]}'
        _add(name, 'i', class_=swatch).set('aria-hidden', 'true')
        _add(name, 'span', lease.name)
        texts = (
            lease.reserved,
            lease.status,
            f'{local(lease.start):{_DATE}}',
            f'{local(lease.end):{_DATE}}',
            lease.id,
        )
        for heading, text in zip(_HEADINGS[1:], texts, strict=True):
            # The style shows the heading where a row is a card.
            _add(row, 'td', text).set('data-heading', heading)
    return frame
