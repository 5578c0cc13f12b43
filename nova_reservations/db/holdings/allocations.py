# SPDX-License-Identifier: Apache-2.0
"""Allocations, and the generations that guard them.

Every function joins the caller's transaction.
"""

from collections import defaultdict
from collections.abc import Collection
from collections.abc import Iterator
from collections.abc import Mapping
import dataclasses
import datetime

import sqlalchemy as sa
from sqlalchemy import orm

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations.db import counts
from nova_reservations.db import fields
from nova_reservations.db import models
from nova_reservations.db import pages
from nova_reservations.db import writes
from nova_reservations.db.holdings import held_rows
from nova_reservations.db.resources import holds
from nova_reservations.objects import interval
from nova_reservations.objects import states

ALLOCATION = models.table(models.Allocation)
AMOUNT = models.table(models.AllocationAmount)
RESERVATION = models.table(models.Reservation)
LEASE = models.table(models.Lease)
RESOURCE = models.table(models.Resource)


def advance(session: orm.Session, generations: Mapping[int, int]) -> None:
    """Compare and set the generations of resources that are to be booked.

    If this succeeds, all that was read of a resource after its generation
    still holds. Rows are written in the order of their ids, so that writers
    cannot deadlock.

    :raises: Conflict if another writer booked one of them meanwhile
    """
    for resource_id, generation in sorted(generations.items()):
        done = writes.changed(
            session,
            RESOURCE,
            RESOURCE.c.id == resource_id,
            RESOURCE.c.generation == generation,
            # A fenced host is offered only to the lease of the fence.
            sa.or_(
                RESOURCE.c.reservable == sa.true(),
                RESOURCE.c.fenced_for.is_not(None),
            ),
            generation=generation + 1,
        )
        if not done:
            raise exception.Conflict(kind='Resource', id=resource_id)


def insert(
    session: orm.Session,
    reservation_id: str,
    slots: Mapping[int, int],
    amounts: Mapping[str, int] | None,
    window: interval.Interval,
) -> None:
    """Give the reservation resources for the window.

    :param slots: resource id -> how many slots of it
    :param amounts: resource class -> what each slot holds; the number of slots
        is kept as an amount, too. None: whole resources
    """
    if not slots:
        return
    session.execute(
        sa.insert(ALLOCATION),
        [
            {
                'reservation_id': reservation_id,
                'resource_id': resource_id,
                'start_date': window.start,
                'end_date': window.end,
                'exclusive': amounts is None,
                'released': False,
            }
            for resource_id in sorted(slots)
        ],
    )
    if amounts is None:
        return
    rows = session.execute(
        sa.select(ALLOCATION.c.id, ALLOCATION.c.resource_id).where(
            *held_rows.of(reservation_id, slots)
        )
    )
    insert_amounts(
        session,
        reservation_id,
        {row.id: slots[row.resource_id] for row in rows},
        amounts,
    )


def insert_amounts(
    session: orm.Session,
    reservation_id: str,
    slots: Mapping[int, int],
    amounts: Mapping[str, int],
) -> None:
    """Write what allocations of the reservation hold.

    :param slots: allocation id -> how many slots
    :param amounts: resource class -> what each slot holds
    """
    slot = {**amounts, objects.slot_class(reservation_id): 1}
    rows = [
        {
            'allocation_id': allocation_id,
            'resource_class': name,
            'amount': amount * count,
        }
        for allocation_id, count in slots.items()
        for name, amount in sorted(slot.items())
    ]
    writes.insert(session, AMOUNT, rows)


def slots(
    session: orm.Session, reservation_ids: Collection[str]
) -> dict[str, dict[int, int]]:
    """Return reservation id -> resource id -> slots, of reservations with
    shares, without resources that were replaced or given back."""
    found: dict[str, dict[int, int]] = {}
    for row in session.execute(
        sa.select(
            ALLOCATION.c.reservation_id,
            ALLOCATION.c.resource_id,
            AMOUNT.c.amount,
        )
        .join(AMOUNT, AMOUNT.c.allocation_id == ALLOCATION.c.id)
        .where(
            ALLOCATION.c.reservation_id.in_(reservation_ids),
            *held_rows.has(ALLOCATION.c),
            are_slots(reservation_ids),
        )
    ):
        found.setdefault(row.reservation_id, {})[row.resource_id] = row.amount
    return found


def are_slots(reservation_ids: Collection[str]) -> sa.ColumnElement[bool]:
    """Return the condition that an amount is the number of slots that one of
    the reservations has on a resource."""
    return AMOUNT.c.resource_class.in_(
        [objects.slot_class(each) for each in reservation_ids]
    )


def delete(
    session: orm.Session, reservation_id: str, resource_ids: Collection[int]
) -> None:
    """Delete what a reservation was to have, and has never had."""
    if resource_ids:
        forget(
            session,
            ALLOCATION.c.reservation_id == reservation_id,
            ALLOCATION.c.resource_id.in_(resource_ids),
        )


def forget(session: orm.Session, *conditions: sa.ColumnElement[bool]) -> int:
    """Delete the allocations that meet the conditions, with their amounts;
    return how many.

    No other transaction may write these allocations at the same time: callers
    hold a lock on the row of their lease, or of their resource.
    """
    forget_amounts(session, *conditions)
    count = 0
    ids = session.scalars(sa.select(ALLOCATION.c.id).where(*conditions))
    for page in pages.of(ids):
        session.execute(sa.delete(ALLOCATION).where(ALLOCATION.c.id.in_(page)))
        count += len(page)
    return count


def forget_amounts(
    session: orm.Session, *conditions: sa.ColumnElement[bool]
) -> None:
    """Delete what the allocations that meet the conditions hold."""
    # Delete by the keys that exist: a statement that names a range also locks
    # its gaps, into which other transactions insert rows.
    amounts = defaultdict(list)
    for allocation_id, name in session.execute(
        sa.select(AMOUNT.c.allocation_id, AMOUNT.c.resource_class)
        .join(ALLOCATION, ALLOCATION.c.id == AMOUNT.c.allocation_id)
        .where(*conditions)
    ):
        amounts[name].append(allocation_id)
    for name, allocation_ids in sorted(amounts.items()):
        for page in pages.of(allocation_ids):
            session.execute(
                sa.delete(AMOUNT).where(
                    AMOUNT.c.resource_class == name,
                    AMOUNT.c.allocation_id.in_(page),
                )
            )


def holdings(
    session: orm.Session, reservation_ids: Collection[str]
) -> dict[str, tuple[objects.Holding, ...]]:
    """Return the resources that each of the reservations has, or has not left
    yet."""
    found: dict[str, list[objects.Holding]] = {
        reservation_id: [] for reservation_id in reservation_ids
    }
    for row in session.execute(
        sa.select(
            RESOURCE,
            ALLOCATION.c.reservation_id,
            ALLOCATION.c.given_at,
            ALLOCATION.c.replaced_at,
            ALLOCATION.c.leaving_at,
            ALLOCATION.c.awaited,
            ALLOCATION.c.stays_because,
            occupied().label('occupied'),
        )
        .join(RESOURCE, RESOURCE.c.id == ALLOCATION.c.resource_id)
        .where(
            ALLOCATION.c.reservation_id.in_(reservation_ids),
            ALLOCATION.c.released == sa.false(),
        )
        .order_by(RESOURCE.c.id)
    ):
        same = fields.of(row, objects.Holding)
        awaited = None if row.awaited is None else frozenset(row.awaited)
        found[row.reservation_id].append(
            objects.Holding(
                **same | {'awaited': awaited, 'lost': row.lost is not None},
                resource=objects.Resource(**fields.of(row, objects.Resource)),
                down=row.down_since is not None,
                given=row.given_at is not None,
                replaced=row.replaced_at is not None,
                braked=row.braked_at is not None,
                cordoned=row.cordoned_at is not None,
            )
        )
    return {key: tuple(value) for key, value in found.items()}


def held_by(session: orm.Session, lease: objects.Lease) -> set[int]:
    """Return the ids of the resources that the lease has, or has not left
    yet."""
    query = sa.select(ALLOCATION.c.resource_id).where(
        ALLOCATION.c.reservation_id.in_(
            [item.id for item in lease.reservations]
        ),
        ALLOCATION.c.released == sa.false(),
    )
    return set(session.scalars(query))


def occupied() -> sa.ColumnElement[bool]:
    """Return the condition that the resource of an allocation was taken from
    another reservation when it failed, and that this reservation may not have
    left it yet."""
    other = ALLOCATION.alias()
    return sa.exists().where(
        other.c.resource_id == ALLOCATION.c.resource_id,
        other.c.reservation_id != ALLOCATION.c.reservation_id,
        other.c.released == sa.false(),
        other.c.replaced_at.is_not(None),
        sa.or_(
            other.c.exclusive == sa.true(),
            ALLOCATION.c.exclusive == sa.true(),
        ),
    )


def usable() -> sa.ColumnElement[bool]:
    """Return the condition that the reservation of an allocation can use its
    resource."""
    return sa.and_(holds.free(holds.Use.RUN), ~occupied())


def of_resource(session: orm.Session, resource_id: int) -> int:
    """Return how many reservations have the resource, or have not left it."""
    return counts.of(
        session,
        ALLOCATION,
        ALLOCATION.c.resource_id == resource_id,
        ALLOCATION.c.released == sa.false(),
    )


def held(session: orm.Session, resource_ids: Collection[int]) -> set[int]:
    """Return those of the resources that are held by a lease that has begun,
    and is not over."""
    query = held_rows.by_leases(ALLOCATION.c.resource_id).where(
        ALLOCATION.c.resource_id.in_(resource_ids),
        LEASE.c.status != states.Lease.PENDING,
    )
    return set(session.scalars(query))


def in_hand(
    session: orm.Session,
    resource_ids: Collection[int],
    now: datetime.datetime,
) -> set[int]:
    """Return those of the resources that are held by a lease at which a worker
    is just working."""
    rows = session.execute(
        held_rows.by_leases(
            ALLOCATION.c.resource_id, LEASE.c.claimed_by, LEASE.c.due_at
        ).where(ALLOCATION.c.resource_id.in_(resource_ids))
    )
    # Compared here: a database that knows how few leases are claimed would
    # look for these in all leases, for want of an index.
    return {
        row.resource_id
        for row in rows
        if row.claimed_by is not None and row.due_at > now
    }


def predecessors(
    session: orm.Session, leases: Collection[objects.Lease]
) -> dict[str, set[str]]:
    """Return lease id -> the names of its resources that earlier leases still
    hold, of leases that have to wait for any.

    On a shared resource, an earlier lease stands in the way only if it should
    have ended by then: otherwise there is room for both. A lease does not wait
    for failed resources, nor for resources that another lease has not left yet
    after their failure: it begins without them.
    """
    other = ALLOCATION.alias()
    lease_of = {
        reservation.id: lease.id
        for lease in leases
        for reservation in lease.reservations
    }
    rows = session.execute(
        sa.select(
            ALLOCATION.c.reservation_id,
            RESOURCE.c.name,
            other.c.reservation_id.label('earlier'),
        )
        .select_from(ALLOCATION)
        .join(other, other.c.resource_id == ALLOCATION.c.resource_id)
        .join(RESOURCE, RESOURCE.c.id == ALLOCATION.c.resource_id)
        .where(
            ALLOCATION.c.reservation_id.in_(lease_of),
            other.c.reservation_id != ALLOCATION.c.reservation_id,
            *held_rows.has(other.c),
            holds.free(holds.Use.RUN),
            sa.or_(
                other.c.end_date <= ALLOCATION.c.start_date,
                sa.and_(
                    sa.or_(
                        other.c.exclusive == sa.true(),
                        ALLOCATION.c.exclusive == sa.true(),
                    ),
                    other.c.start_date < ALLOCATION.c.start_date,
                ),
            ),
        )
    )
    found: dict[str, set[str]] = {}
    for row in rows:
        lease_id = lease_of[row.reservation_id]
        # Reservations of one lease do not wait for each other.
        if lease_of.get(row.earlier) != lease_id:
            found.setdefault(lease_id, set()).add(row.name)
    return found


@dataclasses.dataclass(frozen=True, slots=True)
class During:
    """A time that allocations overlap.

    :ivar end: None: for good.
    :ivar now: an allocation that is past its end but not released lasts until
        then.
    """

    start: datetime.datetime
    end: datetime.datetime | None
    now: datetime.datetime

    def conditions(self) -> Iterator[sa.ColumnElement[bool]]:
        # Two ranges of the index by resources; released allocations that are
        # over are in neither.
        yield sa.or_(
            sa.and_(
                ALLOCATION.c.released == sa.false(),
                *held_rows.not_over(ALLOCATION.c, self.start, self.now),
            ),
            sa.and_(
                ALLOCATION.c.released == sa.true(),
                ALLOCATION.c.end_date > self.start,
            ),
        )
        if self.end is not None:
            yield ALLOCATION.c.start_date < self.end


def find(
    session: orm.Session,
    resource_type: str,
    during: During | None = None,
    lease_id: str | None = None,
    reservation_id: str | None = None,
    resource_ids: Collection[int] | None = None,
) -> list[objects.Allocation]:
    """Return allocations, in the order of their start; without those that
    have lasted no time.

    :param resource_type: of what is allocated, whatever the reservation is
    """
    conditions = [
        RESOURCE.c.resource_type == resource_type,
        sa.or_(
            ALLOCATION.c.released == sa.false(),
            ALLOCATION.c.start_date < ALLOCATION.c.end_date,
        ),
    ]
    if lease_id is not None:
        conditions.append(RESERVATION.c.lease_id == lease_id)
    if reservation_id is not None:
        conditions.append(ALLOCATION.c.reservation_id == reservation_id)
    if resource_ids is not None:
        conditions.append(ALLOCATION.c.resource_id.in_(resource_ids))
    if during is not None:
        conditions.extend(during.conditions())
    rows = session.execute(
        sa.select(ALLOCATION, RESERVATION.c.lease_id)
        .join(RESERVATION, RESERVATION.c.id == ALLOCATION.c.reservation_id)
        .join(RESOURCE, RESOURCE.c.id == ALLOCATION.c.resource_id)
        .where(*conditions)
        .order_by(ALLOCATION.c.start_date, ALLOCATION.c.id)
    )
    return [
        objects.Allocation(**fields.of(row, objects.Allocation))
        for row in rows
    ]
