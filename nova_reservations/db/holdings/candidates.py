# SPDX-License-Identifier: Apache-2.0
"""Resources that are free in a window: a page of them, and counts of all.

The number of rows does not grow with the cloud: each query walks an index in
its order and stops at a limit. Each row has the generation of its resource,
read in the one statement that also found it free: a booking compares and sets
it, and fails if another writer came between.

Decision 0003: doc/source/decisions/0003-bounded-candidates
"""

from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Iterator
from collections.abc import Mapping
import dataclasses
import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy import orm

from nova_reservations import objects
from nova_reservations.db import fields
from nova_reservations.db import models
from nova_reservations.db.holdings import held_rows
from nova_reservations.db.holdings import shares
from nova_reservations.db.resources import holds
from nova_reservations.db.resources import requirements as sql
from nova_reservations.objects import demand
from nova_reservations.objects import interval
from nova_reservations.objects import requirements
from nova_reservations.objects import search
from nova_reservations.objects import states

PAGE = 32
"""Candidates beyond those wanted that are ranked against each other."""

_LOOK_AHEAD = 4
"""The number of neighbours that are read for each candidate that is wanted."""


@dataclasses.dataclass(frozen=True, slots=True)
class RefusalCounts:
    """The reason why a demand for whole resources was refused.

    :ivar matching: resources of the type that meet the requirements.
    :ivar taken: those of matching that are not free in the window.
    :ivar down: others that meet the requirements, and are down.
    """

    matching: int
    taken: int
    down: int


def pages(
    session: orm.Session, wanted: search.Wanted, terms: search.Search
) -> Iterator[list[search.Offer]]:
    """Yield offers for a reservation, a page at a time, as they are asked for.

    For whole resources, one page has all that a plan needs. For shares, pages
    are read until the plan has enough.
    """
    if wanted.demand.exclusive:
        yield find(session, wanted, terms)
    else:
        yield from shares.pages(session, wanted, terms)


def find(
    session: orm.Session,
    wanted: search.Wanted,
    terms: search.Search,
    page: int = PAGE,
) -> list[search.Offer]:
    """Return whole resources: those with the least free time before or after
    the window, and others from a random place on.

    :param page: how many to return beyond those wanted and those that
        siblings may take, if there are.
    """
    demand = wanted.demand
    limit = demand.maximum + wanted.siblings + page
    window = wanted.window.padded(terms.cleaning)
    offers = _Offers(window, terms)
    query = _meeting(session, demand, offers.query().where(offers.free))
    if wanted.among is not None:
        query = query.where(models.Resource.id.in_(wanted.among))
    statements = offers.nearest(query, limit)
    if wanted.named:
        statements.append(query.where(models.Resource.id.in_(wanted.named)))
    if wanted.held:
        kept = offers.query().where(offers.free)
        statements.append(_kept(session, wanted, kept))
    rows = [
        row for statement in statements for row in session.execute(statement)
    ]
    rows += _spread(session, query, terms.start_at, limit)
    return list(
        {
            row.id: _offer(row, window, terms.now, wanted.held) for row in rows
        }.values()
    )


def shortage(
    session: orm.Session, wanted: search.Wanted, terms: search.Search
) -> RefusalCounts:
    """Count why whole resources are refused; reads the whole cloud."""
    offers = _Offers(wanted.window.padded(terms.cleaning), terms)
    count = sa.select(sa.func.count()).select_from(models.Resource)
    meeting = _meeting(session, wanted.demand, count)
    down = _required(
        session,
        wanted.demand,
        count.where(
            models.Resource.resource_type == wanted.demand.resource_type,
            models.Resource.role == states.Role.POOL,
            models.Resource.down_since.is_not(None),
        ),
    )
    matching, free, lost = (
        session.scalar(query) or 0
        for query in (meeting, meeting.where(offers.free), down)
    )
    return RefusalCounts(matching, matching - free, lost)


def not_taken(
    session: orm.Session,
    resource_type: str,
    expression: requirements.Expression | None,
    window: interval.Interval,
    now: datetime.datetime,
) -> list[int]:
    """Return the ids of all resources that meet the requirements, and that no
    lease has as a whole in the window; others may have shares of them."""
    held = orm.aliased(models.Allocation)
    query = (
        sa.select(models.Resource.id)
        .where(
            _of_type(resource_type),
            held_rows.none(
                held,
                held.exclusive == sa.true(),
                *held_rows.in_the_way(held, window, now),
            ),
        )
        .order_by(models.Resource.id)
    )
    return list(
        session.scalars(sql.meeting(session, query, resource_type, expression))
    )


def meeting_all(
    session: orm.Session, ask: demand.Ask, limit: int | None = None
) -> list[int]:
    """Return the ids of all resources that meet the requirements, whoever has
    them."""
    query = sa.select(models.Resource.id).where(_of_type(ask.resource_type))
    return list(session.scalars(_required(session, ask, query).limit(limit)))


def could_have(
    session: orm.Session, wanted: search.Wanted, limit: int
) -> list[int]:
    """Return ids of resources that the reservation could have, or have slots
    on, or keep, if nobody else had any of them.

    :param limit: of those that it does not have yet
    """
    demand, query = wanted.demand, sa.select(models.Resource.id)
    if demand.exclusive:
        offered = _meeting(session, demand, query)
        kept = _kept(session, wanted, query)
    else:
        offered = shares.meeting(session, demand, query)
        fit = shares.fitting(session, demand, query, wanted.recheck)
        kept = fit.where(models.Resource.id.in_(wanted.held))
    found = session.scalars(
        offered.order_by(models.Resource.spread, models.Resource.id).limit(
            limit
        )
    ).all()
    known = session.scalars(kept) if wanted.held else ()
    return list(dict.fromkeys([*found, *known]))


def clearable(
    session: orm.Session,
    wanted: search.Wanted,
    terms: search.Search,
    stays: Callable[[Any], sa.ColumnElement[bool]],
    limit: int,
) -> int:
    """Return how many resources, up to a limit, the reservation could have if
    all allocations left its window that do not stay.

    :param stays: returns the condition that an allocation stays
    """
    held = orm.aliased(models.Allocation)
    window = wanted.window.padded(terms.cleaning)
    in_the_way = held_rows.in_the_way(held, window, terms.now)
    query = _meeting(
        session,
        wanted.demand,
        sa.select(models.Resource.id).where(
            held_rows.none(held, *in_the_way, stays(held))
        ),
    )
    some = query.order_by(models.Resource.spread, models.Resource.id)
    return len(session.scalars(some.limit(limit)).all())


def meeting(
    session: orm.Session,
    resource_type: str,
    expression: requirements.Expression | None,
    resource_ids: Collection[int] | None = None,
) -> set[int]:
    """Return the ids of resources of a type that meet the requirements,
    whatever holds them.

    :param resource_ids: those that are asked about; None: all of the type
    """
    query = sa.select(models.Resource.id).where(
        models.Resource.resource_type == resource_type
        if resource_ids is None
        else models.Resource.id.in_(resource_ids)
    )
    return set(
        session.scalars(sql.meeting(session, query, resource_type, expression))
    )


def cells(
    session: orm.Session, resource_ids: Collection[int] | None = None
) -> set[str]:
    """Return the cells of these hosts, as far as they are known.

    :param resource_ids: None: of all enrolled hosts
    """
    query = sa.select(models.Host.cell).where(models.Host.cell != '')
    if resource_ids is not None:
        query = query.where(models.Host.resource_id.in_(resource_ids))
    return set(session.scalars(query.distinct()))


def unknown_keys(session: orm.Session, ask: demand.Ask) -> list[str]:
    """Return, sorted, the properties compared that no resource has ever
    had."""
    names = requirements.properties(
        ask.requirements, requirements.facts_of(ask.resource_type)
    )
    if not names:
        return []
    known = session.scalars(
        sa.select(models.Property.name).where(models.Property.name.in_(names))
    )
    return sorted(names.difference(known))


class _Offers:
    """The resources that are free in a window, and for how long around it."""

    def __init__(
        self, window: interval.Interval, terms: search.Search
    ) -> None:
        self.window = window
        held = orm.aliased(models.Allocation)
        self._holds: list[sa.ColumnElement[bool]] = []
        if terms.ignore:
            self._holds.append(held.reservation_id.not_in(terms.ignore))
        self._held = held
        self.free = held_rows.none(
            held,
            *self._holds,
            *held_rows.in_the_way(held, window, terms.now),
        )

    def query(self) -> sa.Select[Any]:
        held, window = self._held, self.window
        # The order is that of end_date, which the index has. Whole resources
        # are held one after the other, so it is the order of start_date too.
        # Shares may overlap, and next_start may then not be the first start:
        # it only ranks resources that are free.
        last_end = (
            self._of_resource(held.end_date, held.end_date <= window.start)
            .order_by(held.end_date.desc())
            .limit(1)
            .scalar_subquery()
        )
        next_start = (
            self._of_resource(held.start_date, held.end_date > window.end)
            .order_by(held.end_date)
            .limit(1)
            .scalar_subquery()
        )
        return sa.select(
            models.Resource.id,
            models.Resource.resource_type,
            models.Resource.name,
            models.Resource.uuid,
            models.Resource.generation,
            last_end.label('last_end'),
            next_start.label('next_start'),
        )

    def nearest(
        self, query: sa.Select[Any], limit: int
    ) -> list[sa.Select[Any]]:
        """Return the query for neighbours before the window, and after."""
        held, window = self._held, self.window
        # Allocations to be ignored are read too; they only add their own
        # resources. A condition on the reservation would need a column that
        # the index lacks, and would make MariaDB read half of the index
        # instead of the range.
        current = held.released == sa.false()
        before = sa.select(
            held.resource_id, held.end_date.label('date')
        ).where(current, held.end_date <= window.start)
        after = sa.select(
            held.resource_id, held.start_date.label('date')
        ).where(current, held.start_date >= window.end)
        # Each query has two limits, because a nearby resource may be taken in
        # the window.
        statements = []
        for nearby, order in ((before, sa.desc), (after, sa.asc)):
            near = (
                nearby.order_by(order('date'))
                .limit(limit * _LOOK_AHEAD)
                .subquery()
            )
            statements.append(
                query.join(near, near.c.resource_id == models.Resource.id)
                .order_by(order(near.c.date))
                .limit(limit)
            )
        return statements

    def _of_resource(
        self, column: Any, condition: sa.ColumnElement[bool]
    ) -> sa.Select[Any]:
        return held_rows.of_resource(
            self._held, column, *self._holds, condition
        )


def _of_type(
    resource_type: str, use: holds.Use = holds.Use.PROMISE
) -> sa.ColumnElement[bool]:
    return sa.and_(
        models.Resource.resource_type == resource_type, holds.free(use)
    )


def _kept(
    session: orm.Session, wanted: search.Wanted, query: sa.Select[Any]
) -> sa.Select[Any]:
    """Return the query for those of its resources that the reservation may
    keep, including some that only their present holder may: disabled ones,
    and drainable hosts that it has already, or that were emptied for it."""
    query = query.where(
        _of_type(wanted.demand.resource_type, holds.Use.KEEP),
        models.Resource.id.in_(wanted.held),
    )
    if wanted.recheck:
        return _required(session, wanted.demand, query)
    return query


def _meeting(
    session: orm.Session, demand: demand.Ask, query: sa.Select[Any]
) -> sa.Select[Any]:
    offered = query.where(_of_type(demand.resource_type))
    return _required(session, demand, offered)


def _required(
    session: orm.Session, ask: demand.Ask, query: sa.Select[Any]
) -> sa.Select[Any]:
    return sql.meeting(session, query, ask.resource_type, ask.requirements)


def _spread(
    session: orm.Session, query: sa.Select[Any], random_start: int, limit: int
) -> list[Any]:
    """Return rows from a random place on, continuing at the beginning of the
    order."""
    spread = models.Resource.spread
    query = query.order_by(spread, models.Resource.id)
    rows = list(
        session.execute(query.where(spread >= random_start).limit(limit))
    )
    if len(rows) < limit:
        rows += session.execute(
            query.where(spread < random_start).limit(limit - len(rows))
        )
    return rows


def _offer(
    row: Any,
    window: interval.Interval,
    now: datetime.datetime,
    held: Mapping[int, int],
) -> search.Offer:
    since = max(now, row.last_end or now)
    return search.Offer(
        resource=objects.Resource(**fields.of(row, objects.Resource)),
        generation=row.generation,
        kept=held.get(row.id, 0),
        gap_before=max(window.start - since, datetime.timedelta()),
        gap_after=row.next_start and row.next_start - window.end,
    )
