# SPDX-License-Identifier: Apache-2.0
import hypothesis
from hypothesis import strategies as st
import pytest

from nova_reservations.compute.metrics import rates

VALUES = st.none() | st.integers(0, 2**64)
PARTS = st.dictionaries(
    st.sampled_from(['vda', 'vdb', 'vdc']),
    st.dictionaries(st.sampled_from(['a', 'b']), st.integers(0, 2**64)),
)


def test_a_rate_is_what_came_per_second():
    assert rates.rate(100, 400, 60) == 5


@pytest.mark.parametrize(
    ('before', 'now', 'seconds'),
    [
        pytest.param(400, 100, 60, id='started anew'),
        pytest.param(2**32 - 5, 5, 60, id='wrapped'),
        pytest.param(None, 5, 60, id='not known before'),
        pytest.param(5, None, 60, id='not known now'),
        pytest.param(5, 6, 0, id='first look'),
        pytest.param(5, 6, -1, id='clock set back'),
    ],
)
def test_a_rate_that_nobody_can_know_is_none(before, now, seconds):
    assert rates.rate(before, now, seconds) is None


@hypothesis.given(VALUES, VALUES, st.floats(-10, 10))
def test_no_rate_is_negative(before, now, seconds):
    found = rates.rate(before, now, seconds)
    assert found is None or found >= 0


@hypothesis.given(PARTS, PARTS, st.floats(0.1, 100))
def test_a_whole_is_what_its_parts_are_known_to_be(now, before, seconds):
    """A slow and obvious count gives the expected values."""
    found = rates.counters(now, before, seconds, ('a', 'b'))
    for key in ('a', 'b'):
        values, grown = [], []
        for name in now:
            if key not in now[name]:
                continue
            values.append(now[name][key])
            if key in before.get(name, {}):
                growth = now[name][key] - before[name][key]
                if growth >= 0:
                    grown.append(growth / seconds)
        assert found[key] == (sum(values) if values else None)
        assert found[f'{key}_rate'] == (
            pytest.approx(sum(grown)) if grown else None
        )
    assert found['each'].keys() == now.keys()


@hypothesis.given(
    st.lists(st.integers(0, 2**40), min_size=1, max_size=20),
    st.integers(1, 2**32),
)
def test_a_counter_that_wraps_loses_only_the_look_at_which_it_does(
    increments, width
):
    """The sum of the rates never exceeds the real total."""
    total, counter, seen = 0, 0, 0.0
    for increment in increments:
        before, counter = counter, (counter + increment) % width
        total += increment
        seen += rates.rate(before, counter, 1) or 0
    assert 0 <= seen <= total


def test_a_disk_that_comes_is_no_burst():
    before = {'vda': {'read_bytes': 1000}}
    now = {'vda': {'read_bytes': 1600}, 'vdb': {'read_bytes': 10**9}}
    found = rates.counters(now, before, 60, ('read_bytes',))
    assert found['read_bytes_rate'] == 10
