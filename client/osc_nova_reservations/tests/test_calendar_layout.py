# SPDX-License-Identifier: Apache-2.0
"""Positions of bars, compared with those of simple rules."""

import datetime
import itertools

import hypothesis
from hypothesis import strategies as st
import pytest

from osc_nova_reservations.calendar import layout
from osc_nova_reservations.calendar import model
from osc_nova_reservations.tests import calendars
from osc_nova_reservations.tests.calendars import at

HOUR = datetime.timedelta(hours=1)
SECOND = datetime.timedelta(seconds=1)
some_bars = calendars.many(st.just('x'))
few = hypothesis.settings(max_examples=50, deadline=None)
zones = hypothesis.settings(max_examples=100, deadline=None)


@few
@hypothesis.given(some_bars)
def test_bars_of_a_lane_never_overlap_and_none_is_lost(bars):
    lanes = layout.lanes(bars)
    for lane in lanes:
        for one, next_one in itertools.pairwise(lane):
            assert one.end <= next_one.start
    placed = [bar for lane in lanes for bar in lane]
    assert sorted(map(id, placed)) == sorted(map(id, bars))


@few
@hypothesis.given(some_bars)
def test_there_are_no_more_lanes_than_bars_at_one_time(bars):
    most = max(
        (
            sum(bar.start <= when.start < bar.end for bar in bars)
            for when in bars
        ),
        default=0,
    )
    assert len(layout.lanes(bars)) == most


@few
@hypothesis.given(some_bars, calendars.windows(), st.integers(1, 200))
def test_cells_are_in_the_window_apart_and_where_their_bars_are(
    bars, window, width
):
    for lane in layout.lanes(layout.within(bars, window)):
        shown, hidden = layout.cells(lane, window, width)
        assert len(shown) + hidden == len(lane)
        column = window.length / width
        used = 0
        for cell in shown:
            assert used <= cell.first < cell.last <= width
            used = cell.last
            # Each column of a bar contains some of the bar's time, rounded to
            # the left.
            assert cell.bar.start < window.start + cell.last * column
            assert cell.bar.end > window.start + cell.first * column


@few
@hypothesis.given(calendars.windows(), some_bars)
def test_bars_outside_of_the_window_are_left_out_and_no_others(window, bars):
    inside = layout.within(bars, window)
    for bar in bars:
        minute = datetime.timedelta(minutes=1)
        assert (bar in inside) == (
            bar.end > window.start and bar.start < window.end
        )
        scale = layout.Scale.of(layout.whole_days(window))
        first, last = (scale.percent(when) for when in (bar.start, bar.end))
        assert 0 <= first <= last <= 100
        assert (
            bar not in inside
            or first < last
            or bar.end - bar.start < (minute * 60)
        )


@zones
@hypothesis.given(calendars.windows_of_zones())
def test_whole_days_have_the_window_and_little_more(window):
    days = layout.whole_days(window)
    assert days.start <= window.start
    assert window.end <= days.end
    for first, last in (days.start, window.start), (window.end, days.end):
        assert last - first <= calendars.DAY + HOUR
    for when in days.start, days.end:
        before = days.local(when - SECOND)
        assert before.date() < days.local(when).date()


@zones
@hypothesis.given(calendars.windows_of_zones())
def test_a_column_has_the_times_of_one_day(window):
    whole = layout.whole_days(window)
    days = layout.days(whole)
    assert days[0] == whole.start
    for begin, end in itertools.pairwise((*days, whole.end)):
        assert begin < end
        day = whole.local(begin).date()
        assert whole.local(end - SECOND).date() == day
        assert whole.local(begin - SECOND).date() < day


@zones
@hypothesis.given(calendars.windows_of_zones())
def test_a_column_is_an_hour_or_less(window):
    whole = layout.whole_days(window)
    hours = [*layout.hours(whole), whole.end]
    assert hours[0] == whole.start
    for begin, end in itertools.pairwise(hours):
        # Where clocks change by half an hour, so does a column.
        assert datetime.timedelta() < end - begin <= HOUR
    assert {*layout.days(whole)} <= {*hours}


@zones
@hypothesis.given(calendars.windows_of_zones(), st.floats(0, 1))
def test_places_grow_with_time_and_columns_are_of_one_width(window, part):
    whole = layout.whole_days(window)
    columns = layout.columns(whole)
    scale = layout.Scale.of(whole)
    assert scale.columns == len(columns)
    for number, begin in enumerate(columns):
        assert scale.place(begin) == number
    when = whole.start + part * whole.length
    later = min(when + datetime.timedelta(minutes=5), whole.end)
    assert scale.place(when) < scale.place(later) or when >= later
    assert scale.place(whole.end + calendars.DAY) == len(columns)


@pytest.mark.parametrize(
    ('day', 'shown'),
    [
        # The clocks are put forward at 2:00, and back at 3:00.
        (datetime.date(2027, 3, 28), ['00', '01', '03', '04']),
        (datetime.date(2027, 10, 31), ['00', '01', '02', '02', '03']),
    ],
)
def test_a_day_of_a_change_of_the_clocks_has_its_hours(day, shown):
    start = layout.midnight(day, calendars.ROME)
    end = layout.midnight(day + calendars.DAY, calendars.ROME)
    window = model.Window(start, end, calendars.ROME)
    hours = [f'{window.local(when):%H}' for when in layout.columns(window)]
    assert hours[: len(shown)] == shown
    assert hours[-1] == '23'
    assert len(hours) == {3: 23, 10: 25}[day.month]


@pytest.mark.parametrize(
    ('start', 'end', 'count'), [(0, 1, 24), (0.5, 2, 48), (0.5, 2.5, 3)]
)
def test_short_windows_have_hours(start, end, count):
    days = layout.whole_days(calendars.model.Window(at(start), at(end)))
    assert len(layout.columns(days)) == count


def test_bars_too_short_to_be_seen_are_counted():
    lane = [
        calendars.bar(number / 100, (number + 1) / 100) for number in range(50)
    ]
    shown, hidden = layout.cells(lane, calendars.WEEK, 14)
    assert (len(shown), hidden) == (1, 49)
