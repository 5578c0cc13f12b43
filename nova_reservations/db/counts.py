# SPDX-License-Identifier: Apache-2.0
"""The number of rows of a table that meet conditions.

Every function joins the caller's transaction.
"""

import sqlalchemy as sa
from sqlalchemy import orm


def of(
    session: orm.Session,
    table: sa.FromClause,
    *conditions: sa.ColumnElement[bool],
) -> int:
    query = sa.select(sa.func.count()).select_from(table).where(*conditions)
    return int(session.scalar(query) or 0)


def is_any(
    session: orm.Session, table: sa.Table, *conditions: sa.ColumnElement[bool]
) -> bool:
    query = sa.select(sa.literal(1)).select_from(table).where(*conditions)
    return session.scalar(query.limit(1)) is not None
