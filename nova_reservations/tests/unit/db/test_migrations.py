# SPDX-License-Identifier: Apache-2.0
"""Two developers may give their migrations the same number, each alone."""

import pathlib

from nova_reservations.db import migration


def test_each_migration_has_a_number_of_its_own():
    folder = pathlib.Path(migration.__file__).parent / 'migrations/versions'
    numbers = [
        file.name.partition('_')[0] for file in folder.glob('[0-9]*_*.py')
    ]
    assert len(numbers) == len(set(numbers))
