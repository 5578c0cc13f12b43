# SPDX-License-Identifier: Apache-2.0
"""Rows of what is held, the conditions under which it is in the way, and
subqueries for what is held of each resource that another query reads.

Every function joins the caller's transaction.
"""

from collections.abc import Collection
import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy import orm

from nova_reservations.db import models
from nova_reservations.objects import holding
from nova_reservations.objects import interval

ALLOCATION = models.table(models.Allocation)
AMOUNT = models.table(models.AllocationAmount)
LEASE = models.table(models.Lease)
RESERVATION = models.table(models.Reservation)

_INDEX = 'ix_nr_allocations_resource'


def has(row: Any) -> tuple[sa.ColumnElement[bool], ...]:
    """Return the conditions under which a reservation has what an allocation
    says: it was neither released nor replaced.

    :param row: the columns of the allocations, or an alias of them
    """
    return row.released == sa.false(), row.replaced_at.is_(None)


def of(
    reservation_id: str, resource_ids: Collection[int]
) -> list[sa.ColumnElement[bool]]:
    """Return the conditions of what a reservation has of resources."""
    return [
        ALLOCATION.c.reservation_id == reservation_id,
        ALLOCATION.c.resource_id.in_(resource_ids),
        *has(ALLOCATION.c),
    ]


def change(
    session: orm.Session,
    reservation_id: str,
    resource_ids: Collection[int],
    *conditions: sa.ColumnElement[bool],
    **columns: Any,
) -> None:
    """Write columns of what a reservation has of resources."""
    session.execute(
        sa.update(ALLOCATION)
        .where(*of(reservation_id, resource_ids), *conditions)
        .values(columns)
    )


def in_the_way(
    row: Any,
    window: interval.Interval,
    now: datetime.datetime,
    *,
    of_shares: bool = False,
) -> list[sa.ColumnElement[bool]]:
    """Return the conditions under which what is not released takes a window.

    :param row: the columns of the allocations, or an alias of them
    :param window: with the time for cleaning before and after it, where that
        counts
    :param of_shares: whether a share is to have the window
    """
    return [
        row.start_date < window.end,
        *not_over(row, window.start, now, of_shares=of_shares),
    ]


def not_over(
    row: Any,
    start: datetime.datetime,
    now: datetime.datetime,
    *,
    of_shares: bool = False,
) -> list[sa.ColumnElement[bool]]:
    """Return the conditions under which what is not released, and may begin
    at any time, is in the way of what begins then."""
    if start <= now:
        # An allocation that is past its end but not released still occupies
        # its resource, nobody knows for how long. That matters only to windows
        # that begin now.
        return []
    if not of_shares:
        return [row.end_date > start]
    # One that was replaced blocks later windows, too: nobody knows when its
    # servers leave.
    return [sa.or_(row.end_date > start, row.replaced_at.is_not(None))]


def by_leases(*columns: Any) -> sa.Select[Any]:
    """Return the query for columns of allocations that are not released, of
    their reservations and of the leases of these."""
    return (
        sa.select(*columns)
        .select_from(ALLOCATION)
        .join(RESERVATION, RESERVATION.c.id == ALLOCATION.c.reservation_id)
        .join(LEASE, LEASE.c.id == RESERVATION.c.lease_id)
        .where(ALLOCATION.c.released == sa.false())
    )


def query(*conditions: sa.ColumnElement[bool]) -> sa.Select[Any]:
    """Return the query for allocations that are not released, and meet the
    conditions."""
    return ever(ALLOCATION.c.released == sa.false(), *conditions)


def ever(*conditions: sa.ColumnElement[bool]) -> sa.Select[Any]:
    """Return the same with those that are released."""
    return sa.select(
        ALLOCATION.c.id,
        ALLOCATION.c.resource_id,
        ALLOCATION.c.reservation_id,
        ALLOCATION.c.start_date,
        ALLOCATION.c.end_date,
        ALLOCATION.c.exclusive,
        ALLOCATION.c.replaced_at.is_not(None),
    ).where(*conditions)


def read(session: orm.Session, query: sa.Select[Any]) -> list[holding.Held]:
    """Return what a query() finds, without amounts."""
    return [holding.Held(*row) for row in session.execute(query)]


def with_amounts(
    session: orm.Session,
    query: sa.Select[Any],
    classes: sa.ColumnElement[bool] | None = None,
) -> list[holding.Held]:
    """Return what a query() finds.

    :param classes: the condition that an amount is read; None: all are read
    """
    of_allocation = AMOUNT.c.allocation_id == ALLOCATION.c.id
    # An outer join: an allocation that holds nothing of these classes still
    # makes the resource a shared one.
    joined = query.add_columns(
        AMOUNT.c.resource_class, AMOUNT.c.amount
    ).outerjoin_from(
        ALLOCATION,
        AMOUNT,
        of_allocation if classes is None else sa.and_(of_allocation, classes),
    )
    found: dict[int, holding.Held] = {}
    units: dict[int, dict[str, int]] = {}
    for row in session.execute(joined):
        *columns, name, amount = row
        if row.id not in found:
            found[row.id] = holding.Held(*columns)
            units[row.id] = {}
        if name is not None:
            units[row.id][name] = amount
    return [each._replace(units=units[key]) for key, each in found.items()]


def amounts(
    session: orm.Session, *conditions: sa.ColumnElement[bool]
) -> dict[int, dict[str, int]]:
    """Return the id of each share that is not released -> resource class ->
    units, as far as they meet the conditions."""
    found: dict[int, dict[str, int]] = {}
    for row in session.execute(
        sa.select(AMOUNT)
        .join(ALLOCATION, ALLOCATION.c.id == AMOUNT.c.allocation_id)
        .where(
            ALLOCATION.c.released == sa.false(),
            ALLOCATION.c.exclusive == sa.false(),
            *conditions,
        )
    ):
        units = found.setdefault(row.allocation_id, {})
        units[row.resource_class] = row.amount
    return found


def of_resource(
    held: Any, column: Any, *conditions: sa.ColumnElement[bool]
) -> sa.Select[Any]:
    """Return a subquery for the unreleased allocations of the resource in the
    current row of the enclosing query.

    :param held: an alias of the allocations.
    """
    query: sa.Select[Any] = (
        sa.select(column)
        .where(
            held.resource_id == models.Resource.id,
            held.released == sa.false(),
            *conditions,
        )
        .correlate(models.Resource)
    )
    return by_resource(query, held)


def by_resource(query: sa.Select[Any], held: Any) -> sa.Select[Any]:
    """Return the query, which reads allocations by their resources."""
    # A resource may have thousands of past allocations, and has few present
    # ones. MariaDB knows only the mean of both. Without the hint it would read
    # the present allocations of all resources, once for each resource. A
    # migration that drops this index would break workers of the release
    # before.
    for dialect in ('mysql', 'mariadb'):
        query = query.with_hint(held, f'FORCE INDEX ({_INDEX})', dialect)
    return query


def none(
    held: Any, *conditions: sa.ColumnElement[bool]
) -> sa.ColumnElement[bool]:
    """Return the condition that there is no such allocation."""
    # The offset of 0 keeps optimizers from joining all allocations with all
    # resources where only a page of resources is wanted.
    query = of_resource(held, sa.literal_column('1'), *conditions)
    return ~query.limit(1).offset(0).exists()
