# SPDX-License-Identifier: Apache-2.0
"""Resources with all that is held of them between two dates, to count what is
free.

Every function joins the caller's transaction.
"""

from collections.abc import Collection
from collections.abc import Mapping
import datetime
from typing import NamedTuple

import sqlalchemy as sa
from sqlalchemy import orm

from nova_reservations.db import models
from nova_reservations.db.resources import inventories
from nova_reservations.db.resources import requirements as sql
from nova_reservations.objects import holds
from nova_reservations.objects import interval
from nova_reservations.objects import requirements
from nova_reservations.objects import search
from nova_reservations.objects import states

ALLOCATION = models.table(models.Allocation)
AMOUNT = models.table(models.AllocationAmount)
HOST = models.table(models.Host)
LEASE = models.table(models.Lease)
RESERVATION = models.table(models.Reservation)
RESOURCE = models.table(models.Resource)


class Held(NamedTuple):
    """A resource that a reservation has, or has a share of, and has not left.

    :ivar replaced: it was given another one in its place.
    """

    id: int
    resource_id: int
    reservation_id: str
    start: datetime.datetime
    end: datetime.datetime
    exclusive: bool
    replaced: bool


def members(
    session: orm.Session, resource_type: str
) -> dict[int, tuple[holds.Hold, ...]]:
    """Return the id of each resource that is in the pool, or is held for a
    lease -> the reasons why it is promised to no new lease."""
    rows = session.execute(
        sa.select(RESOURCE).where(
            RESOURCE.c.resource_type == resource_type,
            sa.or_(
                RESOURCE.c.role == states.Role.POOL,
                RESOURCE.c.fenced_for.is_not(None),
            ),
        )
    )
    return {row.id: holds.forbidding(row, holds.Use.PROMISE) for row in rows}


def meeting(
    session: orm.Session,
    resource_type: str,
    expression: requirements.Expression,
) -> set[int]:
    """Return the ids of resources that meet the requirements, whatever holds
    them."""
    query = sa.select(models.Resource.id).where(
        models.Resource.resource_type == resource_type
    )
    return set(
        session.scalars(sql.meeting(session, query, resource_type, expression))
    )


def held(
    session: orm.Session,
    window: interval.Interval,
    terms: search.Search,
    limit: int,
) -> list[Held]:
    """Return what is held of any resource and may be in the way in a window,
    as far as the limit goes."""
    return [
        Held(*row)
        for row in session.execute(
            sa.select(
                ALLOCATION.c.id,
                ALLOCATION.c.resource_id,
                ALLOCATION.c.reservation_id,
                ALLOCATION.c.start_date,
                ALLOCATION.c.end_date,
                ALLOCATION.c.exclusive,
                ALLOCATION.c.replaced_at.is_not(None),
            )
            .where(*_near(window, terms))
            .limit(limit)
        )
    ]


def amounts(
    session: orm.Session,
    window: interval.Interval,
    terms: search.Search,
    names: Collection[str],
) -> Mapping[int, Mapping[str, int]]:
    """Return the id of each share that may be in the way in a window -> its
    amounts that compete with amounts of these names."""
    found: dict[int, dict[str, int]] = {}
    for row in session.execute(
        sa.select(AMOUNT)
        .join(ALLOCATION, ALLOCATION.c.id == AMOUNT.c.allocation_id)
        .where(
            inventories.rivals(names),
            ALLOCATION.c.exclusive == sa.false(),
            *_near(window, terms),
        )
    ):
        units = found.setdefault(row.allocation_id, {})
        units[row.resource_class] = row.amount
    return found


def projects(
    session: orm.Session, window: interval.Interval, terms: search.Search
) -> Mapping[str, str]:
    """Return the id of each reservation that holds something in a window ->
    its project."""
    rows = session.execute(
        sa.select(RESERVATION.c.id, LEASE.c.project_id)
        .join(LEASE, LEASE.c.id == RESERVATION.c.lease_id)
        .join(ALLOCATION, ALLOCATION.c.reservation_id == RESERVATION.c.id)
        .where(*_near(window, terms))
        .distinct()
    )
    return {row.id: row.project_id for row in rows}


def _near(
    window: interval.Interval, terms: search.Search
) -> list[sa.ColumnElement[bool]]:
    padded = window.padded(terms.cleaning)
    conditions = [
        ALLOCATION.c.released == sa.false(),
        ALLOCATION.c.start_date < padded.end,
    ]
    if padded.start > terms.now:
        # An allocation that is past its end but not released blocks only
        # windows that begin now. One that was replaced blocks later windows,
        # too: nobody knows when its servers leave.
        conditions.append(
            sa.or_(
                ALLOCATION.c.end_date > padded.start,
                ALLOCATION.c.replaced_at.is_not(None),
            )
        )
    return conditions
