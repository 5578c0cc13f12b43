# SPDX-License-Identifier: Apache-2.0
"""Ids in pages: what writes many rows by their ids writes a page at a time.

Where a statement names more of a table than is worth an index, MariaDB reads
the table as a whole, and locks all that it reads until the commit. Where it
selects the ids in a subquery, MariaDB before 11.1 always does.
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


def of(ids: Iterable[T]) -> Iterator[list[T]]:
    """Yield the ids, each once, in one order everywhere: so no two writers
    wait for each other in a circle."""
    ordered = sorted(set(ids))
    for first in range(0, len(ordered), SIZE):
        yield ordered[first : first + SIZE]
