# SPDX-License-Identifier: Apache-2.0
"""When time that passes in a test stops next, for workers to act."""

import datetime

import sqlalchemy as sa

from nova_reservations.db import api
from nova_reservations.db import models
from nova_reservations.db import tasks

_OFTEN = datetime.timedelta(seconds=2)
_MANY = 20
"""The looks, at most two seconds apart, after which more only take time."""


def next_due(
    database: api.Database, after: datetime.datetime | None = None
) -> datetime.datetime | None:
    """Return when anything is due next, or next after a time."""
    columns = models.Lease.due_at, models.Message.due_at, tasks.WAKES_AT
    with database.reader() as session:
        dates = [
            session.scalar(
                sa.select(sa.func.min(column)).where(
                    sa.true() if after is None else column > after
                )
            )
            for column in columns
        ]
    return min((date for date in dates if date is not None), default=None)


class Pace:
    """Stops at each second at which something is due. After many looks in a
    row, such as for a server that does not leave, it stops seldom, and as
    before at all else.

    :param apart: the time between looks then; None: they stay as they are.
    """

    def __init__(
        self, database: api.Database, apart: datetime.timedelta | None
    ) -> None:
        self.database = database
        self.apart = apart
        self._looks = 0

    def next(self, now: datetime.datetime) -> datetime.datetime | None:
        """Return when to stop next; None: nothing is due any more."""
        due = next_due(self.database)
        if due is None or self.apart is None:
            return due
        self._looks = self._looks + 1 if due - now <= _OFTEN else 0
        if self._looks <= _MANY:
            return due
        latest = now + self.apart
        other = next_due(self.database, after=now + _OFTEN)
        return min(latest, other or latest)
