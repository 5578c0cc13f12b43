# SPDX-License-Identifier: Apache-2.0

import pytest

from nova_reservations import objects


@pytest.mark.parametrize(
    ('number', 'text'),
    [(0, '0 hosts match'), (1, '1 host matches'), (2, '2 hosts match')],
)
def test_a_text_of_one_is_in_the_singular(number, text):
    assert objects.plural(number, 'host matches', 'hosts match') == text
