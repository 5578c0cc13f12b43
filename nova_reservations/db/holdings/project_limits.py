# SPDX-License-Identifier: Apache-2.0
"""The holdings of a project, and the generation that guards them.

Every function joins the caller's transaction.
"""

from collections.abc import Iterable
from collections.abc import Sequence
import dataclasses
import datetime
import functools
from typing import Any

import sqlalchemy as sa
from sqlalchemy import orm

from nova_reservations import objects
from nova_reservations.db import models
from nova_reservations.db import pages
from nova_reservations.db import writes
from nova_reservations.db.holdings import held_rows
from nova_reservations.db.resources import inventories
from nova_reservations.objects import interval
from nova_reservations.objects import limits
from nova_reservations.objects import states

LEASE = models.table(models.Lease)
EVENT = models.table(models.Event)
RESERVATION = models.table(models.Reservation)
ALLOCATION = models.table(models.Allocation)
AMOUNT = models.table(models.AllocationAmount)
RESOURCE = models.table(models.Resource)
INVENTORY = models.table(models.Inventory)
PROJECT = models.table(models.Project)

LONGEST_GRACE = datetime.timedelta(days=1)
"""The longest time for which a lease has its resources after its end."""

_COUNTED = states.WAITING | states.OPEN

_ALIVE: Sequence[sa.ColumnElement[str]] = [
    # SQLAlchemy would expand a list of bound parameters at each execution.
    sa.literal_column(f"'{status}'")
    for status in sorted(
        _COUNTED | {states.Lease.TERMINATING, states.Lease.DELETING}
    )
]
"""The states of leases that may hold something, except ERROR: many leases may
be in ERROR, of which few hold anything."""

_LEAVING = frozenset({states.Lease.DELETING, states.Lease.ERROR})
"""The states of leases whose end may have taken longer than it is allowed
to."""


def raise_generation(session: orm.Session, project_id: str) -> None:
    """Raise the generation of what a project holds. Other transactions that do
    so wait until the commit, and then see what this one has written.

    It must be the first statement of its transaction: until the commit,
    MariaDB reads from the snapshot of the first statement that reads.

    Decision 0039: doc/source/decisions/0039-limits-in-the-booking
    """
    done = writes.count(
        session,
        # Built once, because building the statement takes longer than sending
        # it.
        sa.lambda_stmt(
            lambda: (
                sa.update(PROJECT)
                .where(PROJECT.c.project_id == sa.bindparam('project'))
                .values(generation=PROJECT.c.generation + 1)
            )
        ),
        {'project': project_id},
    )
    if not done:
        # If several transactions insert the row at once, all but one begin
        # anew.
        session.execute(
            sa.insert(PROJECT).values(project_id=project_id, generation=1)
        )


@dataclasses.dataclass(frozen=True, slots=True)
class Holdings:
    """The leases of a project, and what they hold, as far as asked for."""

    count: limits.Count
    held: tuple[limits.Counted, ...]


def look(
    session: orm.Session,
    project_id: str,
    now: datetime.datetime,
    wanted: limits.Limits,
    window: interval.Interval | None = None,
) -> Holdings:
    """Return the leases of the project that are not over, and what these and
    others hold from now on, or have not given back though its end is past.

    :param wanted: what is not limited does not matter
    :param window: nor does what is held only outside this window
    """
    values: dict[str, Any] = {'project_id': project_id}
    if window is not None:
        values |= {
            'window_start': window.start,
            'window_end': window.end,
            'now': now,
        }
    rows = session.execute(
        _of_project(
            wanted.counts_resources,
            wanted.counts_amounts,
            window is not None,
        ),
        values,
    ).all()
    counted = {
        row.id: row.status == states.Lease.IN_PROGRESS
        or (row.status == states.Lease.CREATING and row.arrival is not None)
        for row in rows
        if row.status in _COUNTED
    }
    leaving = {
        row.id: row.lease_end
        for row in rows
        if row.status in _LEAVING and row.lease_end <= now
    }
    deleted = [
        row.id
        for row in rows
        if row.status == states.Lease.DELETING and row.lease_end > now
    ]
    if wanted.leases is not None:
        leaving |= deleted_at(session, deleted)
    return Holdings(
        limits.Count(len(counted), sum(counted.values()), leaving),
        _held(rows),
    )


def deleted_at(
    session: orm.Session, lease_ids: Iterable[str]
) -> dict[str, datetime.datetime]:
    """Return id -> when the end began, of leases that are deleted before their
    end date."""
    return {
        row.lease_id: row.updated_at
        for page in pages.of(lease_ids)
        for row in session.execute(
            sa.select(EVENT.c.lease_id, EVENT.c.updated_at).where(
                EVENT.c.lease_id.in_(page),
                EVENT.c.event_type == states.EventType.END,
            )
        )
    }


def held_by(
    session: orm.Session, lease: objects.Lease, wanted: limits.Limits
) -> tuple[limits.Counted, ...]:
    """Return what one lease holds.

    :param wanted: what is not limited does not matter
    """
    statement = _select(
        wanted.counts_resources, wanted.counts_amounts, windowed=False
    )
    rows = session.execute(statement.where(LEASE.c.id == lease.id))
    return _held(rows.all())


@functools.cache
def _of_project(
    resources: bool, amounts: bool, windowed: bool
) -> sa.Select[Any]:
    """Return the query for a project. It is cached because each booking runs
    it, and building it takes as long as running it."""
    return _select(resources, amounts, windowed).where(
        LEASE.c.project_id == sa.bindparam('project_id'),
        LEASE.c.by_default == sa.false(),
        sa.or_(
            LEASE.c.status.in_(_ALIVE),
            sa.and_(
                LEASE.c.status == states.Lease.ERROR,
                LEASE.c.in_nova == sa.true(),
            ),
        ),
    )


def _select(resources: bool, amounts: bool, windowed: bool) -> sa.Select[Any]:
    """Return a query for leases, with what each reservation of them holds, by
    the type of the resources and the resource class.

    The joins are outer joins so that the database's planner begins with the
    leases. Otherwise it would begin with all that any project holds from now
    on.
    """
    columns: list[sa.ColumnElement[Any]] = [
        LEASE.c.id,
        LEASE.c.status,
        LEASE.c.arrival,
    ]
    if not resources:
        none = sa.null().label('reservation_id')
        end = LEASE.c.end_date.label('lease_end')
        return sa.select(*columns, end, none).select_from(LEASE)
    columns += [
        ALLOCATION.c.reservation_id,
        ALLOCATION.c.start_date,
        ALLOCATION.c.end_date,
        RESOURCE.c.resource_type,
    ]
    sums: list[sa.ColumnElement[Any]] = [
        # All rows of a group are of one lease. If the end were in GROUP BY,
        # SQLite would choose an index by ends.
        sa.func.min(LEASE.c.end_date).label('lease_end'),
        sa.func.sum(
            sa.case((ALLOCATION.c.exclusive == sa.true(), 1), else_=0)
        ).label('wholes'),
    ]
    held_then = [
        ALLOCATION.c.reservation_id == RESERVATION.c.id,
        *held_rows.has(ALLOCATION.c),
    ]
    if windowed:
        held_then += [
            ALLOCATION.c.start_date < sa.bindparam('window_end'),
            sa.or_(
                ALLOCATION.c.end_date > sa.bindparam('window_start'),
                ALLOCATION.c.end_date <= sa.bindparam('now'),
            ),
        ]
    tables = (
        sa.outerjoin(LEASE, RESERVATION, RESERVATION.c.lease_id == LEASE.c.id)
        .outerjoin(ALLOCATION, sa.and_(*held_then))
        .outerjoin(RESOURCE, RESOURCE.c.id == ALLOCATION.c.resource_id)
    )
    if amounts:
        return _with_amounts(tables, columns, sums)
    nothing = [sa.null().label('resource_class'), sa.null().label('whole_id')]
    return (
        sa.select(*columns, *sums, *nothing)
        .select_from(tables)
        .group_by(*columns)
    )


def _with_amounts(
    tables: sa.Join,
    columns: Sequence[sa.ColumnElement[Any]],
    sums: Sequence[sa.ColumnElement[Any]],
) -> sa.Select[Any]:
    """Return the query with what is held of each resource class: shares by
    the class, and a row for each class of a whole resource that has any."""
    # For a slot of a host only the slot counts, not the amounts in it.
    counts = sa.or_(
        RESOURCE.c.resource_type != objects.HOST,
        AMOUNT.c.resource_class.startswith(objects.SLOTS, autoescape=True),
    )
    columns = [
        *columns,
        AMOUNT.c.resource_class,
        INVENTORY.c.resource_id.label('whole_id'),
        INVENTORY.c.resource_class.label('whole_class'),
        INVENTORY.c.total,
        INVENTORY.c.reserved,
        INVENTORY.c.allocation_ratio,
    ]
    units = sa.func.sum(sa.func.coalesce(AMOUNT.c.amount, 0)).label('units')
    return (
        sa.select(*columns, *sums, units)
        .select_from(
            tables.outerjoin(
                AMOUNT,
                sa.and_(AMOUNT.c.allocation_id == ALLOCATION.c.id, counts),
            ).outerjoin(
                INVENTORY,
                sa.and_(
                    INVENTORY.c.resource_id == ALLOCATION.c.resource_id,
                    ALLOCATION.c.exclusive == sa.true(),
                    RESOURCE.c.resource_type != objects.HOST,
                ),
            )
        )
        .group_by(*columns)
    )


def _held(rows: Iterable[sa.Row[Any]]) -> tuple[limits.Counted, ...]:
    seen: set[tuple[str, int]] = set()
    return tuple(
        limits.Counted(
            row.reservation_id,
            interval.of_use(row.start_date, row.end_date),
            _counts(row, seen),
            row.id,
        )
        for row in rows
        if row.reservation_id is not None
    )


def _counts(row: sa.Row[Any], seen: set[tuple[str, int]]) -> dict[str, int]:
    """Return name of a limit -> what counts against it.

    :param seen: whole resources of which another row was counted
    """
    if row.whole_id is not None:
        name = limits.of_amounts(row.resource_type, row.whole_class)
        counts = {name: inventories.capacity(row)}
        whole = row.reservation_id, row.whole_id
        if whole not in seen:
            seen.add(whole)
            counts[limits.of_wholes(row.resource_type)] = 1
        return counts
    if row.wholes:
        return {limits.of_wholes(row.resource_type): int(row.wholes)}
    if row.resource_class is None:
        return {}
    is_number = objects.slots_of(row.resource_class) is not None
    if is_number and row.resource_type != objects.HOST:
        # This row is the number of shares; other rows have their amounts.
        return {}
    name = limits.of_amounts(row.resource_type, row.resource_class)
    return {name: int(row.units)}
