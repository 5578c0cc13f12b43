# SPDX-License-Identifier: Apache-2.0
import datetime

from hypothesis import given
from hypothesis import strategies as st
import pytest

from nova_reservations.objects import interval

NOON = datetime.datetime(2030, 1, 1, 12, tzinfo=datetime.UTC)
HOUR = datetime.timedelta(hours=1)


def window(start, end):
    return interval.Interval(NOON + start * HOUR, NOON + end * HOUR)


def hours(one):
    """Return the hours that begin in the window."""
    return {
        hour for hour in range(20) if one.start <= NOON + hour * HOUR < one.end
    }


WINDOWS = (
    st.tuples(st.integers(0, 9), st.integers(0, 9))
    .filter(lambda pair: pair[0] < pair[1])
    .map(lambda pair: window(*pair))
)


@given(WINDOWS, WINDOWS)
def test_windows_overlap_if_they_have_an_instant_in_common(one, other):
    assert one.overlaps(other) == bool(hours(one) & hours(other))
    assert one.overlaps(other) == other.overlaps(one)


def test_windows_that_touch_do_not_overlap():
    assert not window(1, 2).overlaps(window(2, 3))


@pytest.mark.parametrize('end', [1, 0])
def test_a_window_ends_after_it_has_begun(end):
    with pytest.raises(ValueError, match='is not before'):
        window(1, end)


def test_padding_goes_on_both_sides():
    assert window(2, 3).padded(HOUR) == window(1, 4)
