# SPDX-License-Identifier: Apache-2.0
"""The types of arguments that all parts of the port have."""

from collections.abc import Callable
import dataclasses
import datetime

Check = Callable[[], None]
"""Raises ClaimLost if the caller must not go on: another worker has taken
over, or a request has changed the lease. Called before each write, or just
before many writes in parallel, so that a worker that was suspended and wakes
late changes nothing."""


@dataclasses.dataclass(frozen=True, slots=True)
class RequestKey:
    """The reason for which a server is to be changed. Nova's records of
    actions on a server bear it, in the id of the request.

    An action that any worker has begun under a key is not begun again under
    the same key, even if it has failed: the next attempt has another key.

    :ivar reason: the id of the object that wants the change.
    :ivar attempt: from 0 on.
    """

    reason: str
    attempt: int = 0


@dataclasses.dataclass(frozen=True, slots=True)
class Order:
    """A way of asking Nova to change servers.

    :ivar check: called before each server is changed.
    :ivar now: the time, by which a host counts as up or down.
    """

    key: RequestKey
    check: Check
    now: datetime.datetime
