# SPDX-License-Identifier: Apache-2.0
"""The processes of a nova-scheduler that start and end leases: a few of them,
however many there are.

There is a file for each of these few, and whoever has locked one is of them.
The kernel takes the lock from a process that ends, in whatever way.

Decision 0028: doc/source/decisions/0028-one-question-a-look
"""

import fcntl
import os
import pathlib
import threading

from oslo_log import log

LOG = log.getLogger(__name__)


class EngineLocks:
    """The locks of a host, as one process sees them.

    :param directory: where the files are, of this host alone
    :param host: the name of the nova-scheduler
    :param count: how many processes can have one
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

    def acquire(self) -> bool:
        """Return whether this process has a lock, or gets one now."""
        with self._mutex:
            if self._released or self._lock is not None:
                return not self._released
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
            # Whoever has begun without a lock goes on: the others may have
            # seen the same failure, and be fewer than there are locks.
            return self._failed
        LOG.info('This process starts and ends leases')
        return True

    def release(self) -> None:
        """Let another process have the lock, for good."""
        with self._mutex:
            self._released = True
            if self._lock is not None:
                os.close(self._lock)
                self._lock = None

    def _try_all(self) -> int | None:
        """Return the descriptor of a file that is locked now; None: others
        have all of them.

        :raises: OSError
        """
        for file in self.files:
            file.parent.mkdir(parents=True, exist_ok=True)
            # Nobody else can lock it: whoever can read a file can do that.
            descriptor = os.open(file, os.O_RDWR | os.O_CREAT, 0o600)
            try:
                # Not of the process, as POSIX's: these would be lost as soon
                # as it closes the file anywhere.
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.close(descriptor)
            except OSError:
                os.close(descriptor)
                raise
            else:
                return descriptor
        return None
