# SPDX-License-Identifier: Apache-2.0
import dataclasses
import datetime
import itertools

from hypothesis import given
from hypothesis import strategies as st
import pytest

from nova_reservations import objects
from nova_reservations.objects import demand
from nova_reservations.objects import interval
from nova_reservations.objects import search
from nova_reservations.planner import offers
from nova_reservations.planner import plan
from nova_reservations.tests import profile

WINDOW = interval.Interval(
    datetime.datetime(2030, 1, 1, tzinfo=datetime.UTC),
    datetime.datetime(2030, 1, 2, tzinfo=datetime.UTC),
)


def hours(number):
    return None if number is None else datetime.timedelta(hours=number)


def candidate(number, before=0, after=None, kept=False):
    return search.Offer(
        objects.Resource(number, objects.HOST, f'host-{number}', str(number)),
        generation=1,
        gap_before=hours(before),
        gap_after=hours(after),
        kept=int(kept),
    )


def ask(candidates, minimum, maximum=None, must_keep=(), name='one'):
    demanded = demand.Demand(objects.HOST, minimum, maximum or minimum)
    return offers.Ask(
        search.Wanted(
            name,
            demanded,
            WINDOW,
            held=dict.fromkeys(must_keep, 1),
            keep_all=bool(must_keep),
        ),
        candidates,
    )


def assign(*asks, seed='lease', best_fit=True):
    """Return the IDs that each reservation gets; or the number of the one for
    which there are too few."""
    named = [
        dataclasses.replace(
            asked,
            wanted=dataclasses.replace(
                asked.wanted, reservation_id=str(index)
            ),
        )
        for index, asked in enumerate(asks)
    ]
    found = plan.assign(named, seed, best_fit)
    if isinstance(found, offers.Shortage):
        return int(found.reservation_id)
    assert all(set(slots.values()) <= {1} for slots in found.slots.values())
    return [list(found.slots[str(index)]) for index in range(len(asks))]


def choose(candidates, minimum, maximum=None, seed='lease', must_keep=()):
    """Return the IDs that one reservation gets, or None if there are too
    few."""
    found = assign(ask(candidates, minimum, maximum, must_keep), seed=seed)
    return None if found == 0 else found[0]


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
        # Both are free without end. The one without a gap before is better:
        # no gap is left between two leases.
        ((0, None), (8, None)),
    ],
)
def test_the_tighter_fit_goes_first(tight, loose):
    candidates = [
        *(candidate(number, *loose) for number in range(20)),
        candidate(99, *tight),
    ]
    assert choose(candidates, 1) == [99]


def test_writers_that_were_too_late_leave_the_best_fit_to_others():
    asked = ask(
        [
            *(candidate(number, 300, 300) for number in range(30)),
            candidate(99, 0, 0),
        ],
        1,
    )
    chosen = {
        assign(asked, seed=f'lease {writer}', best_fit=False)[0][0]
        for writer in range(8)
    }
    assert len(chosen) > 4


def test_kept_hosts_go_first_however_loosely_they_fit():
    asked = ask([candidate(1, 0, 0), candidate(2, 9, 9, kept=True)], 1)
    for best_fit in (True, False):
        assert assign(asked, best_fit=best_fit) == [[2]]


def test_writers_at_the_same_moment_reach_for_different_hosts():
    candidates = [
        candidate(number, 20 + number / 60, 20) for number in range(30)
    ]
    first = {
        tuple(choose(candidates, 1, seed=f'lease-{n}')) for n in range(30)
    }
    assert len(first) > 10


def test_kept_hosts_go_before_a_tighter_fit():
    candidates = [candidate(1), candidate(2, 500, 500, kept=True)]
    assert choose(candidates, 1) == [2]


def test_an_active_lease_only_adds():
    candidates = [candidate(1, kept=True), candidate(2, kept=True)]
    more = [*candidates, candidate(3)]
    assert choose(more, 3, must_keep=[1, 2]) == [1, 2, 3] or (
        choose(more, 3, must_keep=[1, 2]) == [2, 1, 3]
    )
    # Host 4 is no longer a candidate, or one of two hosts would have to go.
    assert choose(more, 1, 3, must_keep=[1, 2, 4]) is None
    assert choose(candidates, 1, must_keep=[1, 2]) is None


def test_a_reservation_gives_way_to_one_that_can_have_nothing_else():
    anywhere, here = [candidate(1), candidate(2)], [candidate(1)]
    for seed in map(str, range(20)):
        found = assign(ask(anywhere, 1, 2), ask(here, 1), seed=seed)
        assert found == [[2], [1]]


def test_the_one_that_can_not_be_fulfilled_is_named():
    candidates = [candidate(1), candidate(2)]
    assert assign(ask(candidates, 2), ask(candidates, 1)) == 1


def test_hosts_that_must_be_kept_are_not_given_to_another():
    mine = [candidate(1, kept=True), candidate(2)]
    found = assign(ask(mine, 1, must_keep=[1]), ask([candidate(1)], 1))
    assert found == 1


wishes = st.lists(
    st.tuples(st.sets(st.integers(1, 5)), st.integers(1, 3)),
    min_size=1,
    max_size=3,
)


@profile.guard()
@given(wishes, st.text())
def test_wishes_that_can_be_fulfilled_are_fulfilled(wishes, seed):
    asks = [
        ask([candidate(number) for number in sorted(numbers)], minimum)
        for numbers, minimum in wishes
    ]
    found = assign(*asks, seed=seed)
    if not can_be_fulfilled(wishes, frozenset()):
        assert isinstance(found, int)
        return
    given = [set(chosen) for chosen in found]
    assert sum(map(len, given)) == len(set().union(*given))
    for (numbers, minimum), got in zip(wishes, given, strict=True):
        assert got <= numbers
        assert len(got) == minimum


def can_be_fulfilled(wishes, taken):
    """Return whether all wishes can be fulfilled; tries all choices."""
    if not wishes:
        return True
    (numbers, minimum), *others = wishes
    return any(
        can_be_fulfilled(others, taken | set(got))
        for got in itertools.combinations(sorted(numbers - taken), minimum)
    )


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


@profile.guard()
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
    """Return whether the gaps of other are over twice those of one, plus an
    hour."""
    if one.gap_after is None or other.gap_after is None:
        return one.gap_after is not None and other.gap_after is None
    most = 2 * (one.gap_before + one.gap_after) + hours(1)
    return most < other.gap_before + other.gap_after
