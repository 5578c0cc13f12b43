# SPDX-License-Identifier: Apache-2.0
"""Values of options."""

import argparse

import pytest

from osc_nova_reservations import options


@pytest.mark.parametrize(
    ('text', 'numbers'),
    [('3', (3, 3)), ('2-5', (2, 5)), ('2-2', (2, 2)), ('5-2', (5, 2))],
)
def test_a_range_of_hosts_is_one_number_or_two(text, numbers):
    assert options.host_range(text) == numbers


@pytest.mark.parametrize('text', ['', '-', '2-', '-2', '1-2-3', 'x', '1.5'])
def test_any_other_range_of_hosts_is_refused(text):
    with pytest.raises(argparse.ArgumentTypeError, match='neither a number'):
        options.host_range(text)
