# SPDX-License-Identifier: Apache-2.0
"""The content of the raw tables, by queries of our own: code under test is not
asked what is right."""

from collections import defaultdict
import dataclasses
import datetime
from typing import Any

import sqlalchemy as sa

from nova_reservations.db import api
from nova_reservations.db import models


@dataclasses.dataclass(frozen=True)
class Held:
    """An allocation that is not released.

    :ivar status: of its lease.
    :ivar params: of its reservation.
    :ivar replaced: another resource was given in its place.
    :ivar leaving: the lease gives it back.
    :ivar amounts: resource class -> units; empty if it is exclusive.
    """

    id: int
    lease: str
    project: str
    status: str
    by_default: bool
    reservation: str
    kind: str
    params: dict[str, Any]
    resource: str
    start: datetime.datetime
    end: datetime.datetime
    exclusive: bool
    replaced: bool
    leaving: bool
    amounts: dict[str, int]

    def goes_on(self, instant: datetime.datetime) -> bool:
        return self.start <= instant < self.end


_A = models.Allocation
_ALLOCATIONS = (
    sa.select(
        _A.id,
        models.Lease.id.label('lease'),
        models.Lease.project_id,
        models.Lease.status,
        models.Lease.by_default,
        _A.reservation_id,
        models.Reservation.resource_type,
        models.Reservation.params,
        models.Resource.name,
        _A.start_date,
        _A.end_date,
        _A.exclusive,
        _A.replaced_at,
        _A.leaving_at,
    )
    .join(models.Reservation, models.Reservation.id == _A.reservation_id)
    .join(models.Lease, models.Lease.id == models.Reservation.lease_id)
    .join(models.Resource, models.Resource.id == _A.resource_id)
    .where(_A.released == sa.false())
)


def held(database: api.Database) -> list[Held]:
    amounts: dict[int, dict[str, int]] = defaultdict(dict)
    with database.reader() as session:
        for row in session.execute(
            sa.select(models.AllocationAmount.__table__)
        ):
            amounts[row.allocation_id][row.resource_class] = row.amount
        return [
            Held(
                *row[:12],
                row.replaced_at is not None,
                row.leaving_at is not None,
                amounts[row.id],
            )
            for row in session.execute(_ALLOCATIONS)
        ]


def capacities(database: api.Database) -> dict[str, dict[str, int]]:
    """Return resource -> class -> the most units that leases may hold."""
    row = models.Inventory
    found: dict[str, dict[str, int]] = defaultdict(dict)
    with database.reader() as session:
        for name, key, total, reserved, ratio in session.execute(
            sa.select(
                models.Resource.name,
                row.resource_class,
                row.total,
                row.reserved,
                row.allocation_ratio,
            ).join(models.Resource, models.Resource.id == row.resource_id)
        ):
            found[name][key] = int((total - reserved) * ratio)
    return found


def leases(database: api.Database) -> list[Any]:
    """Return the rows of all leases."""
    with database.reader() as session:
        return list(session.execute(sa.select(models.Lease.__table__)))


def reservations(database: api.Database) -> list[Any]:
    """Return (id, resource_type, params, lease's status) of all."""
    row = models.Reservation
    with database.reader() as session:
        return list(
            session.execute(
                sa.select(
                    row.id, row.resource_type, row.params, models.Lease.status
                ).join(models.Lease, models.Lease.id == row.lease_id)
            )
        )


def ids(database: api.Database, model: type[models.Base]) -> set[Any]:
    with database.reader() as session:
        return set(session.scalars(sa.select(model.__table__.c.id)))


def resources(database: api.Database) -> dict[str, int]:
    """Return name -> id: a host that is added again has another one."""
    row = models.Resource
    with database.reader() as session:
        return dict(session.execute(sa.select(row.name, row.id)).all())


def of_value(database: api.Database, value: str) -> set[str]:
    """Return the resources of which a property has this value."""
    row = models.ResourceProperty
    with database.reader() as session:
        return set(
            session.scalars(
                sa.select(models.Resource.name)
                .join(row, row.resource_id == models.Resource.id)
                .where(row.value == value)
            )
        )


def past(database: api.Database) -> dict[tuple[str, Any], dict[str, Any]]:
    """Return (table, id) -> row, of all rows that are history."""
    closed = {
        models.Usage: models.Usage.ended_at.is_not(None),
        models.ServerUsage: models.ServerUsage.ended_at.is_not(None),
        models.Allocation: models.Allocation.released == sa.true(),
        models.DeletedLease: sa.true(),
    }
    with database.reader() as session:
        return {
            (model.__tablename__, row.id): dict(row._mapping)
            for model, condition in closed.items()
            for row in session.execute(
                sa.select(model.__table__).where(condition)
            )
        }
