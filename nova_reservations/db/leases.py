# SPDX-License-Identifier: Apache-2.0
"""Leases with their reservations and events.

Every function joins the caller's transaction.
"""

from collections import defaultdict
from collections.abc import Collection
from collections.abc import Iterator
from collections.abc import Mapping
import dataclasses
import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy import orm

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations.db import allocations
from nova_reservations.db import leased_servers
from nova_reservations.db import models
from nova_reservations.objects import states

LEASE = models.table(models.Lease)
RESERVATION = models.table(models.Reservation)
EVENT = models.table(models.Event)
ALLOCATION = models.table(models.Allocation)
UNFIT = models.table(models.UnfitDonor)


_CHUNK = 500


def insert(session: orm.Session, lease: objects.Lease) -> None:
    """Write a new lease with its reservations and events."""
    session.execute(
        sa.insert(LEASE), [{**_columns(lease, LEASE), 'claimed_by': None}]
    )
    if lease.reservations:
        session.execute(
            sa.insert(RESERVATION),
            [
                {
                    **_columns(reservation, RESERVATION),
                    'position': position,
                    'open_to': _open_to(lease, reservation),
                }
                for position, reservation in enumerate(lease.reservations)
            ],
        )
    session.execute(
        sa.insert(EVENT), [_columns(event, EVENT) for event in lease.events]
    )


def _columns(value: Any, table: sa.FromClause) -> dict[str, Any]:
    return {
        field.name: getattr(value, field.name)
        for field in dataclasses.fields(value)
        if field.name in table.c
    }


def _open_to(
    lease: objects.Lease, reservation: objects.Reservation
) -> str | None:
    return lease.project_id if reservation.is_open else None


def get(session: orm.Session, lease_id: str) -> objects.Lease:
    """:raises: NotFound"""
    found = list(
        _assembled(
            session,
            session.execute(sa.select(LEASE).where(LEASE.c.id == lease_id)),
        )
    )
    if not found:
        raise exception.NotFound(kind='Lease', id=lease_id)
    return found[0]


def get_all(
    session: orm.Session, lease_ids: Collection[str]
) -> list[objects.Lease]:
    """Return those that there are."""
    return meeting(session, LEASE.c.id.in_(lease_ids))


def meeting(
    session: orm.Session, *conditions: sa.ColumnElement[bool]
) -> list[objects.Lease]:
    """Return all that meet conditions on their columns."""
    rows = session.execute(sa.select(LEASE).where(*conditions))
    return list(_assembled(session, rows))


def _assembled(
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
        # Where a lease begins with its warning, as it was answered at first.
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


def change(
    session: orm.Session,
    seen: objects.Lease,
    now: datetime.datetime,
    *,
    reservations: states.Reservation | None = None,
    events: Mapping[states.EventType, states.Event] | None = None,
    **columns: Any,
) -> None:
    """Write columns of the lease, if nobody has written it since seen.

    Neither a request nor a worker that has claimed it: both count.

    :param reservations: the status that all its reservations get
    :param events: the status that each of its events gets
    :param columns: of the table; ``status_reason`` may be an objects.Reason.
    :raises: Conflict
    :raises: InvalidTransition before anything is written
    """
    events = events or {}
    status = columns.get('status', seen.status)
    _check_transitions(seen, status, reservations, events)
    if 'status_reason' in columns:
        columns |= _reason_columns(columns['status_reason'])
    done = session.execute(
        sa.update(LEASE)
        .where(
            LEASE.c.id == seen.id,
            LEASE.c.version == seen.version,
            LEASE.c.attempt == seen.attempt,
        )
        .values(version=seen.version + 1, updated_at=now, **columns)
    )
    if _rowcount(done) != 1:
        raise exception.Conflict(kind='Lease', id=seen.id)
    if reservations is not None:
        session.execute(
            sa.update(RESERVATION)
            .where(RESERVATION.c.lease_id == seen.id)
            .values(updated_at=now, status=reservations)
        )
    for event_type, event_status in events.items():
        session.execute(
            sa.update(EVENT)
            .where(
                EVENT.c.lease_id == seen.id, EVENT.c.event_type == event_type
            )
            .values(updated_at=now, status=event_status)
        )


def _check_transitions(
    seen: objects.Lease,
    status: states.Lease,
    reservations: states.Reservation | None,
    events: Mapping[states.EventType, states.Event],
) -> None:
    """:raises: InvalidTransition"""
    states.check(seen.status, status, seen.id)
    if reservations is not None:
        for reservation in seen.reservations:
            states.check(reservation.status, reservations, reservation.id)
    for event in seen.events:
        after = events.get(event.event_type, event.status)
        states.check(event.status, after, event.id)


def _reason_columns(
    reason: objects.Reason | str | None,
) -> dict[str, str | None]:
    if isinstance(reason, objects.Reason):
        return {'status_reason': reason.told, 'status_detail': reason.detail}
    return {'status_reason': reason, 'status_detail': None}


def activate(
    session: orm.Session,
    seen: Mapping[str, objects.Lease],
    due_at: Mapping[str, datetime.datetime | None],
    now: datetime.datetime,
) -> None:
    """Write that leases have started, and end the claims on them.

    :param seen: lease id -> the lease as the worker has it.
    :param due_at: lease id -> when a worker must look at it next.
    :raises: Conflict if somebody has written one of them since seen
    :raises: InvalidTransition before anything is written
    """
    for lease in seen.values():
        _check_transitions(
            lease,
            states.Lease.ACTIVE,
            states.Reservation.ACTIVE,
            {states.EventType.START: states.Event.DONE},
        )
    # In one order everywhere: nobody waits for each other in a circle.
    for lease_id in sorted(seen):
        change(
            session,
            seen[lease_id],
            now,
            status=states.Lease.ACTIVE,
            status_reason=None,
            prepared=True,
            claimed_by=None,
            due_at=due_at[lease_id],
        )
    session.execute(
        sa.update(RESERVATION)
        .where(RESERVATION.c.lease_id.in_(seen))
        .values(updated_at=now, status=states.Reservation.ACTIVE)
    )
    session.execute(
        sa.update(EVENT)
        .where(
            EVENT.c.lease_id.in_(seen),
            EVENT.c.event_type == states.EventType.START,
        )
        .values(updated_at=now, status=states.Event.DONE)
    )


def delete(session: orm.Session, seen: objects.Lease) -> None:
    """Delete the lease with all that belongs to it.

    :raises: Conflict if somebody has written it since seen
    """
    done = session.execute(
        sa.update(LEASE)
        .where(
            LEASE.c.id == seen.id,
            LEASE.c.version == seen.version,
            LEASE.c.attempt == seen.attempt,
        )
        .values(version=seen.version + 1)
    )
    if _rowcount(done) != 1:
        raise exception.Conflict(kind='Lease', id=seen.id)
    ids = [reservation.id for reservation in seen.reservations]
    allocations.forget(session, ALLOCATION.c.reservation_id.in_(ids))
    for servers in (models.Server, models.LeasedServer):
        session.execute(
            sa.delete(servers).where(servers.reservation_id.in_(ids))
        )
    for child in (UNFIT, EVENT, RESERVATION):
        session.execute(sa.delete(child).where(child.c.lease_id == seen.id))
    session.execute(sa.delete(LEASE).where(LEASE.c.id == seen.id))


def set_reservations(
    session: orm.Session, lease_id: str, now: datetime.datetime, **columns: Any
) -> None:
    """Write columns of all reservations of the lease: not their status,
    which ``change`` checks."""
    session.execute(
        sa.update(RESERVATION)
        .where(RESERVATION.c.lease_id == lease_id)
        .values(updated_at=now, **columns)
    )


def set_params(
    session: orm.Session,
    lease: objects.Lease,
    reservation: objects.Reservation,
    now: datetime.datetime,
) -> None:
    """Write the params that a reservation of the lease is to have."""
    session.execute(
        sa.update(RESERVATION)
        .where(RESERVATION.c.id == reservation.id)
        .values(
            updated_at=now,
            params=dict(reservation.params),
            open_to=_open_to(lease, reservation),
        )
    )


def move_event(
    session: orm.Session,
    event: objects.Event,
    time: datetime.datetime,
    now: datetime.datetime,
    status: states.Event | None = None,
) -> None:
    """Write when an event of a lease is.

    :param status: None: as it is
    :raises: InvalidTransition before anything is written
    """
    status = status or event.status
    states.check(event.status, status, event.id)
    session.execute(
        sa.update(EVENT)
        .where(EVENT.c.id == event.id)
        .values(updated_at=now, time=time, status=status)
    )


def insert_event(session: orm.Session, event: objects.Event) -> None:
    session.execute(sa.insert(EVENT).values(_columns(event, EVENT)))


def in_nova(
    session: orm.Session, reservation_ids: Collection[str]
) -> set[str]:
    """Return those of the reservations that Nova may know something of."""
    return set(
        session.scalars(
            sa.select(RESERVATION.c.id)
            .join(LEASE, LEASE.c.id == RESERVATION.c.lease_id)
            .where(
                RESERVATION.c.id.in_(reservation_ids),
                LEASE.c.in_nova == sa.true(),
            )
        )
    )


def _rowcount(result: sa.Result[Any]) -> int:
    return result.rowcount  # type: ignore[attr-defined,no-any-return]
