# SPDX-License-Identifier: Apache-2.0
"""Capacity that came free, and the leases that may want it.

Two kinds of leases do: those that wait for capacity, and those that lack some.
freed() makes workers look at both. The resources are recorded until
a worker has gone through the waiting leases.

Every function joins the caller's transaction.
"""

from collections.abc import Collection
from collections.abc import Iterable
import dataclasses
import datetime

import sqlalchemy as sa
from sqlalchemy import orm

from nova_reservations.db import models
from nova_reservations.db import tasks
from nova_reservations.db import writes
from nova_reservations.db.holdings import healing
from nova_reservations.db.leases import retry_queue
from nova_reservations.objects import states

LEASE = models.table(models.Lease)
RESERVATION = models.table(models.Reservation)
FREED = models.table(models.Freed)

QUEUE = 'queue'
"""The task that goes through the waiting leases."""

PAGE = 200
"""The most freed resources that one look takes."""


@dataclasses.dataclass(frozen=True, slots=True)
class Freed:
    """:ivar resource_id: what came free; None: a lease has left the queue.

    :ivar arrival: only leases that arrived later may gain by it.
    """

    id: int
    resource_id: int | None
    arrival: int


def freed(
    session: orm.Session,
    now: datetime.datetime,
    resource_ids: Iterable[int],
) -> None:
    """Make workers look at once at the leases that capacity may serve.

    Every transaction that frees resources which a lease could have calls it,
    after all its other writes.

    Decision 0026: doc/source/decisions/0026-one-walk-of-the-queue

    :param resource_ids: of which something came free, or may have
    """
    if _is_any_lacking(session):
        tasks.hurry(session, healing.HEAL, now)
    tell(session, now, resource_ids, arrival=0)


def tell(
    session: orm.Session,
    now: datetime.datetime,
    resource_ids: Iterable[int | None],
    arrival: int,
) -> None:
    """Make a worker offer the resources to waiting leases that came after
    arrival."""
    ids = set(resource_ids)
    if not ids or not retry_queue.is_any(session, arrival):
        return
    rows = [{'resource_id': each, 'arrival': arrival} for each in ids]
    writes.insert(session, FREED, rows)
    tasks.hurry(session, QUEUE, now)


def untold(session: orm.Session) -> list[Freed]:
    """Return a page of resources that came free and were not offered to
    waiting leases yet."""
    rows = session.execute(sa.select(FREED).order_by(FREED.c.id).limit(PAGE))
    return [Freed(row.id, row.resource_id, row.arrival) for row in rows]


def told(
    session: orm.Session, page: Collection[Freed], now: datetime.datetime
) -> None:
    """Forget resources that were offered to all leases that wait."""
    # Delete row by row: MariaDB would read so short a table as a whole, and so
    # lock, or wait for, rows that others are inserting.
    for row in page:
        session.execute(sa.delete(FREED).where(FREED.c.id == row.id))
    if len(page) == PAGE:
        tasks.hurry(session, QUEUE, now)


def told_some(
    session: orm.Session,
    page: Collection[Freed],
    upto: int,
    again: datetime.datetime,
) -> None:
    """Record that the resources were offered to all leases up to an arrival.

    :param again: when to offer them to the other leases
    """
    for row in page:
        if row.arrival < upto:
            session.execute(
                sa.update(FREED)
                .where(FREED.c.id == row.id)
                .values(arrival=upto)
            )
    tasks.hurry(session, QUEUE, again)


def _is_any_lacking(session: orm.Session) -> bool:
    """Other degraded leases have a replacement, and want nothing."""
    lacking = (
        sa.select(LEASE.c.id)
        .join(RESERVATION, RESERVATION.c.lease_id == LEASE.c.id)
        .where(
            LEASE.c.degraded == sa.true(),
            LEASE.c.status.in_(states.OPEN),
            RESERVATION.c.missing_resources == sa.true(),
        )
    )
    return session.scalar(lacking.limit(1)) is not None
