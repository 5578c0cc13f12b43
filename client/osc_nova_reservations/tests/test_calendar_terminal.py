# SPDX-License-Identifier: Apache-2.0
"""A calendar on a terminal."""

import datetime
import re

import hypothesis
from hypothesis import strategies as st
import wcwidth

from osc_nova_reservations.calendar import model
from osc_nova_reservations.calendar import terminal
from osc_nova_reservations.tests import calendars
from osc_nova_reservations.tests.calendars import bar
from osc_nova_reservations.tests.calendars import calendar

# Latin, Greek, wide, and combining ones.
printable = st.text(
    st.sampled_from('abcXYZ \u03b1\u03c9\u4e2d\u6587e\u0301'), max_size=30
)
PLAIN = re.compile(r'\x1b\[[0-9;]*m')
DRAWN = """\
Hosts, 2027-03-01 00:00 to 2027-03-08 00:00 UTC

          2027-03
Host      01 Mon  02 Tue  03 Wed  04 Thu  05 Fri  06 Sat  07 Sun
compute-1 [workshop##############]  [taken-------] [course of all]
compute-2 [held: failedxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx]
          [shared~~~~~~]
compute-3

### leased by your project, --- taken by others, ~~~ shared by others, xxx \
held: no new lease gets it"""


def drawn(shown, width=66, colours=False):
    return '\n'.join(terminal.lines(shown, width, colours))


def test_bars_have_names_and_ways_of_their_own():
    assert (
        drawn(
            calendar(
                model.Row(
                    'compute-1',
                    (
                        bar(-2, 3, 'workshop'),
                        bar(3.3, 5, 'taken', model.Kind.TAKEN),
                        bar(5.2, 7, 'course of all'),
                    ),
                ),
                model.Row(
                    'compute-2',
                    (
                        model.Bar(
                            model.Kind.HELD,
                            model.FIRST,
                            model.LAST,
                            'held: failed',
                        ),
                        bar(0, 1.8, 'shared', model.Kind.SHARED),
                    ),
                ),
                model.Row('compute-3', ()),
            )
        )
        == DRAWN
    )


def test_a_calendar_of_nothing_says_so():
    assert drawn(calendar()).endswith('There is nothing in this time.')


def test_colours_are_beside_the_same_text():
    row = model.Row('compute-1', (bar(1, 3), bar(3, 6, 'next')))
    coloured = drawn(calendar(row), colours=True)
    assert coloured.count('\x1b[1;97;44m') == 3
    assert coloured.count('\x1b[0m') == 3
    assert PLAIN.sub('', coloured).splitlines()[4].split() == [
        'compute-1',
        '[mine',
        '][next',
        ']',
    ]


def rome(start, end):
    """Return a window of those hours, from the night on in which clocks are
    put forward from 2:00 to 3:00."""
    night = calendars.at(27) - datetime.timedelta(hours=1)
    hour = datetime.timedelta(hours=1)
    return model.Window(
        night + start * hour, night + end * hour, calendars.ROME
    )


def test_hours_are_those_of_the_zone_when_its_clocks_are_changed():
    title, _, days, hours, *_ = drawn(
        calendar(window=rome(-2, 4)), width=50
    ).splitlines()
    assert title == ('Hosts, 2027-03-27 22:00 to 2027-03-28 05:00 Europe/Rome')
    assert days == '     03-27 Sat      03-28 Sun'
    assert hours == 'Host 22:00  23:00   00:00  01:00   03:00  04:00'


def test_days_begin_at_midnight_of_the_zone():
    *_, hours, _, _ = drawn(
        calendar(window=rome(0, 5 * 24 - 1)), width=65
    ).splitlines()
    # The day of 23 hours is a little narrower.
    marks = 'Host 28 Sun     29 Mon      30 Tue      31 Wed      01 Thu'
    assert hours == marks


@hypothesis.settings(max_examples=50, deadline=None)
@hypothesis.given(
    st.lists(st.tuples(printable, calendars.many(printable)), max_size=4),
    st.one_of(calendars.windows(), calendars.windows_of_zones()),
    st.integers(1, 200),
    st.booleans(),
)
def test_no_line_is_wider_than_the_terminal(rows, window, width, colours):
    shown = calendar(
        *(model.Row(name, tuple(bars)) for name, bars in rows), window=window
    )
    _title, *lines, _legend = terminal.lines(shown, width, colours)
    for line in lines:
        text = re.sub(r' \(\+\d+\)$', '', PLAIN.sub('', line))
        # The chart has 20 columns, names up to 24.
        assert wcwidth.wcswidth(text) <= max(width, 45)
        assert colours or '\x1b' not in line
