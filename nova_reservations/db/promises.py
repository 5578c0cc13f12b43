# SPDX-License-Identifier: Apache-2.0
"""All promises of one type of resource, as re-planning needs them.

Every function joins the caller's transaction.

Decision 0031: doc/source/decisions/0031-promises-may-move
"""

from collections.abc import Collection
import dataclasses
import datetime
from typing import NamedTuple

import sqlalchemy as sa
from sqlalchemy import orm

from nova_reservations import exception
from nova_reservations.db import models
from nova_reservations.objects import interval
from nova_reservations.objects import search
from nova_reservations.objects import states

ALLOCATION = models.table(models.Allocation)
LEASE = models.table(models.Lease)
RESERVATION = models.table(models.Reservation)
RESOURCE = models.table(models.Resource)


class Held(NamedTuple):
    """A resource that a reservation has, from start until just before end.

    :ivar end: with the time for cleaning, and so late that no lease that
        begins now could have the resource.
    :ivar whole: it is not a share, and was not replaced by another resource.
    """

    resource_id: int
    reservation_id: str
    start: datetime.datetime
    end: datetime.datetime
    whole: bool


@dataclasses.dataclass(frozen=True, slots=True)
class Movable:
    """A reservation of a lease that has not begun.

    :ivar params: as JSON: most are equal, and each text is parsed once.
    """

    reservation_id: str
    lease_id: str
    resource_type: str
    params: str


def generations(session: orm.Session, resource_type: str) -> dict[int, int]:
    """Return resource id -> generation of all resources of a type."""
    rows = session.execute(
        sa.select(RESOURCE.c.id, RESOURCE.c.generation).where(
            RESOURCE.c.resource_type == resource_type
        )
    )
    return {row.id: row.generation for row in rows}


def held(
    session: orm.Session,
    resource_ids: Collection[int],
    terms: search.Search,
) -> list[Held]:
    """Return all that is not released of the resources, in no order."""
    return _held(session, resource_ids, terms)


def in_window(
    session: orm.Session,
    resource_ids: Collection[int],
    window: interval.Interval,
    terms: search.Search,
) -> list[Held]:
    """Return the same without what surely does not block a window."""
    conditions = [ALLOCATION.c.start_date < window.end + terms.cleaning]
    if window.start - terms.cleaning > terms.now:
        conditions.append(
            ALLOCATION.c.end_date > window.start - terms.cleaning
        )
    return _held(session, resource_ids, terms, *conditions)


def _held(
    session: orm.Session,
    resource_ids: Collection[int],
    terms: search.Search,
    *conditions: sa.ColumnElement[bool],
) -> list[Held]:
    rows = session.execute(
        sa.select(
            ALLOCATION.c.resource_id,
            ALLOCATION.c.reservation_id,
            ALLOCATION.c.start_date,
            ALLOCATION.c.end_date,
            ALLOCATION.c.exclusive,
            ALLOCATION.c.replaced_at.is_(None),
        ).where(ALLOCATION.c.released == sa.false(), *conditions)
    )
    return [
        Held(
            resource_id,
            reservation_id,
            start,
            until(end, terms),
            exclusive and current,
        )
        for resource_id, reservation_id, start, end, exclusive, current in rows
        if resource_id in resource_ids
    ]


def until(end: datetime.datetime, terms: search.Search) -> datetime.datetime:
    """Return when others can have what is held until an end: after the time
    for cleaning, and later than now, because it is not released."""
    at_least = terms.now + terms.cleaning + datetime.timedelta.resolution
    return max(end + terms.cleaning, at_least)


def movable(
    session: orm.Session,
    now: datetime.datetime,
    window: interval.Interval | None = None,
) -> list[Movable]:
    """Return the reservations whose resources may be exchanged, as far as
    their leases tell: these have not begun, and no worker holds them.

    :param window: those of leases that start in it
    """
    starting = (
        [
            LEASE.c.start_date >= window.start,
            LEASE.c.start_date < window.end,
        ]
        if window
        else []
    )
    rows = session.execute(
        sa.select(
            RESERVATION.c.id,
            RESERVATION.c.lease_id,
            RESERVATION.c.resource_type,
            sa.cast(RESERVATION.c.params, sa.Text).label('params'),
        )
        .join(LEASE, LEASE.c.id == RESERVATION.c.lease_id)
        .where(
            LEASE.c.status == states.Lease.PENDING,
            LEASE.c.start_date > now,
            LEASE.c.claimed_by.is_(None),
            *starting,
        )
    )
    return [
        Movable(row.id, row.lease_id, row.resource_type, row.params)
        for row in rows
    ]


def move(
    session: orm.Session, reservation_id: str, source: int, target: int
) -> None:
    """Give the reservation another resource in place of one, for the same
    window.

    :raises: Conflict if the reservation no longer has the source
    """
    done = session.execute(
        sa.update(ALLOCATION)
        .where(
            ALLOCATION.c.reservation_id == reservation_id,
            ALLOCATION.c.resource_id == source,
            ALLOCATION.c.released == sa.false(),
            ALLOCATION.c.replaced_at.is_(None),
            ALLOCATION.c.exclusive == sa.true(),
        )
        .values(resource_id=target)
    )
    if done.rowcount != 1:  # type: ignore[attr-defined]
        raise exception.Conflict(kind='Reservation', id=reservation_id)
