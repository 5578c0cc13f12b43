# SPDX-License-Identifier: Apache-2.0
"""Messages sent beside the work, in order, which may be lost.

A bus that is down blocks its sender until it is back: only a thread of the
outbox waits for it.
"""

import atexit
from collections.abc import Callable
import contextlib
import queue
import threading
import time

from oslo_log import log

LOG = log.getLogger(__name__)

DEPTH = 1000
"""The number of notifications that may wait; more are lost."""

PATIENCE = 2
"""Seconds that a process waits at its end for notifications to be sent."""


class Outbox:
    """Opens nothing until it is used, and so may be made before a fork."""

    def __init__(self, depth: int = DEPTH) -> None:
        self._queue: queue.Queue[Callable[[], None]] = queue.Queue(depth)
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()
        self._lost = 0

    def put(self, send: Callable[[], None]) -> None:
        """Let send be called soon; never wait for it."""
        with self._lock:
            self._start()
            try:
                self._queue.put_nowait(send)
            except queue.Full:
                if not self._lost:
                    LOG.warning(
                        'Notifications can not be sent at this moment: %d '
                        'wait, and others are lost',
                        self._queue.maxsize,
                    )
                self._lost += 1

    def flush(self, patience: float = PATIENCE) -> bool:
        """Wait for notifications to be sent, for so many seconds at most;
        return whether they are."""
        if self._thread is None or not self._thread.is_alive():
            return True
        deadline = time.monotonic() + patience
        # Of those that are sent in order this is the last. The queue's own
        # means to wait for that are others on eventlet.
        sent = threading.Event()
        with contextlib.suppress(queue.Full):
            self._queue.put(sent.set, timeout=patience)
        if sent.wait(max(0, deadline - time.monotonic())):
            return True
        LOG.warning(
            'Notifications that are not sent yet: %d', self._queue.qsize()
        )
        return False

    def _start(self) -> None:
        # The thread of a process does not live on in one that it forks.
        if self._thread is None or not self._thread.is_alive():
            if self._thread is None:
                atexit.register(self.flush)
            self._thread = threading.Thread(
                target=self._run, name='reservations-outbox', daemon=True
            )
            self._thread.start()

    def _run(self) -> None:
        while True:
            send = self._queue.get()
            try:
                send()
            except Exception:
                # None of them is worth the others.
                LOG.exception('A notification could not be sent')
            self._queue.task_done()
            self._count()

    def _count(self) -> None:
        with self._lock:
            lost, self._lost = self._lost, 0
        if lost:
            LOG.warning('Notifications that were lost: %d', lost)
