# SPDX-License-Identifier: Apache-2.0
"""The holdings of a project, and the generation that guards them.

Every function joins the caller's transaction.
"""

from collections.abc import Collection
import datetime

import sqlalchemy as sa
from sqlalchemy import orm

from nova_reservations import objects
from nova_reservations.db import models
from nova_reservations.db import pages
from nova_reservations.objects import interval
from nova_reservations.objects import limits
from nova_reservations.objects import states

LEASE = models.table(models.Lease)
RESERVATION = models.table(models.Reservation)
ALLOCATION = models.table(models.Allocation)
AMOUNT = models.table(models.AllocationAmount)
RESOURCE = models.table(models.Resource)
PROJECT = models.table(models.Project)

_LONGEST_GRACE = datetime.timedelta(days=1)
"""The longest time for which a lease has its resources after its end."""

_COUNTED = tuple(sorted(states.WAITING | states.OPEN))

_HOLDING = tuple(sorted(set(states.Lease) - {states.Lease.TERMINATED}))
"""The states in which a lease may hold something."""


def raise_generation(session: orm.Session, project_id: str) -> None:
    """Raise the generation of what a project holds: whoever does the same
    waits until the commit, and then sees what was written here.

    It must be the first statement of its transaction: MariaDB reads, until
    the commit, what there was at the first one that reads.

    Decision 0039: doc/source/decisions/0039-limits-in-the-booking
    """
    done = session.execute(
        sa.update(PROJECT)
        .where(PROJECT.c.project_id == project_id)
        .values(generation=PROJECT.c.generation + 1)
    )
    if done.rowcount != 1:  # type: ignore[attr-defined]
        # Of those who do it at the same time, all but one begin anew.
        session.execute(
            sa.insert(PROJECT).values(project_id=project_id, generation=1)
        )


def count(session: orm.Session, project_id: str) -> limits.Count:
    """Return how many leases the project has that are not over."""
    waits = sa.or_(
        LEASE.c.status == states.Lease.IN_PROGRESS,
        sa.and_(
            LEASE.c.status == states.Lease.CREATING,
            LEASE.c.arrival.is_not(None),
        ),
    )
    row = session.execute(
        sa.select(
            sa.func.count().label('leases'),
            sa.func.sum(sa.case((waits, 1), else_=0)).label('waiting'),
        ).where(
            LEASE.c.project_id == project_id,
            LEASE.c.by_default == sa.false(),
            LEASE.c.status.in_(_COUNTED),
        )
    ).one()
    return limits.Count(int(row.leases), int(row.waiting or 0))


def held(
    session: orm.Session, project_id: str, now: datetime.datetime
) -> list[limits.Held]:
    """Return the hosts and the slots that the project holds from now on."""
    ids = session.scalars(
        sa.select(RESERVATION.c.id)
        .join(LEASE, LEASE.c.id == RESERVATION.c.lease_id)
        .where(
            LEASE.c.project_id == project_id,
            LEASE.c.by_default == sa.false(),
            LEASE.c.status.in_(_HOLDING),
            LEASE.c.end_date > now - _LONGEST_GRACE,
        )
    )
    return [each for page in pages.of(ids) for each in _held(session, page)]


def held_by(session: orm.Session, lease: objects.Lease) -> list[limits.Held]:
    """Return those that one lease holds."""
    return _held(session, [item.id for item in lease.reservations])


def _held(
    session: orm.Session, reservation_ids: Collection[str]
) -> list[limits.Held]:
    # Not those of the project in one statement: planners then look first at
    # all that anybody holds from now on.
    rows = session.execute(
        sa.select(
            ALLOCATION.c.reservation_id,
            ALLOCATION.c.start_date,
            ALLOCATION.c.end_date,
            sa.func.sum(
                sa.case((ALLOCATION.c.exclusive == sa.true(), 1), else_=0)
            ).label('hosts'),
            sa.func.sum(sa.func.coalesce(AMOUNT.c.amount, 0)).label('slots'),
        )
        .join(RESOURCE, RESOURCE.c.id == ALLOCATION.c.resource_id)
        .outerjoin(
            AMOUNT,
            sa.and_(
                AMOUNT.c.allocation_id == ALLOCATION.c.id,
                AMOUNT.c.resource_class.in_(
                    [objects.slot_class(each) for each in reservation_ids]
                ),
            ),
        )
        .where(
            ALLOCATION.c.reservation_id.in_(reservation_ids),
            ALLOCATION.c.released == sa.false(),
            RESOURCE.c.resource_type == objects.HOST,
        )
        .group_by(
            ALLOCATION.c.reservation_id,
            ALLOCATION.c.start_date,
            ALLOCATION.c.end_date,
        )
    )
    return [
        limits.Held(
            row.reservation_id,
            interval.Interval(row.start_date, row.end_date),
            int(row.hosts),
            int(row.slots),
        )
        for row in rows
        # What was replaced before it began was never held.
        if row.start_date < row.end_date
    ]
