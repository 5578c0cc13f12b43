# SPDX-License-Identifier: Apache-2.0
"""Writes on condition: a row is changed only if it still is as it was seen.
Whoever is first changes it, and all others learn that they were not.

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


def count(
    session: orm.Session,
    statement: sa.Executable,
    values: Mapping[str, Any] | None = None,
) -> int:
    """Execute a statement; return how many rows it has changed, or deleted."""
    done = session.execute(statement, values)
    return done.rowcount  # type: ignore[attr-defined,no-any-return]
