# SPDX-License-Identifier: Apache-2.0
"""Fences around what a thread does: it writes, and calls the cloud, only while
it is wanted.

A thread that waits for an answer may be given up meanwhile, and another worker
does its work anew. If the answer comes after all, what the thread has read
before is old.
"""

from collections.abc import Iterator
import contextlib
import contextvars

from nova_reservations.ports.calls import Check


def _nothing() -> None:
    """Check nothing: the thread has no fence."""


_FENCE: contextvars.ContextVar[Check] = contextvars.ContextVar(
    'nova_reservations_fence', default=_nothing
)


@contextlib.contextmanager
def around(check: Check) -> Iterator[None]:
    """Let all that this thread does inside of the block be checked first.

    :param check: raises ClaimLost or AttemptLost if the thread is not wanted
        any more
    """
    before = _FENCE.set(check)
    try:
        yield
    finally:
        _FENCE.reset(before)


def current() -> Check:
    """Return the check of this thread, for it and for those that help it."""
    return _FENCE.get()
