# SPDX-License-Identifier: Apache-2.0
"""Numbers that writers change, for others to compare; and periodic tasks.

The migrations insert their rows, so that nobody has to ask whether they are
there.
"""

import datetime

import sqlalchemy as sa
from sqlalchemy import orm

from nova_reservations.db import models

COUNTER = models.table(models.Counter)
TASK = models.table(models.Task)


def value(session: orm.Session, name: str) -> int:
    found = session.scalar(
        sa.select(COUNTER.c.value).where(COUNTER.c.name == name)
    )
    return int(found or 0)


def increment(session: orm.Session, name: str) -> None:
    """Also holds the row until the commit: others who do it wait."""
    session.execute(
        sa.update(COUNTER)
        .where(COUNTER.c.name == name)
        .values(value=COUNTER.c.value + 1)
    )


def number(session: orm.Session, name: str) -> int:
    """Return a number that nobody has been given before."""
    increment(session, name)
    return value(session, name)


def is_due(session: orm.Session, name: str, now: datetime.datetime) -> bool:
    return (
        session.scalar(
            sa.select(TASK.c.name).where(
                TASK.c.name == name, TASK.c.due_at <= now
            )
        )
        is not None
    )


def take_task(
    session: orm.Session,
    name: str,
    now: datetime.datetime,
    next_at: datetime.datetime,
) -> bool:
    """Give a periodic task that is due to the caller, and set its next
    time; False if it is not due, or another worker was first."""
    done = session.execute(
        sa.update(TASK)
        .where(TASK.c.name == name, TASK.c.due_at <= now)
        .values(due_at=next_at)
    )
    return done.rowcount == 1  # type: ignore[attr-defined,no-any-return]
