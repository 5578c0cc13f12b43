# SPDX-License-Identifier: Apache-2.0
"""All promises of one type of resource, as re-planning needs them.

Every function joins the caller's transaction.

Decision 0031: doc/source/decisions/0031-promises-may-move
"""

from collections.abc import Collection
from collections.abc import Iterable
import dataclasses
import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy import orm

from nova_reservations import exception
from nova_reservations.db import counts
from nova_reservations.db import models
from nova_reservations.db import pages
from nova_reservations.db import writes
from nova_reservations.db.holdings import held_rows
from nova_reservations.objects import holding
from nova_reservations.objects import interval
from nova_reservations.objects import search
from nova_reservations.objects import states

ALLOCATION = models.table(models.Allocation)
LEASE = models.table(models.Lease)
RESERVATION = models.table(models.Reservation)
RESOURCE = models.table(models.Resource)


AT_ONCE = 500
"""The most resources or reservations that a query names. Of more resources all
are read."""


@dataclasses.dataclass(frozen=True, slots=True)
class Movable:
    """A reservation of a lease that has not begun.

    :ivar params: as JSON: most are equal, and each text is parsed once.
    """

    reservation_id: str
    lease_id: str
    resource_type: str
    params: str


def generations(session: orm.Session, resource_type: str) -> dict[int, int]:
    """Return resource id -> generation of all resources of a type."""
    rows = session.execute(
        sa.select(RESOURCE.c.id, RESOURCE.c.generation).where(
            RESOURCE.c.resource_type == resource_type
        )
    )
    return {row.id: row.generation for row in rows}


def held(
    session: orm.Session,
    resource_ids: Collection[int],
    window: interval.Interval | None,
    terms: search.Search,
) -> list[holding.Held]:
    """Return all that is not released of the resources, in no order.

    :param window: without what surely does not block it; None: for all times
    """
    conditions = _of(resource_ids, window, terms)
    rows = held_rows.read(session, held_rows.query(*conditions))
    return [row for row in rows if row.resource_id in resource_ids]


def are_more(
    session: orm.Session,
    than: int,
    resource_ids: Collection[int],
    window: interval.Interval | None,
    terms: search.Search,
) -> bool:
    """Return whether held() would read more than so many rows."""
    conditions = _of(resource_ids, window, terms)
    some = held_rows.query(*conditions).limit(than + 1).subquery()
    return counts.of(session, some) > than


def _of(
    resource_ids: Collection[int],
    window: interval.Interval | None,
    terms: search.Search,
) -> list[sa.ColumnElement[bool]]:
    conditions = [] if window is None else _in_the_way(window, terms)
    if len(resource_ids) <= AT_ONCE:
        conditions.append(ALLOCATION.c.resource_id.in_(resource_ids))
    return conditions


def _in_the_way(
    window: interval.Interval, terms: search.Search
) -> list[sa.ColumnElement[bool]]:
    padded = window.padded(terms.cleaning)
    return held_rows.in_the_way(ALLOCATION.c, padded, terms.now)


def movable(
    session: orm.Session,
    reservation_ids: Iterable[str],
    now: datetime.datetime,
) -> list[Movable]:
    """Return those of the reservations whose resources may be exchanged, as
    far as their leases tell: these have not begun, and no worker holds
    them."""
    return asked(session, reservation_ids, *_may_move(now))


def asked(
    session: orm.Session,
    reservation_ids: Iterable[str],
    *conditions: sa.ColumnElement[bool],
) -> list[Movable]:
    """Return what reservations ask for whose leases meet conditions."""
    found = []
    for page in pages.of(reservation_ids, AT_ONCE):
        rows = session.execute(
            sa.select(
                RESERVATION.c.id,
                RESERVATION.c.lease_id,
                RESERVATION.c.resource_type,
                _params.label('params'),
            )
            .join(LEASE, LEASE.c.id == RESERVATION.c.lease_id)
            .where(RESERVATION.c.id.in_(page), *conditions)
        )
        found += [Movable(*row) for row in rows]
    return found


_params = sa.cast(RESERVATION.c.params, sa.Text)


def _may_move(now: datetime.datetime) -> list[sa.ColumnElement[bool]]:
    """Return the conditions under which the lease lets its promises move."""
    return [
        LEASE.c.status == states.Lease.PENDING,
        LEASE.c.start_date > now,
        LEASE.c.claimed_by.is_(None),
    ]


def alike(
    session: orm.Session,
    window: interval.Interval,
    terms: search.Search,
    limit: int,
) -> list[Movable]:
    """Return a reservation of each kind whose resources may be exchanged in a
    window, as far as their leases tell; the most frequent kinds first.

    :param limit: the number of kinds: of resource types with params
    """
    rows = session.execute(
        sa.select(
            sa.func.min(RESERVATION.c.id).label('id'),
            sa.func.min(RESERVATION.c.lease_id).label('lease_id'),
            RESERVATION.c.resource_type,
            _params.label('params'),
        )
        .join(LEASE, LEASE.c.id == RESERVATION.c.lease_id)
        .join(ALLOCATION, ALLOCATION.c.reservation_id == RESERVATION.c.id)
        .where(
            ALLOCATION.c.released == sa.false(),
            ALLOCATION.c.exclusive == sa.true(),
            *_in_the_way(window, terms),
            *_may_move(terms.now),
        )
        .group_by(RESERVATION.c.resource_type, _params)
        .order_by(sa.func.count().desc(), sa.text('id'))
        .limit(limit)
    )
    return [Movable(*row) for row in rows]


def stays(held: Any, terms: search.Search) -> sa.ColumnElement[bool]:
    """Return a condition under which an allocation surely stays where it is:
    of those that stay, only these need no look at their leases.

    :param held: an alias of the allocations
    """
    # A lease that has not begun has no resources yet.
    surely = sa.or_(
        held.exclusive == sa.false(),
        held.replaced_at.is_not(None),
        held.start_date <= terms.now,
    )
    if not terms.ignore:
        return surely
    own = sa.and_(
        held.reservation_id.in_(terms.ignore),
        held.exclusive == sa.true(),
        held.replaced_at.is_(None),
    )
    return sa.and_(surely, sa.not_(own))


def stays_unless(
    held: Any, terms: search.Search, movable: Collection[Movable]
) -> sa.ColumnElement[bool]:
    """Return the condition that an allocation stays, or is of no such kind.

    :param movable: one reservation of each kind that may move
    """
    kinds = {each.params for each in movable}
    moves = sa.exists().where(
        RESERVATION.c.id == held.reservation_id,
        LEASE.c.id == RESERVATION.c.lease_id,
        _params.in_(kinds),
        *_may_move(terms.now),
    )
    conditions = [sa.not_(moves)]
    if terms.ignore:
        conditions.append(held.reservation_id.not_in(terms.ignore))
    return sa.or_(stays(held, terms), sa.and_(*conditions))


def move(
    session: orm.Session, reservation_id: str, source: int, target: int
) -> None:
    """Give the reservation another resource in place of one, for the same
    window.

    :raises: Conflict if the reservation no longer has the source
    """
    done = writes.changed(
        session,
        ALLOCATION,
        ALLOCATION.c.reservation_id == reservation_id,
        ALLOCATION.c.resource_id == source,
        *held_rows.has(ALLOCATION.c),
        ALLOCATION.c.exclusive == sa.true(),
        resource_id=target,
    )
    if not done:
        raise exception.Conflict(kind='Reservation', id=reservation_id)
