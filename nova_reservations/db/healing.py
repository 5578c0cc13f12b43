# SPDX-License-Identifier: Apache-2.0
"""Resources that fail and recover, and the reservations that suffer by it.

Every function joins the caller's transaction.
"""

from collections.abc import Collection
from collections.abc import Mapping
import dataclasses
import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy import orm

from nova_reservations import interval
from nova_reservations import states
from nova_reservations import values
from nova_reservations.db import allocations
from nova_reservations.db import counters
from nova_reservations.db import models

LEASE = models.table(models.Lease)
RESERVATION = models.table(models.Reservation)
ALLOCATION = models.table(models.Allocation)
RESOURCE = models.table(models.Resource)

MONITOR = 'monitor'
"""The task that looks whether resources have failed, or are back."""

HEAL = 'heal'
"""The task that heals all that has to be healed."""


@dataclasses.dataclass(frozen=True, slots=True)
class Known:
    """:ivar down: its failure has been seen, and its recovery not yet."""

    resource: values.Resource
    down: bool


def known(
    session: orm.Session,
    resource_type: str,
    names: Collection[str] | None = None,
) -> list[Known]:
    """Return the resources of a type; those of these names, if any are
    given."""
    statement = sa.select(
        RESOURCE.c.id,
        RESOURCE.c.resource_type,
        RESOURCE.c.name,
        RESOURCE.c.uuid,
        RESOURCE.c.down_since,
    ).where(RESOURCE.c.resource_type == resource_type)
    if names is not None:
        statement = statement.where(RESOURCE.c.name.in_(names))
    return [
        Known(values.Resource(*row[:4]), row.down_since is not None)
        for row in session.execute(statement)
    ]


def set_down(
    session: orm.Session,
    resource_ids: Collection[int],
    since: datetime.datetime | None,
    now: datetime.datetime,
) -> None:
    """Record that resources have failed, or (None) that they are back.

    Bookings that were planned on what was before fail; Nova is brought in
    line with what the leases that have begun can use now.
    """
    for resource_id in sorted(resource_ids):
        session.execute(
            sa.update(RESOURCE)
            .where(RESOURCE.c.id == resource_id)
            .values(
                down_since=since,
                generation=RESOURCE.c.generation + 1,
                updated_at=now,
            )
        )
    stir(session, resource_ids, now)


def stir(
    session: orm.Session,
    resource_ids: Collection[int],
    now: datetime.datetime,
) -> None:
    """Have Nova brought in line for those who hold any of the resources:
    they may use it no more, or again."""
    holders = (
        sa.select(RESERVATION.c.lease_id)
        .join(ALLOCATION, ALLOCATION.c.reservation_id == RESERVATION.c.id)
        .where(
            ALLOCATION.c.resource_id.in_(resource_ids),
            ALLOCATION.c.released == sa.false(),
            ALLOCATION.c.replaced_at.is_(None),
        )
    )
    # Read first: MariaDB would look at every lease for the update.
    lease_ids = sorted(set(session.scalars(holders)))
    concerned = (
        LEASE.c.id.in_(lease_ids),
        LEASE.c.status.in_(states.OPEN),
        LEASE.c.in_nova == sa.true(),
    )
    # First those that no worker holds: one that does finds it by the version.
    session.execute(
        sa.update(LEASE)
        .where(*concerned, LEASE.c.claimed_by.is_(None))
        .values(due_at=now)
    )
    session.execute(
        sa.update(LEASE)
        .where(*concerned)
        .values(prepared=False, version=LEASE.c.version + 1)
    )


def ailing(session: orm.Session, until: datetime.datetime | None) -> list[str]:
    """Return the leases that may have to be healed, those first that have
    begun, or will sooner.

    :param until: the latest start that is looked at; None: all
    """
    begins = [] if until is None else [LEASE.c.start_date <= until]
    opened = LEASE.c.status.in_(states.OPEN)
    held = (
        sa.select(LEASE.c.id)
        .join(RESERVATION, RESERVATION.c.lease_id == LEASE.c.id)
        .join(ALLOCATION, ALLOCATION.c.reservation_id == RESERVATION.c.id)
        .where(
            opened,
            *begins,
            ALLOCATION.c.released == sa.false(),
            ALLOCATION.c.replaced_at.is_(None),
        )
    )
    left = ALLOCATION.alias()
    ids: set[str] = set()
    for statement in (
        sa.select(LEASE.c.id).where(LEASE.c.degraded == sa.true(), opened),
        held.join(RESOURCE, RESOURCE.c.id == ALLOCATION.c.resource_id).where(
            RESOURCE.c.down_since.is_not(None)
        ),
        held.join(left, left.c.resource_id == ALLOCATION.c.resource_id).where(
            left.c.replaced_at.is_not(None),
            left.c.released == sa.false(),
            left.c.reservation_id != ALLOCATION.c.reservation_id,
        ),
    ):
        ids.update(session.scalars(statement))
    return in_order(session, ids)


def in_order(session: orm.Session, lease_ids: Collection[str]) -> list[str]:
    """Return the leases in the order in which they are healed."""
    return list(
        session.scalars(
            sa.select(LEASE.c.id)
            .where(LEASE.c.id.in_(lease_ids))
            .order_by(
                sa.case((LEASE.c.status == states.Lease.ACTIVE, 0), else_=1),
                LEASE.c.start_date,
                LEASE.c.created_at,
                LEASE.c.id,
            )
        )
    )


@dataclasses.dataclass(frozen=True, slots=True)
class Held:
    """A reservation of a lease that is open, and one of its resources."""

    lease_id: str
    reservation_id: str
    resource_type: str
    params: Any
    resource_id: int


def held(session: orm.Session, until: datetime.datetime | None) -> list[Held]:
    """Return what leases have that have begun, or begin until then."""
    statement = (
        sa.select(
            LEASE.c.id,
            RESERVATION.c.id.label('reservation_id'),
            RESERVATION.c.resource_type,
            RESERVATION.c.params,
            ALLOCATION.c.resource_id,
        )
        .join(RESERVATION, RESERVATION.c.lease_id == LEASE.c.id)
        .join(ALLOCATION, ALLOCATION.c.reservation_id == RESERVATION.c.id)
        .where(
            LEASE.c.status.in_(states.OPEN),
            ALLOCATION.c.released == sa.false(),
            ALLOCATION.c.replaced_at.is_(None),
        )
    )
    if until is not None:
        statement = statement.where(LEASE.c.start_date <= until)
    return [Held(*row) for row in session.execute(statement)]


def replace(
    session: orm.Session,
    reservation_id: str,
    resource_ids: Collection[int],
    now: datetime.datetime,
) -> None:
    """End the use of resources that were in use; they are occupied until
    they are vacated. Who has had one in this second has had it for one."""
    second = datetime.timedelta(seconds=1)
    session.execute(
        sa.update(ALLOCATION)
        .where(
            ALLOCATION.c.reservation_id == reservation_id,
            ALLOCATION.c.resource_id.in_(resource_ids),
        )
        .values(
            replaced_at=now,
            end_date=sa.case(
                (ALLOCATION.c.start_date < now, now), else_=now + second
            ),
        )
    )


def give(
    session: orm.Session,
    reservation_id: str,
    resource_ids: Collection[int],
    window: interval.Interval,
    given_at: datetime.datetime | None,
) -> None:
    """Give resources in place of others; those that the reservation had
    before count as what they were then."""
    former = sa.and_(
        ALLOCATION.c.reservation_id == reservation_id,
        ALLOCATION.c.resource_id.in_(resource_ids),
    )
    back = set(
        session.scalars(sa.select(ALLOCATION.c.resource_id).where(former))
    )
    session.execute(
        sa.update(ALLOCATION)
        .where(former)
        .values(
            start_date=window.start,
            end_date=window.end,
            released=False,
            replaced_at=None,
        )
    )
    new = set(resource_ids) - back
    allocations.insert(session, reservation_id, new, window)
    session.execute(
        sa.update(ALLOCATION)
        .where(
            ALLOCATION.c.reservation_id == reservation_id,
            ALLOCATION.c.resource_id.in_(new),
        )
        .values(given_at=given_at)
    )


def give_shares(
    session: orm.Session,
    reservation_id: str,
    slots: Mapping[int, int],
    amounts: Mapping[str, int],
    window: interval.Interval,
    given_at: datetime.datetime | None,
) -> None:
    """Give shares in place of others, beside what the reservation has.

    :param slots: resource id -> how many slots it has there then
    """
    former = {
        row.resource_id: row.given_at
        for row in session.execute(
            sa.select(ALLOCATION.c.resource_id, ALLOCATION.c.given_at).where(
                ALLOCATION.c.reservation_id == reservation_id,
                ALLOCATION.c.resource_id.in_(slots),
                ALLOCATION.c.replaced_at.is_not(None),
            )
        )
    }
    allocations.delete(session, reservation_id, list(slots))
    allocations.insert_shares(session, reservation_id, slots, amounts, window)
    for resource_id in slots:
        session.execute(
            sa.update(ALLOCATION)
            .where(
                ALLOCATION.c.reservation_id == reservation_id,
                ALLOCATION.c.resource_id == resource_id,
            )
            .values(given_at=former.get(resource_id, given_at))
        )


def acknowledge(
    session: orm.Session, reservation_id: str, now: datetime.datetime
) -> None:
    """Have what the reservation has now count as what it had at first, and
    nothing else."""
    session.execute(
        sa.update(ALLOCATION)
        .where(ALLOCATION.c.reservation_id == reservation_id)
        .values(
            given_at=sa.case(
                (ALLOCATION.c.replaced_at.is_(None), None), else_=now
            )
        )
    )


def set_flags(
    session: orm.Session,
    reservation_id: str,
    missing: bool,
    changed: bool,
    now: datetime.datetime,
) -> None:
    session.execute(
        sa.update(RESERVATION)
        .where(RESERVATION.c.id == reservation_id)
        .values(
            missing_resources=missing,
            resources_changed=changed,
            updated_at=now,
        )
    )


def replaced(session: orm.Session, before: datetime.datetime) -> set[str]:
    """Return leases of which something was replaced until then, and has not
    been vacated."""
    return set(
        session.scalars(_holders().where(ALLOCATION.c.replaced_at <= before))
    )


def down(session: orm.Session, before: datetime.datetime) -> set[str]:
    """Return leases with something that has failed until then."""
    return set(
        session.scalars(
            _holders()
            .join(RESOURCE, RESOURCE.c.id == ALLOCATION.c.resource_id)
            .where(RESOURCE.c.down_since <= before)
        )
    )


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
    """Let others have what reservations had before it was replaced.

    :param resource_ids: what of it; None: all
    """
    conditions = [
        ALLOCATION.c.reservation_id.in_(reservation_ids),
        ALLOCATION.c.replaced_at.is_not(None),
        ALLOCATION.c.released == sa.false(),
    ]
    if resource_ids is not None:
        conditions.append(ALLOCATION.c.resource_id.in_(resource_ids))
    free = list(
        session.scalars(sa.select(ALLOCATION.c.resource_id).where(*conditions))
    )
    if free:
        session.execute(
            sa.update(ALLOCATION).where(*conditions).values(released=True)
        )
        stir(session, free, now)


def capacity_came_free(session: orm.Session, now: datetime.datetime) -> None:
    """Have leases that lack something look at once whether it is there."""
    lacking = session.scalar(
        sa.select(LEASE.c.id)
        .where(LEASE.c.degraded == sa.true(), LEASE.c.status.in_(states.OPEN))
        .limit(1)
    )
    if lacking is not None:
        counters.hurry(session, HEAL, now)
