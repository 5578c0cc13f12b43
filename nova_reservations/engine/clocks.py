# SPDX-License-Identifier: Apache-2.0
"""The time by which leases start and end, if it can be believed.

Decision 0022: doc/source/decisions/0022-clocks-that-disagree
"""

from collections.abc import Callable
import datetime

from nova_reservations import exception
from nova_reservations.db import looks

LIMIT = datetime.timedelta(minutes=2)
"""The largest difference between the database's clock and that of the process.
NTP keeps both within a second; and a lease that ends so much too early was
about to end."""

_NOTHING = datetime.timedelta(0)

Ask = Callable[[], datetime.datetime]


class Clock:
    """The database's clock, which the engine asks by this object only.

    A clock that is set to tomorrow would end all leases of today, and delete
    their servers; and what is written by it outlives it: claims, and when
    something is due. So there is no time at all while the process's own
    clock says something else.

    :param database: returns the time of the database
    :param own: returns the time of this process, which decides nothing but
        whether the other one is believed
    """

    def __init__(self, database: Ask, own: Ask) -> None:
        self._database = database
        self._own = own

    def now(self) -> datetime.datetime:
        """Return the database's time.

        :raises: ClocksDisagree, DatabaseUnavailable
        """
        before = self._own()
        now = self._database()
        self._compare(before, now)
        return now

    def both(self) -> tuple[datetime.datetime, datetime.timedelta]:
        """Return the database's time, believed or not, and how far it is
        ahead of the process's own.

        :raises: DatabaseUnavailable
        """
        before = self._own()
        now = self._database()
        return now, _apart(before, now, self._own())

    def look(self, ask: Callable[[], looks.Look]) -> looks.Look:
        """Return a look of the database at what is due.

        :raises: ClocksDisagree, DatabaseUnavailable
        """
        before = self._own()
        found = ask()
        self._compare(before, found.now)
        return found

    def _compare(
        self, before: datetime.datetime, now: datetime.datetime
    ) -> None:
        """:param before: this process's own, when the database was asked"""
        ahead = _apart(before, now, self._own())
        if abs(ahead) > LIMIT:
            raise exception.ClocksDisagree(
                seconds=int(abs(ahead).total_seconds()),
                direction='ahead of' if ahead > _NOTHING else 'behind',
            )


def _apart(
    before: datetime.datetime,
    now: datetime.datetime,
    after: datetime.datetime,
) -> datetime.timedelta:
    """Return how far the database was ahead at least, when it was asked.

    It has answered at some time between before and after, and may have taken
    its time.
    """
    if now > after:
        return now - after
    return min(now - before, _NOTHING)
