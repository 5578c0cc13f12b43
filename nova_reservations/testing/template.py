# SPDX-License-Identifier: Apache-2.0
"""SQLite files with our tables. Each process creates the tables once, which
takes a while, and then copies the file."""

import functools
import pathlib
import tempfile

from nova_reservations.db import api
from nova_reservations.db import migration


def copy_to(file: pathlib.Path) -> str:
    """Write a database with our tables, which are empty; return its URL."""
    file.write_bytes(_content())
    return f'sqlite:///{file}'


@functools.cache
def _content() -> bytes:
    with tempfile.TemporaryDirectory() as directory:
        file = pathlib.Path(directory, 'template.db')
        database = api.Database(f'sqlite:///{file}')
        migration.sync(database)
        database.dispose()
        return file.read_bytes()
