# SPDX-License-Identifier: Apache-2.0
"""Figures that tools/bench computes from its samples."""

import pytest

from sandbox.bench import measure


@pytest.mark.parametrize(
    ('percent', 'expected'), [(0, 1), (50, 5), (95, 10), (99, 10), (100, 10)]
)
def test_a_percentile_is_a_sample_that_was_seen(percent, expected):
    samples = [7, 3, 9, 1, 10, 5, 2, 8, 4, 6]
    assert measure.percentile(samples, percent) == expected


def test_a_mean_comes_with_what_it_may_be_off_by():
    middle, error = measure.mean([1.0, 3.0] * 50)
    assert middle == 2
    assert error == pytest.approx(1.96 * 1.005 / 10, rel=1e-3)


def test_samples_are_taken_in_turns_after_a_round_that_is_not_kept():
    calls = []

    def take(name):
        calls.append(name)
        return len(calls)

    first, second = measure.interleaved(
        3, lambda: take('a'), lambda: take('b')
    )
    assert ''.join(calls) == 'ab' + 'abbaab'
    assert first == [3, 6, 7]
    assert second == [4, 5, 8]
