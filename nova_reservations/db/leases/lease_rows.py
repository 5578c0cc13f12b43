# SPDX-License-Identifier: Apache-2.0
"""Rows of leases, of their reservations and events, as values and back.

Every function joins the caller's transaction.
"""

from collections import defaultdict
from collections.abc import Collection
from collections.abc import Iterator
import dataclasses
from typing import Any

import sqlalchemy as sa
from sqlalchemy import orm

from nova_reservations import objects
from nova_reservations.db import models
from nova_reservations.db.leases import leased_servers
from nova_reservations.objects import states

RESERVATION = models.table(models.Reservation)
EVENT = models.table(models.Event)

_CHUNK = 500


def columns(value: Any, table: sa.FromClause) -> dict[str, Any]:
    return {
        field.name: getattr(value, field.name)
        for field in dataclasses.fields(value)
        if field.name in table.c
    }


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
            yield _lease(
                row, tuple(reservations[row.id]), tuple(events[row.id])
            )


def _lease(
    row: sa.Row[Any],
    reservations: tuple[objects.Reservation, ...],
    events: tuple[objects.Event, ...],
) -> objects.Lease:
    return objects.Lease(
        id=row.id,
        name=row.name,
        project_id=row.project_id,
        user_id=row.user_id,
        start_date=row.start_date,
        end_date=row.end_date,
        lease_type=states.LeaseType(row.lease_type),
        max_retries=row.max_retries,
        arrival=row.arrival,
        duration=row.duration,
        status=states.Lease(row.status),
        status_reason=row.status_reason,
        degraded=row.degraded,
        in_nova=row.in_nova,
        prepared=row.prepared,
        version=row.version,
        attempt=row.attempt,
        claimed_by=row.claimed_by,
        due_at=row.due_at,
        created_at=row.created_at,
        updated_at=row.updated_at,
        reservations=reservations,
        events=events,
        status_detail=row.status_detail,
        by_default=row.by_default,
        series_id=row.series_id,
        unused_at=row.unused_at,
        latest_end=row.latest_end,
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
                id=row.id,
                lease_id=row.lease_id,
                resource_type=row.resource_type,
                status=states.Reservation(row.status),
                params=row.params,
                missing_resources=row.missing_resources,
                resources_changed=row.resources_changed,
                created_at=row.created_at,
                updated_at=row.updated_at,
                servers=servers.get(row.id, ()),
                part_of=row.part_of,
                part_name=row.part_name,
                missing_reason=row.missing_reason,
                untold_reason=row.untold_reason,
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
            objects.Event(
                id=row.id,
                lease_id=row.lease_id,
                event_type=states.EventType(row.event_type),
                time=row.time,
                status=states.Event(row.status),
                created_at=row.created_at,
                updated_at=row.updated_at,
            )
        )
    return found
