# SPDX-License-Identifier: Apache-2.0
"""The databases of OpenStack's services, for as long as the sandbox lasts."""

from collections.abc import Iterator
import contextlib
import sqlite3
from typing import Any

import sqlalchemy
import sqlalchemy.engine

from sandbox import layout as lo

#: Statements that a transaction may run before it must be the only writer.
_READS = ('SELECT', 'PRAGMA', 'BEGIN')


@contextlib.contextmanager
def lent(layout: lo.Layout) -> Iterator[None]:
    """Create the empty databases, and drop them in the end."""
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
        # A pooled connection might be closed by the time of the next use.
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
    """Make SQLite transactions begin with their first write, as a writer.

    oslo.db sends BEGIN at once. If such a transaction first reads, and writes
    after another connection has written, it fails with "database is locked",
    immediately and whatever the timeout: SQLite can't upgrade its snapshot. If
    it begins with the first write, it waits for its turn instead. What it has
    read before is as fresh as with READ COMMITTED elsewhere.

    Our own database does not need this.
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
