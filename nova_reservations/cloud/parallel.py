# SPDX-License-Identifier: Apache-2.0
"""Calls in threads; their time goes into waiting for answers."""

from collections.abc import Callable
from collections.abc import Collection
from concurrent import futures
import time
from typing import TypeVar

Item = TypeVar('Item')
Result = TypeVar('Result')

AT_ONCE = 8


MOMENT = 0.05
"""Seconds for which writes that are made side by side need but one check."""


def checked_together(check: Callable[[], None]) -> Callable[[], None]:
    """Return what checks, for several threads, once in a moment."""
    checked = -MOMENT

    def check_unless_just_done() -> None:
        nonlocal checked
        if time.monotonic() - checked >= MOMENT:
            check()
            checked = time.monotonic()

    return check_unless_just_done


def each(
    function: Callable[[Item], Result], items: Collection[Item]
) -> list[Result]:
    """Call function with each item, in threads; return in their order.

    After an exception no further call begins, and it is raised when those
    under way are over.
    """
    if len(items) < 2:
        return [function(item) for item in items]
    with futures.ThreadPoolExecutor(min(AT_ONCE, len(items))) as pool:
        return list(pool.map(function, items))
