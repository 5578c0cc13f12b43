# SPDX-License-Identifier: Apache-2.0
"""Writes on condition: a row is changed only if it still is as it was seen.
Whoever is first changes it, and all others learn that they were not. And
inserts of rows, as many as there are.

Every function joins the caller's transaction.
"""

from collections.abc import Mapping
from typing import Any

import sqlalchemy as sa
from sqlalchemy import orm


def changed(
    session: orm.Session,
    table: sa.Table,
    /,
    *seen: sa.ColumnElement[bool],
    **columns: Any,
) -> bool:
    """Write columns of a row, if it still is as it was seen; return whether it
    was."""
    found = count(session, sa.update(table).where(*seen).values(columns))
    return found == 1


def insert(
    session: orm.Session, table: sa.Table, rows: list[dict[str, Any]]
) -> None:
    """Insert rows, if there are any: without any, a statement would insert one
    of defaults."""
    if rows:
        session.execute(sa.insert(table), rows)


def count(
    session: orm.Session,
    statement: sa.Executable,
    values: Mapping[str, Any] | None = None,
) -> int:
    """Execute a statement; return how many rows it has changed, or deleted."""
    done = session.execute(statement, values)
    return done.rowcount  # type: ignore[attr-defined,no-any-return]
