# SPDX-License-Identifier: Apache-2.0
"""The record of what leases had: how it is written, and as reports read it.

Every function joins the caller's transaction.

Decision 0040: doc/source/decisions/0040-the-record-of-what-was-held
"""

from collections import Counter
from collections import defaultdict
from collections.abc import Collection
from collections.abc import Iterator
from collections.abc import Mapping
import dataclasses
import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy import orm

from nova_reservations import objects
from nova_reservations.db import fields
from nova_reservations.db import models
from nova_reservations.db import pages
from nova_reservations.db import writes
from nova_reservations.db.holdings import allocations
from nova_reservations.db.holdings import held_rows
from nova_reservations.db.record import server_usage
from nova_reservations.db.resources import inventories
from nova_reservations.objects import shapes
from nova_reservations.objects import states
from nova_reservations.objects import usage as records

ALLOCATION = models.table(models.Allocation)
AMOUNT = models.table(models.AllocationAmount)
HOST = models.table(models.Host)
RESOURCE = models.table(models.Resource)
USAGE = models.table(models.Usage)
SERVER_USAGE = models.table(models.ServerUsage)

CHUNK = 1000
"""The number of rows that one query reads."""


def find(
    session: orm.Session, query: records.UsageQuery
) -> Iterator[records.Usage]:
    """Yield what was held: first what goes on, then the rest in the order in
    which it ended."""
    for row in _rows(session, USAGE, query):
        yield records.Usage(**fields.of(row, records.Usage))


def find_servers(
    session: orm.Session, query: records.UsageQuery
) -> Iterator[records.ServerUsage]:
    """Yield the servers that were in reservations, in the same order."""
    for row in _rows(session, SERVER_USAGE, query):
        yield records.ServerUsage(**fields.of(row, records.ServerUsage))


def _rows(
    session: orm.Session, table: sa.Table, query: records.UsageQuery
) -> Iterator[sa.Row[Any]]:
    # The open rows are read first: a row that ends between the two queries is
    # then in at least one of them.
    going_on = list(
        _pages(session, table, query, [table.c.ended_at.is_(None)])
    )
    yield from going_on
    seen = {row.id for row in going_on}
    ended = _pages(session, table, query, [table.c.ended_at > query.start])
    yield from (row for row in ended if row.id not in seen)


def _pages(
    session: orm.Session,
    table: sa.Table,
    query: records.UsageQuery,
    conditions: list[sa.ColumnElement[bool]],
) -> Iterator[sa.Row[Any]]:
    """Yield rows in the order of the index, a page at a time: so many are not
    held in memory."""
    conditions = [*conditions, table.c.started_at < query.end]
    if query.project_id is not None:
        conditions.append(table.c.project_id == query.project_id)
    beyond: list[sa.ColumnElement[bool]] = []
    while True:
        rows = session.execute(
            sa.select(table)
            .where(*conditions, *beyond)
            .order_by(table.c.ended_at, table.c.started_at, table.c.id)
            .limit(CHUNK)
        ).all()
        yield from rows
        if len(rows) < CHUNK:
            return
        beyond = [_beyond(table, rows[-1])]


def _beyond(table: sa.Table, last: sa.Row[Any]) -> sa.ColumnElement[bool]:
    columns = [table.c.ended_at, table.c.started_at, table.c.id]
    if last.ended_at is None:
        del columns[0]
    after = [getattr(last, column.name) for column in columns]
    return pages.beyond(columns, after, descending=False)


_OF_HOSTS: Mapping[str, sa.ColumnElement[Any]] = {
    records.VCPU: HOST.c.vcpus,
    records.MEMORY_MB: HOST.c.memory_mb,
    records.DISK_GB: HOST.c.local_gb,
}
"""Resource class -> how much of it a whole host counts."""

Key = tuple[str, bool]
"""A resource class, and whether it is degraded."""

Held = Mapping[str, Mapping[Key, int]]
"""Reservation id -> what it holds."""


_BEFORE_END = states.OPEN | {states.Lease.CREATING}


@dataclasses.dataclass(frozen=True, slots=True)
class _Changes:
    """Changes of the record.

    :ivar ended: when -> the ids of rows that end then.
    :ivar undone: the ids of rows that are deleted, because they lasted no
        time.
    :ivar amounts: the present amounts of rows that begin at this moment.
    """

    ended: dict[datetime.datetime, list[int]] = dataclasses.field(
        default_factory=lambda: defaultdict(list)
    )
    undone: list[int] = dataclasses.field(default_factory=list)
    amounts: list[dict[str, Any]] = dataclasses.field(default_factory=list)
    begun: list[dict[str, Any]] = dataclasses.field(default_factory=list)


def settle(
    session: orm.Session,
    leases: Collection[objects.Lease],
    now: datetime.datetime,
) -> bool:
    """Record what the leases hold from now on, and what they do not hold any
    more; return whether the record has changed.

    Call this at the end of a transaction that changes what the leases hold,
    and that has compared and set their versions: so nobody else does this at
    the same time.

    :param leases: as the transaction leaves them
    """
    ids = [item.id for lease in leases for item in lease.reservations]
    holdings = held(
        session, [item.id for lease in leases for item in lease.recorded]
    )
    known = going_on(session, ids)
    changes = _Changes()
    let_out = False
    for lease in leases:
        # Time after the end of a lease was promised to nobody, and does not
        # count.
        at = min(now, lease.end_date)
        for item in lease.reservations:
            row = {
                'lease_id': lease.id,
                'reservation_id': item.id,
                'project_id': lease.project_id,
                'user_id': lease.user_id,
                'lease_name': lease.name,
                'lease_type': lease.lease_type,
                'resource_type': item.resource_type,
                'started_at': at,
            }
            has, had = holdings.get(item.id, {}), known.get(item.id, {})
            _compare(changes, has, had, at, row)
        if lease.status not in _BEFORE_END:
            over = [item.id for item in lease.reservations]
            let_out |= server_usage.end(session, over, at)
    _write(session, changes)
    return let_out or changes != _Changes()


def _compare(
    changes: _Changes,
    holding: Mapping[Key, int],
    recorded: Mapping[Key, sa.Row[Any]],
    at: datetime.datetime,
    row: Mapping[str, Any],
) -> None:
    """Note what is to change of the record of a reservation.

    :param row: the other columns of rows that begin
    """
    for key in sorted({*holding, *recorded}):
        amount, known = holding.get(key, 0), recorded.get(key)
        if known is not None:
            if known.amount == amount:
                continue
            if known.started_at < at:
                changes.ended[at].append(known.id)
            elif amount:
                changes.amounts.append({'row': known.id, 'units': amount})
                continue
            else:
                changes.undone.append(known.id)
        if amount:
            resource_class, degraded = key
            changes.begun.append(
                {
                    **row,
                    'resource_class': resource_class,
                    'degraded': degraded,
                    'amount': amount,
                }
            )


def _write(session: orm.Session, changes: _Changes) -> None:
    for at, ids in sorted(changes.ended.items()):
        pages.update(session, USAGE.c.id, ids, ended_at=at)
    pages.delete(session, USAGE.c.id, changes.undone)
    if changes.amounts:
        session.execute(
            sa.update(USAGE)
            .where(USAGE.c.id == sa.bindparam('row'))
            .values(amount=sa.bindparam('units')),
            changes.amounts,
        )
    writes.insert(session, USAGE, changes.begun)


def going_on(
    session: orm.Session, reservation_ids: Collection[str]
) -> dict[str, dict[Key, sa.Row[Any]]]:
    """Return reservation id -> what it holds by the record."""
    found: dict[str, dict[Key, sa.Row[Any]]] = defaultdict(dict)
    for row in session.execute(
        sa.select(USAGE).where(
            USAGE.c.reservation_id.in_(reservation_ids),
            USAGE.c.ended_at.is_(None),
        )
    ):
        found[row.reservation_id][row.resource_class, row.degraded] = row
    return found


def held(session: orm.Session, reservation_ids: Collection[str]) -> Held:
    """Return what the reservations hold in this transaction."""
    found: dict[str, Counter[Key]] = defaultdict(Counter)
    if not reservation_ids:
        return found
    shares: dict[int, tuple[str, bool]] = {}
    wholes: dict[int, tuple[str, bool]] = {}
    for row in session.execute(
        sa.select(
            ALLOCATION.c.id,
            ALLOCATION.c.reservation_id,
            ALLOCATION.c.resource_id,
            ALLOCATION.c.exclusive,
            RESOURCE.c.resource_type,
            allocations.usable().label('usable'),
            *(column.label(name) for name, column in _OF_HOSTS.items()),
        )
        .join(RESOURCE, RESOURCE.c.id == ALLOCATION.c.resource_id)
        .outerjoin(HOST, HOST.c.resource_id == RESOURCE.c.id)
        .where(
            ALLOCATION.c.reservation_id.in_(reservation_ids),
            *held_rows.has(ALLOCATION.c),
        )
    ):
        degraded = not row.usable
        if not row.exclusive:
            shares[row.id] = (row.reservation_id, degraded)
            continue
        its = found[row.reservation_id]
        its[row.resource_type, degraded] += 1
        if row.resource_type != objects.HOST:
            wholes[row.resource_id] = (row.reservation_id, degraded)
        for name in _OF_HOSTS:
            its[name, degraded] += getattr(row, name) or 0
    if shares:
        _add_shares(session, reservation_ids, shares, found)
    if wholes:
        _add_wholes(session, wholes, found)
    return found


def _add_shares(
    session: orm.Session,
    reservation_ids: Collection[str],
    shares: Mapping[int, tuple[str, bool]],
    found: dict[str, Counter[Key]],
) -> None:
    for row in session.execute(
        sa.select(AMOUNT)
        .join(ALLOCATION, ALLOCATION.c.id == AMOUNT.c.allocation_id)
        .where(
            ALLOCATION.c.reservation_id.in_(reservation_ids),
            ALLOCATION.c.released == sa.false(),
        )
    ):
        if row.allocation_id in shares:
            reservation_id, degraded = shares[row.allocation_id]
            is_count = objects.slots_of(row.resource_class) is not None
            # Units of a resource class are added up, whatever their shape.
            units_of = shapes.class_of(row.resource_class)
            name = records.SLOTS if is_count else units_of
            found[reservation_id][name, degraded] += row.amount


def _add_wholes(
    session: orm.Session,
    wholes: Mapping[int, tuple[str, bool]],
    found: dict[str, Counter[Key]],
) -> None:
    for resource_id, units in inventories.of_wholes(session, wholes).items():
        reservation_id, degraded = wholes[resource_id]
        for name, amount in units.items():
            found[reservation_id][name, degraded] += amount
