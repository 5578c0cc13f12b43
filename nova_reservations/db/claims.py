# SPDX-License-Identifier: Apache-2.0
"""Leases that are due, and the claims of workers on them.

Every function joins the caller's transaction.
"""

from collections.abc import Collection
import datetime
from typing import Any
from typing import NamedTuple

import sqlalchemy as sa
from sqlalchemy import orm

from nova_reservations import objects
from nova_reservations.db import models
from nova_reservations.db import pages
from nova_reservations.objects import states

LEASE = models.table(models.Lease)
RESERVATION = models.table(models.Reservation)
ALLOCATION = models.table(models.Allocation)


class Due(NamedTuple):
    """A lease that a worker must look at.

    :ivar ready: it is prepared, and its time has come.
    """

    id: str
    attempt: int
    ready: bool
    project_id: str


def due(
    session: orm.Session,
    now: datetime.datetime,
    limit: int,
    without: Collection[str] = (),
) -> list[Due]:
    """Return what a worker must look at, the longest due first; what a
    worker holds is not due.

    :param without: ids of projects whose leases are not looked for
    """
    return [
        Due(row.id, row.attempt, bool(row.ready), row.project_id)
        for row in session.execute(
            sa.select(
                LEASE.c.id,
                LEASE.c.attempt,
                sa.and_(
                    LEASE.c.status == states.Lease.PENDING,
                    LEASE.c.prepared == sa.true(),
                    LEASE.c.start_date <= now,
                ).label('ready'),
                LEASE.c.project_id,
            )
            .where(
                LEASE.c.due_at <= now,
                *([LEASE.c.project_id.not_in(without)] if without else ()),
            )
            .order_by(LEASE.c.due_at, LEASE.c.id)
            .limit(limit)
        )
    ]


def claim(
    session: orm.Session,
    lease_id: str,
    attempt: int,
    worker: str,
    now: datetime.datetime,
    until: datetime.datetime,
) -> bool:
    """Give the lease to the worker; False if another one was first.

    The attempt that the worker then holds is one more than the one given.
    """
    done = session.execute(
        sa.update(LEASE)
        .where(
            LEASE.c.id == lease_id,
            LEASE.c.attempt == attempt,
            LEASE.c.due_at <= now,
        )
        .values(claimed_by=worker, attempt=attempt + 1, due_at=until)
    )
    return _rowcount(done) == 1


def wake_successors(
    session: orm.Session,
    reservation_ids: Collection[str],
    now: datetime.datetime,
) -> None:
    """Have a worker look at once at leases that should have started, and
    wait for what these reservations hold."""
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
    for page in pages.of(session.scalars(waiting)):
        session.execute(
            sa.update(LEASE)
            .where(LEASE.c.id.in_(page), *late)
            .values(due_at=now)
        )


def hurry(
    session: orm.Session, lease_ids: Collection[str], now: datetime.datetime
) -> None:
    """Have workers look at the leases at once.

    One that has a lease in its hands does so when it is done: it finds that
    the version has changed.
    """
    for page in pages.of(lease_ids):
        session.execute(
            sa.update(LEASE)
            .where(LEASE.c.id.in_(page))
            .values(
                version=LEASE.c.version + 1,
                due_at=sa.case(
                    (LEASE.c.claimed_by.is_(None), now), else_=LEASE.c.due_at
                ),
            )
        )


def renew(
    session: orm.Session, lease_id: str, attempt: int, until: datetime.datetime
) -> bool:
    """Keep a claim; False if it was lost."""
    done = session.execute(
        sa.update(LEASE)
        .where(
            LEASE.c.id == lease_id,
            LEASE.c.attempt == attempt,
            LEASE.c.claimed_by.is_not(None),
        )
        .values(due_at=until)
    )
    return _rowcount(done) == 1


def give_back(
    session: orm.Session,
    lease_id: str,
    attempt: int,
    worker: str,
    now: datetime.datetime,
) -> None:
    """Have another worker look at the lease at once, if the claim stands;
    whoever still works on it finds that it was lost."""
    session.execute(
        sa.update(LEASE)
        .where(
            LEASE.c.id == lease_id,
            LEASE.c.attempt == attempt,
            LEASE.c.claimed_by == worker,
        )
        .values(claimed_by=None, attempt=attempt + 1, due_at=now)
    )


def is_held(
    session: orm.Session,
    lease_id: str,
    attempt: int,
    statuses: Collection[states.Lease],
) -> bool:
    """Whether the claim stands, and the lease is in one of the statuses."""
    return (
        session.scalar(
            sa.select(LEASE.c.id).where(
                LEASE.c.id == lease_id,
                LEASE.c.attempt == attempt,
                LEASE.c.claimed_by.is_not(None),
                LEASE.c.status.in_(statuses),
            )
        )
        is not None
    )


def release(
    session: orm.Session, seen: objects.Lease, due_at: datetime.datetime | None
) -> bool:
    """End the claim; False if the lease was written since seen."""
    done = session.execute(
        sa.update(LEASE)
        .where(
            LEASE.c.id == seen.id,
            LEASE.c.attempt == seen.attempt,
            LEASE.c.version == seen.version,
        )
        .values(claimed_by=None, due_at=due_at)
    )
    return _rowcount(done) == 1


def _rowcount(result: sa.Result[Any]) -> int:
    return result.rowcount  # type: ignore[attr-defined,no-any-return]
