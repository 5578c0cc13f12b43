# SPDX-License-Identifier: Apache-2.0
"""All that is held of some resources from a time on, as far as it is read.

Anybody may be refused again and again, so reads are limited, and the result
tells up to when it is complete.

Decision 0032: doc/source/decisions/0032-refusals-tell-when
"""

from collections.abc import Collection
from collections.abc import Mapping
import dataclasses
import datetime

import sqlalchemy as sa
from sqlalchemy import orm

from nova_reservations.db import models
from nova_reservations.db.holdings import allocated
from nova_reservations.db.holdings import candidates
from nova_reservations.db.holdings import shares
from nova_reservations.objects import search

ALLOCATION = models.table(models.Allocation)
AMOUNT = models.table(models.AllocationAmount)

RESOURCES = 500
"""Resources that are looked at beyond those that are wanted."""

ROWS = 5000
"""Allocations that are read of them."""


@dataclasses.dataclass(frozen=True, slots=True)
class Held:
    """:ivar exclusive: whether it is held as a whole.

    :ivar replaced: another resource was given in its place, and nobody knows
        when this one is left.
    :ivar amounts: resource class -> units of what is shared.
    """

    resource_id: int
    start: datetime.datetime
    end: datetime.datetime
    exclusive: bool = True
    replaced: bool = False
    amounts: Mapping[str, int] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True, slots=True)
class Known:
    """:ivar until: held is complete up to this time; None: for all times."""

    held: Collection[Held]
    until: datetime.datetime | None


def could_have(session: orm.Session, wanted: search.Wanted) -> list[int]:
    """Return ids of resources that the reservation could have or keep if
    nobody else had them."""
    limit = RESOURCES + wanted.demand.maximum
    if wanted.demand.exclusive:
        return candidates.could_have(session, wanted, limit)
    return shares.could_have(session, wanted, limit)


def held(
    session: orm.Session,
    ids: Collection[int],
    start: datetime.datetime,
    terms: search.Search,
    limit: int = ROWS,
    *,
    amounts: bool = True,
) -> Known:
    """Return the holds of others on resources, at start or later, in the
    order of their starts.

    :param amounts: whether to read the amounts of what is shared
    """
    conditions = [
        ALLOCATION.c.resource_id.in_(ids),
        ALLOCATION.c.released == sa.false(),
    ]
    if terms.ignore:
        conditions.append(ALLOCATION.c.reservation_id.not_in(terms.ignore))
    if start - terms.cleaning > terms.now:
        # An allocation that is past its end but not released blocks only
        # windows that begin now. One that was replaced blocks later windows,
        # too: nobody knows when its servers leave.
        conditions.append(
            sa.or_(
                ALLOCATION.c.end_date > start - terms.cleaning,
                ALLOCATION.c.replaced_at.is_not(None),
            )
        )
    rows = session.execute(
        allocated.by_resource(
            sa.select(
                ALLOCATION.c.id,
                ALLOCATION.c.resource_id,
                ALLOCATION.c.start_date,
                ALLOCATION.c.end_date,
                ALLOCATION.c.exclusive,
                ALLOCATION.c.replaced_at,
            )
            .where(*conditions)
            .order_by(ALLOCATION.c.start_date)
            .limit(limit),
            ALLOCATION,
        )
    ).all()
    shared = [row.id for row in rows if amounts and not row.exclusive]
    units = _amounts(session, shared)
    return Known(
        [
            Held(
                row.resource_id,
                row.start_date,
                row.end_date,
                row.exclusive,
                row.replaced_at is not None,
                units.get(row.id, {}),
            )
            for row in rows
        ],
        rows[-1].start_date if len(rows) == limit else None,
    )


def _amounts(
    session: orm.Session, allocation_ids: Collection[int]
) -> dict[int, dict[str, int]]:
    """Return allocation id -> resource class -> units."""
    found: dict[int, dict[str, int]] = {}
    if allocation_ids:
        for row in session.execute(
            sa.select(AMOUNT).where(AMOUNT.c.allocation_id.in_(allocation_ids))
        ):
            units = found.setdefault(row.allocation_id, {})
            units[row.resource_class] = row.amount
    return found
