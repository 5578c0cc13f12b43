# SPDX-License-Identifier: Apache-2.0
"""Drainable hosts: they are open to all, unless they are emptied for a lease.

``fenced_for`` names the lease, and is set by compare and set. Whether the host
is to be given back follows from the state of the lease, and is stored nowhere
else: so no crash can leave it half decided.

Every function joins the caller's transaction.
"""

from collections.abc import Collection
from collections.abc import Mapping
import dataclasses
import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy import orm

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations.db import counters
from nova_reservations.db import counts
from nova_reservations.db import fields
from nova_reservations.db import models
from nova_reservations.db import tasks
from nova_reservations.db.resources import closings
from nova_reservations.db.resources import holds
from nova_reservations.db.resources import hosts
from nova_reservations.db.resources import judgements
from nova_reservations.db.resources import requirements as sql
from nova_reservations.db.resources import resources
from nova_reservations.objects import interval
from nova_reservations.objects import requirements
from nova_reservations.objects import states

RESOURCE = models.table(models.Resource)
HOST = models.table(models.Host)
ALLOCATION = models.table(models.Allocation)
LEASE = models.table(models.Lease)
UNFIT = models.table(models.UnfitHost)

TASK = 'drainable_hosts'
"""The task that follows the aggregate of drainable hosts, and gives back those
that no lease needs."""


@dataclasses.dataclass(frozen=True, slots=True)
class DrainableHost:
    """:ivar generation: that of the resource when the rest was read.

    :ivar provider_generation: placement's, when its facts were read.
    """

    resource: objects.Resource
    generation: int
    provider_generation: int
    fenced_for: str | None
    fenced_at: datetime.datetime | None


def find(
    session: orm.Session, *conditions: sa.ColumnElement[bool]
) -> list[DrainableHost]:
    """Return the hosts that meet conditions, in the order of their ids."""
    return [_drainable(row) for row in session.execute(_select(*conditions))]


def _select(*conditions: sa.ColumnElement[bool]) -> sa.Select[Any]:
    return (
        sa.select(RESOURCE, HOST.c.provider_generation)
        .join(HOST, HOST.c.resource_id == RESOURCE.c.id)
        .where(
            RESOURCE.c.role == states.Role.DRAINABLE,
            RESOURCE.c.resource_type == objects.HOST,
            *conditions,
        )
        .order_by(RESOURCE.c.id)
    )


def _drainable(row: sa.Row[Any]) -> DrainableHost:
    return DrainableHost(
        **fields.of(row, DrainableHost),
        resource=objects.Resource(**fields.of(row, objects.Resource)),
    )


def offers(
    session: orm.Session,
    lease_id: str,
    expression: requirements.Expression | None,
    window: interval.Interval,
    limit: int,
) -> list[DrainableHost]:
    """Return drainable hosts that the lease could have in the window, first
    those that are fenced for it.

    They work, meet the requirements, and are held by no lease. At most
    ``limit`` hosts are returned.
    """
    unfit = sa.exists().where(
        UNFIT.c.lease_id == lease_id, UNFIT.c.resource_id == RESOURCE.c.id
    )
    held = sa.exists().where(
        ALLOCATION.c.resource_id == RESOURCE.c.id,
        ALLOCATION.c.released == sa.false(),
        ALLOCATION.c.start_date < window.end,
    )
    is_fenced_for_it = RESOURCE.c.fenced_for == lease_id
    found: list[DrainableHost] = []
    for taken in (is_fenced_for_it, RESOURCE.c.fenced_for.is_(None)):
        statement = _select(taken, holds.free(holds.Use.DRAIN), ~unfit, ~held)
        if expression is not None:
            statement = statement.where(
                sql.clause(
                    expression, passing=judgements.passing(session, expression)
                )
            )
        found += map(_drainable, session.execute(statement.limit(limit)))
    return found[:limit]


def fence(
    session: orm.Session,
    chosen: Collection[DrainableHost],
    lease_id: str,
    now: datetime.datetime,
) -> None:
    """Take hosts for the lease, all or none.

    :raises: Conflict if one of them is no longer as it was seen
    """
    for drainable in sorted(
        chosen, key=lambda drainable: drainable.resource.id
    ):
        _change_open(
            session,
            drainable.resource.id,
            RESOURCE.c.generation == drainable.generation,
            fenced_for=lease_id,
            fenced_at=now,
            updated_at=now,
        )
    counters.increment(session, hosts.POOL)


def unfence(
    session: orm.Session,
    resource_id: int,
    lease_id: str,
    now: datetime.datetime,
) -> None:
    """Open a host to everybody, if the fence still is the lease's."""
    resources.change(
        session,
        resource_id,
        RESOURCE.c.fenced_for == lease_id,
        fenced_for=None,
        fenced_at=None,
        updated_at=now,
    )
    closings.delete(session, resource_id)
    counters.increment(session, hosts.POOL)


def unneeded(
    session: orm.Session, resource_id: int | None = None
) -> list[DrainableHost]:
    """Return the fenced hosts that are to be given back: their lease is not
    looking for hosts, or cannot use them, and no lease holds them.

    :param resource_id: only this one
    """
    looking = sa.exists().where(
        LEASE.c.id == RESOURCE.c.fenced_for,
        LEASE.c.status == states.Lease.IN_PROGRESS,
    )
    unfit = sa.exists().where(
        UNFIT.c.lease_id == RESOURCE.c.fenced_for,
        UNFIT.c.resource_id == RESOURCE.c.id,
    )
    held = sa.exists().where(
        ALLOCATION.c.resource_id == RESOURCE.c.id,
        ALLOCATION.c.released == sa.false(),
    )
    conditions = [
        RESOURCE.c.fenced_for.is_not(None),
        sa.or_(~looking, unfit),
        ~held,
    ]
    if resource_id is not None:
        conditions.append(RESOURCE.c.id == resource_id)
    return find(session, *conditions)


def set_unfit(
    session: orm.Session,
    lease_id: str,
    reasons: Mapping[int, str],
    now: datetime.datetime,
) -> None:
    """Record that the lease can't use these hosts; they are given back.

    :param reasons: resource id -> why, in words for its owner
    """
    for resource_id, reason in sorted(reasons.items()):
        session.execute(
            sa.insert(UNFIT).values(
                lease_id=lease_id, resource_id=resource_id, reason=reason
            )
        )
    tasks.hurry(session, TASK, now)


def unfit(session: orm.Session, lease_id: str) -> list[str]:
    """Return why hosts were no use to the lease."""
    query = (
        sa.select(UNFIT.c.reason)
        .where(UNFIT.c.lease_id == lease_id)
        .order_by(UNFIT.c.resource_id)
    )
    return list(session.scalars(query))


def came_free(
    session: orm.Session, lease_id: str, now: datetime.datetime
) -> None:
    """Make a worker soon give back the hosts that were fenced for the lease,
    and are not needed any more after this transaction."""
    if counts.is_any(session, RESOURCE, RESOURCE.c.fenced_for == lease_id):
        tasks.hurry(session, TASK, now)


def enrol(
    session: orm.Session, resource_id: int, now: datetime.datetime
) -> None:
    """Move a drainable host into the pool.

    :raises: Conflict if the host is fenced, or is not drainable
    """
    _change_open(session, resource_id, role=states.Role.POOL, updated_at=now)
    counters.increment(session, hosts.POOL)


def lock(session: orm.Session, drainable: DrainableHost) -> None:
    """Keep leases from taking the host until the commit.

    :raises: Conflict if the host is no longer as it was seen, or is fenced
    """
    _change_open(
        session,
        drainable.resource.id,
        RESOURCE.c.generation == drainable.generation,
    )


def _change_open(
    session: orm.Session,
    resource_id: int,
    *seen: sa.ColumnElement[bool],
    **columns: Any,
) -> None:
    """:raises: Conflict if the host is fenced, is not drainable, or is not as
    it was seen"""
    if not resources.change(
        session,
        resource_id,
        RESOURCE.c.role == states.Role.DRAINABLE,
        RESOURCE.c.fenced_for.is_(None),
        *seen,
        **columns,
    ):
        raise exception.Conflict(kind='Resource', id=resource_id)
