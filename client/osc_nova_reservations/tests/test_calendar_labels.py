# SPDX-License-Identifier: Apache-2.0
"""Names beside bars, whatever bars there are."""

from collections import defaultdict
import itertools

import hypothesis
from hypothesis import strategies as st
import pytest

from osc_nova_reservations.calendar import labels
from osc_nova_reservations.calendar import layout
from osc_nova_reservations.calendar import model
from osc_nova_reservations.tests import calendars
from osc_nova_reservations.tests.calendars import bar

COLUMN = 3.25
few = hypothesis.settings(max_examples=200, deadline=None)
crowds = st.lists(
    calendars.bars(st.text('abc\u4e2d', max_size=25)), max_size=25
)


def placed(*bars, window=calendars.WEEK):
    within = layout.within(bars, window)
    return labels.placed(within, layout.Scale.of(window), COLUMN)


def sides(*bars):
    return [(each.bar.name, each.side, each.lane) for each in placed(*bars)]


@few
@hypothesis.given(crowds, calendars.windows_of_zones())
def test_in_a_lane_neither_bars_nor_names_overlap(bars, window):
    window = layout.whole_days(window)
    shift = window.start - calendars.MONDAY
    moved = [
        model.Bar(each.kind, each.start + shift, each.end + shift, each.name)
        for each in bars
    ]
    found = placed(*moved, window=window)
    assert len(found) == len(layout.within(moved, window))
    lanes = defaultdict(list)
    for each in found:
        lanes[each.lane].append(each)
    width = layout.Scale.of(window).columns * COLUMN
    for lane in lanes.values():
        assert lane[0].left >= 0
        assert lane[-1].right <= width
        for one, other in itertools.pairwise(lane):
            assert one.right <= other.left


@few
@hypothesis.given(crowds)
def test_names_cost_few_lanes(bars):
    found = placed(*bars)
    least = len(layout.lanes(layout.within(bars, calendars.WEEK)))
    lanes = {each.lane for each in found}
    assert lanes == {*range(len(lanes))}
    assert least <= len(lanes) <= max(least, 3)


@few
@hypothesis.given(crowds)
def test_a_name_is_beside_its_bar_only_if_it_does_not_fit(bars):
    for each in placed(*bars):
        if each.side != labels.Side.INSIDE:
            assert each.room > each.end - each.start
            assert each.bar.name != each.bar.kind


def test_a_name_is_after_a_short_bar_or_before_it_at_the_end_of_the_time():
    assert sides(bar(1, 1.1, 'demo'), bar(6.8, 6.9, 'demo')) == [
        ('demo', labels.Side.AFTER, 0),
        ('demo', labels.Side.BEFORE, 0),
    ]


def test_bars_that_follow_soon_are_in_another_lane():
    assert sides(bar(1, 1.1, 'demo'), bar(1.2, 5, 'long')) == [
        ('demo', labels.Side.AFTER, 0),
        ('long', labels.Side.INSIDE, 1),
    ]


def test_in_a_crowd_names_move_or_give_way():
    crowd = [bar(2 + each / 10, 2.05 + each / 10, 'demo') for each in range(5)]
    assert sides(*crowd) == [
        ('demo', labels.Side.BEFORE, 0),
        ('demo', labels.Side.AFTER, 1),
        ('demo', labels.Side.AFTER, 2),
        ('demo', labels.Side.INSIDE, 0),
        ('demo', labels.Side.AFTER, 0),
    ]


@pytest.mark.parametrize('kind', model.Kind)
def test_the_words_of_the_legend_are_not_beside_a_bar(kind):
    assert sides(bar(1, 1.1, str(kind), kind)) == [
        (kind, labels.Side.INSIDE, 0)
    ]


def test_wide_signs_get_more_room_and_no_name_gets_all():
    assert labels.room('\u4e2d\u6587') == labels.room('abcd')
    assert labels.room('x' * 999) == labels.MOST
