# SPDX-License-Identifier: Apache-2.0
"""A later release, which has one migration more."""

import pathlib
import shutil

import pytest

from nova_reservations.db import migration
from nova_reservations.tests.examples import second_migration

FIRST = '0001'
SECOND = '0002'


def add_second(
    monkeypatch: pytest.MonkeyPatch, directory: pathlib.Path
) -> None:
    """Let this process have a made-up second migration."""
    there = directory / 'migrations'
    if not there.exists():
        shutil.copytree(
            pathlib.Path(migration.__file__).parent / 'migrations', there
        )
        shutil.copy(
            second_migration.__file__,
            there / 'versions' / f'{SECOND}_made_up.py',
        )
    monkeypatch.setattr(migration, '_HERE', there)
