# SPDX-License-Identifier: Apache-2.0
"""Leases that wait for capacity, and hold nothing.

They have an arrival. Other leases in CREATING wait for Nova's answer to a
request for servers.

Every function joins the caller's transaction.
"""

from collections.abc import Collection
from collections.abc import Mapping
import dataclasses
import datetime
import itertools
import operator
from typing import Any

import sqlalchemy as sa
from sqlalchemy import orm

from nova_reservations import objects
from nova_reservations.db import counters
from nova_reservations.db import counts
from nova_reservations.db import fields
from nova_reservations.db import models
from nova_reservations.db.leases import leases
from nova_reservations.objects import states

LEASE = models.table(models.Lease)
RESERVATION = models.table(models.Reservation)

_WAITS = (
    LEASE.c.status == states.Lease.CREATING,
    LEASE.c.arrival.is_not(None),
)

ARRIVAL = 'arrival'
"""The counter of all leases that have ever had to wait."""


@dataclasses.dataclass(frozen=True, slots=True)
class WaitingReservation:
    """One of the reservations of a lease that waits."""

    reservation_id: str
    resource_type: str
    params: Mapping[str, Any]


@dataclasses.dataclass(frozen=True, slots=True)
class Waiting:
    """The facts that have to be known of each lease that waits."""

    lease_id: str
    arrival: int
    start_date: datetime.datetime
    end_date: datetime.datetime
    duration: int | None
    wanted: tuple[WaitingReservation, ...]


def arrive(session: orm.Session) -> int:
    """Return the number of a lease that begins to wait now."""
    return counters.number(session, ARRIVAL)


def is_any(
    session: orm.Session,
    arrival: int,
    starting_after: datetime.datetime | None = None,
) -> bool:
    """Return whether a lease waits that has come after arrival, and would
    start after starting_after if it got anything."""
    behind = [*_WAITS, LEASE.c.arrival > arrival]
    if starting_after is not None:
        behind.append(LEASE.c.start_date > starting_after)
    return counts.is_any(session, LEASE, *behind)


def positions(
    session: orm.Session, arrivals: Collection[int]
) -> dict[int, int]:
    """Return arrival -> position in the queue, from 1, of those of the leases
    that still wait."""
    ahead = counts.of(session, LEASE, *_WAITS, LEASE.c.arrival < min(arrivals))
    line = session.scalars(
        sa.select(LEASE.c.arrival)
        .where(*_WAITS, LEASE.c.arrival.between(min(arrivals), max(arrivals)))
        .order_by(LEASE.c.arrival)
    )
    return {
        arrival: position
        for position, arrival in enumerate(line, ahead + 1)
        if arrival in arrivals
    }


def in_order(session: orm.Session) -> list[Waiting]:
    """Return all that wait, in the order of their arrival."""
    rows = session.execute(
        sa.select(
            LEASE.c.id.label('lease_id'),
            LEASE.c.arrival,
            LEASE.c.start_date,
            LEASE.c.end_date,
            LEASE.c.duration,
            RESERVATION.c.id.label('reservation_id'),
            RESERVATION.c.resource_type,
            RESERVATION.c.params,
        )
        .join(RESERVATION, RESERVATION.c.lease_id == LEASE.c.id)
        .where(*_WAITS)
        .order_by(LEASE.c.arrival, RESERVATION.c.position)
    )
    found = []
    for _, group in itertools.groupby(rows, operator.attrgetter('lease_id')):
        reservations = list(group)
        found.append(
            Waiting(
                **fields.of(reservations[0], Waiting),
                wanted=tuple(
                    WaitingReservation(**fields.of(row, WaitingReservation))
                    for row in reservations
                ),
            )
        )
    return found


def in_hand(
    session: orm.Session, now: datetime.datetime
) -> list[objects.Lease]:
    """Return the waiting leases that workers are trying to book now."""
    return leases.meeting(
        session,
        *_WAITS,
        LEASE.c.claimed_by.is_not(None),
        LEASE.c.due_at > now,
    )
