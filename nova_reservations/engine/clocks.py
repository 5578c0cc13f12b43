# SPDX-License-Identifier: Apache-2.0
"""The time by which leases start and end, if the clock can be believed.

Decision 0022: doc/source/decisions/0022-clocks-that-disagree
"""

from collections.abc import Callable
import datetime

from nova_reservations import exception
from nova_reservations.db.leases import looks

LIMIT = datetime.timedelta(minutes=2)
"""The largest difference between the database's clock and that of the process.
NTP keeps both within a second of each other. A lease that ends two minutes too
early was about to end anyway."""

_NOTHING = datetime.timedelta(0)

Ask = Callable[[], datetime.datetime]


class Clock:
    """The database's clock, which the engine reads only through this object.

    A clock that is set to tomorrow would end all leases of today, and delete
    their servers. Times that it has written, as of claims and due dates, stay
    when the clock is set right. So no time is given while the process's own
    clock disagrees.

    :param database: returns the time of the database
    :param own: returns the time of this process, which only decides whether
        the database's time is believed
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
        ahead of the process's own time.

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
        """:param before: this process's time when the database was asked"""
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
    """Return by how much, at least, the database's clock was ahead.

    The database answered at an unknown moment between before and after, so it
    may agree with this process if its time is between these.
    """
    if now > after:
        return now - after
    return min(now - before, _NOTHING)
