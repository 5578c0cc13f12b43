# SPDX-License-Identifier: Apache-2.0
"""The words that all parts of the port are called with."""

from collections.abc import Callable
import dataclasses

Check = Callable[[], None]
"""Raises ClaimLost if the caller must not go on: another worker has taken
over, or a request has changed the lease. Called before each write, or a moment
before where many are made side by side, so that a worker that was stopped and
wakes late changes nothing."""


@dataclasses.dataclass(frozen=True, slots=True)
class RequestKey:
    """The reason for which a server is to be changed; Nova's records of what
    was done to a server bear it, in the id of the request.

    What was begun under a key, by any worker, is not begun again under the
    same, and what has failed is not tried again: the next attempt has another
    key.

    :ivar reason: the id of what wants it.
    :ivar attempt: from 0 on.
    """

    reason: str
    attempt: int = 0
