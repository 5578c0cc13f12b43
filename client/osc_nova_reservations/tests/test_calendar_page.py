# SPDX-License-Identifier: Apache-2.0
"""The page of a calendar, as a parser reads it."""

from collections.abc import Iterator
import dataclasses
from html import parser
import re
import zoneinfo

import hypothesis
from hypothesis import strategies as st
import pytest

from osc_nova_reservations.calendar import layout
from osc_nova_reservations.calendar import model
from osc_nova_reservations.calendar import page
from osc_nova_reservations.calendar import style
from osc_nova_reservations.tests import calendars
from osc_nova_reservations.tests.calendars import bar
from osc_nova_reservations.tests.calendars import calendar

SCRIPT = '<script>alert(1)</script>'
HOSTILE = st.one_of(
    st.text(st.characters(categories=['L', 'N', 'P', 'S', 'Zs']), max_size=9),
    st.sampled_from(
        [SCRIPT, '"><img src=x onerror=alert(1)>', "' style='x", '&lt;', ']]>']
    ),
)


class Page(parser.HTMLParser):
    """:ivar elements: tags with their attributes, in the order of the page.

    :ivar texts: the text between the tags, without the style.
    """

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data) -> None:
        if self.elements and self.elements[-1][0] != 'style':
            self.texts.append(data)

    def having(self, name: str) -> Iterator[str]:
        for _, attributes in self.elements:
            if attributes.get(name) is not None:
                yield str(attributes[name])


def hosts(name='mine', row='compute-1'):
    return calendar(
        model.Row(row, (bar(-1, 3, name, lease_id='id-1'), bar(4, 5, name))),
        leases=(calendars.lease(name),),
    )


def test_the_page_loads_and_runs_nothing():
    text = page.html(hosts())
    read = Page(text)
    tags = {tag for tag, _ in read.elements}
    assert tags.isdisjoint({'script', 'link', 'img', 'iframe', 'object'})
    assert [*read.having('src')] == []
    assert all(target.startswith('#') for target in read.having('href'))
    assert not re.search(r'url\(|@import|https?:', text)
    assert "default-src 'none'; style-src 'unsafe-inline'" in read.having(
        'content'
    )


@hypothesis.settings(max_examples=50, deadline=None)
@hypothesis.given(HOSTILE, HOSTILE)
def test_names_are_text_whatever_is_in_them(name, row):
    plain, hostile = (
        Page(page.html(hosts())),
        Page(page.html(hosts(name, row))),
    )
    assert [tag for tag, _ in plain.elements] == [
        tag for tag, _ in hostile.elements
    ]
    assert [[*each] for _, each in plain.elements] == [
        [*each] for _, each in hostile.elements
    ]
    if name:
        assert ''.join(hostile.texts).count(name) >= 3


def test_links_lead_to_the_leases_below():
    read = Page(page.html(hosts()))
    assert [*read.having('href')] == ['#id-1']
    assert 'id-1' in read.having('id')


def test_a_bar_tells_what_it_is_to_who_can_not_see_it():
    text = ''.join(Page(page.html(hosts())).texts)
    assert (
        'mine, leased by your project, 2027-02-28 00:00 to 2027-03-04 00:00'
        in text
    )
    assert ''.join(
        Page(page.html(calendar(model.Row('compute-1', ())))).texts
    ).endswith('free\n')


@pytest.mark.parametrize(
    ('start', 'end', 'told'),
    [
        (model.FIRST, model.LAST, 'all the time'),
        (model.FIRST, calendars.at(1), 'until 2027-03-02 00:00'),
        (calendars.at(1), model.LAST, 'from 2027-03-02 00:00 on'),
    ],
)
def test_a_hold_does_not_pretend_to_know_its_time(start, end, told):
    held = model.Bar(model.Kind.HELD, start, end, 'held: failed')
    text = ''.join(
        Page(page.html(calendar(model.Row('compute-1', (held,))))).texts
    )
    assert f'held: failed, held: no new lease gets it, {told}' in text


def test_bars_side_by_side_have_lanes():
    row = model.Row('compute-1', (bar(1, 3), bar(2, 4), bar(3, 5)))
    styles = [*Page(page.html(calendar(row))).having('style')]
    assert '--lanes: 2' in styles
    assert [each[:9] for each in styles if '--lane:' in each] == [
        '--lane: 0',
        '--lane: 1',
        '--lane: 0',
    ]


def test_a_bar_that_goes_on_outside_looks_so():
    classes = [*Page(page.html(hosts())).having('class')]
    assert 'bar own from-before c0' in classes
    row = model.Row('compute-1', (bar(6.5, 9, 'demonstration'),))
    classes = [*Page(page.html(calendar(row))).having('class')]
    assert 'bar own goes-on before' in classes


def test_a_name_has_room_of_its_own_beside_a_short_bar():
    row = model.Row('compute-1', (bar(1, 1.1, 'demo'),))
    read = Page(page.html(calendar(row)))
    assert 'bar own after' in read.having('class')
    assert any('--room: 3.28rem' in each for each in read.having('style'))


def test_a_bar_that_is_too_short_for_its_name_shows_none():
    row = model.Row('c', (bar(1, 1.1, 'taken', model.Kind.TAKEN),))
    read = Page(page.html(calendar(row)))
    assert 'bar taken bare' in read.having('class')
    assert 'taken' in read.texts


def test_the_legend_has_the_colour_of_no_lease():
    read = Page(page.html(hosts()))
    swatches = [each for each in read.having('class') if 'swatch' in each]
    assert swatches == ['swatch own', 'swatch now', 'swatch own c0']


def test_leases_of_one_name_have_one_colour():
    leases = tuple(
        calendars.lease(name, lease_id)
        for name, lease_id in (('a', '1'), ('b', '2'), ('a', '3'))
    )
    read = Page(page.html(calendar(leases=leases)))
    assert [each for each in read.having('class') if 'own' in each] == [
        'swatch own c0',
        'swatch own c1',
        'swatch own c0',
    ]


def test_leases_that_are_over_are_folded():
    ended = dataclasses.replace(
        calendars.lease('old', 'id-2'), status='TERMINATED'
    )
    text = page.html(calendar(leases=(ended, calendars.lease('new'))))
    first, folded = text.split('<details>')
    assert ('>new<' in first, '>old<' in first) == (True, False)
    assert ('>new<' in folded, '>old<' in folded) == (False, True)
    assert 'Ended (1)' in folded
    text = page.html(calendar(leases=(calendars.lease('new'),)))
    assert '<details>' not in text


@pytest.mark.parametrize(
    ('zone', 'start', 'end', 'told'),
    [
        ('UTC', 0, 7, '1 March 2027 to 7 March 2027, in UTC'),
        (
            *('Europe/Rome', 26, 28),
            '27 March 2027 to 29 March 2027, in Europe/Rome (UTC+01:00, '
            'from 28 March 2027 on UTC+02:00)',
        ),
        (
            *('Asia/Kathmandu', 0, 0.1),
            '1 March 2027, in Asia/Kathmandu (UTC+05:45)',
        ),
    ],
)
def test_the_zone_is_told_with_changes_of_its_clocks(zone, start, end, told):
    window = model.Window(
        calendars.at(start), calendars.at(end), zoneinfo.ZoneInfo(zone)
    )
    text = page.html(calendar(window=layout.whole_days(window)))
    assert f'<p class="span">{told}</p>' in text


def test_all_times_are_those_of_the_zone():
    window = model.Window(
        calendars.at(-0.5), calendars.at(7), zoneinfo.ZoneInfo('Asia/Tokyo')
    )
    row = model.Row('compute-1', (bar(1, 3, lease_id='id-1'),))
    text = page.html(
        calendar(
            row,
            window=layout.whole_days(window),
            leases=(calendars.lease(),),
        )
    )
    assert '2027-03-02 09:00 to 2027-03-04 09:00' in text
    assert '>2027-03-02 09:00</td>' in text
    assert 'now: 2027-03-03 21:00' in text
    assert '00:00' not in text


@pytest.mark.parametrize(
    ('days', 'shown'),
    [(1, 'Feb'), (2, 'Feb 2027'), (3, 'February 2027')],
)
def test_months_are_shortened_where_few_days_are_shown(days, shown):
    window = model.Window(calendars.at(-days), calendars.at(14 - days))
    text = page.html(calendar(window=window))
    assert f'title="February 2027" colspan="{days}"><span>{shown}<' in text
    assert '<span>March 2027<' in text


def test_two_days_have_their_hours():
    window = model.Window(calendars.at(0), calendars.at(2))
    text = page.html(calendar(window=window))
    assert '<th scope="col">23</th>' in text
    assert '2 March 2027' in text


def test_all_classes_are_styled():
    rows = tuple(
        model.Row(kind, (bar(0, 9, kind, kind),)) for kind in model.Kind
    )
    for classes in Page(page.html(calendar(*rows))).having('class'):
        for name in classes.split():
            assert f'.{name}' in style.CSS


def _luminance(colour: str) -> float:
    parts = (int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5))
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4
        for part in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def test_white_text_is_read_well_on_each_colour_of_leases():
    found = re.findall(r'--c\d: (#[0-9a-f]{6})', style.CSS)
    assert len(found) == 2 * style.COLOURS
    for colour in found:
        # 4.5 is what WCAG 2 asks for.
        assert 1.05 / (_luminance(colour) + 0.05) >= 4.5, colour
