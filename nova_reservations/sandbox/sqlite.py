# SPDX-License-Identifier: Apache-2.0
"""Make OpenStack's services get along with SQLite and with each other."""

from typing import Any

import sqlalchemy
import sqlalchemy.engine

#: What a transaction may do before it has to be the only writer.
_READS = ('SELECT', 'PRAGMA', 'BEGIN')


def begin_late() -> None:
    """Begin transactions with their first write, and as a writer.

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
