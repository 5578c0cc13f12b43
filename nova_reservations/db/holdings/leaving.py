# SPDX-License-Identifier: Apache-2.0
"""Resources, or slots of them, that a lease gives back before all others.

An active lease may give some back before its end. From mark() on, no new
server is let into whole resources. Until release(), no other lease gets them
for any time for which this lease has them.

A lease that ends gives back resources that are empty before the rest is.

Every function joins the caller's transaction.
"""

from collections.abc import Collection
from collections.abc import Mapping
import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy import orm

from nova_reservations import objects
from nova_reservations.db import models
from nova_reservations.db.holdings import healing
from nova_reservations.db.holdings import held_rows
from nova_reservations.db.holdings import windows
from nova_reservations.objects import states

ALLOCATION = models.table(models.Allocation)
AMOUNT = models.table(models.AllocationAmount)
LEASE = models.table(models.Lease)


def is_left_by_all(session: orm.Session, resource_id: int) -> bool:
    """Return whether leases have the resource, and all of these are ending."""
    found = session.scalars(
        held_rows.by_leases(LEASE.c.status)
        .where(
            ALLOCATION.c.resource_id == resource_id,
        )
        .distinct()
    ).all()
    return bool(found) and states.ENDING.issuperset(found)


def mark(
    session: orm.Session,
    reservation_id: str,
    resource_ids: Collection[int],
    now: datetime.datetime,
) -> None:
    """Close resources of the reservation to new servers."""
    held_rows.change(
        session, reservation_id, resource_ids, leaving_at=now, awaited=None
    )


def set_awaited(
    session: orm.Session,
    reservation_id: str,
    resource_ids: Collection[int],
    servers: Collection[str],
) -> None:
    """List the servers that may still come to resources that leave."""
    held_rows.change(
        session, reservation_id, resource_ids, awaited=sorted(servers)
    )


def keep(
    session: orm.Session, reservation_id: str, resource_ids: Collection[int]
) -> None:
    """Let the reservation have resources for as long as all others."""
    held_rows.change(
        session, reservation_id, resource_ids, leaving_at=None, awaited=None
    )


def release(
    session: orm.Session,
    reservation_id: str,
    resource_ids: Collection[int],
    now: datetime.datetime,
) -> None:
    """End the use of resources that leave."""
    held_rows.change(
        session,
        reservation_id,
        resource_ids,
        ALLOCATION.c.leaving_at.is_not(None),
        **_released(now),
    )


def vacate(
    session: orm.Session,
    reservation_id: str,
    resource_ids: Collection[int],
    now: datetime.datetime,
) -> None:
    """End the use of empty resources when the lease ends, while others of the
    reservation are not empty yet."""
    held_rows.change(session, reservation_id, resource_ids, **_released(now))
    healing.vacate(session, [reservation_id], now, resource_ids)


def lower(
    session: orm.Session,
    reservation_id: str,
    slots: Mapping[int, int],
    amounts: Mapping[str, int],
    now: datetime.datetime,
) -> None:
    """Reduce the slots of the reservation.

    :param slots: resource id -> how many stay there; 0 ends the use of it
    :param amounts: resource class -> what a slot holds
    """
    gone = [key for key, count in slots.items() if not count]
    if gone:
        held_rows.change(session, reservation_id, gone, **_released(now))
    slot = {**amounts, objects.slot_class(reservation_id): 1}
    rows = session.execute(
        sa.select(ALLOCATION.c.id, ALLOCATION.c.resource_id).where(
            *held_rows.of(reservation_id, [key for key in slots if slots[key]])
        )
    ).all()
    if rows:
        session.execute(
            sa.update(AMOUNT)
            .where(
                AMOUNT.c.allocation_id == sa.bindparam('of_allocation'),
                AMOUNT.c.resource_class == sa.bindparam('of_class'),
            )
            .values(amount=sa.bindparam('units')),
            [
                {
                    'of_allocation': row.id,
                    'of_class': name,
                    'units': units * slots[row.resource_id],
                }
                for row in rows
                for name, units in sorted(slot.items())
            ],
        )


def _released(now: datetime.datetime) -> dict[str, Any]:
    return {'released': True, 'end_date': windows.ended(now)}
