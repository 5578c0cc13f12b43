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

#: Seconds between two looks at what is waited for.
_POLL = 0.05


class Timeline:
    """Prints each step when it is done, with the time since the start.

    :ivar directory: the folder of the cloud that it is told on.
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
        """Tell one step; the context's value takes what there was to see."""
        self.current = title
        seen: list[str] = []
        yield seen.append
        elapsed = time.monotonic() - self._start
        line = f'{title}: {"; ".join(seen)}' if seen else title
        print(f'{elapsed:6.1f} s  {line}', flush=True)


def expect(what: str, expected: T, seen: T) -> None:
    """Go on if it is so.

    :raises Unexpected: if it is not.
    """
    if seen != expected:
        raise person.Unexpected(f'{what}: {expected}', seen)


def slowness() -> float:
    """Return how much longer all takes where processors have to be waited
    for; 1 on a machine that has enough of them."""
    waiting, _, _ = os.getloadavg()
    return max(1.0, waiting / (os.cpu_count() or 1))


def until(
    expected: str,
    look: Callable[[], T],
    good: Callable[[T], bool],
    seconds: float = 30,
) -> T:
    """Look again and again until it is good; return what was seen then.

    :param seconds: that it may take on a machine with nothing else to do
    :raises Unexpected: if it is not good in time, with what was seen last.
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
