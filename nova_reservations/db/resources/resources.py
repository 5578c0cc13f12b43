# SPDX-License-Identifier: Apache-2.0
"""Resources that can be leased, of any type, with their inventories; hosts
have more in ``hosts.py``.

Every function joins the caller's transaction.
"""

from collections.abc import Collection
from collections.abc import Mapping
import datetime
from typing import Any
from typing import NamedTuple
import zlib

import sqlalchemy as sa
from sqlalchemy import orm

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations.db import models
from nova_reservations.db import pages
from nova_reservations.db import writes
from nova_reservations.db.resources import inventories
from nova_reservations.db.resources import resource_rows
from nova_reservations.objects import inventoried
from nova_reservations.objects import states

RESOURCE = models.table(models.Resource)
RESERVATION = models.table(models.Reservation)
ALLOCATION = models.table(models.Allocation)
AMOUNT = models.table(models.AllocationAmount)
HOST = models.table(models.Host)
INVENTORY = models.table(models.Inventory)
RESOURCE_PROPERTY = models.table(models.ResourceProperty)


class Share(NamedTuple):
    """The units of a resource class that a lease has of a resource."""

    reservation_id: str
    lease_id: str
    start: datetime.datetime
    end: datetime.datetime
    resource_class: str
    amount: int


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
    """Insert a resource; return its id.

    :raises: Conflict if there is one of this type and UUID
    """
    inserted: int = session.execute(
        sa.insert(RESOURCE).values(
            resource_type=resource_type,
            name=name,
            uuid=uuid,
            reservable=reservable,
            generation=0,
            # An arbitrary place in the order of candidates, so that plans made
            # at one moment begin at different resources.
            spread=zlib.crc32(uuid.encode()) >> 1,
            role=role,
            created_at=now,
        )
    ).inserted_primary_key[0]  # type: ignore[attr-defined]
    return inserted


def find(
    session: orm.Session, query: objects.ResourceQuery
) -> list[objects.Inventoried]:
    """Return a page of resources, or all of them where there is no limit."""
    statement = (
        sa.select(RESOURCE)
        .where(
            RESOURCE.c.resource_type == query.resource_type,
            RESOURCE.c.id > query.marker,
        )
        .order_by(RESOURCE.c.id)
        .limit(query.limit)
    )
    if query.name is not None:
        statement = statement.where(RESOURCE.c.name == query.name)
    return resource_rows.others(session, statement)


def ids(
    session: orm.Session, resource_type: str, after: int, limit: int
) -> list[int]:
    """Return the next ids of hosts, or of resources of another type, in their
    order."""
    key, conditions = HOST.c.resource_id, list[sa.ColumnElement[bool]]()
    if resource_type != objects.HOST:
        key = RESOURCE.c.id
        # An index has both columns.
        conditions = [
            RESOURCE.c.role == states.Role.POOL,
            RESOURCE.c.resource_type == resource_type,
        ]
    query = (
        sa.select(key)
        .where(key > after, *conditions)
        .order_by(key)
        .limit(limit)
    )
    return list(session.scalars(query))


def of_uuid(
    session: orm.Session, resource_type: str, uuid: str
) -> list[objects.Inventoried]:
    """Return the one of a type that has this UUID, if there is any."""
    return resource_rows.others(
        session,
        sa.select(RESOURCE).where(
            RESOURCE.c.resource_type == resource_type, RESOURCE.c.uuid == uuid
        ),
    )


def get(session: orm.Session, resource_id: int) -> objects.Inventoried:
    """Return a resource that is no host.

    :raises: NotFound
    """
    found = resource_rows.others(
        session,
        sa.select(RESOURCE).where(
            RESOURCE.c.id == resource_id,
            RESOURCE.c.resource_type != objects.HOST,
        ),
    )
    if not found:
        raise exception.NotFound(kind='Resource', id=resource_id)
    return found[0]


def set_inventories(
    session: orm.Session, resource_id: int, totals: Mapping[str, int | None]
) -> None:
    """Set how many units of resource classes there are; None removes a
    class."""
    for name in sorted(totals):
        session.execute(
            sa.delete(INVENTORY).where(
                INVENTORY.c.resource_id == resource_id,
                INVENTORY.c.resource_class == name,
            )
        )
    given = [
        inventories.row(resource_id, inventoried.inventory(name, total))
        for name, total in sorted(totals.items())
        if total is not None
    ]
    writes.insert(session, INVENTORY, given)


def change(
    session: orm.Session,
    resource_id: int,
    *seen: sa.ColumnElement[bool],
    **columns: Any,
) -> bool:
    """Write columns of the resource, if it still is as it was seen; return
    whether it was. Plans fail that were made on its older state."""
    return writes.changed(
        session,
        RESOURCE,
        RESOURCE.c.id == resource_id,
        *seen,
        generation=RESOURCE.c.generation + 1,
        **columns,
    )


def shares(session: orm.Session, resource_id: int) -> list[Share]:
    """Return the shares of the resource that are not released, one for each
    reservation and class, in the order of their starts."""
    rows = session.execute(
        sa.select(
            ALLOCATION.c.reservation_id,
            RESERVATION.c.lease_id,
            ALLOCATION.c.start_date,
            ALLOCATION.c.end_date,
            AMOUNT.c.resource_class,
            AMOUNT.c.amount,
        )
        .join(AMOUNT, AMOUNT.c.allocation_id == ALLOCATION.c.id)
        .join(RESERVATION, RESERVATION.c.id == ALLOCATION.c.reservation_id)
        .where(
            ALLOCATION.c.resource_id == resource_id,
            ALLOCATION.c.released == sa.false(),
        )
        .order_by(ALLOCATION.c.start_date, ALLOCATION.c.id)
    )
    return [Share(*row) for row in rows]


def ids_of(
    session: orm.Session, resource_type: str, names: Collection[str]
) -> dict[str, int]:
    """Return name -> id of those of these names."""
    rows = session.execute(
        sa.select(RESOURCE.c.name, RESOURCE.c.id).where(
            RESOURCE.c.name.in_(names),
            RESOURCE.c.resource_type == resource_type,
        )
    )
    return {row.name: row.id for row in rows}


def delete(session: orm.Session, resource_id: int) -> None:
    """Delete a resource that nothing holds any more, with its inventories and
    properties."""
    for table in (RESOURCE_PROPERTY, INVENTORY):
        pages.delete(session, table.c.resource_id, [resource_id])
    session.execute(sa.delete(RESOURCE).where(RESOURCE.c.id == resource_id))
