# SPDX-License-Identifier: Apache-2.0
"""Ids in pages, for statements that write many rows by their ids; and the
place where the next page of a list begins.

If a statement names so many ids that an index is not worth it, MariaDB reads
the table as a whole, and locks all rows until the commit. If the ids are
selected in a subquery, MariaDB before 11.1 always does.

Decision 0023: doc/source/decisions/0023-ids-first
"""

from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Sequence
import datetime
import operator
from typing import Any
from typing import Protocol
from typing import TypeVar

import sqlalchemy as sa
from sqlalchemy import orm


class _Ordered(Protocol):
    def __lt__(self, other: Any, /) -> bool: ...


T = TypeVar('T', bound=_Ordered)

SIZE = 100


def of(ids: Iterable[T], size: int = SIZE) -> Iterator[list[T]]:
    """Yield the ids, each once, in one order everywhere, so that writers
    cannot deadlock.

    :param size: the most ids of a page; more than ``SIZE`` for what only
        reads
    """
    ordered = sorted(set(ids))
    for first in range(0, len(ordered), size):
        yield ordered[first : first + size]


def oldest(
    session: orm.Session,
    time: sa.Column[Any],
    before: datetime.datetime,
    limit: int,
) -> Sequence[Any]:
    """Return the ids of the rows with the earliest times before a time.

    :param time: the column of their table with their times
    """
    [key] = time.table.primary_key
    return session.scalars(
        sa.select(key).where(time < before).order_by(time, key).limit(limit)
    ).all()


def delete(
    session: orm.Session, column: sa.Column[Any], ids: Iterable[Any]
) -> None:
    """Delete the rows that have one of the ids in a column."""
    for page in of(ids):
        session.execute(sa.delete(column.table).where(column.in_(page)))


def update(
    session: orm.Session,
    column: sa.Column[Any],
    ids: Iterable[Any],
    *conditions: sa.ColumnElement[bool],
    **values: Any,
) -> None:
    """Write columns of the rows that have one of the ids in a column, and meet
    the conditions."""
    for page in of(ids):
        session.execute(
            sa.update(column.table)
            .where(column.in_(page), *conditions)
            .values(values)
        )


def delete_oldest(
    session: orm.Session,
    time: sa.Column[Any],
    before: datetime.datetime,
    limit: int,
) -> int:
    """Delete the rows with the earliest times before a time; return how many.

    :param limit: how many at most
    """
    ids = oldest(session, time, before, limit)
    [key] = time.table.primary_key
    delete(session, key, ids)
    return len(ids)


def beyond(
    columns: Sequence[sa.ColumnElement[Any]],
    after: Sequence[Any],
    descending: bool,
) -> sa.ColumnElement[bool]:
    """Return the condition for what comes after a position.

    The condition has two equivalent forms: PostgreSQL and SQLite find the
    place in an index by the first, MariaDB by the second.
    """
    bounds = [
        sa.literal(value, column.type)
        for column, value in zip(columns, after, strict=True)
    ]
    compare = operator.lt if descending else operator.gt
    stepwise = [
        sa.and_(
            *map(operator.eq, columns[:length], bounds[:length]),
            compare(columns[length], bounds[length]),
        )
        for length in range(len(columns))
    ]
    return sa.and_(
        compare(sa.tuple_(*columns), sa.tuple_(*bounds)), sa.or_(*stepwise)
    )
