# SPDX-License-Identifier: Apache-2.0
"""The record of what leases had, as reports read it.

Every function joins the caller's transaction.

Decision 0040: doc/source/decisions/0040-the-record-of-what-was-held
"""

from collections.abc import Iterator
import dataclasses
from typing import Any

import sqlalchemy as sa
from sqlalchemy import orm

from nova_reservations.db import models
from nova_reservations.objects import usage as records

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
        yield records.Usage(**_values(row, records.Usage))


def find_servers(
    session: orm.Session, query: records.UsageQuery
) -> Iterator[records.ServerUsage]:
    """Yield the servers that were in reservations, in the same order."""
    for row in _rows(session, SERVER_USAGE, query):
        yield records.ServerUsage(**_values(row, records.ServerUsage))


def _values(row: sa.Row[Any], kind: type[Any]) -> dict[str, Any]:
    return {
        field.name: getattr(row, field.name)
        for field in dataclasses.fields(kind)
    }


def _rows(
    session: orm.Session, table: sa.Table, query: records.UsageQuery
) -> Iterator[sa.Row[Any]]:
    # In this order: what ends between the queries is in one of them.
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
            .order_by(table.c.ended_at, table.c.id)
            .limit(CHUNK)
        ).all()
        yield from rows
        if len(rows) < CHUNK:
            return
        beyond = [_beyond(table, rows[-1])]


def _beyond(table: sa.Table, last: sa.Row[Any]) -> sa.ColumnElement[bool]:
    if last.ended_at is None:
        return sa.and_(table.c.id > last.id)
    return sa.and_(
        table.c.ended_at >= last.ended_at,
        sa.or_(table.c.ended_at > last.ended_at, table.c.id > last.id),
    )
