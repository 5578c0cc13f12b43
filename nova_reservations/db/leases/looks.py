# SPDX-License-Identifier: Apache-2.0
"""Looks of workers, twice a second: the time, and whatever is due.

Decision 0028: doc/source/decisions/0028-one-question-a-look
"""

from collections.abc import Mapping
import dataclasses
import datetime
from typing import Any

from oslo_db import exception as db_exc
import sqlalchemy as sa
from sqlalchemy import orm

from nova_reservations.db import api
from nova_reservations.db import models
from nova_reservations.db import tasks

LEASE = models.table(models.Lease)
MESSAGE = models.table(models.Message)

_FIRST = (
    sa.select(sa.func.min(LEASE.c.due_at))
    .where(LEASE.c.due_at.is_not(None))
    .scalar_subquery()
)

_MESSAGE = sa.select(sa.func.min(MESSAGE.c.due_at)).scalar_subquery()

_ONE = sa.select(
    api.utcnow().label('now'),
    _FIRST.label('lease'),
    _MESSAGE.label('message'),
).subquery('looked')

QUESTION = sa.select(
    _ONE.c.now,
    _ONE.c.lease,
    _ONE.c.message,
    tasks.TASK.c.name,
    tasks.TASK.c.attempt,
    tasks.WAKES_AT.label('wakes_at'),
).select_from(_ONE.outerjoin(tasks.TASK, sa.true()))
"""One row for each periodic task; one without a name if there is none, as
after a restore that has lost them: leases start nevertheless."""


@dataclasses.dataclass(frozen=True, slots=True)
class Look:
    """:ivar now: the time of the database, to which the rest refers.

    :ivar lease: whether any lease is due.
    :ivar message: whether any message is to be sent.
    :ivar tasks: name -> attempt of periodic tasks that are due.
    """

    now: datetime.datetime
    lease: bool
    message: bool
    tasks: Mapping[str, int]


def at(session: orm.Session, now: datetime.datetime) -> Look:
    """Return what is due at a time; joins the caller's transaction."""
    return _look([*session.execute(QUESTION)], now)


class Looks:
    """Looks of one worker, one after the other.

    It has a connection of its own, without transactions, so that only the
    query is sent. The usual reader would first check whether the connection
    still works, and would end a transaction afterwards.
    """

    def __init__(self, database: api.Database) -> None:
        self.database = database
        self._connection: sa.Connection | None = None

    def look(self) -> Look:
        """:raises: DatabaseUnavailable"""
        with api.translated(), api.collides_with_nobody():
            rows = self._ask()
        return _look(rows, api.utc(rows[0].now))

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _ask(self) -> list[sa.Row[Any]]:
        connection = self._connection
        if connection is not None:
            try:
                return [*connection.execute(QUESTION)]
            except (db_exc.DBError, sa.exc.DBAPIError):
                lost = connection.invalidated
                self.close()
                if not lost:
                    raise
            # The server has closed it since the last look, or is down.
        engine = self.database.engine()
        if engine.dialect.name == 'sqlite':
            # A connection of our own would save nothing: SQLite has no server.
            # If it stays open, even to read, it keeps the write-ahead log from
            # being emptied.
            with self.database.reader() as session:
                return [*session.execute(QUESTION)]
        self._connection = engine.connect().execution_options(
            isolation_level='AUTOCOMMIT'
        )
        return [*self._connection.execute(QUESTION)]


def _look(rows: list[sa.Row[Any]], now: datetime.datetime) -> Look:
    lease, message = rows[0].lease, rows[0].message
    return Look(
        now,
        lease is not None and lease <= now,
        message is not None and message <= now,
        {
            row.name: row.attempt
            for row in rows
            if row.name is not None and row.wakes_at <= now
        },
    )
