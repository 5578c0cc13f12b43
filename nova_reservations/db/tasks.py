# SPDX-License-Identifier: Apache-2.0
"""Periodic tasks: when each is due, and whose it is.

The migrations insert their rows, so that nobody has to ask whether they are
there. Every function joins the caller's transaction.
"""

import datetime

import sqlalchemy as sa
from sqlalchemy import orm

from nova_reservations.db import models

TASK = models.table(models.Task)


def due(session: orm.Session, now: datetime.datetime) -> set[str]:
    """Return the names of the periodic tasks that are due."""
    return set(
        session.scalars(sa.select(TASK.c.name).where(TASK.c.due_at <= now))
    )


def hurry(session: orm.Session, name: str, now: datetime.datetime) -> None:
    """Make a worker do a periodic task at once.

    The row is written also where it is due already: a worker that takes the
    task waits until the caller's transaction is over, and sees what it has
    written.
    """
    session.execute(
        sa.update(TASK)
        .where(TASK.c.name == name)
        .values(
            due_at=sa.case((TASK.c.due_at > now, now), else_=TASK.c.due_at)
        )
    )


def finish(
    session: orm.Session,
    name: str,
    taken_until: datetime.datetime,
    next_at: datetime.datetime,
) -> None:
    """Set the next time of a task that is done, unless it has become due
    again, or another worker has it by now."""
    session.execute(
        sa.update(TASK)
        .where(TASK.c.name == name, TASK.c.due_at == taken_until)
        .values(due_at=next_at)
    )


def take(
    session: orm.Session,
    name: str,
    now: datetime.datetime,
    until: datetime.datetime,
) -> bool:
    """Give a periodic task that is due to the caller; False if it is not
    due, or another worker was first.

    :param until: when it is due again, unless it is finished before that
    """
    done = session.execute(
        sa.update(TASK)
        .where(TASK.c.name == name, TASK.c.due_at <= now)
        .values(due_at=until)
    )
    return done.rowcount == 1  # type: ignore[attr-defined,no-any-return]
