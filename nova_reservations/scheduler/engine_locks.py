# SPDX-License-Identifier: Apache-2.0
"""Locks that let only a few workers of a nova-scheduler start and end leases.

There is one lock file for each process that may do so; a worker that has
locked a file runs the engine. The kernel releases the lock when the process
ends, however it ends.

Decision 0028: doc/source/decisions/0028-one-question-a-look
"""

import fcntl
import math
import os
import pathlib
import threading
import time

from oslo_log import log

LOG = log.getLogger(__name__)

OFFER = 5
"""Seconds for which a lock that is offered is left to other processes. They
try twice a second to get one."""


class EngineLocks:
    """The locks of a host, as one process sees them.

    :param directory: of the lock files; other hosts must not share it
    :param host: the name of the nova-scheduler
    :param count: how many processes can hold a lock
    """

    def __init__(self, directory: pathlib.Path, host: str, count: int) -> None:
        self.files = [
            directory / f'nova-reservations-engine-{host}-{number}.lock'
            for number in range(count)
        ]
        self._mutex = threading.Lock()
        self._lock: int | None = None
        self._released = False
        self._failed = False
        self._offered_until = -math.inf

    def acquire(self) -> bool:
        """Return whether this process has a lock, or gets one now."""
        with self._mutex:
            if self._released or self._lock is not None:
                return not self._released
            if time.monotonic() < self._offered_until:
                return False
            return self._acquire()

    def _acquire(self) -> bool:
        try:
            self._lock = self._try_all()
        except OSError as error:
            if not self._failed:
                LOG.error(
                    'Each process of this nova-scheduler looks at what is '
                    'due, for they can not agree on some: %s',
                    error,
                )
            # Leases start and end nevertheless.
            self._failed = True
            return True
        if self._lock is None:
            # A process that has begun without a lock goes on: others may have
            # had the same failure, and if all of these stopped, fewer than
            # there are locks might be left.
            return self._failed
        LOG.info('This process starts and ends leases')
        return True

    def offer(self) -> None:
        """Give the lock up, and take one again only if other processes leave
        one free for OFFER seconds."""
        with self._mutex:
            self._offered_until = time.monotonic() + OFFER
            self._unlock()

    def release(self) -> None:
        """Give the lock up, and never take one again."""
        with self._mutex:
            self._released = True
            self._unlock()

    def _unlock(self) -> None:
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def _try_all(self) -> int | None:
        """Lock a free file and return its descriptor; None: other processes
        hold all locks.

        :raises: OSError
        """
        for file in self.files:
            file.parent.mkdir(parents=True, exist_ok=True)
            # Mode 0600, because any user who can read a file can lock it.
            descriptor = os.open(file, os.O_RDWR | os.O_CREAT, 0o600)
            try:
                # flock() and not lockf(): a process loses its POSIX locks as
                # soon as it closes any descriptor of the file.
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.close(descriptor)
            except OSError:
                os.close(descriptor)
                raise
            else:
                return descriptor
        return None
