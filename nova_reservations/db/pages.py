# SPDX-License-Identifier: Apache-2.0
"""Ids in pages, for statements that write many rows by their ids.

If a statement names so many ids that an index is not worth it, MariaDB reads
the table as a whole, and locks all rows until the commit. If the ids are
selected in a subquery, MariaDB before 11.1 always does.

Decision 0023: doc/source/decisions/0023-ids-first
"""

from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Sequence
import datetime
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
    key = time.table.c.id
    return session.scalars(
        sa.select(key).where(time < before).order_by(time, key).limit(limit)
    ).all()


def delete(
    session: orm.Session, column: sa.Column[Any], ids: Iterable[Any]
) -> None:
    """Delete the rows that have one of the ids in a column."""
    for page in of(ids):
        session.execute(sa.delete(column.table).where(column.in_(page)))
