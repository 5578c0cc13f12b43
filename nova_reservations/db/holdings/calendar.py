# SPDX-License-Identifier: Apache-2.0
"""Hosts over time, as one project may see them: which are there, what holds
them, and what leases have.

Every function joins the caller's transaction.
"""

from collections.abc import Collection
from collections.abc import Mapping
from typing import NamedTuple

import sqlalchemy as sa
from sqlalchemy import orm

from nova_reservations.db import models
from nova_reservations.db.holdings import allocations
from nova_reservations.db.holdings import held_rows
from nova_reservations.db.resources import hosts
from nova_reservations.objects import holding
from nova_reservations.objects import holds

ALLOCATION = models.table(models.Allocation)
LEASE = models.table(models.Lease)
RESERVATION = models.table(models.Reservation)
RESOURCE = models.table(models.Resource)


class Described(NamedTuple):
    name: str
    holds: tuple[holds.Hold, ...]


def members(
    session: orm.Session, resource_type: str, first: int, limit: int
) -> dict[int, tuple[holds.Hold, ...]]:
    """Return the ids, sorted, of the resources of the type that are in the
    pool or fenced for a lease -> the reasons that hold them.

    :param first: the place in this order at which to begin, from 0
    """
    rows = session.execute(
        sa.select(RESOURCE)
        .where(RESOURCE.c.resource_type == resource_type, hosts.closed())
        .order_by(RESOURCE.c.id)
        .offset(first)
        .limit(limit)
    )
    return {row.id: holds.of(row) for row in rows}


def described(
    session: orm.Session, resource_ids: Collection[int]
) -> Mapping[int, Described]:
    """Return resource id -> its name, and the reasons that hold it."""
    rows = session.execute(
        sa.select(RESOURCE).where(RESOURCE.c.id.in_(resource_ids))
    )
    return {row.id: Described(row.name, holds.of(row)) for row in rows}


def taken(
    session: orm.Session,
    resource_ids: Collection[int],
    during: allocations.During,
    project_id: str,
    limit: int,
) -> list[holding.Held]:
    """Return what leases have of the resources, in the order of the starts, up
    to the limit; without whole resources that are only promised.

    :param project_id: whose leases are told
    """
    query = (
        held_rows.ever(
            ALLOCATION.c.resource_id.in_(resource_ids),
            *during.conditions(),
            # What is late is not shown as held after its end: that time was
            # promised to nobody, or to the next lease.
            ALLOCATION.c.end_date > during.start,
            ALLOCATION.c.start_date < ALLOCATION.c.end_date,
            sa.or_(
                ALLOCATION.c.start_date <= during.now,
                ALLOCATION.c.exclusive == sa.false(),
            ),
        )
        .add_columns(_own(project_id))
        .join(RESERVATION, RESERVATION.c.id == ALLOCATION.c.reservation_id)
        .join(LEASE, LEASE.c.id == RESERVATION.c.lease_id)
        .order_by(ALLOCATION.c.start_date, ALLOCATION.c.id)
        .limit(limit)
    )
    rows = session.execute(held_rows.by_resource(query, ALLOCATION))
    return [
        holding.Held(*columns)._replace(lease_id=lease_id)
        for *columns, lease_id in rows
    ]


def promised(
    session: orm.Session,
    resource_type: str,
    during: allocations.During,
    project_id: str,
    limit: int,
) -> list[holding.Promised]:
    """Return the whole resources that are promised to leases which have not
    begun, up to the limit."""
    rows = session.execute(
        sa.select(
            ALLOCATION.c.start_date,
            ALLOCATION.c.end_date,
            ALLOCATION.c.reservation_id,
            _own(project_id),
            sa.func.count(),
        )
        .join(RESERVATION, RESERVATION.c.id == ALLOCATION.c.reservation_id)
        .join(LEASE, LEASE.c.id == RESERVATION.c.lease_id)
        .join(RESOURCE, RESOURCE.c.id == ALLOCATION.c.resource_id)
        .where(
            RESOURCE.c.resource_type == resource_type,
            ALLOCATION.c.exclusive == sa.true(),
            *held_rows.has(ALLOCATION.c),
            ALLOCATION.c.start_date > during.now,
            ALLOCATION.c.end_date > during.start,
            ALLOCATION.c.start_date < during.end,
        )
        .group_by(
            ALLOCATION.c.start_date,
            ALLOCATION.c.end_date,
            ALLOCATION.c.reservation_id,
            LEASE.c.id,
            LEASE.c.project_id,
        )
        .order_by(ALLOCATION.c.start_date, ALLOCATION.c.reservation_id)
        .limit(limit)
    )
    return [holding.Promised(*row) for row in rows]


def _own(project_id: str) -> sa.ColumnElement[str | None]:
    """Return the column of the id of a lease; NULL if it is another
    project's."""
    return sa.case((LEASE.c.project_id == project_id, LEASE.c.id))
