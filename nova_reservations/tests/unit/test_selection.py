# SPDX-License-Identifier: Apache-2.0
import datetime

from hypothesis import given
from hypothesis import strategies as st
import pytest

from nova_reservations import demand
from nova_reservations import values
from nova_reservations.planner import selection


def hours(number):
    return None if number is None else datetime.timedelta(hours=number)


def candidate(number, before=0, after=None, kept=False):
    return selection.Candidate(
        values.Resource(number, values.HOST, f'host-{number}', str(number)),
        generation=1,
        gap_before=hours(before),
        gap_after=hours(after),
        kept=kept,
    )


def choose(candidates, minimum, maximum=None, seed='lease', must_keep=()):
    chosen = selection.choose(
        candidates,
        demand.Demand(values.HOST, minimum, maximum or minimum),
        seed,
        must_keep,
    )
    return chosen and [one.resource.id for one in chosen]


def test_too_few_are_none_at_all():
    assert choose([candidate(1), candidate(2)], 3) is None


def test_as_many_are_chosen_as_there_are_up_to_the_maximum():
    candidates = [candidate(number) for number in range(5)]
    assert len(choose(candidates, 1, 3)) == 3
    assert len(choose(candidates, 1, 9)) == 5


@pytest.mark.parametrize(
    ('tight', 'loose'),
    [
        ((0, 0), (0, 1)),
        ((0, 0), (1, 0)),
        ((1, 1), (0, 5)),
        ((2, 3), (300, 300)),
        ((300, 300), (0, None)),
        # Both are free for good: the one with neighbours close by is split
        # into fewer pieces.
        ((0, None), (8, None)),
    ],
)
def test_the_tighter_fit_goes_first(tight, loose):
    candidates = [
        *(candidate(number, *loose) for number in range(20)),
        candidate(99, *tight),
    ]
    assert choose(candidates, 1) == [99]


def test_writers_at_the_same_moment_reach_for_different_hosts():
    candidates = [
        candidate(number, 20 + number / 60, 20) for number in range(30)
    ]
    first = {
        tuple(choose(candidates, 1, seed=f'lease-{n}')) for n in range(30)
    }
    assert len(first) > 10


def test_what_is_kept_goes_before_a_tighter_fit():
    candidates = [candidate(1), candidate(2, 500, 500, kept=True)]
    assert choose(candidates, 1) == [2]


def test_an_active_lease_only_adds():
    candidates = [candidate(1, kept=True), candidate(2, kept=True)]
    more = [*candidates, candidate(3)]
    assert choose(more, 3, must_keep=[1, 2]) == [1, 2, 3] or (
        choose(more, 3, must_keep=[1, 2]) == [2, 1, 3]
    )
    # One that it has is no longer free, and one would have to go.
    assert choose(more, 1, 3, must_keep=[1, 2, 4]) is None
    assert choose(candidates, 1, must_keep=[1, 2]) is None


gaps = st.integers(0, 40)
clouds = st.lists(
    st.builds(
        candidate,
        st.integers(1, 50),
        gaps,
        st.none() | gaps,
        st.booleans(),
    ),
    unique_by=lambda one: one.resource.id,
    max_size=12,
)


@given(clouds, st.integers(1, 6), st.integers(0, 6), st.text())
def test_choices_are_whole_repeatable_and_tightest_first(
    candidates, minimum, more, seed
):
    maximum = minimum + more
    chosen = choose(candidates, minimum, maximum, seed)
    assert chosen == choose(candidates[::-1], minimum, maximum, seed)
    if len(candidates) < minimum:
        assert chosen is None
        return
    assert len(chosen) == len(set(chosen)) == min(maximum, len(candidates))
    taken = [one for one in candidates if one.resource.id in chosen]
    left = [one for one in candidates if one.resource.id not in chosen]
    for one in left:
        for other in taken:
            assert not (one.kept and not other.kept)
            if one.kept == other.kept:
                assert not clearly_tighter(one, other)


def clearly_tighter(one, other):
    """Whether other leaves more than twice as much free, and an hour."""
    if one.gap_after is None or other.gap_after is None:
        return one.gap_after is not None and other.gap_after is None
    most = 2 * (one.gap_before + one.gap_after) + hours(1)
    return most < other.gap_before + other.gap_after
