# SPDX-License-Identifier: Apache-2.0
"""Rows of the usage record that go on, and leases that go on.

Every function joins the caller's transaction.

Decision 0040: doc/source/decisions/0040-the-record-of-what-was-held
"""

from collections.abc import Collection
import enum
from typing import NamedTuple

import sqlalchemy as sa
from sqlalchemy import orm

from nova_reservations.db import models
from nova_reservations.db import server_usage
from nova_reservations.objects import states

LEASE = models.table(models.Lease)
USAGE = models.table(models.Usage)
SERVER_USAGE = models.table(models.ServerUsage)


class Kind(enum.Enum):
    """A part of the record."""

    HELD = enum.auto()
    SERVERS = enum.auto()


_TABLES = {Kind.HELD: USAGE, Kind.SERVERS: SERVER_USAGE}

_GO_ON = {
    # Parts of a lease are held before all of it is.
    Kind.HELD: states.LETTING_IN,
    Kind.SERVERS: server_usage.LETS_IN,
}
"""The states of leases of which rows may go on."""


class Row(NamedTuple):
    """A row of the record."""

    id: int
    lease_id: str
    reservation_id: str


def going_on(
    session: orm.Session, kind: Kind, after: int, limit: int
) -> list[Row]:
    """Return a page of the rows of the record that go on.

    :param after: the last row of the page before; 0 for the first page
    """
    table = _TABLES[kind]
    rows = session.execute(
        sa.select(table.c.id, table.c.lease_id, table.c.reservation_id)
        .where(table.c.ended_at.is_(None), table.c.id > after)
        # In the order of the index: otherwise PostgreSQL may read all past
        # rows by their ids.
        .order_by(table.c.ended_at, table.c.id)
        .limit(limit)
    )
    return [Row(*row) for row in rows]


def not_over(
    session: orm.Session, kind: Kind, lease_ids: Collection[str]
) -> set[str]:
    """Return those of the leases of which rows may go on."""
    return set(
        session.scalars(
            sa.select(LEASE.c.id).where(
                LEASE.c.id.in_(lease_ids),
                LEASE.c.status.in_(sorted(_GO_ON[kind])),
            )
        )
    )
