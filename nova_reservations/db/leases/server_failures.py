# SPDX-License-Identifier: Apache-2.0
"""Servers with a lease of their own, and whether their hosts work.

Such a host need not be enrolled, so its condition is stored with the server.
Servers with a guaranteed place are left out: their place is a resource, which
has a condition of its own. Every function joins the caller's transaction.
"""

from collections.abc import Collection
import dataclasses
import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy import orm

from nova_reservations import objects
from nova_reservations.db import models
from nova_reservations.db import pages
from nova_reservations.objects import states

TASK = 'server_failures'
"""The periodic task that looks at their hosts."""

LEASED = models.table(models.LeasedServer)
RESERVATION = models.table(models.Reservation)
LEASE = models.table(models.Lease)
ALLOCATION = models.table(models.Allocation)


@dataclasses.dataclass(frozen=True, slots=True)
class Carrier:
    """A server that carries a lease.

    :ivar released: it no longer belongs to the lease.
    :ivar condition: that of its host, as far as has been seen.
    :ivar braked_at: when its host was last seen to fail with many others.
    """

    server: str
    lease_id: str
    released: bool
    condition: objects.Condition
    braked_at: datetime.datetime | None


def suspects(session: orm.Session, now: datetime.datetime) -> list[Carrier]:
    """Return the servers whose hosts did not work when last seen."""
    return _carriers(session, LEASED.c.down_since <= now)


def active(session: orm.Session, servers: Collection[str]) -> list[Carrier]:
    """Return those of the servers that carry an active lease, and have no
    guaranteed place.

    :param servers: UUIDs
    """
    place = sa.select(ALLOCATION.c.id).where(
        ALLOCATION.c.reservation_id == RESERVATION.c.id
    )
    return [
        carrier
        for page in pages.of(servers)
        for carrier in _carriers(
            session,
            LEASED.c.server_uuid.in_(page),
            LEASED.c.released_at.is_(None),
            LEASE.c.status == states.Lease.ACTIVE,
            ~place.exists(),
        )
    ]


def of_lease(session: orm.Session, lease_id: str) -> list[Carrier]:
    return _carriers(session, LEASE.c.id == lease_id)


def set_condition(
    session: orm.Session,
    server: str,
    condition: objects.Condition,
    now: datetime.datetime,
) -> None:
    """Record whether the host of the server works."""
    since = condition.down_since
    if not condition.failed and condition.hold == states.Hold.DOWN:
        since = condition.held_since
    session.execute(
        sa.update(LEASED)
        .where(LEASED.c.server_uuid == server)
        .values(down_since=since, failed=condition.failed, updated_at=now)
    )


def set_braked(
    session: orm.Session, servers: Collection[str], now: datetime.datetime
) -> None:
    """Record that the hosts of these servers fail with many others."""
    pages.update(
        session, LEASED.c.server_uuid, servers, braked_at=now, updated_at=now
    )


def _carriers(
    session: orm.Session, *conditions: sa.ColumnElement[bool]
) -> list[Carrier]:
    return [
        Carrier(
            row.server_uuid,
            row.lease_id,
            row.released_at is not None,
            _condition(row),
            row.braked_at,
        )
        for row in session.execute(
            sa.select(
                LEASED.c.server_uuid,
                RESERVATION.c.lease_id,
                LEASED.c.released_at,
                LEASED.c.down_since,
                LEASED.c.failed,
                LEASED.c.braked_at,
            )
            .join(RESERVATION, RESERVATION.c.id == LEASED.c.reservation_id)
            .join(LEASE, LEASE.c.id == RESERVATION.c.lease_id)
            .where(*conditions)
        )
    ]


def _condition(row: Any) -> objects.Condition:
    if row.failed:
        return objects.Condition(down_since=row.down_since)
    if row.down_since is not None:
        return objects.Condition(
            hold=states.Hold.DOWN, held_since=row.down_since
        )
    return objects.Condition()
