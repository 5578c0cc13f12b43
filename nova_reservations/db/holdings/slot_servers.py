# SPDX-License-Identifier: Apache-2.0
"""Servers that were created in reservations of slots, or were sent to an open
reservation; and the open reservations of projects.

Every function joins the caller's transaction.
"""

from collections import defaultdict
from collections.abc import Collection
import dataclasses
import datetime

import sqlalchemy as sa
from sqlalchemy import orm

from nova_reservations import objects
from nova_reservations.db import counters
from nova_reservations.db import counts
from nova_reservations.db import models
from nova_reservations.db import pages
from nova_reservations.db.holdings import allocations
from nova_reservations.db.holdings import held_rows
from nova_reservations.db.resources import hosts
from nova_reservations.objects import states

SERVER = models.table(models.Server)
RESERVATION = models.table(models.Reservation)
LEASE = models.table(models.Lease)
ALLOCATION = models.table(models.Allocation)
AMOUNT = models.table(models.AllocationAmount)
RESOURCE = models.table(models.Resource)

MOST_OPEN = 32
"""Open reservations of one project that are looked at for a request."""


def is_recorded(session: orm.Session, server_uuid: str) -> bool:
    return counts.is_any(session, SERVER, SERVER.c.server_uuid == server_uuid)


def record(
    session: orm.Session,
    server_uuid: str,
    reservation_id: str,
    now: datetime.datetime,
    chosen: bool,
) -> None:
    session.execute(
        sa.insert(SERVER).values(
            server_uuid=server_uuid,
            reservation_id=reservation_id,
            created_at=now,
            chosen=chosen,
        )
    )


@dataclasses.dataclass(frozen=True, slots=True)
class Recorded:
    """UUIDs of the servers that were created in a reservation.

    :ivar chosen: those of them that came without naming it.
    """

    servers: frozenset[str]
    chosen: frozenset[str]


def of(
    session: orm.Session, reservation_ids: Collection[str]
) -> dict[str, Recorded]:
    """Return reservation id -> its servers, of all these reservations."""
    servers: dict[str, set[str]] = defaultdict(set)
    chosen: dict[str, set[str]] = defaultdict(set)
    for row in session.execute(
        sa.select(
            SERVER.c.reservation_id, SERVER.c.server_uuid, SERVER.c.chosen
        ).where(SERVER.c.reservation_id.in_(reservation_ids))
    ):
        servers[row.reservation_id].add(row.server_uuid)
        if row.chosen:
            chosen[row.reservation_id].add(row.server_uuid)
    return {
        key: Recorded(frozenset(servers[key]), frozenset(chosen[key]))
        for key in reservation_ids
    }


def chosen(session: orm.Session, reservation_id: str) -> frozenset[str]:
    """Return the UUIDs of the servers that have come without naming it."""
    query = sa.select(SERVER.c.server_uuid).where(
        SERVER.c.reservation_id == reservation_id,
        SERVER.c.chosen == sa.true(),
    )
    return frozenset(session.scalars(query))


def choice(session: orm.Session, server_uuid: str) -> str | None:
    """Return the reservation that the server has come to without naming it."""
    query = sa.select(SERVER.c.reservation_id).where(
        SERVER.c.server_uuid == server_uuid, SERVER.c.chosen == sa.true()
    )
    return session.scalar(query)


def unrecord(session: orm.Session, server_uuids: Collection[str]) -> None:
    pages.delete(session, SERVER.c.server_uuid, server_uuids)


# Reservations that are open


def look(session: orm.Session, project_id: str) -> tuple[int, bool]:
    """Return the counter of changes of the pool, and whether the project may
    have an open reservation: the facts that every request needs, in one
    query."""
    row = session.execute(
        sa.select(
            counters.of(hosts.POOL).label('version'),
            sa.exists()
            .where(
                RESERVATION.c.open_to == project_id,
                RESERVATION.c.status == states.Reservation.ACTIVE,
            )
            .label('open'),
        )
    ).one()
    return int(row.version or 0), bool(row.open)


def open_to(
    session: orm.Session, project_id: str, only: str | None = None
) -> list[objects.OpenReservation]:
    """Return the project's open reservations that servers may land in now, in
    the order of their ends.

    :param only: only this one, if it is such a reservation
    """
    this = [] if only is None else [RESERVATION.c.id == only]
    rows = session.execute(
        sa.select(
            RESERVATION.c.id, RESERVATION.c.resource_type, RESERVATION.c.params
        )
        .join(LEASE, LEASE.c.id == RESERVATION.c.lease_id)
        .where(
            RESERVATION.c.open_to == project_id,
            RESERVATION.c.status == states.Reservation.ACTIVE,
            LEASE.c.status.in_(states.LETTING_IN),
            *this,
        )
        .order_by(LEASE.c.end_date, RESERVATION.c.id)
        .limit(MOST_OPEN)
    ).all()
    slots = _usable_slots(session, [row.id for row in rows])
    return [
        objects.OpenReservation(
            row.id, row.resource_type, row.params, slots.get(row.id, 0)
        )
        for row in rows
    ]


def _usable_slots(
    session: orm.Session, reservation_ids: Collection[str]
) -> dict[str, int]:
    """Return reservation id -> its slots on resources that can be used."""
    rows = session.execute(
        sa.select(
            ALLOCATION.c.reservation_id,
            sa.func.sum(AMOUNT.c.amount).label('slots'),
        )
        .join(AMOUNT, AMOUNT.c.allocation_id == ALLOCATION.c.id)
        .join(RESOURCE, RESOURCE.c.id == ALLOCATION.c.resource_id)
        .where(
            ALLOCATION.c.reservation_id.in_(reservation_ids),
            allocations.are_slots(reservation_ids),
            *held_rows.has(ALLOCATION.c),
            allocations.usable(),
        )
        .group_by(ALLOCATION.c.reservation_id)
    )
    return {row.reservation_id: int(row.slots) for row in rows}
