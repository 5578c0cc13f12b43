# SPDX-License-Identifier: Apache-2.0
"""Access to reservations: whose they are, and on which hosts.

Every function joins the caller's transaction.
"""

from collections import defaultdict
from collections.abc import Collection
from collections.abc import Mapping
import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy import orm

from nova_reservations import objects
from nova_reservations.db import fields
from nova_reservations.db import models
from nova_reservations.db import writes
from nova_reservations.db.holdings import allocations
from nova_reservations.db.holdings import held_rows
from nova_reservations.db.leases import project_access
from nova_reservations.objects import states

ALLOCATION = models.table(models.Allocation)
RESERVATION = models.table(models.Reservation)
LEASE = models.table(models.Lease)
RESOURCE = models.table(models.Resource)
HOST = models.table(models.Host)


def find(session: orm.Session, reservation_id: str) -> objects.Access | None:
    """Return who may use the reservation, and its hosts."""
    row = session.execute(
        sa.select(
            LEASE.c.id.label('lease_id'),
            LEASE.c.project_id,
            LEASE.c.status,
            LEASE.c.lease_type,
            LEASE.c.start_date,
            LEASE.c.used_at,
            RESERVATION.c.resource_type,
            RESERVATION.c.params,
            RESERVATION.c.status.label('reservation_status'),
        )
        .join(RESERVATION, RESERVATION.c.lease_id == LEASE.c.id)
        .where(RESERVATION.c.id == reservation_id)
    ).first()
    if row is None:
        return None
    held = session.execute(
        sa.select(
            RESOURCE.c.name,
            ALLOCATION.c.exclusive,
            HOST.c.cell,
            allocations.usable().label('usable'),
        )
        .join(ALLOCATION, ALLOCATION.c.resource_id == RESOURCE.c.id)
        .outerjoin(HOST, HOST.c.resource_id == RESOURCE.c.id)
        .where(
            ALLOCATION.c.reservation_id == reservation_id,
            *held_rows.has(ALLOCATION.c),
            RESOURCE.c.resource_type == objects.HOST,
            ALLOCATION.c.leaving_at.is_(None),
        )
    ).all()
    shared = project_access.of(session, [reservation_id])
    return objects.Access(
        **fields.of(row, objects.Access),
        reservation_id=reservation_id,
        hosts=frozenset(row.name for row in held if row.usable),
        unusable=frozenset(row.name for row in held if not row.usable),
        in_slots=any(not row.exclusive for row in held),
        cells=frozenset(row.cell for row in held if row.cell),
        is_used=row.used_at is not None,
        sharers=shared.get(reservation_id, objects.NOBODY),
        started=row.reservation_status == states.Reservation.ACTIVE,
    )


def is_due(
    session: orm.Session, reservation_id: str, now: datetime.datetime
) -> bool:
    """Return whether the start of the reservation is due, and not done."""
    found = session.execute(
        sa.select(sa.literal(1))
        .join_from(LEASE, RESERVATION, RESERVATION.c.lease_id == LEASE.c.id)
        .where(
            RESERVATION.c.id == reservation_id,
            RESERVATION.c.status == states.Reservation.PENDING,
            LEASE.c.status.in_(states.COMING),
            LEASE.c.start_date <= now,
        )
    )
    return found.first() is not None


def is_coming(
    session: orm.Session, reservation_id: str, params: Mapping[str, Any]
) -> bool:
    """Return whether the reservation's lease has still to start, and the
    reservation still has these params."""
    found = session.scalar(
        sa.select(RESERVATION.c.params)
        .join_from(LEASE, RESERVATION, RESERVATION.c.lease_id == LEASE.c.id)
        .where(
            RESERVATION.c.id == reservation_id,
            LEASE.c.status.in_(states.COMING),
        )
    )
    return found is not None and found == params


def use(session: orm.Session, lease_id: str, now: datetime.datetime) -> bool:
    """Record that the first server of the lease is let in; return False if it
    is not the first, or the lease lets no more servers in."""
    return writes.changed(
        session,
        LEASE,
        LEASE.c.id == lease_id,
        LEASE.c.used_at.is_(None),
        LEASE.c.status.in_(states.LETTING_IN),
        used_at=now,
    )


def owners(
    session: orm.Session, reservation_ids: Collection[str]
) -> dict[str, tuple[str, frozenset[str]]]:
    """Return reservation -> (project, names of resources), if servers may
    land there now."""
    projects: dict[str, str] = {}
    names: dict[str, set[str]] = defaultdict(set)
    for row in session.execute(
        held_rows.by_leases(
            ALLOCATION.c.reservation_id, LEASE.c.project_id, RESOURCE.c.name
        )
        .join(RESOURCE, RESOURCE.c.id == ALLOCATION.c.resource_id)
        .where(
            ALLOCATION.c.reservation_id.in_(reservation_ids),
            RESERVATION.c.status == states.Reservation.ACTIVE,
            LEASE.c.status.in_(states.LETTING_IN),
        )
    ):
        projects[row.reservation_id] = row.project_id
        names[row.reservation_id].add(row.name)
    return {key: (projects[key], frozenset(its)) for key, its in names.items()}
