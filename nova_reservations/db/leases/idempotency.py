# SPDX-License-Identifier: Apache-2.0
"""Keys by which a client repeats a request to create a lease.

A key is written in the transaction of the booking, before all else. A second
request with the same key waits at that insert until the first has committed or
rolled back.

Every function joins the caller's transaction.

Decision 0036: doc/source/decisions/0036-a-create-may-be-repeated
"""

from collections.abc import Iterator
import contextlib
import datetime
from typing import NamedTuple

from oslo_db import exception as db_exc
import sqlalchemy as sa
from sqlalchemy import orm

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations.db import api
from nova_reservations.db import counts
from nova_reservations.db import fields
from nova_reservations.db import models
from nova_reservations.db import pages

KEY = models.table(models.IdempotencyKey)

PATIENCE = 2
"""Seconds for which a request waits for another with the same key. SQLite has
one writer at a time: there it waits as for any other writer."""

_MYSQL = (
    'SET @nr_patience = @@SESSION.innodb_lock_wait_timeout, '
    f'SESSION innodb_lock_wait_timeout = {PATIENCE}',
    'SET SESSION innodb_lock_wait_timeout = @nr_patience',
)
_LIMITS = {
    'mysql': _MYSQL,
    'mariadb': _MYSQL,
    'postgresql': (
        f"SET LOCAL lock_timeout = '{PATIENCE}s'",
        'SET LOCAL lock_timeout = DEFAULT',
    ),
}


class Made(NamedTuple):
    """:ivar body: the digest of the body of the request that made it."""

    lease_id: str
    body: str


def made(session: orm.Session, key: objects.IdempotencyKey) -> Made | None:
    """Return what the request with this key has made."""
    row = session.execute(
        sa.select(KEY.c.lease_id, KEY.c.body).where(KEY.c.digest == key.digest)
    ).one_or_none()
    return Made(*row) if row else None


def count(session: orm.Session, project_id: str, limit: int) -> int:
    """Return how many keys of a project are remembered, up to a limit."""
    some = (
        sa.select(sa.literal(1))
        .select_from(KEY)
        .where(KEY.c.project_id == project_id)
        .limit(limit)
        .subquery()
    )
    return counts.of(session, some)


def insert(
    session: orm.Session,
    key: objects.IdempotencyKey,
    lease_id: str,
    now: datetime.datetime,
) -> None:
    """Remember which lease the request with this key makes.

    :raises: Repeated if one was made already
    :raises: RequestUnderWay if another with the key is not done yet
    """
    try:
        with _patience(session):
            session.execute(
                sa.insert(KEY).values(
                    **fields.columns(key, KEY),
                    lease_id=lease_id,
                    created_at=now,
                )
            )
    except db_exc.DBDuplicateEntry as error:
        raise exception.Repeated from error
    except (db_exc.DBDeadlock, sa.exc.OperationalError) as error:
        if api.is_locked(error):
            raise exception.RequestUnderWay from error
        raise


def point(
    session: orm.Session, key: objects.IdempotencyKey, lease_id: str
) -> None:
    """Record another lease for the key than the one that was planned."""
    session.execute(
        sa.update(KEY)
        .where(KEY.c.digest == key.digest)
        .values(lease_id=lease_id)
    )


@contextlib.contextmanager
def _patience(session: orm.Session) -> Iterator[None]:
    """Bound the time that a statement waits for others."""
    dialect = session.get_bind().dialect.name
    if dialect not in _LIMITS:
        yield
        return
    begin, end = map(sa.text, _LIMITS[dialect])
    session.execute(begin)
    try:
        yield
    except (db_exc.DBError, sa.exc.OperationalError):
        # PostgreSQL undoes the SET with the transaction. A connection to MySQL
        # or MariaDB goes back to the pool unless it is lost, so it must be
        # reset.
        if dialect != 'postgresql' and not session.connection().invalidated:
            session.execute(end)
        raise
    session.execute(end)


def remove(session: orm.Session, before: datetime.datetime, limit: int) -> int:
    """Delete the oldest keys from before a time; return how many.

    :param limit: how many at most
    """
    return pages.delete_oldest(session, KEY.c.created_at, before, limit)
