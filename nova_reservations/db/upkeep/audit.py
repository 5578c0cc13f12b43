# SPDX-License-Identifier: Apache-2.0
"""The queries of an audit, which find rows that should not be as they are.

Every function joins the caller's transaction, and reads whole tables.
"""

from collections import defaultdict
from collections.abc import Collection
from collections.abc import Iterator
import datetime
from typing import NamedTuple

import sqlalchemy as sa
from sqlalchemy import orm

from nova_reservations import objects
from nova_reservations.db import fields
from nova_reservations.db import models
from nova_reservations.db.holdings import allocations
from nova_reservations.db.holdings import held_rows
from nova_reservations.db.resources import holds
from nova_reservations.db.resources import inventories
from nova_reservations.objects import amounts
from nova_reservations.objects import interval
from nova_reservations.objects import states
from nova_reservations.objects import stock

LEASE = models.table(models.Lease)
RESERVATION = models.table(models.Reservation)
EVENT = models.table(models.Event)
ALLOCATION = models.table(models.Allocation)
RESOURCE = models.table(models.Resource)
AMOUNT = models.table(models.AllocationAmount)

MOVING = frozenset(states.Lease) - {
    states.Lease.TERMINATED,
    states.Lease.TIMEDOUT,
    states.Lease.ERROR,
}
"""States that a worker takes a lease out of, sooner or later."""

SETTLED = (
    LEASE.c.status == states.Lease.ACTIVE,
    LEASE.c.prepared == sa.true(),
    LEASE.c.claimed_by.is_(None),
)
"""The conditions for leases for which Nova should have everything."""

LEAVING = frozenset({states.Lease.TERMINATING, states.Lease.DELETING})
"""States in which workers look at a lease again and again."""


def overdue(session: orm.Session, since: datetime.datetime) -> list[str]:
    """Return leases that no worker has looked at since they were due."""
    query = (
        sa.select(LEASE.c.id)
        .where(LEASE.c.due_at < since)
        .order_by(LEASE.c.due_at)
    )
    return list(session.scalars(query))


def forgotten(session: orm.Session, later: datetime.datetime) -> list[str]:
    """Return leases that no worker will look at in time.

    :param later: the latest time to which a waiting lease may be put off
    """
    query = (
        sa.select(LEASE.c.id)
        .where(
            sa.or_(
                sa.and_(
                    LEASE.c.due_at.is_(None),
                    sa.or_(
                        LEASE.c.status.in_(MOVING),
                        LEASE.c.in_nova == sa.true(),
                    ),
                ),
                sa.and_(
                    LEASE.c.due_at > later,
                    LEASE.c.status.in_(LEAVING),
                ),
                sa.and_(
                    LEASE.c.due_at > later,
                    LEASE.c.status.in_(states.OPEN),
                    sa.exists().where(
                        EVENT.c.lease_id == LEASE.c.id,
                        EVENT.c.status == states.Event.UNDONE,
                        EVENT.c.time < LEASE.c.due_at,
                    ),
                ),
            )
        )
        .order_by(LEASE.c.id)
    )
    return list(session.scalars(query))


def wake(session: orm.Session, lease_id: str, now: datetime.datetime) -> None:
    """Make the lease due at once, unless a worker has it."""
    session.execute(
        sa.update(LEASE)
        .where(LEASE.c.id == lease_id, LEASE.c.claimed_by.is_(None))
        .values(due_at=now)
    )


def redate(
    session: orm.Session, lease_id: str, now: datetime.datetime
) -> None:
    """Set changes of events that a wrong clock has dated in the future to
    now."""
    session.execute(
        sa.update(EVENT)
        .where(EVENT.c.lease_id == lease_id, EVENT.c.updated_at > now)
        .values(updated_at=now)
    )


def regather(
    session: orm.Session, lease_id: str, now: datetime.datetime
) -> None:
    """Make a worker bring Nova in line with the lease, if it is still active
    and no worker has it."""
    session.execute(
        sa.update(LEASE)
        .where(
            LEASE.c.id == lease_id,
            LEASE.c.status == states.Lease.ACTIVE,
            LEASE.c.claimed_by.is_(None),
        )
        .values(prepared=False, due_at=now, version=LEASE.c.version + 1)
    )


def idle(session: orm.Session) -> dict[str, objects.Resource]:
    """Return service host -> host, of the hosts of the pool that are held by
    no lease that has begun, and is not over."""
    had = sa.exists().where(
        ALLOCATION.c.resource_id == RESOURCE.c.id,
        ALLOCATION.c.released == sa.false(),
        RESERVATION.c.id == ALLOCATION.c.reservation_id,
        LEASE.c.id == RESERVATION.c.lease_id,
        LEASE.c.status != states.Lease.PENDING,
    )
    rows = session.execute(
        sa.select(RESOURCE).where(
            RESOURCE.c.resource_type == objects.HOST,
            RESOURCE.c.role == states.Role.POOL,
            RESOURCE.c.reservable == sa.true(),
            ~had,
        )
    )
    return {
        row.name: objects.Resource(**fields.of(row, objects.Resource))
        for row in rows
    }


def doubled(session: orm.Session) -> list[tuple[str, str, str]]:
    """Return (resource name, reservation id, reservation id) where two hold
    one resource at the same instant, one of them exclusively."""
    other = ALLOCATION.alias()
    rows = session.execute(
        sa.select(
            RESOURCE.c.name,
            ALLOCATION.c.reservation_id,
            other.c.reservation_id.label('other_id'),
        )
        .select_from(ALLOCATION)
        .join(other, other.c.resource_id == ALLOCATION.c.resource_id)
        .join(RESOURCE, RESOURCE.c.id == ALLOCATION.c.resource_id)
        .where(
            ALLOCATION.c.id < other.c.id,
            ALLOCATION.c.released == sa.false(),
            other.c.released == sa.false(),
            ALLOCATION.c.start_date < other.c.end_date,
            other.c.start_date < ALLOCATION.c.end_date,
            sa.or_(
                ALLOCATION.c.exclusive == sa.true(),
                other.c.exclusive == sa.true(),
            ),
        )
    )
    return [(row.name, row.reservation_id, row.other_id) for row in rows]


def overbooked(session: orm.Session) -> list[tuple[str, str, int, int]]:
    """Return (resource name, resource class, most, capacity) where shares
    hold more at some instant than there is."""
    held: dict[int, list[amounts.Portion]] = defaultdict(list)
    shares = held_rows.query(ALLOCATION.c.exclusive == sa.false())
    for each in held_rows.with_amounts(session, shares):
        window = interval.of_use(each.start, each.end)
        held[each.resource_id].append(amounts.Portion(window, each.units))
    rows = session.execute(
        sa.select(RESOURCE.c.id, RESOURCE.c.name).where(
            RESOURCE.c.id.in_(held)
        )
    )
    names = {row.id: row.name for row in rows}
    classes = {
        name for its in held.values() for each in its for name in each.amounts
    }
    known = inventories.find(session, held, classes)
    return sorted(
        (names[key], *each)
        for key, its in held.items()
        for each in _too_much(known.get(key, ()), its)
    )


def _too_much(
    known: Collection[objects.Inventory], shares: Collection[amounts.Portion]
) -> Iterator[tuple[str, int, int]]:
    always = interval.Interval(
        min(share.window.start for share in shares),
        max(share.window.end for share in shares),
    )
    left = stock.left(known, shares, always)
    for name, most in amounts.peak(shares, always).items():
        if left[name] < 0:
            yield name, most, most + left[name]


def held_by_the_dead(session: orm.Session) -> list[str]:
    """Return reservations that hold resources though their lease is over."""
    query = (
        sa.select(RESERVATION.c.id)
        .distinct()
        .join(ALLOCATION, ALLOCATION.c.reservation_id == RESERVATION.c.id)
        .join(LEASE, LEASE.c.id == RESERVATION.c.lease_id)
        .where(
            ALLOCATION.c.released == sa.false(),
            LEASE.c.in_nova == sa.false(),
            LEASE.c.status.in_(frozenset(states.Lease) - MOVING),
        )
    )
    return list(session.scalars(query))


def projects(session: orm.Session, resource_type: str) -> list[str]:
    """Return the projects that have leases with a resource of a type, over or
    not."""
    query = (
        sa.select(LEASE.c.project_id)
        .distinct()
        .join(RESERVATION, RESERVATION.c.lease_id == LEASE.c.id)
        .where(RESERVATION.c.resource_type == resource_type)
        .order_by(LEASE.c.project_id)
    )
    return list(session.scalars(query))


def active(
    session: orm.Session, resource_type: str, project_id: str
) -> list[tuple[str, str]]:
    """Return (reservation id, lease id) of all active ones of a type."""
    rows = session.execute(
        sa.select(RESERVATION.c.id, RESERVATION.c.lease_id)
        .join(LEASE, LEASE.c.id == RESERVATION.c.lease_id)
        .where(
            LEASE.c.project_id == project_id,
            RESERVATION.c.resource_type == resource_type,
            RESERVATION.c.status == states.Reservation.ACTIVE,
            LEASE.c.status == states.Lease.ACTIVE,
        )
    )
    return [(row.id, row.lease_id) for row in rows]


def reservations(session: orm.Session, ids: Collection[str]) -> set[str]:
    """Return those of the ids that are of reservations."""
    return set(
        session.scalars(
            sa.select(RESERVATION.c.id).where(RESERVATION.c.id.in_(ids))
        )
    )


class Leased(NamedTuple):
    """A resource that an active lease should have, as a whole or a share of
    it.

    :ivar exclusive: the lease has the resource as a whole.
    :ivar works: it has not failed.
    """

    name: str
    reservation_id: str
    lease_id: str
    project_id: str
    exclusive: bool
    works: bool


def leased(session: orm.Session, resource_type: str) -> list[Leased]:
    """Return all of a type that active leases should have."""
    rows = session.execute(
        sa.select(
            RESOURCE.c.name,
            RESERVATION.c.id,
            RESERVATION.c.lease_id,
            LEASE.c.project_id,
            ALLOCATION.c.exclusive,
            holds.free(holds.Use.RUN).label('works'),
        )
        .join(ALLOCATION, ALLOCATION.c.resource_id == RESOURCE.c.id)
        .join(RESERVATION, RESERVATION.c.id == ALLOCATION.c.reservation_id)
        .join(LEASE, LEASE.c.id == RESERVATION.c.lease_id)
        .where(
            RESOURCE.c.resource_type == resource_type,
            *SETTLED,
            *held_rows.has(ALLOCATION.c),
            ~allocations.occupied(),
        )
        .order_by(RESOURCE.c.name)
    )
    return [Leased(*row) for row in rows]


def slotted(session: orm.Session) -> dict[str, tuple[str, dict[str, int]]]:
    """Return reservation id -> (lease id, service host -> slots) of the slots
    that placement should have, and no others."""
    found: dict[str, tuple[str, dict[str, int]]] = {}
    for row in session.execute(
        held_rows.by_leases(
            RESERVATION.c.id,
            RESERVATION.c.lease_id,
            RESOURCE.c.name,
            AMOUNT.c.resource_class,
            AMOUNT.c.amount,
        )
        .join(AMOUNT, AMOUNT.c.allocation_id == ALLOCATION.c.id)
        .join(RESOURCE, RESOURCE.c.id == ALLOCATION.c.resource_id)
        .where(*SETTLED, RESOURCE.c.resource_type == objects.HOST)
    ):
        if row.resource_class == objects.slot_class(row.id):
            _, slots = found.setdefault(row.id, (row.lease_id, {}))
            slots[row.name] = row.amount
    return found


def gathered(session: orm.Session) -> dict[str, tuple[str, frozenset[str]]]:
    """Return reservation id -> (lease id, service hosts) of the hosts, whole
    or shared, that Nova should know for each reservation, and no others."""
    found: dict[str, tuple[str, frozenset[str]]] = {}
    for row in session.execute(
        held_rows.by_leases(
            RESERVATION.c.id, RESERVATION.c.lease_id, RESOURCE.c.name
        )
        .join(RESOURCE, RESOURCE.c.id == ALLOCATION.c.resource_id)
        .where(
            *SETTLED,
            ALLOCATION.c.replaced_at.is_(None),
            allocations.usable(),
            RESOURCE.c.resource_type == objects.HOST,
        )
    ):
        _, hosts = found.get(row.id, (row.lease_id, frozenset()))
        found[row.id] = row.lease_id, hosts | {row.name}
    return found


def settled(session: orm.Session) -> list[str]:
    """Return the active leases for which Nova should have everything."""
    query = sa.select(LEASE.c.id).where(*SETTLED).order_by(LEASE.c.id)
    return list(session.scalars(query))
