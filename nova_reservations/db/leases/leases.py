# SPDX-License-Identifier: Apache-2.0
"""Leases with their reservations and events, and workers' claims on them.

Every function joins the caller's transaction.
"""

from collections.abc import Collection
from collections.abc import Mapping
import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy import orm

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations.db import counts
from nova_reservations.db import fields
from nova_reservations.db import models
from nova_reservations.db import writes
from nova_reservations.db.leases import belongings
from nova_reservations.db.leases import lease_rows
from nova_reservations.objects import states

LEASE = models.table(models.Lease)
RESERVATION = models.table(models.Reservation)
EVENT = models.table(models.Event)

Statuses = states.Reservation | Mapping[str, states.Reservation] | None
"""The status of all reservations of a lease, or of some, by their ids."""


def insert(session: orm.Session, *new: objects.Lease) -> None:
    """Write new leases with their reservations and events."""
    session.execute(
        sa.insert(LEASE),
        [
            {**fields.columns(lease, LEASE), 'claimed_by': None}
            for lease in new
        ],
    )
    reservations = [
        _row(lease, reservation, position)
        for lease in new
        for position, reservation in enumerate(lease.reservations)
    ]
    writes.insert(session, RESERVATION, reservations)
    session.execute(
        sa.insert(EVENT),
        [
            fields.columns(event, EVENT)
            for lease in new
            for event in lease.events
        ],
    )


def _row(
    lease: objects.Lease, reservation: objects.Reservation, position: int
) -> dict[str, Any]:
    return {
        **fields.columns(reservation, RESERVATION),
        'position': position,
        'open_to': lease_rows.open_to(lease, reservation),
    }


def add_reservations(
    session: orm.Session,
    lease: objects.Lease,
    added: Collection[objects.Reservation],
) -> None:
    """Write more reservations of a lease, after those that it has."""
    query = sa.select(sa.func.max(RESERVATION.c.position)).where(
        RESERVATION.c.lease_id == lease.id
    )
    last = session.scalar(query)
    first = 0 if last is None else last + 1
    rows = [
        _row(lease, reservation, position)
        for position, reservation in enumerate(added, first)
    ]
    writes.insert(session, RESERVATION, rows)


def get(session: orm.Session, lease_id: str) -> objects.Lease:
    """:raises: NotFound"""
    found = meeting(session, LEASE.c.id == lease_id)
    if not found:
        raise exception.NotFound(kind='Lease', id=lease_id)
    return found[0]


def get_all(
    session: orm.Session, lease_ids: Collection[str]
) -> list[objects.Lease]:
    """Return those of the leases that exist."""
    return meeting(session, LEASE.c.id.in_(lease_ids))


def of_reservations(
    session: orm.Session, reservation_ids: Collection[str]
) -> list[objects.Lease]:
    """Return the leases of those of the reservations that exist."""
    theirs = sa.select(RESERVATION.c.lease_id).where(
        RESERVATION.c.id.in_(reservation_ids)
    )
    return meeting(session, LEASE.c.id.in_(theirs))


def of_series(session: orm.Session, series_id: str) -> list[objects.Lease]:
    """Return those of its leases that exist, in the order of their start."""
    found = meeting(session, LEASE.c.series_id == series_id)
    return sorted(found, key=lambda lease: (lease.start_date, lease.id))


def meeting(
    session: orm.Session, *conditions: sa.ColumnElement[bool]
) -> list[objects.Lease]:
    """Return all that meet conditions on their columns."""
    rows = session.execute(sa.select(LEASE).where(*conditions))
    return list(lease_rows.assembled(session, rows))


def claim(
    session: orm.Session,
    lease_id: str,
    attempt: int,
    worker: str,
    now: datetime.datetime,
    until: datetime.datetime,
) -> bool:
    """Give the lease to the worker; return False if another one was first.

    The attempt that the worker then holds is one more than the one given.

    Decision 0001: doc/source/decisions/0001-claim-on-the-lease
    """
    return writes.changed(
        session,
        LEASE,
        LEASE.c.id == lease_id,
        LEASE.c.attempt == attempt,
        LEASE.c.due_at <= now,
        claimed_by=worker,
        attempt=attempt + 1,
        due_at=until,
    )


def renew(
    session: orm.Session, lease_id: str, attempt: int, until: datetime.datetime
) -> bool:
    """Keep a claim; False if it was lost."""
    return writes.changed(
        session,
        LEASE,
        LEASE.c.id == lease_id,
        LEASE.c.attempt == attempt,
        LEASE.c.claimed_by.is_not(None),
        due_at=until,
    )


def give_back(
    session: orm.Session,
    lease_id: str,
    attempt: int,
    worker: str,
    now: datetime.datetime,
) -> None:
    """Make the lease due at once for another worker, if the claim stands;
    whoever still works on it finds that the claim was lost."""
    session.execute(
        sa.update(LEASE)
        .where(
            LEASE.c.id == lease_id,
            LEASE.c.attempt == attempt,
            LEASE.c.claimed_by == worker,
        )
        .values(claimed_by=None, attempt=attempt + 1, due_at=now)
    )


def is_held(
    session: orm.Session,
    lease_id: str,
    attempt: int,
    statuses: Collection[states.Lease],
) -> bool:
    """Return whether the claim stands, and the lease is in one of the
    statuses."""
    return counts.is_any(
        session,
        LEASE,
        LEASE.c.id == lease_id,
        LEASE.c.attempt == attempt,
        LEASE.c.claimed_by.is_not(None),
        LEASE.c.status.in_(statuses),
    )


def is_being_updated(session: orm.Session, lease_id: str) -> bool:
    """Return whether a worker has still to bring Nova in line with an active
    lease."""
    return counts.is_any(
        session,
        LEASE,
        LEASE.c.id == lease_id,
        LEASE.c.status == states.Lease.ACTIVE,
        LEASE.c.prepared == sa.false(),
    )


def release(
    session: orm.Session, seen: objects.Lease, due_at: datetime.datetime | None
) -> bool:
    """End the claim; False if the lease was written since seen."""
    return _changed(session, seen, claimed_by=None, due_at=due_at)


def change(
    session: orm.Session,
    seen: objects.Lease,
    now: datetime.datetime,
    *,
    reservations: Statuses = None,
    events: Mapping[states.EventType, states.Event] | None = None,
    **columns: Any,
) -> None:
    """Write columns of the lease, if nobody has written it since seen.

    A write by a request and a claim by a worker both count.

    :param reservations: the status that all its reservations get, or
        reservation id -> status of those that get another
    :param events: the status that each of its events gets
    :param columns: of the table. ``status_reason`` may be an objects.Reason.
        ``updated_at`` is now unless it is given.
    :raises: Conflict
    :raises: InvalidTransition before anything is written
    """
    events = events or {}
    status = columns.get('status', seen.status)
    after = _statuses(seen, reservations)
    _check_transitions(seen, status, after, events)
    if 'status_reason' in columns:
        columns |= _reason_columns(columns['status_reason'])
    columns = {'updated_at': now, **columns, 'version': seen.version + 1}
    if not _changed(session, seen, **columns):
        raise exception.Conflict(kind='Lease', id=seen.id)
    _set_statuses(session, after, now)
    for event_type, event_status in events.items():
        session.execute(
            sa.update(EVENT)
            .where(
                EVENT.c.lease_id == seen.id, EVENT.c.event_type == event_type
            )
            .values(updated_at=now, status=event_status)
        )


def _changed(
    session: orm.Session, seen: objects.Lease, **columns: Any
) -> bool:
    return writes.changed(
        session,
        LEASE,
        LEASE.c.id == seen.id,
        LEASE.c.version == seen.version,
        LEASE.c.attempt == seen.attempt,
        **columns,
    )


def _statuses(
    lease: objects.Lease, asked: Statuses
) -> Mapping[str, states.Reservation]:
    """Return reservation id -> status of those that get another."""
    if isinstance(asked, states.Reservation):
        return {item.id: asked for item in lease.reservations}
    return asked or {}


def _set_statuses(
    session: orm.Session,
    statuses: Mapping[str, states.Reservation],
    now: datetime.datetime,
) -> None:
    for status in sorted({*statuses.values()}):
        ids = sorted(key for key, its in statuses.items() if its == status)
        session.execute(
            sa.update(RESERVATION)
            .where(RESERVATION.c.id.in_(ids))
            .values(updated_at=now, status=status)
        )


def _check_transitions(
    seen: objects.Lease,
    status: states.Lease,
    reservations: Mapping[str, states.Reservation],
    events: Mapping[states.EventType, states.Event],
) -> None:
    """:raises: InvalidTransition"""
    states.check(seen.status, status, seen.id)
    for reservation in seen.reservations:
        its = reservations.get(reservation.id, reservation.status)
        states.check(reservation.status, its, reservation.id)
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
            _statuses(lease, states.Reservation.ACTIVE),
            {states.EventType.START: states.Event.DONE},
        )
    # In one order everywhere, so that writers cannot deadlock.
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
    if not _changed(session, seen, version=seen.version + 1):
        raise exception.Conflict(kind='Lease', id=seen.id)
    belongings.remove_leases(session, [seen.id])


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
            open_to=lease_rows.open_to(lease, reservation),
        )
    )


def move_event(
    session: orm.Session,
    event: objects.Event,
    time: datetime.datetime,
    now: datetime.datetime,
    status: states.Event | None = None,
) -> None:
    """Set the time of an event of a lease.

    :param status: None: unchanged
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
    session.execute(sa.insert(EVENT).values(fields.columns(event, EVENT)))


def in_nova(
    session: orm.Session, reservation_ids: Collection[str]
) -> set[str]:
    """Return those of the reservations that may have something in Nova.

    These include the reservations of all leases that are not over. If the
    database was restored from a backup, a lease that has not begun by its rows
    may have begun since that backup.
    """
    query = (
        sa.select(RESERVATION.c.id)
        .join(LEASE, LEASE.c.id == RESERVATION.c.lease_id)
        .where(
            RESERVATION.c.id.in_(reservation_ids),
            sa.or_(
                LEASE.c.in_nova == sa.true(),
                LEASE.c.status.not_in(states.OVER),
            ),
        )
    )
    return set(session.scalars(query))
