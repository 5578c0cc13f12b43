# SPDX-License-Identifier: Apache-2.0
"""The run of a story: step by step, each a line on the screen."""

from collections.abc import Callable
from collections.abc import Iterator
import contextlib
import os
import time
from typing import TYPE_CHECKING
from typing import TypeVar

from sandbox import person

if TYPE_CHECKING:
    from sandbox import cloud

T = TypeVar('T')

#: Seconds between two polls.
_POLL = 0.05


class Timeline:
    """Prints each step when it is done, with the time since the start.

    :ivar directory: the folder of the cloud on which the story runs.
    :ivar services: the processes of that cloud.
    """

    def __init__(self, services: 'cloud.Services') -> None:
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


def slowness() -> float:
    """Return by what factor everything is slower on this machine, from its
    load; 1 if it has enough processors."""
    waiting, _, _ = os.getloadavg()
    return max(1.0, waiting / (os.cpu_count() or 1))


def until(
    expected: str,
    look: Callable[[], T],
    good: Callable[[T], bool],
    seconds: float = 30,
) -> T:
    """Call look() again and again until its value is good; return that value.

    :param seconds: the time that it may take on an idle machine
    :raises Unexpected: if it takes longer, with the last value.
    """
    seconds *= slowness()
    deadline = time.monotonic() + seconds
    while True:
        late = time.monotonic() >= deadline
        seen = look()
        if good(seen):
            return seen
        if late:
            raise person.Unexpected(f'{expected} within {seconds:.1f} s', seen)
        time.sleep(_POLL)
