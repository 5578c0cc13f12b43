# SPDX-License-Identifier: Apache-2.0
"""What reservations hold at this moment, in short.

Every function joins the caller's transaction.
"""

from collections.abc import Collection

import sqlalchemy as sa
from sqlalchemy import orm

from nova_reservations import objects
from nova_reservations.db import models
from nova_reservations.db import pages

ALLOCATION = models.table(models.Allocation)
AMOUNT = models.table(models.AllocationAmount)
INVENTORY = models.table(models.HostInventory)
RESOURCE = models.table(models.Resource)


def of(
    session: orm.Session, reservation_ids: Collection[str], most: int
) -> dict[str, objects.HeldResources]:
    """Return reservation id -> what it holds, of those that hold anything.

    :param most: how many of its resources are named
    """
    found: dict[str, objects.HeldResources] = {}
    for page in pages.of(reservation_ids):
        units = _units(session, page)
        counts, names = _names(session, page, most)
        for key, count in counts.items():
            amounts = units.get(key, {})
            # A class of its own counts them.
            slots = amounts.pop(objects.slot_class(key), None)
            found[key] = objects.HeldResources(
                count, tuple(names[key]), amounts, slots
            )
    return found


def _held(page: Collection[str]) -> tuple[sa.ColumnElement[bool], ...]:
    return (
        ALLOCATION.c.reservation_id.in_(page),
        ALLOCATION.c.released == sa.false(),
        ALLOCATION.c.replaced_at.is_(None),
    )


def _names(
    session: orm.Session, page: Collection[str], most: int
) -> tuple[dict[str, int], dict[str, list[str]]]:
    counts: dict[str, int] = {}
    names: dict[str, list[str]] = {}
    for row in session.execute(
        sa.select(ALLOCATION.c.reservation_id, RESOURCE.c.name)
        .join(RESOURCE, RESOURCE.c.id == ALLOCATION.c.resource_id)
        .where(*_held(page))
        .order_by(ALLOCATION.c.reservation_id, ALLOCATION.c.resource_id)
    ):
        key = row.reservation_id
        counts[key] = counts.get(key, 0) + 1
        known = names.setdefault(key, [])
        if len(known) < most:
            known.append(row.name)
    return counts, names


def _units(
    session: orm.Session, page: Collection[str]
) -> dict[str, dict[str, int]]:
    """Return reservation id -> resource class -> units: of whole hosts all
    that they have, of shares what these are."""
    whole = sa.and_(
        INVENTORY.c.resource_id == ALLOCATION.c.resource_id,
        ALLOCATION.c.exclusive == sa.true(),
    )
    share = AMOUNT.c.allocation_id == ALLOCATION.c.id
    found: dict[str, dict[str, int]] = {}
    for table, condition, units in (
        (INVENTORY, whole, INVENTORY.c.total),
        (AMOUNT, share, AMOUNT.c.amount),
    ):
        for row in session.execute(
            sa.select(
                ALLOCATION.c.reservation_id,
                table.c.resource_class,
                sa.func.sum(units).label('units'),
            )
            .join(table, condition)
            .where(*_held(page))
            .group_by(ALLOCATION.c.reservation_id, table.c.resource_class)
        ):
            classes = found.setdefault(row.reservation_id, {})
            # Sums are decimals in some databases.
            classes[row.resource_class] = int(row.units)
    return found
