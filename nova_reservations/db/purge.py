# SPDX-License-Identifier: Apache-2.0
"""Leases that are over for long, as an operator has them deleted.

Every function joins the caller's transaction.
"""

from collections.abc import Mapping
from collections.abc import Sequence
import datetime
from typing import NamedTuple

import sqlalchemy as sa
from sqlalchemy import orm

from nova_reservations import exception
from nova_reservations.db import lease_removal
from nova_reservations.db import models
from nova_reservations.objects import states

ALLOCATION = models.table(models.Allocation)
EVENT = models.table(models.Event)
LEASE = models.table(models.Lease)
RESERVATION = models.table(models.Reservation)

_HELD = (
    sa.exists()
    .where(
        RESERVATION.c.lease_id == LEASE.c.id,
        ALLOCATION.c.reservation_id == RESERVATION.c.id,
        ALLOCATION.c.released == sa.false(),
    )
    .correlate(LEASE)
)
_OVER = (
    LEASE.c.status.in_(sorted(states.OVER)),
    LEASE.c.in_nova == sa.false(),
    LEASE.c.due_at.is_(None),
)
"""Nothing more is done for them, and no worker has one."""


class Ended(NamedTuple):
    """A place in the order in which leases have ended."""

    end_date: datetime.datetime
    lease_id: str


def ended(
    session: orm.Session,
    before: datetime.datetime,
    limit: int,
    after: Ended | None = None,
) -> list[Ended]:
    """Return the first leases that are over, and were to end before a time.

    :param after: only those that come after it
    """
    statement = (
        sa.select(LEASE.c.end_date, LEASE.c.id)
        .where(LEASE.c.end_date < before, *_OVER, ~_HELD)
        .order_by(LEASE.c.end_date, LEASE.c.id)
        .limit(limit)
    )
    if after is not None:
        statement = statement.where(
            LEASE.c.end_date >= after.end_date,
            sa.or_(
                LEASE.c.end_date > after.end_date, LEASE.c.id > after.lease_id
            ),
        )
    return [Ended(*row) for row in session.execute(_in_order(statement))]


def _in_order(
    statement: sa.Select[tuple[datetime.datetime, str]],
) -> sa.Select[tuple[datetime.datetime, str]]:
    # It would read all that are over, and sort them.
    for dialect in ('mysql', 'mariadb'):
        statement = statement.with_hint(
            LEASE, 'FORCE INDEX (ix_nr_leases_end)', dialect
        )
    return statement


def remove(
    session: orm.Session, lease_ids: Sequence[str]
) -> Mapping[str, int]:
    """Delete leases that are over, with all their rows; return how many rows
    of what.

    :raises: Conflict if one of them is not as it was found, or is gone
    """
    done = session.execute(
        sa.update(LEASE)
        .where(LEASE.c.id.in_(lease_ids), *_OVER)
        .values(version=LEASE.c.version + 1)
    )
    if done.rowcount != len(lease_ids):  # type: ignore[attr-defined]
        raise exception.Conflict(kind='Lease', id='that is over')
    return lease_removal.remove(session, lease_ids)


def count(
    session: orm.Session, before: datetime.datetime
) -> Mapping[str, int]:
    """Return how many rows of what would be deleted."""
    over = (LEASE.c.end_date < before, *_OVER, ~_HELD)
    of_leases = sa.select(sa.func.count()).select_from(LEASE).where(*over)
    of_reservations = of_leases.join(
        RESERVATION, RESERVATION.c.lease_id == LEASE.c.id
    )
    counts = {
        'leases': of_leases,
        'reservations': of_reservations,
        'events': of_leases.join(EVENT, EVENT.c.lease_id == LEASE.c.id),
        'allocations': of_reservations.join(
            ALLOCATION, ALLOCATION.c.reservation_id == RESERVATION.c.id
        ),
    }
    found = {
        name: session.scalar(query) or 0 for name, query in counts.items()
    }
    found['servers'] = sum(
        session.scalar(
            of_reservations.join(
                table, table.c.reservation_id == RESERVATION.c.id
            )
        )
        or 0
        for table in lease_removal.SERVERS
    )
    return found
