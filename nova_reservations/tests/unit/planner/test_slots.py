# SPDX-License-Identifier: Apache-2.0
import datetime

import hypothesis
from hypothesis import strategies as st

from nova_reservations.objects import amounts
from nova_reservations.objects import interval
from nova_reservations.planner import slots
from nova_reservations.tests import profile

START = datetime.datetime(2030, 1, 1, tzinfo=datetime.UTC)
ROOM = amounts.Amounts({'VCPU': 8, 'MEMORY_MB': 8})
SLOT = amounts.Amounts({'VCPU': 1, 'MEMORY_MB': 2})


def minutes(count):
    return datetime.timedelta(minutes=count)


loads = st.builds(
    lambda start, length, units: slots.Load(
        START + minutes(start), START + minutes(start + length), units
    ),
    st.integers(-20, 60),
    st.integers(0, 40),
    st.one_of(
        st.none(),
        st.fixed_dictionaries(
            {'VCPU': st.integers(0, 4), 'MEMORY_MB': st.integers(0, 4)}
        ),
    ),
)
hosts = st.lists(st.lists(loads, max_size=4), max_size=3)


def fitting(held, window):
    """Return how many slots fit on a host at the peak of its use."""
    there = [
        load
        for load in held
        if load.start < load.end
        and load.start < window.end
        and window.start < load.end
    ]
    if any(load.amounts is None for load in there):
        return 0
    busiest = amounts.peak(
        [
            amounts.Held(interval.Interval(load.start, load.end), load.amounts)
            for load in there
        ],
        window,
    )
    return SLOT.times_in(ROOM - busiest)


@profile.guard(200)
@hypothesis.given(
    hosts, st.integers(1, 50), st.integers(1, 20), st.integers(0, 15)
)
def test_a_step_has_room_for_what_fits_at_its_busiest_instant(
    hosts, length, step, longer
):
    end = START + minutes(length)
    expected = []
    begin = START
    while begin < end:
        window = interval.Interval(
            begin, min(begin + minutes(step), end) + minutes(longer)
        )
        expected.append(sum(fitting(held, window) for held in hosts))
        begin += minutes(step)
    assert (
        slots.total(
            [slots.room(ROOM, SLOT, held) for held in hosts],
            START,
            end,
            minutes(step),
            minutes(longer),
        )
        == expected
    )
