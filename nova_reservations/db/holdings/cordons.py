# SPDX-License-Identifier: Apache-2.0
"""Cordons of resources, and the leases that hold them, for operators who want
to empty them.

Every function joins the caller's transaction.
"""

import datetime

import sqlalchemy as sa
from sqlalchemy import orm

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations.db import fields
from nova_reservations.db import models
from nova_reservations.db.holdings import held_rows
from nova_reservations.db.resources import resources
from nova_reservations.objects import interval

ALLOCATION = models.table(models.Allocation)
LEASE = models.table(models.Lease)
RESOURCE = models.table(models.Resource)

MOST = 1000
"""The most leases that are returned."""


def find(
    session: orm.Session,
    resource_id: int,
    window: interval.Interval | None = None,
) -> list[objects.Occupant]:
    """Return those that hold the resource, or have not left it yet, in the
    order of their starts.

    :param window: in which they hold it; None: whenever
    """
    statement = (
        held_rows.by_leases(
            LEASE.c.id.label('lease_id'),
            LEASE.c.project_id,
            LEASE.c.status,
            ALLOCATION.c.start_date,
            ALLOCATION.c.end_date,
            ALLOCATION.c.replaced_at,
            ALLOCATION.c.stays_because,
        )
        .where(ALLOCATION.c.resource_id == resource_id)
        .order_by(ALLOCATION.c.start_date, LEASE.c.id)
        .limit(MOST)
    )
    if window is not None:
        statement = statement.where(
            ALLOCATION.c.start_date < window.end,
            ALLOCATION.c.end_date > window.start,
        )
    return [
        objects.Occupant(
            **fields.of(row, objects.Occupant),
            is_leaving=row.replaced_at is not None,
        )
        for row in session.execute(statement)
    ]


def cordoned_at(
    session: orm.Session, resource_id: int
) -> datetime.datetime | None:
    """Return since when an operator keeps new leases off the resource.

    :raises: NotFound
    """
    row = session.execute(
        sa.select(RESOURCE.c.cordoned_at).where(RESOURCE.c.id == resource_id)
    ).first()
    if row is None:
        raise exception.NotFound(kind='Resource', id=resource_id)
    found: datetime.datetime | None = row.cordoned_at
    return found


def set_cordoned(
    session: orm.Session,
    resource_id: int,
    cordoned_at: datetime.datetime | None,
    now: datetime.datetime,
) -> None:
    """Keep new leases off the resource, or not any more; plans that were made
    before fail."""
    resources.change(
        session, resource_id, cordoned_at=cordoned_at, updated_at=now
    )


def set_emptied(
    session: orm.Session,
    resource_id: int,
    emptied_at: datetime.datetime | None,
    now: datetime.datetime,
) -> None:
    """Request that the servers of leases that have left the resource are moved
    off it, or end that request."""
    session.execute(
        sa.update(RESOURCE)
        .where(RESOURCE.c.id == resource_id)
        .values(emptied_at=emptied_at, updated_at=now)
    )


def set_stays(
    session: orm.Session,
    reservation_id: str,
    resource_id: int,
    because: str | None,
) -> None:
    """Record why servers of a reservation are still on a resource that it has
    left."""
    session.execute(
        sa.update(ALLOCATION)
        .where(
            ALLOCATION.c.reservation_id == reservation_id,
            ALLOCATION.c.resource_id == resource_id,
            ALLOCATION.c.replaced_at.is_not(None),
        )
        .values(stays_because=because)
    )
