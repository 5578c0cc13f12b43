# SPDX-License-Identifier: Apache-2.0
"""A plugin with a thread and a bounded queue of its own."""

from collections.abc import Sequence
import queue
import threading
import time
from typing import Any

from oslo_log import log

from nova_reservations.compute import plugin_breaker
from nova_reservations.compute.metrics import base

LOG = log.getLogger(__name__)

DEPTH = 16
"""The batches by which a plugin may be late, before the oldest is lost."""

PATIENCE = 5
"""Seconds that a plugin has at its end to finish its batch."""

TURN = 8
"""Calls after which other threads have their turn."""

Call = tuple[str, tuple[Any, ...]]
"""Method of a plugin, and what it is called with."""

EVENTS = frozenset({'on_gone', 'on_reload'})
"""Methods that are called only once for an event; others are called again in
each round."""


class PluginThread:
    """Passes batches to one plugin, in a thread of its own; the caller never
    waits."""

    def __init__(self, name: str, plugin: base.MetricPlugin) -> None:
        self.name = name
        self.plugin = plugin
        self.guard = plugin_breaker.of(name)
        self._queue: queue.Queue[Sequence[Call] | None] = queue.Queue(DEPTH)
        self._late = False
        self._thread = threading.Thread(
            target=self._run, name=f'metrics-{name}', daemon=True
        )

    def start(self) -> None:
        self._thread.start()

    def put(self, batch: Sequence[Call]) -> None:
        """Queue a batch; the oldest goes if there are too many.

        The calls of EVENTS in the oldest are kept.
        """
        if self._put(batch):
            self._late = False
            return
        if not self._late:
            LOG.warning(
                'The metric plugin %s is late by %d batches of measurements; '
                'the oldest are lost',
                self.name,
                DEPTH,
            )
        self._late = True
        while not self._put(batch):
            batch = [
                *(call for call in self._take() if call[0] in EVENTS),
                *batch,
            ]

    def wait(self) -> None:
        """Wait until the plugin has had all batches."""
        self._queue.join()

    def stop(self) -> None:
        """Let the plugin finish its batch, and close it."""
        while not self._put(None):
            self._take()
        self._thread.join(PATIENCE)
        if self._thread.is_alive():
            LOG.warning('The metric plugin %s does not stop', self.name)

    def deliver(self, batch: Sequence[Call]) -> None:
        """Call the plugin; its exceptions are logged here."""
        self.guard.new_round()
        for number, (method, arguments) in enumerate(batch):
            if not number % TURN:
                # Let Nova's threads run, too.
                time.sleep(0)
            self.guard.call(
                method, None, getattr(self.plugin, method), *arguments
            )
        self.guard.call('flush', None, self.plugin.flush)

    def _run(self) -> None:
        while (batch := self._queue.get()) is not None:
            self.deliver(batch)
            self._queue.task_done()
        # A plugin that is off may have something open too.
        self.guard.restart()
        self.guard.call('close', None, self.plugin.close)

    def _put(self, batch: Sequence[Call] | None) -> bool:
        try:
            self._queue.put_nowait(batch)
        except queue.Full:
            return False
        return True

    def _take(self) -> Sequence[Call]:
        try:
            batch = self._queue.get_nowait()
        except queue.Empty:
            return ()
        self._queue.task_done()
        return batch or ()
