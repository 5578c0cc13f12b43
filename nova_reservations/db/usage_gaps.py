# SPDX-License-Identifier: Apache-2.0
"""Rows of the record that go on, and leases that do.

Every function joins the caller's transaction.

Decision 0040: doc/source/decisions/0040-the-record-of-what-was-held
"""

from collections.abc import Collection
from typing import NamedTuple

import sqlalchemy as sa
from sqlalchemy import orm

from nova_reservations.db import models
from nova_reservations.objects import states

LEASE = models.table(models.Lease)
USAGE = models.table(models.Usage)


class Row(NamedTuple):
    """A row of the record."""

    id: int
    lease_id: str
    reservation_id: str


def going_on(session: orm.Session, after: int, limit: int) -> list[Row]:
    """Return a page of what goes on by the record.

    :param after: the last row of the page before; 0 for the first page
    """
    rows = session.execute(
        sa.select(USAGE.c.id, USAGE.c.lease_id, USAGE.c.reservation_id)
        .where(USAGE.c.ended_at.is_(None), USAGE.c.id > after)
        # As the index has it: else PostgreSQL may read history by its ids.
        .order_by(USAGE.c.ended_at, USAGE.c.id)
        .limit(limit)
    )
    return [Row(*row) for row in rows]


def active(session: orm.Session, lease_ids: Collection[str]) -> set[str]:
    """Return those of the leases that are active."""
    return set(
        session.scalars(
            sa.select(LEASE.c.id).where(
                LEASE.c.id.in_(lease_ids),
                LEASE.c.status == states.Lease.ACTIVE,
            )
        )
    )
