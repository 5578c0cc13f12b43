# SPDX-License-Identifier: Apache-2.0
"""Old rows that an operator has deleted: of leases that are over, of leases
that were deleted, and of the record of what was held.

The record has no foreign key to leases, so either may be deleted first.

Every function joins the caller's transaction.

Decision 0045: doc/source/decisions/0045-whole-leases-are-purged
"""

from collections import Counter
from collections.abc import Mapping
from collections.abc import Sequence
import datetime
from typing import Any
from typing import NamedTuple

import sqlalchemy as sa
from sqlalchemy import orm

from nova_reservations import exception
from nova_reservations.db import counts
from nova_reservations.db import models
from nova_reservations.db import pages
from nova_reservations.db import writes
from nova_reservations.db.leases import belongings
from nova_reservations.objects import states

ALLOCATION = models.table(models.Allocation)
EVENT = models.table(models.Event)
DELETED = models.table(models.DeletedLease)
DELETED_RESERVATION = models.table(models.DeletedReservation)
KEY = models.table(models.IdempotencyKey)
LEASE = models.table(models.Lease)
REFUSAL = models.table(models.Refusal)
RESERVATION = models.table(models.Reservation)
USAGE = models.table(models.Usage)
SERVER_USAGE = models.table(models.ServerUsage)
RECORDS = (USAGE, SERVER_USAGE)


_OVER = (
    LEASE.c.status.in_(sorted(states.OVER)),
    LEASE.c.in_nova == sa.false(),
    LEASE.c.due_at.is_(None),
)
"""The conditions for leases for which nothing more is done, and which no
worker has."""


class Ended(NamedTuple):
    """A place in the order in which leases have ended."""

    end_date: datetime.datetime
    lease_id: str


def ended(
    session: orm.Session,
    before: datetime.datetime,
    limit: int,
    after: Ended | None = None,
) -> list[Ended]:
    """Return the first leases that were to end before a time, whether they
    are over or not: nearly all of them are.

    :param after: only those that come after it
    """
    statement = (
        sa.select(LEASE.c.end_date, LEASE.c.id)
        .where(LEASE.c.end_date < before)
        .order_by(LEASE.c.end_date, LEASE.c.id)
        .limit(limit)
    )
    if after is not None:
        columns = [LEASE.c.end_date, LEASE.c.id]
        statement = statement.where(
            pages.beyond(columns, after, descending=False)
        )
    return [Ended(*row) for row in session.execute(statement)]


def gone(session: orm.Session, lease_ids: Sequence[str]) -> list[str]:
    """Return those of the leases that are over, and of which nothing is held
    or counted any more."""
    over = session.scalars(
        sa.select(LEASE.c.id).where(LEASE.c.id.in_(lease_ids), *_OVER)
    ).all()
    rows = session.execute(
        sa.select(RESERVATION.c.id, RESERVATION.c.lease_id).where(
            RESERVATION.c.lease_id.in_(over)
        )
    )
    lease_of = {row.id: row.lease_id for row in rows}
    going_on: set[str] = set()
    for table, condition in (
        (ALLOCATION, ALLOCATION.c.released == sa.false()),
        *((table, table.c.ended_at.is_(None)) for table in RECORDS),
    ):
        going_on.update(
            lease_of[reservation_id]
            for reservation_id in session.scalars(
                sa.select(table.c.reservation_id).where(
                    table.c.reservation_id.in_(lease_of), condition
                )
            )
        )
    return [lease_id for lease_id in over if lease_id not in going_on]


def remove(
    session: orm.Session, lease_ids: Sequence[str]
) -> Mapping[str, int]:
    """Delete leases that are over, with all their rows; return the number of
    deleted rows of each kind.

    :raises: Conflict if one of them is no longer over, or is gone
    """
    done = writes.count(
        session,
        sa.update(LEASE)
        .where(LEASE.c.id.in_(lease_ids), *_OVER)
        .values(version=LEASE.c.version + 1),
    )
    if done != len(lease_ids):
        raise exception.Conflict(kind='Lease', id='that is over')
    return belongings.remove_leases(session, lease_ids)


def remove_deleted(
    session: orm.Session, before: datetime.datetime, limit: int
) -> int:
    """Forget leases that were deleted before a time; return how many.

    :param limit: how many at most
    """
    ids = pages.oldest(session, DELETED.c.deleted_at, before, limit)
    pages.delete(session, DELETED_RESERVATION.c.lease_id, ids)
    pages.delete(session, DELETED.c.id, ids)
    return len(ids)


def remove_promises(
    session: orm.Session, before: datetime.datetime, limit: int
) -> int:
    """Forget the reservations of leases that were deleted before a time, and
    had not begun; return how many.

    :param limit: how many at most
    """
    deleted_at = DELETED_RESERVATION.c.deleted_at
    return pages.delete_oldest(session, deleted_at, before, limit)


def remove_records(
    session: orm.Session, before: datetime.datetime, limit: int
) -> int:
    """Forget what was held and used until before a time; return how many rows.

    :param limit: how many at most, of each kind
    """
    return sum(
        pages.delete_oldest(session, table.c.ended_at, before, limit)
        for table in RECORDS
    )


_TIMES: Mapping[str, Sequence[sa.Column[Any]]] = {
    'deleted leases': [DELETED.c.deleted_at],
    'refusals': [REFUSAL.c.asked_at],
    'idempotency keys': [KEY.c.created_at],
    'records': [table.c.ended_at for table in RECORDS],
}
"""Kind of rows that belong to no lease -> the times by which they are old."""


def count_old(
    session: orm.Session, kind: str, before: datetime.datetime
) -> int:
    """Return how many rows of a kind would be forgotten."""
    return sum(
        counts.of(session, time.table, time < before) for time in _TIMES[kind]
    )


def count(session: orm.Session, lease_ids: Sequence[str]) -> Mapping[str, int]:
    """Return how many rows of each kind remove() would delete."""
    reservation_ids = session.scalars(
        sa.select(RESERVATION.c.id).where(
            RESERVATION.c.lease_id.in_(lease_ids)
        )
    ).all()
    found = Counter[str](
        leases=len(lease_ids),
        reservations=len(reservation_ids),
        events=counts.of(session, EVENT, EVENT.c.lease_id.in_(lease_ids)),
    )
    for kind in belongings.OF_RESERVATIONS:
        if kind.counted:
            theirs = kind.table.c.reservation_id.in_(reservation_ids)
            found[kind.counted] += counts.of(session, kind.table, theirs)
    return found
