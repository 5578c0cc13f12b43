# SPDX-License-Identifier: Apache-2.0
"""Transactions that see what was committed before them at any node of a
Galera cluster.

A node applies the commits of other nodes with some delay, and answers from its
older state until then. A session can have the first statement of each
transaction wait until its node has caught up with the cluster.

Decision 0030: doc/source/decisions/0030-galera
"""

from collections.abc import Iterator
import contextlib
from typing import Any

import sqlalchemy as sa
from sqlalchemy import event
from sqlalchemy import orm

_READS = 1
_WRITES = 2 | 4
"""The bits of wsrep_sync_wait: statements that wait."""

_WAITS_FOR = 'nova_reservations_sync_wait'


def prepare(engine: sa.Engine, is_configured: bool) -> None:
    """Have transactions wait for their node. This is decided for each
    connection, by the server that it has reached.

    :param is_configured: whether an operator has configured which statements
        wait; otherwise all do
    """

    @event.listens_for(engine, 'connect')
    def connect(connection: Any, record: sa.pool.ConnectionPoolEntry) -> None:
        with contextlib.closing(connection.cursor()) as cursor:
            cursor.execute(
                'SHOW SESSION VARIABLES WHERE Variable_name IN '
                "('wsrep_on', 'wsrep_sync_wait')"
            )
            # MySQL knows neither.
            found = dict(cursor.fetchall())
            if found.get('wsrep_on') != 'ON':
                return
            waits_for = int(found['wsrep_sync_wait'])
            if not is_configured:
                waits_for |= _READS | _WRITES
                cursor.execute(_statement(waits_for))
        record.info[_WAITS_FOR] = waits_for


@contextlib.contextmanager
def caught_up(session: orm.Session) -> Iterator[None]:
    """Have the transaction wait, whatever is configured. It must not have read
    anything yet."""
    connection = session.connection()
    waits_for = connection.info.get(_WAITS_FOR, _READS)
    if waits_for & _READS:
        yield
        return
    connection.exec_driver_sql(_statement(waits_for | _READS))
    try:
        yield
    finally:
        # A broken connection is not used again.
        if not connection.invalidated:
            connection.exec_driver_sql(_statement(waits_for))


def _statement(waits_for: int) -> str:
    return f'SET SESSION wsrep_sync_wait = {waits_for}'
