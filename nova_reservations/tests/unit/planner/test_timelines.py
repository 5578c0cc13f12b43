# SPDX-License-Identifier: Apache-2.0
"""Timelines exchange promises only if each of them may have its new place."""

import datetime

import pytest

from nova_reservations.planner import timelines

EPOCH = datetime.datetime(2030, 1, 1, tzinfo=datetime.UTC)
BOTH = frozenset({1, 2})


def promise(name, start, end, within=BOTH):
    return timelines.Promise(
        name,
        EPOCH + datetime.timedelta(hours=start),
        EPOCH + datetime.timedelta(hours=end),
        within,
    )


def names(lines):
    return {
        key: [each.reservation_id for each in line]
        for key, line in lines.lines.items()
    }


def exchange(lines, hour):
    """Exchange the promises of 1 with those of 2 from an hour on."""
    return lines.exchange(1, 2, EPOCH + datetime.timedelta(hours=hour))


def test_promises_are_exchanged_until_both_resources_are_free():
    lines = timelines.Timelines(
        {
            1: [promise('a', 1, 3), promise('later', 6, 7)],
            2: [promise('b', 2, 5), promise('c', 8, 9)],
        }
    )
    assert exchange(lines, 1)
    assert names(lines) == {1: ['b', 'later'], 2: ['a', 'c']}


@pytest.mark.parametrize('within', [None, frozenset({1})])
def test_a_promise_does_not_move_where_it_may_not_be(within):
    lines = timelines.Timelines({1: [promise('a', 1, 3, within)], 2: []})
    assert not exchange(lines, 1)
    assert names(lines) == {1: ['a'], 2: []}


@pytest.mark.parametrize('within', [None, frozenset({2})])
def test_a_promise_of_the_other_resource_does_not_move_where_it_may_not_be(
    within,
):
    lines = timelines.Timelines(
        {1: [promise('a', 1, 3)], 2: [promise('b', 2, 5, within)]}
    )
    assert not exchange(lines, 1)
    assert names(lines) == {1: ['a'], 2: ['b']}


def test_promises_that_overlap_stay():
    lines = timelines.Timelines(
        {1: [promise('a', 1, 3), promise('share', 2, 4)], 2: []}
    )
    assert not exchange(lines, 1)


def test_an_exchange_is_undone():
    lines = timelines.Timelines({1: [promise('a', 1, 3)]})
    mark = lines.mark()
    assert exchange(lines, 1)
    lines.undo(mark)
    assert names(lines) == {1: ['a'], 2: []}
