# SPDX-License-Identifier: Apache-2.0
"""Periodic tasks: when each is due, and which worker does it.

A worker that does a task has a claim on it, which it renews. The next time is
set with the claim, and the claim alone keeps other workers away. So hurry()
moves only the next time of a task that is being done, and another run begins
as soon as this one is over.

The migrations insert their rows, so that nobody has to ask whether they are
there. Every function joins the caller's transaction.
"""

import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy import orm
from sqlalchemy.ext import compiler
from sqlalchemy.sql import functions

from nova_reservations.db import counts
from nova_reservations.db import models
from nova_reservations.db import writes

TASK = models.table(models.Task)

WAKES_AT = sa.func.coalesce(
    TASK.c.claimed_until, TASK.c.due_at, type_=models.UTCDateTime
)
"""When a worker may begin it: when it is due or, if a worker has claimed it,
when that claim expires."""


class still_due(functions.FunctionElement[datetime.datetime]):
    """A time no later than the one given. On MySQL and MariaDB it is a
    different one, because Galera's nodes count a row as written only if it
    changes."""

    type = models.UTCDateTime()
    inherit_cache = True


@compiler.compiles(still_due)
def _same(element: still_due, compiled: Any, **kw: Any) -> str:
    return str(compiled.process(element.clauses, **kw))


@compiler.compiles(still_due, 'mysql', 'mariadb')
def _earlier(element: still_due, compiled: Any, **kw: Any) -> str:
    return f'{compiled.process(element.clauses, **kw)} - INTERVAL 1 SECOND'


def hurry(session: orm.Session, name: str, now: datetime.datetime) -> None:
    """Make a worker do a periodic task at once, or once more after the run
    under way.

    The row is written even if the task is due already. So a worker that takes
    the task waits until the caller's transaction is over, and sees what it has
    written. On another node of a Galera cluster the worker does not wait: one
    of the two fails and begins anew, but only if the row has really changed.
    """
    session.execute(
        sa.update(TASK)
        .where(TASK.c.name == name)
        .values(
            due_at=sa.case(
                (TASK.c.due_at > now, now), else_=still_due(TASK.c.due_at)
            )
        )
    )


def take(
    session: orm.Session,
    name: str,
    attempt: int,
    now: datetime.datetime,
    until: datetime.datetime,
    next_at: datetime.datetime,
) -> bool:
    """Give a periodic task that is due to the caller; False if another worker
    was first.

    :param attempt: as it was when the task was found due; the caller's is
        the next
    :param until: when the claim expires, unless it is renewed
    """
    return writes.changed(
        session,
        TASK,
        TASK.c.name == name,
        TASK.c.attempt == attempt,
        WAKES_AT <= now,
        attempt=attempt + 1,
        claimed_until=until,
        due_at=next_at,
    )


def is_held(session: orm.Session, name: str, attempt: int) -> bool:
    """Return whether no other worker has taken the task since."""
    return counts.is_any(session, TASK, *_claimed(name, attempt))


def renew(
    session: orm.Session,
    name: str,
    attempt: int,
    until: datetime.datetime | None,
) -> bool:
    """Prolong the claim; return False if it is lost.

    :param until: None: end it, for the task is done
    """
    claimed = _claimed(name, attempt)
    return writes.changed(session, TASK, *claimed, claimed_until=until)


def finish(session: orm.Session, name: str, attempt: int) -> bool:
    """End the claim on a task that is done; return False if it was lost."""
    return renew(session, name, attempt, None)


def _claimed(name: str, attempt: int) -> tuple[sa.ColumnElement[bool], ...]:
    return (
        TASK.c.name == name,
        TASK.c.attempt == attempt,
        TASK.c.claimed_until.is_not(None),
    )
