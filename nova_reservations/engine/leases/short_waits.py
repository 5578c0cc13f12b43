# SPDX-License-Identifier: Apache-2.0
"""Requests that a worker makes possible in a moment wait for it: those that
name a lease whose start is due, changes of a lease that is giving something
back, and the removal of a resource whose lease is ending.

The worker is in another process, and is done most often within a second or
two. So the state of the lease is read again and again; no connection and no
lock is held in between. Few requests may wait: the others are answered at
once.

Decision 0065: doc/source/decisions/0065-usable-when-answered
"""

from collections.abc import Callable
import dataclasses
import datetime
import threading

from nova_reservations.db import api
from nova_reservations.db.holdings import leaving
from nova_reservations.db.leases import access
from nova_reservations.db.leases import leases

LONGEST = 3.0
"""Seconds for which a request waits."""

FIRST_PAUSE = 0.1
"""Seconds until the second look. Each pause is half as long again."""

LAST_PAUSE = 0.5
"""Seconds between two looks at most."""


@dataclasses.dataclass(frozen=True, slots=True)
class Timer:
    """:ivar elapsed: returns seconds, by a clock that nobody sets.

    :ivar pause: waits for so many seconds, and lets other threads run.
    """

    elapsed: Callable[[], float]
    pause: Callable[[float], None]


class ShortWaits:
    """Each method returns False if there was no place to wait; True: look at
    the lease again, whatever has come of it. The worker may have been done
    before the first look, so that there was nothing left to wait for.

    :param now: returns the time by which leases start.

    :param places: how many requests of this process may wait at the same time.
    """

    def __init__(
        self,
        database: api.Database,
        now: Callable[[], datetime.datetime],
        timer: Timer,
        places: int,
    ) -> None:
        self.database = database
        self.now = now
        self.timer = timer
        self._places = threading.BoundedSemaphore(places)

    def for_start(self, reservation_id: str) -> bool:
        """Wait for the start of the reservation's lease, if it is due.

        :raises: DatabaseUnavailable
        """
        return self._wait(
            lambda session, now: access.is_due(session, reservation_id, now)
        )

    def for_update(self, lease_id: str) -> bool:
        """Wait until Nova is in line with an active lease that was changed.

        :raises: DatabaseUnavailable
        """
        return self._wait(
            lambda session, _: leases.is_being_updated(session, lease_id)
        )

    def for_end(self, resource_id: int) -> bool:
        """Wait until nobody has a resource that only ending leases have.

        :raises: DatabaseUnavailable
        """
        return self._wait(
            lambda session, _: leaving.is_left_by_all(session, resource_id)
        )

    def _wait(
        self, goes_on: Callable[[api.Session, datetime.datetime], bool]
    ) -> bool:
        """:param goes_on: also gets the time at which the wait begins"""
        if not self._places.acquire(blocking=False):
            return False
        try:
            # A request for which there is no place does not ask for the time.
            now = self.now()
            self._watch(lambda session: goes_on(session, now))
            return True
        finally:
            self._places.release()

    def _watch(self, goes_on: Callable[[api.Session], bool]) -> None:
        if not self._look(goes_on):
            return
        until = self.timer.elapsed() + LONGEST
        pause = FIRST_PAUSE
        while (left := until - self.timer.elapsed()) > 0:
            self.timer.pause(min(pause, left))
            if not self._look(goes_on):
                break
            pause = min(1.5 * pause, LAST_PAUSE)

    def _look(self, goes_on: Callable[[api.Session], bool]) -> bool:
        with self.database.reader() as session:
            return goes_on(session)
