# SPDX-License-Identifier: Apache-2.0
"""Waits for something that will be so, longer on a busy machine."""

from collections.abc import Callable
import os
import time
from typing import TypeVar

from sandbox import person

T = TypeVar('T')

#: Seconds between two polls.
_POLL = 0.05


def slowness() -> float:
    """Return by what factor everything is slower on this machine, from its
    load; 1 if it has enough processors."""
    waiting, _, _ = os.getloadavg()
    return max(1.0, waiting / (os.cpu_count() or 1))


def until(
    expected: str,
    look: Callable[[], T],
    good: Callable[[T], bool],
    seconds: float = 30,
) -> T:
    """Call look() again and again until its value is good; return that value.

    :param seconds: the time that it may take on an idle machine
    :raises Unexpected: if it takes longer, with the last value.
    """
    seconds *= slowness()
    deadline = time.monotonic() + seconds
    while True:
        late = time.monotonic() >= deadline
        seen = look()
        if good(seen):
            return seen
        if late:
            raise person.Unexpected(f'{expected} within {seconds:.1f} s', seen)
        time.sleep(_POLL)
