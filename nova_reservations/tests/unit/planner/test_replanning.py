# SPDX-License-Identifier: Apache-2.0
"""Replanning: promises move to other resources to make room for a newcomer."""

from collections import Counter
import datetime
import itertools

from hypothesis import given
from hypothesis import strategies as st

from nova_reservations.planner import replanning
from nova_reservations.planner import timelines
from nova_reservations.tests import profile

EPOCH = datetime.datetime(2030, 1, 1, tzinfo=datetime.UTC)
NEW = 'newcomer'


def hour(number):
    return EPOCH + datetime.timedelta(hours=number)


def promise(name, start, end, within=None):
    return timelines.Promise(name, hour(start), hour(end), within)


def newcomer(start, end, within, count=1, keeps=(), name=NEW):
    return replanning.Newcomer(
        name, hour(start), hour(end), count, within, keeps
    )


def make_room(held, *newcomers, limit=200):
    return replanning.make_room(held, newcomers, limit)


def apply(held, newcomers, room):
    """Check the plan, and return the timelines after it."""
    after = {key: list(its) for key, its in held.items()}
    taken = []
    for move in room.moves:
        [moved] = [
            each
            for each in after[move.source]
            if each.reservation_id == move.reservation_id
        ]
        assert move.target in moved.within
        after[move.source].remove(moved)
        taken.append((move.target, moved))
    for each in newcomers:
        places = room.resources[each.reservation_id]
        assert len(set(places)) == len(places) == each.count
        assert set(each.keeps) <= set(places)
        assert set(places) <= {*each.within, *each.keeps}
        taken += [
            (
                place,
                timelines.Promise(each.reservation_id, each.start, each.end),
            )
            for place in places
        ]
    for place, each in taken:
        after.setdefault(place, []).append(each)
    for line in after.values():
        line.sort(key=lambda each: each.start)
        for one, other in itertools.pairwise(line):
            assert one.end <= other.start
    return after


class TestExamples:
    ALL = frozenset({1, 2})

    def test_nothing_moves_where_there_is_room(self):
        held = {1: [promise('a', 0, 2, self.ALL)]}
        room = make_room(held, newcomer(1, 3, self.ALL))
        assert room == replanning.Room({NEW: [2]}, [])

    def test_a_promise_moves_so_that_another_fits(self):
        """Each resource has one promise in a part of the window."""
        held = {
            1: [promise('a', 1, 2, self.ALL)],
            2: [promise('b', 3, 4, self.ALL)],
        }
        room = make_room(held, newcomer(1, 4, self.ALL))
        assert len(room.moves) == 1
        apply(held, [newcomer(1, 4, self.ALL)], room)

    def test_promises_that_stay_are_not_moved(self):
        held = {1: [promise('a', 1, 2)], 2: [promise('b', 3, 4)]}
        assert make_room(held, newcomer(1, 4, self.ALL)) is None

    def test_nothing_is_found_where_the_peak_is_too_high(self):
        held = {
            1: [promise('a', 1, 3, self.ALL)],
            2: [promise('b', 2, 4, self.ALL)],
        }
        assert make_room(held, newcomer(1, 4, self.ALL)) is None

    def test_a_promise_leaves_the_kind_that_only_the_newcomer_needs(self):
        held = {1: [promise('a', 0, 4, self.ALL)]}
        room = make_room(held, newcomer(1, 3, frozenset({1})))
        assert room.moves == [replanning.Move('a', 1, 2)]

    def test_a_promise_makes_another_one_leave(self):
        """a fits on 1 and 2, b on 2 and 3: b goes to 3, a to 2."""
        held = {
            1: [promise('a', 0, 4, frozenset({1, 2}))],
            2: [promise('b', 1, 5, frozenset({2, 3}))],
            3: [],
        }
        room = make_room(held, newcomer(1, 3, frozenset({1})))
        assert {(move.reservation_id, move.target) for move in room.moves} == {
            ('a', 2),
            ('b', 3),
        }

    def test_kept_resources_are_cleared(self):
        held = {1: [promise('a', 2, 4, self.ALL)]}
        asked = newcomer(0, 3, self.ALL, keeps=(1,))
        room = make_room(held, asked)
        assert room == replanning.Room(
            {NEW: [1]}, [replanning.Move('a', 1, 2)]
        )

    def test_shares_that_overlap_stay(self):
        held = {
            1: [
                promise('a', 1, 3, self.ALL),
                promise('b', 2, 4, self.ALL),
            ],
            2: [promise('c', 0, 1)],
        }
        assert make_room(held, newcomer(0, 2, self.ALL)) is None

    def test_the_search_ends_at_its_limit(self):
        held = {
            1: [promise('a', 1, 2, self.ALL)],
            2: [promise('b', 3, 4, self.ALL)],
        }
        assert make_room(held, newcomer(1, 4, self.ALL), limit=0) is None

    def test_two_newcomers_do_not_share(self):
        held = {1: [promise('a', 1, 2, frozenset({1, 2, 3}))]}
        asked = [
            newcomer(0, 2, frozenset({1, 2, 3}), name='any'),
            newcomer(0, 2, frozenset({1}), name='one'),
        ]
        apply(held, asked, make_room(held, *asked))


@st.composite
def equal_clouds(draw):
    """Return promises that were booked one after the other, each on the
    first resource that is free. Those that begin by 0 do not move."""
    count = draw(st.integers(1, 5))
    everybody = frozenset(range(count))
    held = {key: [] for key in everybody}
    windows = draw(
        st.lists(
            st.tuples(st.integers(-3, 10), st.integers(1, 6)), max_size=12
        )
    )
    for number, (start, length) in enumerate(windows):
        order = draw(st.permutations(sorted(everybody)))
        for key in order:
            if all(
                start + length <= (each.start - EPOCH).total_seconds() / 3600
                or start >= (each.end - EPOCH).total_seconds() / 3600
                for each in held[key]
            ):
                begun = start <= 0
                held[key].append(
                    promise(
                        f'p{number}',
                        start,
                        start + length,
                        None if begun else everybody,
                    )
                )
                break
    start = draw(st.integers(0, 10))
    return (
        held,
        newcomer(
            start,
            start + draw(st.integers(1, 8)),
            everybody,
            draw(st.integers(1, count)),
        ),
    )


@profile.guard()
@given(equal_clouds())
def test_of_equal_hosts_there_is_room_exactly_if_the_peak_allows_it(cloud):
    held, asked = cloud
    busy = Counter(
        time
        for line in held.values()
        for each in line
        for time in range(-3, 30)
        if each.start <= hour(time) < each.end
    )
    allowed = all(
        busy[time] + asked.count <= len(held)
        for time in range(-3, 30)
        if asked.start <= hour(time) < asked.end
    )
    room = make_room(held, asked, limit=1000)
    assert (room is not None) == allowed
    if room:
        apply(held, [asked], room)


@st.composite
def mixed_clouds(draw):
    count = draw(st.integers(1, 4))
    keys = list(range(count))
    held = {key: [] for key in keys}
    for number in range(draw(st.integers(0, 10))):
        key = draw(st.sampled_from(keys))
        start, length = draw(st.integers(0, 8)), draw(st.integers(1, 4))
        within = draw(st.sets(st.sampled_from(keys)))
        its = draw(st.sampled_from([None, frozenset({*within, key})]))
        new = promise(f'p{number}', start, start + length, its)
        if all(
            new.end <= each.start or each.end <= new.start
            for each in held[key]
        ):
            held[key].append(new)
    asked = [
        newcomer(
            start := draw(st.integers(0, 8)),
            start + draw(st.integers(1, 5)),
            within := frozenset(
                draw(st.sets(st.sampled_from(keys), min_size=1))
            ),
            draw(st.integers(1, len(within))),
            name=f'new{number}',
        )
        for number in range(draw(st.integers(1, 2)))
    ]
    return held, asked


@profile.guard()
@given(mixed_clouds())
def test_of_mixed_hosts_all_are_where_they_may_be(cloud):
    held, asked = cloud
    room = make_room(held, *asked)
    if room:
        apply(held, asked, room)


def test_a_search_ends_when_its_time_is_over():
    held = {
        1: [promise('a', 1, 2, {1, 2})],
        2: [promise('b', 3, 4, {1, 2})],
    }
    wanted = [[newcomer(0, 5, {1, 2})]]
    assert not replanning.make_rooms(held, wanted, 200).refused
    assert replanning.make_rooms(held, wanted, 200, lambda: True).refused
