# SPDX-License-Identifier: Apache-2.0
import datetime

import hypothesis
from hypothesis import strategies as st

from nova_reservations.objects import amounts
from nova_reservations.objects import interval
from nova_reservations.planner import levels
from nova_reservations.tests import profile

START = datetime.datetime(2030, 1, 1, tzinfo=datetime.UTC)
ROOM = amounts.Amounts({'VCPU': 8, 'MEMORY_MB': 8})
SLOT = amounts.Amounts({'VCPU': 1, 'MEMORY_MB': 2})


def minutes(count):
    return datetime.timedelta(minutes=count)


windows = st.lists(
    st.tuples(st.integers(1, 3), st.integers(-20, 60), st.integers(1, 40)).map(
        lambda drawn: (
            drawn[0],
            START + minutes(drawn[1]),
            START + minutes(drawn[1] + drawn[2]),
        )
    ),
    max_size=8,
)


@profile.guard()
@hypothesis.given(windows, st.integers(1, 50), st.integers(1, 20))
def test_steps_count_the_resources_that_some_window_holds_in_them(
    windows, length, step
):
    end = START + minutes(length)
    expected = []
    begin = START
    while begin < end:
        until = min(begin + minutes(step), end)
        expected.append(
            len({r for r, a, b in windows if a < until and begin < b})
        )
        begin = until
    # The database leaves out windows that begin after the end, even if they
    # begin within the full length of the last step.
    asked = [window for window in windows if window[1] < end]
    assert levels.held(asked, START, end, minutes(step)) == expected


@profile.guard()
@hypothesis.given(
    windows, st.integers(1, 50), st.integers(1, 20), st.integers(0, 15)
)
def test_a_step_peaks_at_its_busiest_minute(windows, length, step, longer):
    end = START + minutes(length)
    expected = []
    begin = START
    while begin < end:
        until = min(begin + minutes(step), end) + minutes(longer)
        expected.append(
            max(
                len({r for r, a, b in windows if a <= minute < b})
                for minute in (
                    begin + minutes(number)
                    for number in range((until - begin) // minutes(1))
                )
            )
        )
        begin += minutes(step)
    assert (
        levels.peaks(windows, START, end, minutes(step), minutes(longer))
        == expected
    )


loads = st.builds(
    lambda start, length, units: levels.Load(
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
    if any(load.units is None for load in there):
        return 0
    busiest = amounts.peak(
        [
            amounts.Portion(
                interval.Interval(load.start, load.end), load.units
            )
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
        levels.least(
            [levels.line(held, START, ROOM, SLOT) for held in hosts],
            START,
            end,
            minutes(step),
            minutes(longer),
        )
        == expected
    )
