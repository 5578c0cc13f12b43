# SPDX-License-Identifier: Apache-2.0
"""Resources that can be leased, of any type: hosts have more in ``hosts.py``.

Every function joins the caller's transaction.
"""

import datetime
import zlib

import sqlalchemy as sa
from sqlalchemy import orm

from nova_reservations import objects
from nova_reservations.db import allocations
from nova_reservations.db import models
from nova_reservations.objects import states

RESOURCE = models.table(models.Resource)
ALLOCATION = models.table(models.Allocation)


def insert(
    session: orm.Session,
    resource_type: str,
    name: str,
    uuid: str,
    now: datetime.datetime,
    *,
    reservable: bool,
    role: states.Role = states.Role.POOL,
) -> int:
    """Return its id.

    :raises: Conflict if there is one of this type and UUID
    """
    inserted: int = session.execute(
        sa.insert(RESOURCE).values(
            resource_type=resource_type,
            name=name,
            uuid=uuid,
            reservable=reservable,
            generation=0,
            # Any, so that leases of one moment begin at different ones.
            spread=zlib.crc32(uuid.encode()) >> 1,
            role=role,
            created_at=now,
        )
    ).inserted_primary_key[0]  # type: ignore[attr-defined]
    return inserted


def find(
    session: orm.Session, resource_type: str, uuid: str | None = None
) -> list[objects.Resource]:
    """Return those of the type, or the one, in the order of their names."""
    statement = (
        sa.select(
            RESOURCE.c.id,
            RESOURCE.c.resource_type,
            RESOURCE.c.name,
            RESOURCE.c.uuid,
        )
        .where(RESOURCE.c.resource_type == resource_type)
        .order_by(RESOURCE.c.name, RESOURCE.c.id)
    )
    if uuid is not None:
        statement = statement.where(RESOURCE.c.uuid == uuid)
    return [objects.Resource(*row) for row in session.execute(statement)]


def withdraw(session: orm.Session, resource_id: int) -> int:
    """Keep new leases away, and return how many reservations still hold the
    resource; if none does, forget those that did."""
    # The lock on its row keeps bookings out until the commit.
    session.execute(
        sa.update(RESOURCE)
        .where(RESOURCE.c.id == resource_id)
        .values(generation=RESOURCE.c.generation + 1, reservable=False)
    )
    held = session.scalar(
        sa.select(sa.func.count())
        .select_from(ALLOCATION)
        .where(
            ALLOCATION.c.resource_id == resource_id,
            ALLOCATION.c.released == sa.false(),
        )
    )
    if held:
        return held
    allocations.forget(session, ALLOCATION.c.resource_id == resource_id)
    return 0


def delete(session: orm.Session, resource_id: int) -> None:
    """Delete a resource to which nothing refers any more."""
    session.execute(sa.delete(RESOURCE).where(RESOURCE.c.id == resource_id))
