# SPDX-License-Identifier: Apache-2.0
"""Steps of a region, which are counted, so that a test can act before one."""

import threading

from nova_reservations.testing import region as regions


class Killed(BaseException):
    """The kill of a worker: nothing handles it, and nothing runs after it."""


class Steps:
    """Counts the steps of a region, and acts before one of them. Steps are
    its writing transactions, and the writes to its cloud."""

    def __init__(
        self,
        region: regions.Region,
        number: int = 0,
        then: regions.Hook = lambda step: None,
    ) -> None:
        self.number = number
        self.taken: list[str] = []
        self._then = then
        self._region = region
        self._lock = threading.Lock()

    @property
    def reached(self) -> bool:
        return len(self.taken) >= self.number

    def __enter__(self) -> 'Steps':
        self._region.database.before = self._step
        self._region.cloud.before = self._step
        return self

    def __exit__(self, *_: object) -> None:
        self._region.database.before = lambda step: None
        self._region.cloud.before = lambda step: None

    def _step(self, name: str) -> None:
        with self._lock:
            self.taken.append(name)
            is_last = len(self.taken) == self.number
        if is_last:
            self._then(name)
