# SPDX-License-Identifier: Apache-2.0
"""Migrations have distinct numbers, and form a chain.

Two developers who work in parallel may choose the same number.
"""

import pathlib
import runpy

from nova_reservations.db import migration


def _files():
    folder = pathlib.Path(migration.__file__).parent / 'migrations/versions'
    return sorted(folder.glob('[0-9]*_*.py'))


def test_migrations_have_numbers_of_their_own():
    numbers = [file.name.partition('_')[0] for file in _files()]
    assert len(numbers) == len(set(numbers))


def test_migrations_follow_one_another():
    """Two migrations of parallel branches may both follow the same one."""
    before = None
    for file in _files():
        module = runpy.run_path(str(file))
        assert module['revision'] == file.name.partition('_')[0]
        assert module['down_revision'] == before, file.name
        before = module['revision']
