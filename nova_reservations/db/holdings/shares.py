# SPDX-License-Identifier: Apache-2.0
"""Shares of resources that are left in a window, page by page.

Resources that have a share in the window already are looked at first, then
others from a random place on, until the reader has enough; a refusal has
looked at each once. The allocations of a resource are read after its
generation: a booking compares and sets it, and fails if another writer came
between.
"""

from collections import defaultdict
from collections.abc import Collection
from collections.abc import Iterator
from typing import Any

import sqlalchemy as sa
from sqlalchemy import orm

from nova_reservations import objects
from nova_reservations.db import fields
from nova_reservations.db import models
from nova_reservations.db.holdings import held_rows
from nova_reservations.db.resources import holds
from nova_reservations.db.resources import inventories
from nova_reservations.db.resources import requirements as sql
from nova_reservations.objects import amounts
from nova_reservations.objects import demand
from nova_reservations.objects import interval
from nova_reservations.objects import search
from nova_reservations.objects import states
from nova_reservations.objects import stock

ALLOCATION = models.table(models.Allocation)

PAGE = 32
"""The resources of the first page. Each further page is twice as long as the
one before, up to LONGEST, because much has to be read where little is left."""

LONGEST = 512

_LOOK_AHEAD = 256
"""The allocations that are read to find some shares among them."""


def pages(
    session: orm.Session, wanted: search.Wanted, terms: search.Search
) -> Iterator[list[search.Offer]]:
    """Yield the offers of each page of resources; a page may have none.

    What the reservation has already is in the first one.
    """
    look = _Look(session, wanted, terms)
    query = meeting(session, look.share, look.rows())
    if wanted.among is not None:
        query = query.where(models.Resource.id.in_(wanted.among))
    kept = []
    if wanted.held:
        kept = look.at(
            fitting(session, look.share, look.rows(), wanted.recheck),
            list(wanted.held),
        )
    if terms.best_fit:
        yield kept + look.at(query, look.shared())
        kept = []
    for rows in _pages(session, query, terms.start_at):
        yield kept + look.offers(rows)
        kept = []
    if kept:
        yield kept


def matching(session: orm.Session, share: demand.Share) -> int:
    """Count the resources that could have a slot if they were empty; reads the
    whole cloud."""
    count = sa.select(sa.func.count()).select_from(models.Resource)
    return session.scalar(meeting(session, share, count)) or 0


def down(session: orm.Session, share: demand.Share) -> int:
    """Count the resources that could have a slot if they were empty and not
    down; reads the whole cloud."""
    count = sa.select(sa.func.count()).select_from(models.Resource)
    query = _large(share, count).where(
        models.Resource.role == states.Role.POOL,
        models.Resource.down_since.is_not(None),
    )
    return session.scalar(_required(session, share, query)) or 0


class _Look:
    """A search for shares; each resource is looked at once."""

    def __init__(
        self,
        session: orm.Session,
        wanted: search.Wanted,
        terms: search.Search,
    ) -> None:
        assert not wanted.demand.exclusive
        self.share = wanted.demand
        self._seen: set[int] = set()
        self._session = session
        self._window = wanted.window
        self._kept = wanted.held
        self._terms = terms

    def rows(self) -> sa.Select[Any]:
        """Return the query for resources that no lease has as a whole."""
        whole = orm.aliased(models.Allocation)
        return sa.select(
            models.Resource.id,
            models.Resource.resource_type,
            models.Resource.name,
            models.Resource.uuid,
            models.Resource.generation,
            models.Resource.spread,
        ).where(
            held_rows.none(
                whole,
                whole.exclusive == sa.true(),
                *self._in_the_way(
                    whole, self._window.padded(self._terms.cleaning)
                ),
            )
        )

    def shared(self) -> list[int]:
        """Return some resources with a share in the window: those whose shares
        end first after the window's start."""
        near = (
            sa.select(
                ALLOCATION.c.resource_id,
                ALLOCATION.c.exclusive,
                ALLOCATION.c.start_date,
                ALLOCATION.c.end_date,
            )
            .where(
                ALLOCATION.c.released == sa.false(),
                ALLOCATION.c.end_date > self._window.start,
            )
            .order_by(ALLOCATION.c.end_date)
            .limit(_LOOK_AHEAD)
            .subquery()
        )
        found = self._session.execute(
            sa.select(near.c.resource_id)
            .where(
                near.c.exclusive == sa.false(),
                near.c.start_date < self._window.end,
            )
            .order_by(near.c.end_date)
        )
        return list(dict.fromkeys(row.resource_id for row in found))[:PAGE]

    def at(
        self, query: sa.Select[Any], ids: Collection[int]
    ) -> list[search.Offer]:
        if not ids:
            return []
        return self.offers(
            list(
                self._session.execute(query.where(models.Resource.id.in_(ids)))
            )
        )

    def offers(self, rows: Collection[Any]) -> list[search.Offer]:
        """Return those of the resources that are of use."""
        rows = [row for row in rows if row.id not in self._seen]
        ids = [row.id for row in rows]
        self._seen.update(ids)
        if not ids:
            return []
        known = inventories.find(self._session, ids, self.share.amounts)
        held = self._held(ids)
        found = []
        for row in rows:
            if not stock.is_slot(self.share.amounts, known[row.id]):
                continue
            offer = search.Offer(
                resource=objects.Resource(**fields.of(row, objects.Resource)),
                generation=row.generation,
                kept=self._kept.get(row.id, 0),
                left=stock.left(known[row.id], held[row.id], self._window),
                shared=bool(held[row.id]),
            )
            fit = self.share.slot.times_in(offer.left)
            if offer.kept or fit >= self.share.together:
                found.append(offer)
        return found

    def _held(self, ids: Collection[int]) -> dict[int, list[amounts.Portion]]:
        found = defaultdict(list)
        query = held_rows.query(
            ALLOCATION.c.resource_id.in_(ids),
            ALLOCATION.c.exclusive == sa.false(),
            *self._in_the_way(ALLOCATION.c, self._window),
        )
        classes = inventories.rivals(self.share.amounts)
        for each in held_rows.with_amounts(self._session, query, classes):
            found[each.resource_id].append(each.during(self._window))
        return found

    def _in_the_way(
        self, held: Any, window: interval.Interval
    ) -> Iterator[sa.ColumnElement[bool]]:
        yield from held_rows.in_the_way(
            held, window, self._terms.now, of_shares=True
        )
        if self._terms.ignore:
            yield held.reservation_id.not_in(self._terms.ignore)


def meeting(
    session: orm.Session, share: demand.Share, query: sa.Select[Any]
) -> sa.Select[Any]:
    """Return the query for those of its resources that could have a slot if
    they were empty, and that new leases may have."""
    return fitting(session, share, query).where(holds.free(holds.Use.PROMISE))


def fitting(
    session: orm.Session,
    share: demand.Share,
    query: sa.Select[Any],
    requirements: bool = True,
) -> sa.Select[Any]:
    """Return the same with resources that only their present holder may keep.

    :param requirements: whether they must meet those of the share
    """
    query = _large(share, query).where(holds.free(holds.Use.KEEP))
    return _required(session, share, query) if requirements else query


def _large(share: demand.Share, query: sa.Select[Any]) -> sa.Select[Any]:
    query = query.where(models.Resource.resource_type == share.resource_type)
    for name, amount in sorted(share.amounts.items()):
        # Resources that are too small are not even read.
        query = query.where(
            inventories.is_large(share.resource_type, name, amount)
        )
    return query


def _required(
    session: orm.Session, share: demand.Share, query: sa.Select[Any]
) -> sa.Select[Any]:
    return sql.meeting(session, query, share.resource_type, share.requirements)


def _pages(
    session: orm.Session, query: sa.Select[Any], random_start: int
) -> Iterator[list[Any]]:
    """Yield rows from a random place on, continuing at the beginning of the
    order."""
    spread, key = models.Resource.spread, models.Resource.id
    query = query.order_by(spread, key)
    length = PAGE
    for bounds in ((spread >= random_start,), (spread < random_start,)):
        after: tuple[sa.ColumnElement[bool], ...] = bounds
        while True:
            rows = list(session.execute(query.where(*after).limit(length)))
            if rows:
                yield rows
            if len(rows) < length:
                break
            length = min(2 * length, LONGEST)
            last = rows[-1]
            after = (
                *bounds,
                spread >= last.spread,
                sa.or_(spread > last.spread, key > last.id),
            )
