# SPDX-License-Identifier: Apache-2.0
"""Calls in threads; their time goes into waiting for answers."""

from collections.abc import Callable
from collections.abc import Collection
from concurrent import futures
from typing import TypeVar

Item = TypeVar('Item')
Result = TypeVar('Result')

AT_ONCE = 8


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
