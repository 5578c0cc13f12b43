# SPDX-License-Identifier: Apache-2.0
"""Outbox for messages that are sent in the background, in order, and that may
be lost.

A message bus that is down blocks its senders until it is back. With an outbox
only the outbox's thread is blocked.
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
"""The number of notifications that may wait; further ones are lost."""

PATIENCE = 2
"""Seconds that a process waits at its exit for notifications to be sent."""


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
        """Wait at most so many seconds for notifications to be sent; return
        whether all are sent."""
        if self._thread is None or not self._thread.is_alive():
            return True
        deadline = time.monotonic() + patience
        # The queue is in order, so when this item is reached, all before it
        # are sent. queue.join() can not be used: it differs on eventlet.
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
        # A thread does not survive a fork.
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
                # One failure must not lose the other notifications.
                LOG.exception('A notification could not be sent')
            self._queue.task_done()
            self._count()

    def _count(self) -> None:
        with self._lock:
            lost, self._lost = self._lost, 0
        if lost:
            LOG.warning('Notifications that were lost: %d', lost)
