# SPDX-License-Identifier: Apache-2.0
"""Resources that reservations hold at this moment, in short.

Every function joins the caller's transaction.
"""

from collections import Counter
from collections import defaultdict
from collections.abc import Collection

import sqlalchemy as sa
from sqlalchemy import orm

from nova_reservations import objects
from nova_reservations.db import models
from nova_reservations.db import pages
from nova_reservations.db.holdings import held_rows

ALLOCATION = models.table(models.Allocation)
RESOURCE = models.table(models.Resource)
USAGE = models.table(models.Usage)


def of(
    session: orm.Session, reservation_ids: Collection[str], most: int
) -> dict[str, objects.HeldResources]:
    """Return reservation id -> what it holds, of those that hold anything.

    :param most: how many of its resources are named
    """
    found: dict[str, objects.HeldResources] = {}
    for page in pages.of(reservation_ids):
        amounts, degraded = _amounts(session, page)
        for key, names in _names(session, page).items():
            found[key] = objects.HeldResources(
                len(names),
                tuple(names[:most]),
                amounts.get(key, Counter()),
                degraded.get(key, Counter()),
            )
    return found


def _names(
    session: orm.Session, page: Collection[str]
) -> dict[str, list[str]]:
    found: dict[str, list[str]] = defaultdict(list)
    for row in session.execute(
        sa.select(ALLOCATION.c.reservation_id, RESOURCE.c.name)
        .join(RESOURCE, RESOURCE.c.id == ALLOCATION.c.resource_id)
        .where(
            ALLOCATION.c.reservation_id.in_(page),
            *held_rows.has(ALLOCATION.c),
        )
        .order_by(ALLOCATION.c.reservation_id, ALLOCATION.c.resource_id)
    ):
        found[row.reservation_id].append(row.name)
    return found


def _amounts(
    session: orm.Session, page: Collection[str]
) -> tuple[dict[str, Counter[str]], dict[str, Counter[str]]]:
    """Return reservation id -> resource class -> amount, as the usage record
    has it: all of it, and the part that can not be used."""
    amounts: dict[str, Counter[str]] = defaultdict(Counter)
    degraded: dict[str, Counter[str]] = defaultdict(Counter)
    for row in session.execute(
        sa.select(
            USAGE.c.reservation_id,
            USAGE.c.resource_class,
            USAGE.c.amount,
            USAGE.c.degraded,
        ).where(USAGE.c.reservation_id.in_(page), USAGE.c.ended_at.is_(None))
    ):
        amounts[row.reservation_id][row.resource_class] += row.amount
        if row.degraded:
            degraded[row.reservation_id][row.resource_class] += row.amount
    return amounts, degraded
