# SPDX-License-Identifier: Apache-2.0
"""Leases that are due: which, and what makes one due at once.

Every function joins the caller's transaction.
"""

from collections.abc import Collection
import datetime
from typing import NamedTuple

import sqlalchemy as sa
from sqlalchemy import orm

from nova_reservations.db import models
from nova_reservations.db import pages
from nova_reservations.objects import states

LEASE = models.table(models.Lease)
RESERVATION = models.table(models.Reservation)
ALLOCATION = models.table(models.Allocation)


class Due(NamedTuple):
    """A lease that a worker must look at.

    :ivar ready: it is prepared, and its time has come.
    :ivar left: a worker had claimed it, and was not heard of again.
    """

    id: str
    attempt: int
    ready: bool
    project_id: str
    left: bool


def find(
    session: orm.Session,
    now: datetime.datetime,
    limit: int,
    without: Collection[str] = (),
) -> list[Due]:
    """Return the leases at which a worker must look, the longest due first; a
    lease that a worker holds is not due.

    :param without: ids of projects whose leases are not looked for
    """
    rows = session.execute(
        sa.select(
            LEASE.c.id,
            LEASE.c.attempt,
            sa.and_(
                LEASE.c.status == states.Lease.PENDING,
                LEASE.c.prepared == sa.true(),
                LEASE.c.start_date <= now,
            ),
            LEASE.c.project_id,
            LEASE.c.claimed_by.is_not(None),
        )
        .where(
            LEASE.c.due_at <= now,
            *([LEASE.c.project_id.not_in(without)] if without else ()),
        )
        .order_by(LEASE.c.due_at, LEASE.c.id)
        .limit(limit)
    )
    return [Due(*row) for row in rows]


def wake_successors(
    session: orm.Session,
    reservation_ids: Collection[str],
    now: datetime.datetime,
) -> None:
    """Make workers look at once at leases that should have started, and wait
    for what these reservations hold."""
    theirs, mine = ALLOCATION.alias(), ALLOCATION.alias()
    late = (
        LEASE.c.status == states.Lease.PENDING,
        LEASE.c.start_date <= now,
        LEASE.c.claimed_by.is_(None),
    )
    waiting = (
        sa.select(LEASE.c.id)
        .join(RESERVATION, RESERVATION.c.lease_id == LEASE.c.id)
        .join(theirs, theirs.c.reservation_id == RESERVATION.c.id)
        .join(mine, mine.c.resource_id == theirs.c.resource_id)
        .where(
            mine.c.reservation_id.in_(reservation_ids),
            theirs.c.released == sa.false(),
            *late,
        )
    )
    ids = session.scalars(waiting)
    pages.update(session, LEASE.c.id, ids, *late, due_at=now)


def hurry(
    session: orm.Session, lease_ids: Collection[str], now: datetime.datetime
) -> None:
    """Make workers look at the leases at once.

    A worker that holds a lease looks again when it is done, because it finds
    that the version has changed.
    """
    pages.update(
        session,
        LEASE.c.id,
        lease_ids,
        version=LEASE.c.version + 1,
        due_at=sa.case(
            (LEASE.c.claimed_by.is_(None), now), else_=LEASE.c.due_at
        ),
    )
