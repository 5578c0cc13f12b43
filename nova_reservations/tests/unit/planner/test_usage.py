# SPDX-License-Identifier: Apache-2.0
import datetime

import hypothesis
from hypothesis import strategies as st

from nova_reservations.planner import held_over_time
from nova_reservations.tests import profile

START = datetime.datetime(2030, 1, 1, tzinfo=datetime.UTC)


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
    assert held_over_time.held(asked, START, end, minutes(step)) == expected


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
        held_over_time.peaks(
            windows, START, end, minutes(step), minutes(longer)
        )
        == expected
    )
