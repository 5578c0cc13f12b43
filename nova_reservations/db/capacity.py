# SPDX-License-Identifier: Apache-2.0
"""Capacity that came free, and the leases that may want it.

Two kinds do: those that wait for capacity, and those that are degraded and
lack some. Whatever comes free is told to both, by one call.
"""

import datetime

import sqlalchemy as sa
from sqlalchemy import orm

from nova_reservations import states
from nova_reservations.db import counters
from nova_reservations.db import healing
from nova_reservations.db import models
from nova_reservations.db import waiters

LEASE = models.table(models.Lease)


def freed(session: orm.Session, now: datetime.datetime) -> None:
    """Have workers look at once at the leases that capacity may serve.

    Whoever frees anything that a lease could have, or leaves the queue of
    those that wait, calls it in the same transaction, after all its other
    writes.
    """
    if _is_any_degraded(session):
        counters.hurry(session, healing.HEAL, now)
    waiters.wake(session, now)


def _is_any_degraded(session: orm.Session) -> bool:
    lacking = sa.select(LEASE.c.id).where(
        LEASE.c.degraded == sa.true(), LEASE.c.status.in_(states.OPEN)
    )
    return session.scalar(lacking.limit(1)) is not None
