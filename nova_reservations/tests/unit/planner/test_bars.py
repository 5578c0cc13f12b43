# SPDX-License-Identifier: Apache-2.0
import dataclasses
import datetime

import hypothesis
from hypothesis import strategies as st

from nova_reservations.objects import holding
from nova_reservations.objects import interval
from nova_reservations.planner import bars
from nova_reservations.tests import profile

BEGIN = datetime.datetime(2050, 1, 1, tzinfo=datetime.UTC)
OURS = bars.Own('a reservation', 'a lease')


def at(minute):
    return BEGIN + datetime.timedelta(minutes=minute)


WINDOW = interval.Interval(at(10), at(30))


def whose(own):
    return dataclasses.astuple(own) if own else ('another', None)


def taken(start, end, whole=True, own=None):
    reservation_id, lease_id = whose(own)
    held = holding.Held(1, 1, reservation_id, at(start), at(end), whole, False)
    return held._replace(lease_id=lease_id)


def test_an_own_lease_is_shown_as_it_is():
    assert bars.of([taken(0, 20, own=OURS)], [], WINDOW) == [
        bars.Bar(bars.Kind.OWN, at(0), at(20), OURS)
    ]


def promised(start, end, hosts, own=None):
    return holding.Promised(at(start), at(end), *whose(own), hosts)


def test_promises_to_others_are_told_as_one_number():
    leases = [promised(0, 20, 2), promised(20, 25, 2), promised(22, 40, 1)]
    assert bars.promised(leases, WINDOW) == [
        bars.Bar(bars.Kind.TAKEN, at(10), at(22), hosts=2),
        bars.Bar(bars.Kind.TAKEN, at(22), at(25), hosts=3),
        bars.Bar(bars.Kind.TAKEN, at(25), at(30), hosts=1),
    ]


def test_promises_to_others_may_have_a_time_without_any_between():
    leases = [promised(10, 12, 1), promised(20, 22, 1, OURS)]
    leases.append(promised(24, 26, 1))
    assert bars.promised(leases, WINDOW) == [
        bars.Bar(bars.Kind.TAKEN, at(10), at(12), hosts=1),
        bars.Bar(bars.Kind.OWN, at(20), at(22), OURS, 1),
        bars.Bar(bars.Kind.TAKEN, at(24), at(26), hosts=1),
    ]


def test_leases_of_others_that_touch_are_one_bar():
    [bar] = bars.of([taken(0, 15), taken(15, 20)], [], WINDOW)
    assert bar == bars.Bar(bars.Kind.TAKEN, at(10), at(20))


def test_a_hold_whose_end_nobody_knows_lasts_until_the_end():
    assert bars.of([], [(None, None)], WINDOW) == [
        bars.Bar(bars.Kind.HELD, WINDOW.start, WINDOW.end)
    ]


spans = st.tuples(st.integers(0, 40), st.integers(1, 20), st.booleans())


@profile.guard(200)
@hypothesis.given(st.lists(spans), st.lists(spans))
def test_at_each_minute_the_bars_tell_what_is_there(leases, held):
    shown = bars.of(
        [taken(start, start + long, whole) for start, long, whole in leases],
        [
            (at(start), None if open_ended else at(start + long))
            for start, long, open_ended in held
        ],
        WINDOW,
    )
    for minute in range(10, 30):
        there = {
            bars.Kind.TAKEN if whole else bars.Kind.SHARED
            for start, long, whole in leases
            if start <= minute < start + long
        }
        there |= {
            bars.Kind.HELD
            for start, long, open_ended in held
            if start <= minute and (open_ended or minute < start + long)
        }
        told = [bar.kind for bar in shown if bar.start <= at(minute) < bar.end]
        assert sorted(told) == sorted(there)
    assert all(at(10) <= bar.start < bar.end <= at(30) for bar in shown)
