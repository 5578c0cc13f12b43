# SPDX-License-Identifier: Apache-2.0
"""Conditions of resources: whether they work, as far as has been seen.

Every function joins the caller's transaction.
"""

from collections.abc import Collection
import dataclasses
import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy import orm

from nova_reservations import objects
from nova_reservations.db import fields
from nova_reservations.db import models
from nova_reservations.db import pages
from nova_reservations.db.resources import resources
from nova_reservations.objects import states

ALLOCATION = models.table(models.Allocation)
LEASE = models.table(models.Lease)
RESERVATION = models.table(models.Reservation)
RESOURCE = models.table(models.Resource)


@dataclasses.dataclass(frozen=True, slots=True)
class KnownResource:
    """:ivar condition: whether it works, as far as has been seen.

    :ivar braked_at: when it was last seen to have failed with many others.
    :ivar brake_off: whether an administrator has said to heal it anyway.
    """

    resource: objects.Resource
    condition: objects.Condition
    braked_at: datetime.datetime | None
    brake_off: bool


def known(
    session: orm.Session,
    resource_type: str,
    names: Collection[str] | None = None,
    *,
    held_only: bool = False,
) -> list[KnownResource]:
    """Return the resources of a type; only those of these names, if any are
    given.

    :param held_only: leave out those that nothing is known to be wrong with
    """
    columns = fields.selected(
        RESOURCE, objects.Resource, objects.Condition, KnownResource
    )
    statement = sa.select(*columns).where(
        RESOURCE.c.resource_type == resource_type
    )
    if names is not None:
        statement = statement.where(RESOURCE.c.name.in_(names))
    if held_only:
        statement = statement.where(
            sa.or_(
                RESOURCE.c.hold.is_not(None),
                RESOURCE.c.down_since.is_not(None),
            )
        )
    return [
        KnownResource(
            objects.Resource(**fields.of(row, objects.Resource)),
            objects.Condition(**fields.of(row, objects.Condition)),
            row.braked_at,
            row.brake_off,
        )
        for row in session.execute(statement)
    ]


def holders(
    session: orm.Session, resource_type: str, now: datetime.datetime
) -> dict[str, set[str]]:
    """Return name of a resource -> the projects whose leases have begun and
    hold it."""
    found: dict[str, set[str]] = {}
    for name, project_id in session.execute(
        sa.select(RESOURCE.c.name, LEASE.c.project_id)
        .join(ALLOCATION, ALLOCATION.c.resource_id == RESOURCE.c.id)
        .join(RESERVATION, RESERVATION.c.id == ALLOCATION.c.reservation_id)
        .join(LEASE, LEASE.c.id == RESERVATION.c.lease_id)
        .where(
            RESOURCE.c.resource_type == resource_type,
            ALLOCATION.c.released == sa.false(),
            LEASE.c.start_date <= now,
        )
    ):
        found.setdefault(name, set()).add(project_id)
    return found


def wait_anew(
    session: orm.Session, ids: Collection[int], now: datetime.datetime
) -> None:
    """Count those of the resources that are down as down from now on."""
    down = RESOURCE.c.hold == states.Hold.DOWN
    pages.update(
        session, RESOURCE.c.id, ids, down, held_since=now, updated_at=now
    )


def set_condition(
    session: orm.Session,
    resource_id: int,
    condition: objects.Condition,
    now: datetime.datetime,
) -> None:
    """Record whether a resource works.

    The generation changes, so bookings that were planned on the former
    condition fail. If the resource has not failed, its brake is forgotten.
    """
    columns: dict[str, Any] = dataclasses.asdict(condition)
    if not condition.failed:
        columns |= {'braked_at': None, 'brake_off': False}
    resources.change(session, resource_id, updated_at=now, **columns)


def set_brake(
    session: orm.Session,
    resource_ids: Collection[int],
    braked_at: datetime.datetime | None,
    *,
    off: bool = False,
) -> None:
    """Stop the healing of failed resources or, without a date, allow it.

    :param off: whether an administrator has asked for that
    """
    for resource_id in sorted(resource_ids):
        session.execute(
            sa.update(RESOURCE)
            .where(
                RESOURCE.c.id == resource_id,
                RESOURCE.c.down_since.is_not(None),
            )
            .values(braked_at=braked_at, brake_off=off)
        )
