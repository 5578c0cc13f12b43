# SPDX-License-Identifier: Apache-2.0
"""The run of a story: step by step, each a line on the screen."""

from collections.abc import Callable
from collections.abc import Iterator
import contextlib
import time
from typing import TypeVar

from sandbox import cloud
from sandbox import person

T = TypeVar('T')


class Timeline:
    """Prints each step when it is done, with the time since the start.

    :ivar directory: the folder of the cloud on which the story runs.
    :ivar services: the processes of that cloud.
    """

    def __init__(self, services: cloud.Services) -> None:
        self.services = services
        self.directory = services.layout.directory
        self._start = time.monotonic()
        #: The step that is under way.
        self.current = 'its start'

    @contextlib.contextmanager
    def step(self, title: str) -> Iterator[Callable[[str], None]]:
        """Run one step; call the context's value with what was seen."""
        self.current = title
        seen: list[str] = []
        yield seen.append
        elapsed = time.monotonic() - self._start
        line = f'{title}: {"; ".join(seen)}' if seen else title
        print(f'{elapsed:6.1f} s  {line}', flush=True)


def expect(what: str, expected: T, seen: T) -> None:
    """Check a value.

    :raises Unexpected: if it differs.
    """
    if seen != expected:
        raise person.Unexpected(f'{what}: {expected}', seen)
