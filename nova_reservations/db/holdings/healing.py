# SPDX-License-Identifier: Apache-2.0
"""Resources that fail and recover, and the reservations that suffer by it.

Every function joins the caller's transaction.
"""

from collections import defaultdict
from collections.abc import Collection
from collections.abc import Mapping
import dataclasses
import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy import orm

from nova_reservations import objects
from nova_reservations.db import models
from nova_reservations.db import pages
from nova_reservations.db.holdings import held_rows
from nova_reservations.db.holdings import windows
from nova_reservations.db.resources import holds
from nova_reservations.objects import interval
from nova_reservations.objects import states

LEASE = models.table(models.Lease)
RESERVATION = models.table(models.Reservation)
ALLOCATION = models.table(models.Allocation)
AMOUNT = models.table(models.AllocationAmount)
RESOURCE = models.table(models.Resource)

AT_ONCE = 500
"""The most resources that a query names."""

MONITOR = 'monitor'
"""The task that looks whether resources have failed, or are back."""

HEAL = 'heal'
"""The task that heals all that has to be healed."""


def mark_unprepared(
    session: orm.Session,
    resource_ids: Collection[int],
    now: datetime.datetime,
) -> None:
    """Make workers bring Nova in line for leases that hold any of the
    resources: they may no longer use it, or may use it again."""
    holders = (
        sa.select(RESERVATION.c.lease_id)
        .join(ALLOCATION, ALLOCATION.c.reservation_id == RESERVATION.c.id)
        .where(
            ALLOCATION.c.resource_id.in_(resource_ids),
            *held_rows.has(ALLOCATION.c),
        )
    )
    ids = session.scalars(holders).all()
    concerned = LEASE.c.status.in_(states.OPEN), LEASE.c.in_nova == sa.true()
    # Only leases that no worker holds become due. A worker that holds one
    # notices the new version.
    free = LEASE.c.claimed_by.is_(None)
    pages.update(session, LEASE.c.id, ids, *concerned, free, due_at=now)
    version = LEASE.c.version + 1
    pages.update(
        session, LEASE.c.id, ids, *concerned, prepared=False, version=version
    )


def needing_repair(
    session: orm.Session,
    until: datetime.datetime | None,
    prepared_until: datetime.datetime | None,
) -> list[str]:
    """Return the leases that may have to be healed; first those that have
    begun, or will sooner.

    :param until: the latest start of leases that are looked at; None: all
    :param prepared_until: the same for leases whose resources have not failed,
        but are disabled; cordoned resources matter whenever a lease begins
    """
    begins = [] if until is None else [LEASE.c.start_date <= until]
    prepares = []
    if prepared_until is not None:
        prepares.append(LEASE.c.start_date <= prepared_until)
    is_pending = LEASE.c.status == states.Lease.PENDING
    is_down = RESOURCE.c.down_since.is_not(None)
    is_disabled = RESOURCE.c.hold == states.Hold.DISABLED
    is_cordoned = RESOURCE.c.cordoned_at.is_not(None)
    reasons = (
        sa.and_(is_down, *begins),
        sa.and_(
            is_disabled,
            # A lease that began before the resource was disabled may go on.
            sa.or_(is_pending, LEASE.c.start_date > RESOURCE.c.held_since),
            *prepares,
        ),
        sa.and_(is_cordoned, is_pending),
    )
    opened = LEASE.c.status.in_(states.OPEN)
    holding = held_rows.by_leases(LEASE.c.id).where(
        opened, ALLOCATION.c.replaced_at.is_(None)
    )
    left = ALLOCATION.alias()
    statements = [
        sa.select(LEASE.c.id).where(LEASE.c.degraded == sa.true(), opened),
        holding.join(
            left, left.c.resource_id == ALLOCATION.c.resource_id
        ).where(
            *begins,
            left.c.replaced_at.is_not(None),
            left.c.released == sa.false(),
            left.c.reservation_id != ALLOCATION.c.reservation_id,
        ),
    ]
    # Such resources are few, and leases that have not begun may be many:
    # MariaDB would begin with the leases.
    concerned = session.scalars(
        sa.select(RESOURCE.c.id).where(
            sa.or_(is_down, is_disabled, is_cordoned)
        )
    )
    for page in pages.of(concerned, AT_ONCE):
        there = holding.join(
            RESOURCE, RESOURCE.c.id == ALLOCATION.c.resource_id
        ).where(RESOURCE.c.id.in_(page))
        statements += map(there.where, reasons)
    ids: set[str] = set()
    for statement in statements:
        ids.update(session.scalars(statement))
    return in_order(session, ids)


def in_order(session: orm.Session, lease_ids: Collection[str]) -> list[str]:
    """Return the leases in the order in which they are healed."""
    query = (
        sa.select(LEASE.c.id)
        .where(LEASE.c.id.in_(lease_ids))
        .order_by(
            sa.case((LEASE.c.status == states.Lease.ACTIVE, 0), else_=1),
            LEASE.c.start_date,
            LEASE.c.created_at,
            LEASE.c.id,
        )
    )
    return list(session.scalars(query))


@dataclasses.dataclass(frozen=True, slots=True)
class LeasedResource:
    """A reservation of a lease that is open, and one of its resources."""

    lease_id: str
    reservation_id: str
    resource_type: str
    params: Any
    resource_id: int


def held(
    session: orm.Session, until: datetime.datetime | None
) -> list[LeasedResource]:
    """Return the resources of leases that have begun, or begin until then."""
    statement = held_rows.by_leases(
        LEASE.c.id,
        RESERVATION.c.id.label('reservation_id'),
        RESERVATION.c.resource_type,
        RESERVATION.c.params,
        ALLOCATION.c.resource_id,
    ).where(
        LEASE.c.status.in_(states.OPEN), ALLOCATION.c.replaced_at.is_(None)
    )
    if until is not None:
        statement = statement.where(LEASE.c.start_date <= until)
    return [LeasedResource(*row) for row in session.execute(statement)]


def replace(
    session: orm.Session,
    reservation_id: str,
    resource_ids: Collection[int],
    now: datetime.datetime,
) -> None:
    """End the use of resources that were in use; they are occupied until they
    are vacated."""
    held_rows.change(
        session,
        reservation_id,
        resource_ids,
        replaced_at=now,
        end_date=windows.ended(now),
    )


def give(
    session: orm.Session,
    reservation_id: str,
    slots: Mapping[int, int],
    amounts: Mapping[str, int] | None,
    window: interval.Interval,
    now: datetime.datetime,
    *,
    told: bool,
) -> None:
    """Give the reservation slots in place of others, in addition to what it
    has. A resource that it had to leave before keeps its former given_at.

    :param slots: resource id -> how many slots the reservation has there
        afterwards
    :param amounts: what each slot holds; None: a slot is the whole resource
    :param told: whether the owner is told of what is given
    """
    rows = session.execute(
        sa.select(ALLOCATION.c.resource_id, ALLOCATION.c.given_at)
        .where(
            ALLOCATION.c.reservation_id == reservation_id,
            ALLOCATION.c.resource_id.in_(slots),
            ALLOCATION.c.replaced_at.is_not(None),
        )
        # The last one counts.
        .order_by(ALLOCATION.c.id)
    )
    former = {row.resource_id: row.given_at for row in rows}
    windows.give(session, reservation_id, slots, amounts, window, now)
    given = defaultdict(list)
    for resource_id in slots:
        given[former.get(resource_id, now if told else None)].append(
            resource_id
        )
    for date, resource_ids in given.items():
        held_rows.change(session, reservation_id, resource_ids, given_at=date)


def acknowledge(
    session: orm.Session, reservation_id: str, now: datetime.datetime
) -> None:
    """Count the resources that the reservation has now as its original ones,
    and no others."""
    session.execute(
        sa.update(ALLOCATION)
        .where(ALLOCATION.c.reservation_id == reservation_id)
        .values(
            given_at=sa.case(
                (ALLOCATION.c.replaced_at.is_(None), None), else_=now
            )
        )
    )


@dataclasses.dataclass(frozen=True, slots=True)
class Flags:
    """The marks of a reservation whose resources have failed.

    :ivar missing: it lacks resources.
    :ivar changed: it has others than at first.
    :ivar reason: which resources it lacks that no other can replace.
    """

    missing: bool = False
    changed: bool = False
    reason: str | None = None

    @classmethod
    def of(cls, reservation: objects.Reservation) -> 'Flags':
        return cls(
            reservation.missing_resources,
            reservation.resources_changed,
            reservation.missing_reason,
        )


def set_flags(
    session: orm.Session,
    reservation_id: str,
    flags: Flags,
    now: datetime.datetime,
) -> None:
    session.execute(
        sa.update(RESERVATION)
        .where(RESERVATION.c.id == reservation_id)
        .values(
            missing_resources=flags.missing,
            resources_changed=flags.changed,
            missing_reason=flags.reason,
            updated_at=now,
        )
    )


def replaced(session: orm.Session, before: datetime.datetime) -> set[str]:
    """Return leases with a resource that was replaced by then, and is not
    vacated yet."""
    return set(
        session.scalars(_holders().where(ALLOCATION.c.replaced_at <= before))
    )


def former(session: orm.Session, reservation_id: str) -> dict[int, int]:
    """Return resource id -> slots, of resources that the reservation had to
    leave, and others may have by now; a whole resource is one slot.

    Resources that were replacements themselves are left out: to move from one
    replacement to another would help nobody.
    """
    count = AMOUNT.alias()
    rows = session.execute(
        sa.select(ALLOCATION.c.resource_id, count.c.amount)
        .join(RESOURCE, RESOURCE.c.id == ALLOCATION.c.resource_id)
        .outerjoin(
            count,
            sa.and_(
                count.c.allocation_id == ALLOCATION.c.id,
                count.c.resource_class == objects.slot_class(reservation_id),
            ),
        )
        .where(
            ALLOCATION.c.reservation_id == reservation_id,
            ALLOCATION.c.given_at.is_(None),
            ALLOCATION.c.replaced_at.is_not(None),
            holds.free(holds.Use.RETURN),
        )
        .order_by(ALLOCATION.c.resource_id)
    )
    return {row.resource_id: row.amount or 1 for row in rows}


def returned(session: orm.Session) -> set[str]:
    """Return active leases that have a replacement of a resource that is back
    by now."""
    given = ALLOCATION.alias()
    query = (
        sa.select(LEASE.c.id)
        .join(RESERVATION, RESERVATION.c.lease_id == LEASE.c.id)
        .join(ALLOCATION, ALLOCATION.c.reservation_id == RESERVATION.c.id)
        .join(RESOURCE, RESOURCE.c.id == ALLOCATION.c.resource_id)
        .join(given, given.c.reservation_id == RESERVATION.c.id)
        .where(
            LEASE.c.degraded == sa.true(),
            LEASE.c.status == states.Lease.ACTIVE,
            RESERVATION.c.resources_changed == sa.true(),
            ALLOCATION.c.given_at.is_(None),
            ALLOCATION.c.replaced_at.is_not(None),
            holds.free(holds.Use.RETURN),
            given.c.given_at.is_not(None),
            *held_rows.has(given.c),
        )
    )
    return set(session.scalars(query))


def down(session: orm.Session, before: datetime.datetime) -> set[str]:
    """Return leases with a resource that had failed by then."""
    query = (
        _holders()
        .join(RESOURCE, RESOURCE.c.id == ALLOCATION.c.resource_id)
        .where(RESOURCE.c.down_since <= before)
    )
    return set(session.scalars(query))


def _holders() -> sa.Select[Any]:
    return (
        sa.select(RESERVATION.c.lease_id)
        .join(ALLOCATION, ALLOCATION.c.reservation_id == RESERVATION.c.id)
        .where(ALLOCATION.c.released == sa.false())
    )


def vacate(
    session: orm.Session,
    reservation_ids: Collection[str],
    now: datetime.datetime,
    resource_ids: Collection[int] | None = None,
) -> None:
    """Release resources that reservations had before they were replaced.

    :param resource_ids: which of them; None: all
    """
    conditions = [
        ALLOCATION.c.reservation_id.in_(reservation_ids),
        ALLOCATION.c.replaced_at.is_not(None),
        ALLOCATION.c.released == sa.false(),
    ]
    if resource_ids is not None:
        conditions.append(ALLOCATION.c.resource_id.in_(resource_ids))
    rows = session.execute(
        sa.select(ALLOCATION.c.id, ALLOCATION.c.resource_id).where(*conditions)
    )
    free = {row.id: row.resource_id for row in rows}
    pages.update(session, ALLOCATION.c.id, free, *conditions, released=True)
    if free:
        mark_unprepared(session, free.values(), now)
