# SPDX-License-Identifier: Apache-2.0
"""Leases that were refused: a row for each ask of a project and day.

Every function joins the caller's transaction.

Decision 0038: doc/source/decisions/0038-demand-is-what-was-refused
"""

import datetime

import sqlalchemy as sa
from sqlalchemy import orm

from nova_reservations import exception
from nova_reservations.db import models
from nova_reservations.db import pages
from nova_reservations.db.holdings import held_rows
from nova_reservations.objects import holding
from nova_reservations.objects import interval
from nova_reservations.objects import refusal as refusals

ALLOCATION = models.table(models.Allocation)
REFUSAL = models.table(models.Refusal)


def digests(
    session: orm.Session, project_id: str, day: datetime.date, limit: int
) -> set[str]:
    """Return the digests of what a project was refused on a day, up to a
    limit."""
    query = (
        sa.select(REFUSAL.c.digest)
        .where(REFUSAL.c.project_id == project_id, REFUSAL.c.day == day)
        .limit(limit)
    )
    return set(session.scalars(query))


def insert(session: orm.Session, refusal: refusals.Refusal) -> None:
    """:raises: Conflict, at the commit at the latest, if it is recorded"""
    session.execute(
        sa.insert(REFUSAL).values(
            project_id=refusal.project_id,
            day=refusal.asked_at.date(),
            digest=refusal.digest,
            asked_at=refusal.asked_at,
            start_date=refusal.start,
            end_date=refusal.end,
            kind=refusal.kind,
            reservations=refusal.description,
        )
    )


def find(
    session: orm.Session, query: refusals.RefusalQuery
) -> list[refusals.Refusal]:
    """Return a page of refusals, the oldest first.

    :raises: InvalidInput if the marker is none of them
    """
    conditions: list[sa.ColumnElement[bool]] = []
    if query.project_id is not None:
        conditions.append(REFUSAL.c.project_id == query.project_id)
    if query.start is not None:
        conditions.append(REFUSAL.c.asked_at >= query.start)
    if query.end is not None:
        conditions.append(REFUSAL.c.asked_at < query.end)
    if query.marker is not None:
        conditions.append(_beyond(session, query.marker))
    rows = session.execute(
        sa.select(REFUSAL)
        .where(*conditions)
        .order_by(REFUSAL.c.asked_at, REFUSAL.c.id)
        .limit(query.limit)
    )
    return [
        refusals.Refusal(
            row.project_id,
            row.asked_at,
            row.start_date,
            row.end_date,
            row.kind,
            refusals.parts(row.reservations),
            row.id,
        )
        for row in rows
    ]


def _beyond(session: orm.Session, marker: int) -> sa.ColumnElement[bool]:
    last = session.scalar(
        sa.select(REFUSAL.c.asked_at).where(REFUSAL.c.id == marker)
    )
    if last is None:
        raise exception.InvalidInput(reason=f'marker {marker} is no refusal')
    columns = [REFUSAL.c.asked_at, REFUSAL.c.id]
    return pages.beyond(columns, (last, marker), descending=False)


def remove(session: orm.Session, before: datetime.datetime, limit: int) -> int:
    """Delete the oldest refusals from before a time; return how many.

    :param limit: how many at most
    """
    return pages.delete_oldest(session, REFUSAL.c.asked_at, before, limit)


def booked(
    session: orm.Session, window: interval.Interval
) -> list[holding.Held]:
    """Return what leases had, have or will have in a window."""
    within = held_rows.ever(
        ALLOCATION.c.start_date < window.end,
        ALLOCATION.c.end_date > window.start,
    )
    return held_rows.with_amounts(session, within)
