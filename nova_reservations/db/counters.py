# SPDX-License-Identifier: Apache-2.0
"""Numbers that writers change, for others to compare.

The migrations insert their rows, so that they always exist.
"""

import sqlalchemy as sa
from sqlalchemy import orm

from nova_reservations.db import models

COUNTER = models.table(models.Counter)


def of(name: str) -> sa.ScalarSelect[int]:
    """Return the number as a part of a query."""
    return (
        sa.select(COUNTER.c.value)
        .where(COUNTER.c.name == name)
        .scalar_subquery()
    )


def value(session: orm.Session, name: str) -> int:
    return int(session.scalar(sa.select(of(name))) or 0)


def increment(session: orm.Session, name: str, by: int = 1) -> None:
    """Increment the counter. Its row stays locked until the commit, so that
    other writers wait."""
    session.execute(
        sa.update(COUNTER)
        .where(COUNTER.c.name == name)
        .values(value=COUNTER.c.value + by)
    )


def number(session: orm.Session, name: str) -> int:
    """Return a number that was never returned before."""
    increment(session, name)
    return value(session, name)
