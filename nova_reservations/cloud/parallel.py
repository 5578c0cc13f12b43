# SPDX-License-Identifier: Apache-2.0
"""Calls in threads, for work that mostly waits for answers."""

from collections.abc import Callable
from collections.abc import Collection
from concurrent import futures
import contextvars
import time
from typing import TypeVar

Item = TypeVar('Item')
Result = TypeVar('Result')

AT_ONCE = 8


MOMENT = 0.05
"""Parallel writes within so many seconds need only one check."""


def checked_together(check: Callable[[], None]) -> Callable[[], None]:
    """Return a check for several threads that runs once per MOMENT."""
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
    """Call function with each item, in threads; return the results in the
    order of the items.

    After an exception no further call begins. It is raised when the calls
    under way are over.
    """
    if len(items) < 2:
        return [function(item) for item in items]
    # The threads do what the caller's thread may, and no more.
    contexts = [contextvars.copy_context() for _ in items]
    with futures.ThreadPoolExecutor(min(AT_ONCE, len(items))) as pool:
        return list(
            pool.map(
                lambda context, item: context.run(function, item),
                contexts,
                items,
            )
        )


def pairs(
    function: Callable[[Item], Result], items: Collection[Item]
) -> list[tuple[Item, Result]]:
    """Return each item with its result of each()."""
    return list(zip(items, each(function, items), strict=True))
