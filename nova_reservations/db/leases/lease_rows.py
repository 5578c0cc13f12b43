# SPDX-License-Identifier: Apache-2.0
"""Rows of leases, of their reservations and events, as values and back.

Every function joins the caller's transaction.
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
from nova_reservations.db.leases import leased_servers

RESERVATION = models.table(models.Reservation)
EVENT = models.table(models.Event)

_CHUNK = 500


def open_to(
    lease: objects.Lease, reservation: objects.Reservation
) -> str | None:
    return lease.project_id if reservation.is_open else None


def assembled(
    session: orm.Session, rows: sa.Result[Any]
) -> Iterator[objects.Lease]:
    """Yield leases of rows of the lease table, in their order."""
    for chunk in rows.partitions(_CHUNK):
        ids = [row.id for row in chunk]
        reservations = _reservations(session, ids)
        events = _events(session, ids)
        for row in chunk:
            yield objects.Lease(
                **fields.of(row, objects.Lease),
                reservations=tuple(reservations[row.id]),
                events=tuple(events[row.id]),
            )


def _reservations(
    session: orm.Session, lease_ids: Collection[str]
) -> dict[str, list[objects.Reservation]]:
    found: dict[str, list[objects.Reservation]] = defaultdict(list)
    rows = session.execute(
        sa.select(RESERVATION)
        .where(RESERVATION.c.lease_id.in_(lease_ids))
        .order_by(RESERVATION.c.position)
    ).all()
    carried = [row.id for row in rows if row.resource_type == objects.SERVER]
    servers = leased_servers.of(session, carried) if carried else {}
    for row in rows:
        found[row.lease_id].append(
            objects.Reservation(
                **fields.of(row, objects.Reservation),
                servers=servers.get(row.id, ()),
            )
        )
    return found


def _events(
    session: orm.Session, lease_ids: Collection[str]
) -> dict[str, list[objects.Event]]:
    found: dict[str, list[objects.Event]] = defaultdict(list)
    for row in session.execute(
        sa.select(EVENT)
        .where(EVENT.c.lease_id.in_(lease_ids))
        # If the start and the warning of a lease are at the same time, they
        # keep the order of the first answer.
        .order_by(EVENT.c.time, EVENT.c.event_type.desc())
    ):
        found[row.lease_id].append(
            objects.Event(**fields.of(row, objects.Event))
        )
    return found
