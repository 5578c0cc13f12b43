# SPDX-License-Identifier: Apache-2.0
"""Two developers may give their migrations the same number, each alone."""

import pathlib
import runpy

from nova_reservations.db import migration


def _files():
    folder = pathlib.Path(migration.__file__).parent / 'migrations/versions'
    return sorted(folder.glob('[0-9]*_*.py'))


def test_each_migration_has_a_number_of_its_own():
    numbers = [file.name.partition('_')[0] for file in _files()]
    assert len(numbers) == len(set(numbers))


def test_each_migration_follows_the_one_before():
    """Two that were landed apart may both follow the same one."""
    before = None
    for file in _files():
        module = runpy.run_path(str(file))
        assert module['revision'] == file.name.partition('_')[0]
        assert module['down_revision'] == before, file.name
        before = module['revision']
