# SPDX-License-Identifier: Apache-2.0
"""Leases that wait for capacity, and hold nothing.

They have an arrival; others that are CREATING wait for Nova's answer to a
request for servers.

Every function joins the caller's transaction.
"""

import datetime

import sqlalchemy as sa
from sqlalchemy import orm

from nova_reservations import states
from nova_reservations import values
from nova_reservations.db import counters
from nova_reservations.db import leases
from nova_reservations.db import models

LEASE = models.table(models.Lease)

ARRIVAL = 'arrival'
"""The counter of all that have ever had to wait."""


def arrive(session: orm.Session) -> int:
    """Return the number of a lease that begins to wait now."""
    return counters.number(session, ARRIVAL)


def before(session: orm.Session, arrival: int) -> list[values.Lease]:
    """Return those that wait, and came before one that waits too."""
    return leases.meeting(
        session,
        LEASE.c.status == states.Lease.CREATING,
        LEASE.c.arrival < arrival,
    )


def in_hand(
    session: orm.Session, now: datetime.datetime
) -> list[values.Lease]:
    """Return those that wait, and that a worker is just trying."""
    return leases.meeting(
        session,
        LEASE.c.status == states.Lease.CREATING,
        LEASE.c.arrival.is_not(None),
        LEASE.c.claimed_by.is_not(None),
        LEASE.c.due_at > now,
    )


def wake(session: orm.Session, now: datetime.datetime) -> None:
    """Have workers look at once at all that wait: something is free.

    Whoever frees anything that a lease could have, or leaves the queue,
    calls it in the same transaction, after its other writes. The version of
    those that a worker is just looking at changes: it looks again.
    """
    # First which, and those by their key: a range would lock its gaps too,
    # and keep others from writing leases of other states.
    waiting = sorted(
        session.scalars(
            sa.select(LEASE.c.id).where(
                LEASE.c.status == states.Lease.CREATING,
                LEASE.c.arrival.is_not(None),
            )
        )
    )
    if waiting:
        session.execute(
            sa.update(LEASE)
            .where(
                LEASE.c.id.in_(waiting),
                LEASE.c.status == states.Lease.CREATING,
            )
            .values(
                version=LEASE.c.version + 1,
                due_at=sa.case(
                    (LEASE.c.claimed_by.is_(None), now), else_=LEASE.c.due_at
                ),
            )
        )
