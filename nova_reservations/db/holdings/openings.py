# SPDX-License-Identifier: Apache-2.0
"""All that is held of some resources from a time on, as far as it is read.

Anybody may be refused again and again, so reads are limited, and the result
tells up to when it is complete.

Decision 0032: doc/source/decisions/0032-refusals-tell-when
"""

from collections.abc import Collection
import dataclasses
import datetime

from sqlalchemy import orm

from nova_reservations.db import models
from nova_reservations.db.holdings import held_rows
from nova_reservations.objects import holding
from nova_reservations.objects import search

ALLOCATION = models.table(models.Allocation)

ROWS = 5000
"""Allocations that are read of all of them."""


@dataclasses.dataclass(frozen=True, slots=True)
class Holders:
    """:ivar until: held is complete up to this time; None: for all times."""

    held: Collection[holding.Held]
    until: datetime.datetime | None


def held(
    session: orm.Session,
    ids: Collection[int],
    start: datetime.datetime,
    terms: search.Search,
    limit: int = ROWS,
    *,
    amounts: bool = True,
) -> Holders:
    """Return what others hold of resources, at start or later, in the order of
    the starts.

    :param amounts: whether to read the amounts of what is shared
    """
    conditions = held_rows.not_over(
        ALLOCATION.c, start - terms.cleaning, terms.now, of_shares=True
    )
    conditions.append(ALLOCATION.c.resource_id.in_(ids))
    if terms.ignore:
        conditions.append(ALLOCATION.c.reservation_id.not_in(terms.ignore))
    query = (
        held_rows.query(*conditions)
        .order_by(ALLOCATION.c.start_date)
        .limit(limit)
    )
    found = held_rows.read(session, held_rows.by_resource(query, ALLOCATION))
    shared = [each.id for each in found if amounts and not each.whole]
    if shared:
        units = held_rows.amounts(session, ALLOCATION.c.id.in_(shared))
        found = [each._replace(units=units.get(each.id, {})) for each in found]
    until = found[-1].start if len(found) == limit else None
    return Holders(found, until)
