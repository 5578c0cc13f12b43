# SPDX-License-Identifier: Apache-2.0
"""The CPU that a request may take: anybody can repeat what is refused."""

from collections.abc import Callable
import time

from nova_reservations import exception

SECONDS = 1.0
"""The CPU of the thread that one request may take to look for room where
promises have to move, or for windows to offer."""

DRY_RUN_SECONDS = 2.0
"""The CPU of the thread that a dry run may take to plan all that it is about.
A request itself is bounded by the number of its reservations."""


class Budget:
    """The CPU that is left to a request.

    CPU of the thread, not of the clock: on a busy machine the answer is
    later, not another one.
    """

    def __init__(
        self,
        seconds: float = SECONDS,
        cpu: Callable[[], float] = time.thread_time,
    ) -> None:
        """:param cpu: returns the seconds of CPU that this thread has used"""
        self._cpu = cpu
        self._end = cpu() + seconds

    def is_spent(self) -> bool:
        return self._cpu() > self._end

    def check(self) -> None:
        """:raises: TooLong"""
        if self.is_spent():
            raise exception.TooLong
