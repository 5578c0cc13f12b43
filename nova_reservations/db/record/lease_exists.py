# SPDX-License-Identifier: Apache-2.0
"""The progress of the hourly notifications of active leases: one row.

Every function joins the caller's transaction.
"""

import datetime
from typing import NamedTuple

import sqlalchemy as sa
from sqlalchemy import orm

from nova_reservations.db import models
from nova_reservations.db import writes

EXISTS = models.table(models.LeaseExists)

_ONLY = 1


class Progress(NamedTuple):
    """:ivar hour: the end of the hour that is being notified of.

    :ivar after: the place in the list of active leases up to which
        notifications were sent; None: all were sent.
    :ivar version: changes with each write.
    """

    hour: datetime.datetime
    after: tuple[datetime.datetime, str] | None
    version: int


def progress(session: orm.Session) -> Progress:
    row = session.execute(sa.select(EXISTS).where(EXISTS.c.id == _ONLY)).one()
    after = None
    if row.lease_id is not None:
        after = (row.created_at, row.lease_id)
    return Progress(row.hour, after, row.version)


def advance(session: orm.Session, seen: Progress, now: Progress) -> bool:
    """Write the progress; return False if somebody has written it since
    seen."""
    created_at, lease_id = now.after or (None, None)
    return writes.changed(
        session,
        EXISTS,
        EXISTS.c.id == _ONLY,
        EXISTS.c.version == seen.version,
        hour=now.hour,
        created_at=created_at,
        lease_id=lease_id,
        version=seen.version + 1,
    )
