# SPDX-License-Identifier: Apache-2.0
"""Projects that reservations of others are shared with.

Projects that a reservation is no longer shared with are kept as long as their
servers may be in it.

Every function joins the caller's transaction.

Decision 0042: doc/source/decisions/0042-shared-by-name
"""

from collections.abc import Collection
import datetime

import sqlalchemy as sa
from sqlalchemy import orm

from nova_reservations import objects
from nova_reservations.db import models
from nova_reservations.db import writes

ACCESS = models.table(models.ProjectAccess)


def of(
    session: orm.Session, reservation_ids: Collection[str]
) -> dict[str, objects.Sharers]:
    """Return reservation id -> its sharers, of those that have, or had,
    any."""
    present: dict[str, set[str]] = {}
    former: dict[str, set[str]] = {}
    for row in session.execute(
        sa.select(
            ACCESS.c.reservation_id, ACCESS.c.project_id, ACCESS.c.removed_at
        ).where(ACCESS.c.reservation_id.in_(reservation_ids))
    ):
        kept = present if row.removed_at is None else former
        kept.setdefault(row.reservation_id, set()).add(row.project_id)
    return {
        key: objects.Sharers(
            frozenset(present.get(key, ())), frozenset(former.get(key, ()))
        )
        for key in present.keys() | former.keys()
    }


def add(
    session: orm.Session,
    reservation: objects.Reservation,
    project_ids: Collection[str],
    now: datetime.datetime,
) -> None:
    """Share a reservation with projects that it was never shared with."""
    rows = [
        {
            'reservation_id': reservation.id,
            'project_id': project_id,
            'lease_id': reservation.lease_id,
            'created_at': now,
        }
        for project_id in sorted(project_ids)
    ]
    writes.insert(session, ACCESS, rows)


def set_removed(
    session: orm.Session,
    reservation_id: str,
    project_ids: Collection[str],
    removed_at: datetime.datetime | None,
    now: datetime.datetime,
) -> None:
    """Stop sharing a reservation with projects, or share it again."""
    session.execute(
        sa.update(ACCESS)
        .where(*_of_projects(reservation_id, project_ids))
        .values(removed_at=removed_at, updated_at=now)
    )


def remove(
    session: orm.Session, reservation_id: str, project_ids: Collection[str]
) -> None:
    """Forget that it was shared with projects that can have no server in
    it."""
    session.execute(
        sa.delete(ACCESS).where(*_of_projects(reservation_id, project_ids))
    )


def _of_projects(
    reservation_id: str, project_ids: Collection[str]
) -> tuple[sa.ColumnElement[bool], ...]:
    return (
        ACCESS.c.reservation_id == reservation_id,
        ACCESS.c.project_id.in_(sorted(project_ids)),
    )


def shared_with(
    session: orm.Session, project_id: str, lease_ids: Collection[str]
) -> dict[str, list[str]]:
    """Return lease id -> those of its reservations that are shared with the
    project, of the leases that have any."""
    found: dict[str, list[str]] = {}
    for row in session.execute(
        sa.select(ACCESS.c.lease_id, ACCESS.c.reservation_id)
        .where(
            ACCESS.c.project_id == project_id,
            ACCESS.c.removed_at.is_(None),
            ACCESS.c.lease_id.in_(lease_ids),
        )
        .order_by(ACCESS.c.lease_id, ACCESS.c.reservation_id)
    ):
        found.setdefault(row.lease_id, []).append(row.reservation_id)
    return found


def leases_shared_with(project_id: str) -> sa.Select[tuple[str]]:
    """Return the query for the ids of leases that are shared with the
    project."""
    return (
        sa.select(ACCESS.c.lease_id.label('id'))
        .where(
            ACCESS.c.project_id == project_id, ACCESS.c.removed_at.is_(None)
        )
        .distinct()
    )
