# SPDX-License-Identifier: Apache-2.0
"""Projects and leases of the record, as reports ask for them.

Every function joins the caller's transaction.
"""

from collections.abc import Collection
import datetime

import sqlalchemy as sa
from sqlalchemy import orm

from nova_reservations.db import models
from nova_reservations.db import pages

USAGE = models.table(models.Usage)
SERVER_USAGE = models.table(models.ServerUsage)


def next_project(session: orm.Session, after: str | None) -> str | None:
    """Return the first project of the record, in the order of their ids, that
    comes after another one; None if there is none."""
    found = [
        session.scalar(
            sa.select(table.c.project_id)
            .where(*([] if after is None else [table.c.project_id > after]))
            .order_by(table.c.project_id)
            .limit(1)
        )
        for table in (USAGE, SERVER_USAGE)
    ]
    return min((each for each in found if each is not None), default=None)


def first_starts(
    session: orm.Session, reservation_ids: Collection[str]
) -> dict[str, datetime.datetime]:
    """Return lease id -> when the record of its reservations begins."""
    found: dict[str, datetime.datetime] = {}
    for page in pages.of(reservation_ids):
        for row in session.execute(
            sa.select(
                USAGE.c.lease_id,
                sa.func.min(USAGE.c.started_at).label('started_at'),
            )
            .where(USAGE.c.reservation_id.in_(page))
            .group_by(USAGE.c.lease_id)
        ):
            known = found.get(row.lease_id, row.started_at)
            found[row.lease_id] = min(known, row.started_at)
    return found
