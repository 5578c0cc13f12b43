# SPDX-License-Identifier: Apache-2.0
"""Calls to the cloud for which a request waits a short time only.

Placement and Nova's databases may be silent for a minute, see
``time_limits``, and nova-api waits for a message bus that is down until it is
back. A request whose own work is done must not wait so long for more.

Decision 0065: doc/source/decisions/0065-usable-when-answered
"""

from collections.abc import Callable
import threading
import time

from oslo_log import log

LOG = log.getLogger(__name__)

LONGEST = 3.0
"""Seconds for which a request waits."""

FOR_A_PLACE = 0.5
"""Seconds of these for which it waits for others: calls that do not hang take
a tenth of it, and hanging ones must not keep all threads of nova-api."""

AT_ONCE = 8
"""The most calls of a process that are under way. Calls that hang keep their
places until they are over, so that an outage makes no threads without end."""


class InTime:
    """Makes calls in threads of their own. Opens nothing until it is used,
    and so may be made before a fork."""

    def __init__(
        self, longest: float = LONGEST, at_once: int = AT_ONCE
    ) -> None:
        self.longest = longest
        self._places = threading.BoundedSemaphore(at_once)

    def __call__(self, call: Callable[[], None]) -> bool:
        """Make the call as soon as there is a place, and wait for its end;
        return whether it is over. If not, it goes on, unless it found no
        place."""
        until = time.monotonic() + self.longest
        if not self._places.acquire(timeout=min(self.longest, FOR_A_PLACE)):
            return False
        # A process does not wait for the end of daemons.
        thread = threading.Thread(
            target=self._run,
            args=(call,),
            name='reservations-at-once',
            daemon=True,
        )
        try:
            thread.start()
        except RuntimeError as error:
            self._places.release()
            LOG.warning('The system gives nova-api no threads: %s', error)
            return False
        thread.join(max(0.0, until - time.monotonic()))
        return not thread.is_alive()

    def _run(self, call: Callable[[], None]) -> None:
        try:
            call()
        except Exception:
            # Nobody is there to whom it could be raised.
            LOG.exception('A call to the cloud has failed')
        finally:
            self._places.release()
