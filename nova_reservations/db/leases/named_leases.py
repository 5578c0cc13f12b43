# SPDX-License-Identifier: Apache-2.0
"""Leases that a new server names, and their reservations that its project may
use.

Every function joins the caller's transaction.
"""

from collections.abc import Collection

import sqlalchemy as sa
from sqlalchemy import orm

from nova_reservations import objects
from nova_reservations.db import fields
from nova_reservations.db import models
from nova_reservations.objects import states

LEASE = models.table(models.Lease)
RESERVATION = models.table(models.Reservation)
ACCESS = models.table(models.ProjectAccess)

MOST = 1000
"""The most reservations that are read, if a project gives very many leases the
same name."""


def by_id(
    session: orm.Session, given: str, project_id: str, kinds: Collection[str]
) -> list[objects.Named]:
    """Return the reservations of these types of a lease, or of all leases of
    a series, in the order of their start.

    :param given: the id of the lease or of the series
    """
    return _found(
        session,
        project_id,
        kinds,
        sa.or_(LEASE.c.id == given, LEASE.c.series_id == given),
    )


def by_name(
    session: orm.Session, name: str, project_id: str, kinds: Collection[str]
) -> list[objects.Named]:
    """Return the reservations of these types of the project's own leases of
    that name that are not over, in the order of their start."""
    return _found(
        session,
        project_id,
        kinds,
        LEASE.c.project_id == project_id,
        LEASE.c.name == name,
        LEASE.c.status.in_(states.LIVE),
    )


def _found(
    session: orm.Session,
    project_id: str,
    kinds: Collection[str],
    *conditions: sa.ColumnElement[bool],
) -> list[objects.Named]:
    rows = session.execute(
        sa.select(
            RESERVATION.c.id.label('reservation_id'),
            RESERVATION.c.resource_type,
            RESERVATION.c.lease_id,
            LEASE.c.series_id,
            LEASE.c.status,
            (RESERVATION.c.status == states.Reservation.ACTIVE).label(
                'started'
            ),
        )
        .join_from(LEASE, RESERVATION, RESERVATION.c.lease_id == LEASE.c.id)
        .outerjoin(
            ACCESS,
            sa.and_(
                # Also by the lease, for the index of what a project shares.
                ACCESS.c.lease_id == RESERVATION.c.lease_id,
                ACCESS.c.reservation_id == RESERVATION.c.id,
                ACCESS.c.project_id == project_id,
                ACCESS.c.removed_at.is_(None),
            ),
        )
        .where(
            *conditions,
            RESERVATION.c.resource_type.in_(sorted(kinds)),
            # Nobody learns of leases of others.
            sa.or_(
                LEASE.c.project_id == project_id,
                ACCESS.c.project_id.is_not(None),
            ),
        )
        .order_by(LEASE.c.start_date, LEASE.c.id, RESERVATION.c.position)
        .limit(MOST)
    )
    return [objects.Named(**fields.of(row, objects.Named)) for row in rows]
