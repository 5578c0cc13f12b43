# SPDX-License-Identifier: Apache-2.0
"""Resources with all that is held of them between two dates, to count what is
free.

Every function joins the caller's transaction.
"""

from collections.abc import Collection
from collections.abc import Mapping

import sqlalchemy as sa
from sqlalchemy import orm

from nova_reservations.db import models
from nova_reservations.db.holdings import held_rows
from nova_reservations.db.resources import hosts
from nova_reservations.db.resources import inventories
from nova_reservations.objects import holding
from nova_reservations.objects import holds
from nova_reservations.objects import interval
from nova_reservations.objects import search

ALLOCATION = models.table(models.Allocation)
LEASE = models.table(models.Lease)
RESERVATION = models.table(models.Reservation)
RESOURCE = models.table(models.Resource)


def members(
    session: orm.Session, resource_type: str
) -> dict[int, tuple[holds.Hold, ...]]:
    """Return the id of each resource that is in the pool, or is held for a
    lease -> the reasons why it is promised to no new lease."""
    rows = session.execute(
        sa.select(RESOURCE).where(
            RESOURCE.c.resource_type == resource_type, hosts.closed()
        )
    )
    return {row.id: holds.forbidding(row, holds.Use.PROMISE) for row in rows}


def held(
    session: orm.Session,
    window: interval.Interval,
    terms: search.Search,
    limit: int,
) -> list[holding.Held]:
    """Return what is held of any resource and may be in the way in a window,
    as far as the limit goes."""
    query = held_rows.query(*_near(window, terms)).limit(limit)
    return held_rows.read(session, query)


def amounts(
    session: orm.Session,
    window: interval.Interval,
    terms: search.Search,
    names: Collection[str],
) -> Mapping[int, Mapping[str, int]]:
    """Return the id of each share that may be in the way in a window -> its
    amounts that compete with amounts of these names."""
    return held_rows.amounts(
        session, inventories.rivals(names), *_near(window, terms)
    )


def projects(
    session: orm.Session, window: interval.Interval, terms: search.Search
) -> Mapping[str, str]:
    """Return the id of each reservation that holds something in a window ->
    its project."""
    rows = session.execute(
        held_rows.by_leases(RESERVATION.c.id, LEASE.c.project_id)
        .where(*_near(window, terms))
        .distinct()
    )
    return {row.id: row.project_id for row in rows}


def _near(
    window: interval.Interval, terms: search.Search
) -> list[sa.ColumnElement[bool]]:
    return held_rows.in_the_way(
        ALLOCATION.c, window.padded(terms.cleaning), terms.now, of_shares=True
    )
