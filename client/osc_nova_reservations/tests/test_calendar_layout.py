# SPDX-License-Identifier: Apache-2.0
"""Positions of bars, compared with those of simple rules."""

import datetime
import itertools

import hypothesis
from hypothesis import strategies as st
import pytest

from osc_nova_reservations.calendar import layout
from osc_nova_reservations.tests import calendars
from osc_nova_reservations.tests.calendars import at

some_bars = calendars.many(st.just('x'))
few = hypothesis.settings(max_examples=50, deadline=None)


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
        first, last = (
            layout.percent(when, window) for when in (bar.start, bar.end)
        )
        assert 0 <= first <= last <= 100
        assert (
            bar not in inside
            or first < last
            or bar.end - bar.start < (minute * 60)
        )


@few
@hypothesis.given(calendars.windows())
def test_whole_days_have_the_window_and_little_more(window):
    days = layout.whole_days(window)
    assert days.start <= window.start < days.start + calendars.DAY
    assert days.end - calendars.DAY < window.end <= days.end
    columns = layout.columns(days)
    assert columns[0] == days.start
    step = columns[1] - columns[0]
    assert columns[-1] + step == days.end


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
