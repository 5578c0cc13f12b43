# SPDX-License-Identifier: Apache-2.0
"""Openings, compared with a check of every second of every window."""

import dataclasses
import itertools

from hypothesis import given
from hypothesis import strategies as st
import pytest

from nova_reservations import objects
from nova_reservations.objects import amounts
from nova_reservations.objects import demand
from nova_reservations.planner import levels
from nova_reservations.planner import openings
from nova_reservations.tests import booking
from nova_reservations.tests import profile

SECONDS = 12
CAPACITY = {'VCPU': 6, 'MEMORY_MB': 4}
SLOT = {'VCPU': 2, 'MEMORY_MB': 1}


def at(second):
    return booking.NOW + booking.datetime.timedelta(seconds=second)


def ends(second):
    return None if second is None else at(second)


def seconds(count):
    return at(count) - booking.NOW


@dataclasses.dataclass(frozen=True)
class Case:
    """:ivar holds: resource -> (start, end, amounts), amounts being None for
        the whole resource.

    :ivar could: for each reservation, the resources that it could have.
    """

    demands: tuple
    holds: dict
    could: tuple
    keeps: tuple
    aftermath: int = 0

    def prospects(self, begin):
        return [
            openings.Prospect(
                asked,
                {
                    resource: levels.line(
                        [
                            levels.Load(
                                at(start),
                                None if end is None else at(end),
                                units,
                            )
                            for start, end, units in self.holds[resource]
                        ],
                        at(begin),
                        None if asked.exclusive else amounts.Amounts(CAPACITY),
                        asked.slot or amounts.NOTHING,
                    )
                    for resource in could
                },
                seconds(self.aftermath),
                keeps,
            )
            for asked, could, keeps in zip(
                self.demands, self.could, self.keeps, strict=True
            )
        ]

    def slots(self, resource, asked, start, end):
        """Return the slots that are free in every second of a window."""
        return min(
            self._slots_in(resource, asked, second)
            for second in range(start, end + self.aftermath)
        )

    def _slots_in(self, resource, asked, second):
        there = [
            units
            for start, end, units in self.holds[resource]
            if start <= second and (end is None or second < end)
        ]
        if asked.exclusive:
            return int(not there)
        if None in there:
            return 0
        return max(
            0,
            min(
                (CAPACITY[name] - sum(units[name] for units in there)) // need
                for name, need in SLOT.items()
            ),
        )

    def fits(self, start, end):
        """Return whether some choice of resources suffices for all
        reservations."""
        return any(
            self._is_enough(choice, start, end)
            for choice in itertools.product(
                *(
                    self._choices(asked, could)
                    for asked, could in zip(
                        self.demands, self.could, strict=True
                    )
                )
            )
        )

    def _choices(self, asked, could):
        """Yield resource -> slots, for each way to get the wanted number."""
        wanted = asked.minimum if asked.exclusive else asked.slots
        most = 1 if asked.affinity is False else wanted
        for counts in itertools.product(range(most + 1), repeat=len(could)):
            if sum(counts) == wanted:
                chosen = {
                    key: count
                    for key, count in zip(could, counts, strict=True)
                    if count
                }
                if not (asked.affinity and len(chosen) > 1):
                    yield chosen

    def _is_enough(self, choice, start, end):
        used = [key for chosen in choice for key in chosen]
        return len(used) == len(set(used)) and all(
            all(chosen.get(key, 0) >= count for key, count in keeps.items())
            and all(
                self.slots(key, asked, start, end) >= count
                for key, count in chosen.items()
            )
            for asked, keeps, chosen in zip(
                self.demands, self.keeps, choice, strict=True
            )
        )


@st.composite
def spans(draw):
    start = draw(st.integers(-2, SECONDS - 1))
    return start, draw(
        st.one_of(st.none(), *[st.integers(start + 1, SECONDS)] * 3)
    )


def of(kind, units):
    """Return a strategy for the holds of a resource."""
    return st.lists(
        st.tuples(spans(), units).map(lambda hold: (*hold[0], hold[1])),
        max_size=4,
    )


def hosts(minimum):
    return demand.Demand(objects.HOST, minimum, minimum + 1)


def servers(slots, affinity):
    return demand.Share(objects.HOST, slots, SLOT, affinity)


wholes = st.tuples(st.builds(hosts, st.integers(1, 3)))
pairs = st.tuples(*[st.builds(hosts, st.integers(1, 2))] * 2)
slots = st.tuples(
    st.builds(servers, st.integers(1, 4), st.sampled_from([None, True, False]))
)
units = st.one_of(
    st.none(),
    st.fixed_dictionaries(
        {'VCPU': st.integers(0, 5), 'MEMORY_MB': st.integers(0, 3)}
    ),
)


@st.composite
def cases(draw, kept=False):
    asked = draw(st.one_of(wholes, pairs, slots))
    size = draw(st.integers(1, 4))
    could = tuple(
        draw(st.lists(st.integers(0, size - 1), unique=True)) for _ in asked
    )
    keeps = tuple({} for _ in asked)
    if kept and len(asked) == 1 and could[0]:
        most = asked[0].minimum if asked[0].exclusive else asked[0].slots
        resource = draw(st.sampled_from(could[0]))
        single = asked[0].exclusive or asked[0].affinity is False
        count = draw(st.integers(0, 1 if single else most))
        keeps = ({resource: count} if count else {},)
    return Case(
        asked,
        {key: draw(of(int, units)) for key in range(size)},
        could,
        keeps,
        draw(st.integers(0, 2)),
    )


@profile.guard()
@given(cases(), st.integers(1, 5), st.integers(0, 3))
def test_a_lease_can_start_no_earlier_and_then(case, length, begin):
    found = list(
        openings.starts(case.prospects(begin), at(begin), seconds(length))
    )
    fitting = [
        second
        for second in range(begin, SECONDS + length + 3)
        if case.fits(second, second + length)
    ]
    assert found[:1] == [at(second) for second in fitting[:1]]
    assert set(found) <= {at(second) for second in fitting}
    # A start that is not found directly follows another that fits.
    assert all(
        at(second) in found or second - 1 in fitting for second in fitting
    )


@profile.guard()
@given(
    cases(),
    st.integers(1, 5),
    st.integers(0, 3),
    st.integers(0, SECONDS),
)
def test_nothing_is_said_of_times_that_are_not_known(
    case, length, begin, until
):
    prospects = case.prospects(begin)
    known = dataclasses.replace(
        case,
        holds={
            key: [hold for hold in holds if hold[0] < until]
            for key, holds in case.holds.items()
        },
    )
    everything = list(openings.starts(prospects, at(begin), seconds(length)))
    found = list(
        openings.starts(
            known.prospects(begin), at(begin), seconds(length), at(until)
        )
    )
    assert set(found) <= set(everything) | {at(begin)}
    assert all(case.fits(*_span(start, length)) for start in found)


def _span(start, length):
    second = round((start - booking.NOW).total_seconds())
    return second, second + length


@profile.guard()
@given(
    cases(kept=True),
    st.integers(0, 3),
    st.integers(1, 4),
    st.integers(1, SECONDS),
)
def test_a_lease_can_last_until_then_and_no_longer(case, begin, length, more):
    after, before = begin + length, begin + length + more
    ends = [
        second
        for second in range(after + 1, before)
        if case.fits(begin, second)
    ]
    latest = openings.latest_end(
        case.prospects(begin), at(begin), at(after), at(before)
    )
    # latest_end() is only used where the lease does not fit until before.
    if not case.fits(begin, before):
        assert latest == (at(ends[-1]) if ends else None)


def test_of_shares_in_several_reservations_nothing_is_said():
    prospects = Case(
        (hosts(1), servers(1, None)), {0: [], 1: []}, ((0, 1),) * 2, ({}, {})
    ).prospects(0)
    assert not list(openings.starts(prospects, at(0), seconds(1)))
    assert openings.latest_end(prospects, at(0), at(1), at(9)) is None


@pytest.mark.parametrize('until', [None, at(100)])
def test_a_lease_that_needs_nothing_more_can_start_at_once(until):
    prospects = Case((hosts(1),), {0: []}, ((0,),), ({},)).prospects(0)
    assert list(openings.starts(prospects, at(0), seconds(9), until)) == [
        at(0)
    ]


def test_leases_in_the_last_year_that_there_is_are_no_matter():
    last = booking.NOW.replace(year=9998, month=12, day=31)
    line = levels.line(
        [levels.Load(at(0), last - booking.datetime.timedelta(days=1))],
        at(0),
    )
    prospects = [openings.Prospect(hosts(1), {1: line})]
    assert not list(
        openings.starts(
            prospects, at(0), booking.datetime.timedelta(days=9999)
        )
    )
