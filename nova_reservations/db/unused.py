# SPDX-License-Identifier: Apache-2.0
"""Active leases into which no server was ever let.

Not those that servers carry, nor windows in which a host is maintained.
Every function joins the caller's transaction.
"""

import sqlalchemy as sa
from sqlalchemy import orm

from nova_reservations import objects
from nova_reservations.db import models
from nova_reservations.objects import states

EVENT = models.table(models.Event)
LEASE = models.table(models.Lease)
RESERVATION = models.table(models.Reservation)


def _conditions() -> tuple[sa.ColumnElement[bool], ...]:
    return (
        LEASE.c.status == states.Lease.ACTIVE,
        LEASE.c.used_at.is_(None),
        LEASE.c.by_default == sa.false(),
        ~sa.exists().where(
            RESERVATION.c.lease_id == LEASE.c.id,
            RESERVATION.c.resource_type == objects.SERVER,
        ),
    )


def count(session: orm.Session) -> int:
    return int(
        session.scalar(
            sa.select(sa.func.count()).select_from(LEASE).where(*_conditions())
        )
        or 0
    )
