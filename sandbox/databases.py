# SPDX-License-Identifier: Apache-2.0
"""The databases of OpenStack's services, for as long as the sandbox lasts."""

from collections.abc import Iterator
import contextlib
import sqlite3
from typing import Any

import sqlalchemy
import sqlalchemy.engine

from sandbox import layout as lo

#: What a transaction may do before it has to be the only writer.
_READS = ('SELECT', 'PRAGMA', 'BEGIN')


@contextlib.contextmanager
def lent(layout: lo.Layout) -> Iterator[None]:
    """Create them empty, and drop them in the end."""
    if not layout.database_url:
        for name in layout.databases:
            file = layout.directory / f'{name}.db'
            with contextlib.closing(sqlite3.connect(file)) as database:
                # The file keeps this mode, in which readers never wait.
                database.execute('PRAGMA journal_mode=WAL')
        yield
        return
    names = [layout.database_name(name) for name in layout.databases]
    server = sqlalchemy.create_engine(
        layout.database_url,
        isolation_level='AUTOCOMMIT',
        # What is left open now may be closed by the time of the other.
        poolclass=sqlalchemy.NullPool,
    )
    try:
        with server.connect() as connection:
            for name in names:
                connection.exec_driver_sql(f'CREATE DATABASE {name}')
        yield
    finally:
        with server.connect() as connection:
            for name in names:
                connection.exec_driver_sql(f'DROP DATABASE IF EXISTS {name}')
        server.dispose()


def begin_late() -> None:
    """Have SQLite transactions begin with their first write, and as a writer.

    oslo.db sends BEGIN at once. What then reads and later writes fails with
    "database is locked", at once and whatever the timeout, when another
    connection wrote in between: SQLite can't move it on to what the other
    wrote. Begun with the first write, it waits for its turn instead; what it
    read before is as fresh as with READ COMMITTED elsewhere.

    Our own database does without.
    """
    sqlalchemy.event.listen(*LISTENER, retval=True)


def _before_cursor_execute(
    connection: sqlalchemy.engine.Connection,
    cursor: Any,
    statement: str,
    parameters: Any,
    context: object,
    executemany: bool,
) -> tuple[str, Any]:
    database = connection.engine.url.database or ''
    if not database.endswith('/reservations.db'):
        if statement == 'BEGIN':
            statement = 'SELECT 1'
        elif not (
            cursor.connection.in_transaction
            or statement.lstrip().upper().startswith(_READS)
        ):
            cursor.execute('BEGIN IMMEDIATE')
    return statement, parameters


LISTENER = (
    sqlalchemy.engine.Engine,
    'before_cursor_execute',
    _before_cursor_execute,
)
