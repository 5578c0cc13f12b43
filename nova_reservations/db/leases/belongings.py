# SPDX-License-Identifier: Apache-2.0
"""The belongings of leases: given back when a lease is over, and removed
with the lease.

These are the only lists of them; a test compares them with the foreign keys.

Every function joins the caller's transaction.
"""

from collections import Counter
from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Mapping
import datetime
from typing import NamedTuple

import sqlalchemy as sa
from sqlalchemy import orm

from nova_reservations.db import models
from nova_reservations.db import pages
from nova_reservations.db import writes
from nova_reservations.db.holdings import allocations
from nova_reservations.db.holdings import healing
from nova_reservations.db.holdings import windows
from nova_reservations.db.leases import leased_servers

LEASE = models.table(models.Lease)
RESERVATION = models.table(models.Reservation)
ALLOCATION = models.table(models.Allocation)


class Kind(NamedTuple):
    """Rows of a table that belong to reservations.

    :ivar counted: as what they are counted when leases are removed; None: they
        are not.
    :ivar give_back: gives back what they stand for, when the lease is over;
        None: they are removed then.
    """

    table: sa.Table
    counted: str | None = None
    give_back: (
        Callable[[orm.Session, Collection[str], datetime.datetime], None]
        | None
    ) = None


def _give_back_resources(
    session: orm.Session,
    reservation_ids: Collection[str],
    now: datetime.datetime,
) -> None:
    healing.vacate(session, reservation_ids, now)
    windows.release(session, reservation_ids, now)


OF_RESERVATIONS = (
    Kind(ALLOCATION, 'allocations', _give_back_resources),
    Kind(models.table(models.Server), 'servers'),
    Kind(models.table(models.ProjectAccess)),
    Kind(
        models.table(models.LeasedServer),
        'servers',
        leased_servers.release_all,
    ),
)

OF_LEASES = (
    models.table(models.UnfitHost),
    models.table(models.Event),
    RESERVATION,
)


def give_back(
    session: orm.Session,
    reservation_ids: Collection[str],
    now: datetime.datetime,
) -> None:
    """Give back all that reservations have, whose lease is over."""
    for kind in OF_RESERVATIONS:
        if kind.give_back is None:
            _remove(session, kind.table, reservation_ids)
        else:
            kind.give_back(session, reservation_ids, now)


def remove_leases(
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
    removed = _remove_what_they_have(session, reservation_ids)
    rows = {}
    for child in OF_LEASES:
        done = writes.count(
            session, sa.delete(child).where(child.c.lease_id.in_(lease_ids))
        )
        rows[child.name] = done
    session.execute(sa.delete(LEASE).where(LEASE.c.id.in_(lease_ids)))
    return {
        'leases': len(lease_ids),
        'reservations': rows['nr_reservations'],
        'events': rows['nr_events'],
        **removed,
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
) -> Mapping[str, int]:
    """Return how many rows are removed, of each kind that is counted."""
    removed = Counter[str](
        {kind.counted: 0 for kind in OF_RESERVATIONS if kind.counted}
    )
    for page in pages.of(reservation_ids):
        for kind in OF_RESERVATIONS:
            count = _remove(session, kind.table, page)
            if kind.counted:
                removed[kind.counted] += count
    return removed


def _remove(
    session: orm.Session, table: sa.Table, reservation_ids: Collection[str]
) -> int:
    theirs = table.c.reservation_id.in_(reservation_ids)
    if table is ALLOCATION:
        # With their amounts, which refer to them.
        return allocations.forget(session, theirs)
    return writes.count(session, sa.delete(table).where(theirs))
