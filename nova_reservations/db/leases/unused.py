# SPDX-License-Identifier: Apache-2.0
"""Active leases into which no server was ever let.

Leases that servers carry, and windows in which a host is maintained, are left
out. So are leases that hold anything other than hosts, such as addresses: no
server is let into these, and nobody can tell whether they are used. Leases in
STARTING are left out, too, though servers may land in parts of them: whether
any come is up to what starts them, and a start that fails ends by itself.

Every function joins the caller's transaction.
"""

import datetime

import sqlalchemy as sa
from sqlalchemy import orm

from nova_reservations import objects
from nova_reservations.db import counts
from nova_reservations.db import models
from nova_reservations.db import writes
from nova_reservations.objects import states

ALLOCATION = models.table(models.Allocation)
EVENT = models.table(models.Event)
LEASE = models.table(models.Lease)
RESERVATION = models.table(models.Reservation)
RESOURCE = models.table(models.Resource)


def _conditions() -> tuple[sa.ColumnElement[bool], ...]:
    return (
        LEASE.c.status == states.Lease.ACTIVE,
        LEASE.c.used_at.is_(None),
        LEASE.c.by_default == sa.false(),
        ~sa.exists().where(
            RESERVATION.c.lease_id == LEASE.c.id,
            RESERVATION.c.resource_type == objects.SERVER,
        ),
        ~sa.exists().where(
            RESERVATION.c.lease_id == LEASE.c.id,
            ALLOCATION.c.reservation_id == RESERVATION.c.id,
            RESOURCE.c.id == ALLOCATION.c.resource_id,
            RESOURCE.c.resource_type != objects.HOST,
        ),
    )


def count(session: orm.Session) -> int:
    return counts.of(session, LEASE, *_conditions())


def find(
    session: orm.Session,
    before: datetime.datetime,
    untold: bool,
    limit: int,
) -> list[str]:
    """Return the ids of those that have started before a time, and lack
    nothing; the oldest first.

    :param untold: only those that were not reported yet
    """
    query = (
        sa.select(LEASE.c.id)
        .join(EVENT, EVENT.c.lease_id == LEASE.c.id)
        .where(
            *_conditions(),
            *([LEASE.c.unused_at.is_(None)] if untold else ()),
            LEASE.c.degraded == sa.false(),
            EVENT.c.event_type == states.EventType.START,
            EVENT.c.status == states.Event.DONE,
            EVENT.c.updated_at <= before,
        )
        .order_by(LEASE.c.created_at, LEASE.c.id)
        .limit(limit)
    )
    return list(session.scalars(query))


def active(session: orm.Session) -> int:
    """Return how many leases are active that somebody has asked for."""
    return counts.of(
        session,
        LEASE,
        LEASE.c.status == states.Lease.ACTIVE,
        LEASE.c.by_default == sa.false(),
    )


def mark(session: orm.Session, lease_id: str, now: datetime.datetime) -> bool:
    """Record that no server was let into the lease for too long; return False
    if one was let in meanwhile, or the lease is not active any more.

    A transaction that lets a server in waits for the caller's, or the caller's
    for it: both write the lease's row.
    """
    return writes.changed(
        session,
        LEASE,
        LEASE.c.id == lease_id,
        LEASE.c.used_at.is_(None),
        LEASE.c.status == states.Lease.ACTIVE,
        unused_at=now,
    )
