# SPDX-License-Identifier: Apache-2.0
"""Ids in pages, for statements that write many rows by their ids.

If a statement names so many ids that an index is not worth it, MariaDB reads
the table as a whole, and locks all rows until the commit. If the ids are
selected in a subquery, MariaDB before 11.1 always does.

Decision 0023: doc/source/decisions/0023-ids-first
"""

from collections.abc import Iterable
from collections.abc import Iterator
from typing import Any
from typing import Protocol
from typing import TypeVar


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
