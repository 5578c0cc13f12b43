# SPDX-License-Identifier: Apache-2.0
"""Whole resources that an active lease gives back before its end.

From the mark on nothing new is let in; until the release nobody else has
them, at any time for which the lease has them.

Every function joins the caller's transaction.
"""

from collections.abc import Collection
import datetime

import sqlalchemy as sa
from sqlalchemy import orm

from nova_reservations.db import models

ALLOCATION = models.table(models.Allocation)


def mark(
    session: orm.Session,
    reservation_id: str,
    resource_ids: Collection[int],
    now: datetime.datetime,
) -> None:
    """Close resources of the reservation to new servers."""
    session.execute(
        sa.update(ALLOCATION)
        .where(*_of(reservation_id, resource_ids))
        .values(leaving_at=now)
    )


def keep(
    session: orm.Session, reservation_id: str, resource_ids: Collection[int]
) -> None:
    """Let the reservation have resources for as long as all others."""
    session.execute(
        sa.update(ALLOCATION)
        .where(*_of(reservation_id, resource_ids))
        .values(leaving_at=None)
    )


def release(
    session: orm.Session,
    reservation_id: str,
    resource_ids: Collection[int],
    now: datetime.datetime,
) -> None:
    """End the use of resources. Who has had one in this second has had it for
    one."""
    second = datetime.timedelta(seconds=1)
    session.execute(
        sa.update(ALLOCATION)
        .where(
            *_of(reservation_id, resource_ids),
            ALLOCATION.c.leaving_at.is_not(None),
        )
        .values(
            released=True,
            end_date=sa.case(
                (ALLOCATION.c.start_date < now, now), else_=now + second
            ),
        )
    )


def _of(
    reservation_id: str, resource_ids: Collection[int]
) -> list[sa.ColumnElement[bool]]:
    return [
        ALLOCATION.c.reservation_id == reservation_id,
        ALLOCATION.c.resource_id.in_(resource_ids),
        ALLOCATION.c.released == sa.false(),
        ALLOCATION.c.replaced_at.is_(None),
    ]
