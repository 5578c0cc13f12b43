# SPDX-License-Identifier: Apache-2.0

import pytest

from nova_reservations import objects


@pytest.mark.parametrize(
    ('number', 'text'),
    [(0, '0 hosts match'), (1, '1 host matches'), (2, '2 hosts match')],
)
def test_a_text_of_one_is_in_the_singular(number, text):
    assert objects.plural(number, 'host matches', 'hosts match') == text


@pytest.mark.parametrize(
    ('items', 'text'),
    [
        ('ab', 'a, b'),
        ('abcde', 'a, b, c, d, e'),
        ('abcdef', 'a, b, c, d, e and 1 more'),
    ],
)
def test_items_beyond_the_most_are_counted(items, text):
    assert objects.few([*items]) == text
