# SPDX-License-Identifier: Apache-2.0
"""Removal of leases with all their rows.

Every function joins the caller's transaction.
"""

from collections.abc import Collection
from collections.abc import Mapping

import sqlalchemy as sa
from sqlalchemy import orm

from nova_reservations.db import models
from nova_reservations.db import pages
from nova_reservations.db.holdings import allocations
from nova_reservations.db.leases import project_access

LEASE = models.table(models.Lease)
RESERVATION = models.table(models.Reservation)
EVENT = models.table(models.Event)
ALLOCATION = models.table(models.Allocation)
UNFIT = models.table(models.UnfitHost)
SERVERS = (models.table(models.Server), models.table(models.LeasedServer))


def remove(
    session: orm.Session, lease_ids: Collection[str]
) -> Mapping[str, int]:
    """Delete leases with all that belongs to them; return the number of
    deleted rows of each kind.

    Nobody else may write them meanwhile: the caller holds locks on their rows.
    """
    reservation_ids = session.scalars(
        sa.select(RESERVATION.c.id).where(
            RESERVATION.c.lease_id.in_(lease_ids)
        )
    ).all()
    allocated, servers = _remove_what_they_have(session, reservation_ids)
    removed = {}
    for child in (UNFIT, EVENT, RESERVATION):
        done = session.execute(
            sa.delete(child).where(child.c.lease_id.in_(lease_ids))
        )
        removed[child.name] = done.rowcount  # type: ignore[attr-defined]
    session.execute(sa.delete(LEASE).where(LEASE.c.id.in_(lease_ids)))
    return {
        'leases': len(lease_ids),
        'reservations': removed[RESERVATION.name],
        'events': removed[EVENT.name],
        'allocations': allocated,
        'servers': servers,
    }


def remove_reservations(
    session: orm.Session, reservation_ids: Collection[str]
) -> None:
    """Delete reservations of which Nova knows nothing, with all that belongs
    to them."""
    _remove_what_they_have(session, reservation_ids)
    session.execute(
        sa.delete(RESERVATION).where(RESERVATION.c.id.in_(reservation_ids))
    )


def _remove_what_they_have(
    session: orm.Session, reservation_ids: Collection[str]
) -> tuple[int, int]:
    """Return how many allocations, and how many servers, are removed."""
    allocated = servers = 0
    for page in pages.of(reservation_ids):
        allocated += allocations.forget(
            session, ALLOCATION.c.reservation_id.in_(page)
        )
        project_access.forget(session, page)
        for table in SERVERS:
            done = session.execute(
                sa.delete(table).where(table.c.reservation_id.in_(page))
            )
            servers += done.rowcount  # type: ignore[attr-defined]
    return allocated, servers
