# SPDX-License-Identifier: Apache-2.0
"""Servers that carry their own lease.

A server is recorded before Nova creates it, so that none exists that we do not
know. Every function joins the caller's transaction.
"""

from collections import defaultdict
from collections.abc import Collection
import datetime

import sqlalchemy as sa
from sqlalchemy import orm

from nova_reservations import objects
from nova_reservations.db import counts
from nova_reservations.db import models
from nova_reservations.db import pages
from nova_reservations.objects import states

LEASED = models.table(models.LeasedServer)
RESERVATION = models.table(models.Reservation)
LEASE = models.table(models.Lease)


def record(
    session: orm.Session,
    server_uuid: str,
    reservation_id: str,
    now: datetime.datetime,
) -> None:
    """Record that the server, which Nova creates next, carries the lease."""
    before = counts.of(
        session, LEASED, LEASED.c.reservation_id == reservation_id
    )
    session.execute(
        sa.insert(LEASED).values(
            server_uuid=server_uuid,
            reservation_id=reservation_id,
            position=before,
            created_at=now,
        )
    )


def of(
    session: orm.Session, reservation_ids: Collection[str]
) -> dict[str, tuple[objects.LeasedServer, ...]]:
    """Return reservation id -> its servers, in the order of their creation, of
    reservations that have had any."""
    found: dict[str, list[objects.LeasedServer]] = defaultdict(list)
    for row in session.execute(
        sa.select(
            LEASED.c.reservation_id, LEASED.c.server_uuid, LEASED.c.released_at
        )
        .where(LEASED.c.reservation_id.in_(reservation_ids))
        .order_by(LEASED.c.reservation_id, LEASED.c.position)
    ):
        found[row.reservation_id].append(
            objects.LeasedServer(row.server_uuid, row.released_at is not None)
        )
    return {key: tuple(servers) for key, servers in found.items()}


def reservation_of(session: orm.Session, server_uuid: str) -> str | None:
    """Return the reservation of the lease that the server carries still."""
    query = sa.select(LEASED.c.reservation_id).where(
        LEASED.c.server_uuid == server_uuid,
        LEASED.c.released_at.is_(None),
    )
    return session.scalar(query)


def release(
    session: orm.Session,
    server_uuids: Collection[str],
    now: datetime.datetime,
) -> None:
    """Record that the servers no longer belong to their leases."""
    present = LEASED.c.released_at.is_(None)
    pages.update(
        session,
        LEASED.c.server_uuid,
        server_uuids,
        present,
        released_at=now,
        updated_at=now,
    )


def release_all(
    session: orm.Session,
    reservation_ids: Collection[str],
    now: datetime.datetime,
) -> None:
    """Record that no server belongs to the reservations any more."""
    servers = session.scalars(
        sa.select(LEASED.c.server_uuid).where(
            LEASED.c.reservation_id.in_(reservation_ids),
            LEASED.c.released_at.is_(None),
        )
    ).all()
    release(session, servers, now)


def watched(
    session: orm.Session, after: str, limit: int
) -> list[tuple[str, str]]:
    """Return (server, lease) of a page of servers with a lease, in the order
    of their UUIDs, without those that Nova is just creating.

    :param after: the last server of the page before; '' for the first page
    """
    rows = session.execute(
        sa.select(LEASED.c.server_uuid, RESERVATION.c.lease_id)
        .join(RESERVATION, RESERVATION.c.id == LEASED.c.reservation_id)
        .join(LEASE, LEASE.c.id == RESERVATION.c.lease_id)
        .where(
            LEASED.c.released_at.is_(None),
            LEASED.c.server_uuid > after,
            LEASE.c.status != states.Lease.CREATING,
        )
        .order_by(LEASED.c.server_uuid)
        .limit(limit)
    )
    return [(row.server_uuid, row.lease_id) for row in rows]
