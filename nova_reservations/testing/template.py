# SPDX-License-Identifier: Apache-2.0
"""Files of SQLite with our tables: copies of one, which each process makes
once, for that takes a while."""

import functools
import pathlib
import tempfile

from nova_reservations.db import api
from nova_reservations.db import migration


def copy_to(file: pathlib.Path) -> str:
    """Write a database that has nothing but our tables; return its URL."""
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
