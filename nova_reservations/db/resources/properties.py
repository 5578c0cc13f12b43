# SPDX-License-Identifier: Apache-2.0
"""Properties that operators give to resources, and leases may require.

Every function joins the caller's transaction.
"""

from collections import defaultdict
from collections.abc import Collection
from collections.abc import Mapping
import datetime
from typing import Any
from typing import NamedTuple

import sqlalchemy as sa
from sqlalchemy import orm

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations.db import fields
from nova_reservations.db import models
from nova_reservations.db import writes
from nova_reservations.objects import requirements

PROPERTY = models.table(models.Property)
RESOURCE_PROPERTY = models.table(models.ResourceProperty)
RESOURCE = models.table(models.Resource)
RESERVATION = models.table(models.Reservation)
ALLOCATION = models.table(models.Allocation)


class Holder(NamedTuple):
    """A reservation that holds a resource."""

    lease_id: str
    resource_type: str
    params: Mapping[str, Any]


def holders(session: orm.Session, resource_id: int) -> list[Holder]:
    """Return the reservations that hold the resource, to check what they
    require of it."""
    rows = session.execute(
        sa.select(
            RESERVATION.c.lease_id,
            RESERVATION.c.resource_type,
            RESERVATION.c.params,
        )
        .join(ALLOCATION, ALLOCATION.c.reservation_id == RESERVATION.c.id)
        .where(
            ALLOCATION.c.resource_id == resource_id,
            ALLOCATION.c.released == sa.false(),
        )
        .order_by(ALLOCATION.c.start_date, ALLOCATION.c.id)
    )
    return [Holder(*row) for row in rows]


def assign(
    session: orm.Session,
    resource_id: int,
    properties: Mapping[str, str | None],
    now: datetime.datetime,
) -> None:
    """Give the resource properties; a value of None removes one."""
    ids = _property_ids(session, properties, now)
    session.execute(
        sa.delete(RESOURCE_PROPERTY).where(
            RESOURCE_PROPERTY.c.resource_id == resource_id,
            RESOURCE_PROPERTY.c.property_id.in_(ids.values()),
        )
    )
    given = [
        {
            'resource_id': resource_id,
            'property_id': ids[name],
            'value': value,
            'number': requirements.number(value),
        }
        for name, value in sorted(properties.items())
        if value is not None
    ]
    writes.insert(session, RESOURCE_PROPERTY, given)


def _property_ids(
    session: orm.Session, names: Collection[str], now: datetime.datetime
) -> dict[str, int]:
    rows = session.execute(
        sa.select(PROPERTY.c.name, PROPERTY.c.id).where(
            PROPERTY.c.name.in_(names)
        )
    )
    known = {row.name: row.id for row in rows}
    for name in sorted(set(names) - set(known)):
        known[name] = session.execute(
            sa.insert(PROPERTY).values(
                name=name, private=False, created_at=now
            )
        ).inserted_primary_key[0]  # type: ignore[attr-defined]
    return known


def private(session: orm.Session) -> set[str]:
    """Return the names of all private properties."""
    return {
        *session.scalars(
            sa.select(PROPERTY.c.name).where(PROPERTY.c.private == sa.true())
        )
    }


def find(
    session: orm.Session,
    include_private: bool,
    resource_type: str = objects.HOST,
) -> list[objects.Property]:
    """Return all that some resource of the type has."""
    return [
        known
        for known in _given(session, RESOURCE.c.resource_type == resource_type)
        if include_private or not known.private
    ]


def _given(
    session: orm.Session, which: sa.ColumnElement[bool]
) -> list[objects.Property]:
    """Return properties with the values that resources have of them.

    :param which: a condition on properties and resources
    """
    rows: dict[int, sa.Row[Any]] = {}
    values: dict[int, set[str]] = defaultdict(set)
    for row in session.execute(
        sa.select(PROPERTY, RESOURCE_PROPERTY.c.value)
        .join(
            RESOURCE_PROPERTY, RESOURCE_PROPERTY.c.property_id == PROPERTY.c.id
        )
        .join(RESOURCE, RESOURCE.c.id == RESOURCE_PROPERTY.c.resource_id)
        .where(which)
        .order_by(PROPERTY.c.name)
        .distinct()
    ):
        rows[row.id] = row
        values[row.id].add(row.value)
    return [
        objects.Property(
            **fields.of(row, objects.Property),
            values=tuple(sorted(values[row.id])),
        )
        for row in rows.values()
    ]


def set_private(
    session: orm.Session, name: str, private: bool, now: datetime.datetime
) -> objects.Property:
    """Take a property out of lists that members read, or put it back; for
    hosts and all other resources.

    :raises: NotFound if no resource of any type has it
    """
    session.execute(
        sa.update(PROPERTY)
        .where(PROPERTY.c.name == name)
        .values(private=private, updated_at=now)
    )
    found = _given(session, PROPERTY.c.name == name)
    if not found:
        raise exception.NotFound(kind='Property', id=name)
    return found[0]
