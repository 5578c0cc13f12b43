# SPDX-License-Identifier: Apache-2.0
"""Leases with their reservations and events; and the claims of workers.

Every function joins the caller's transaction.
"""

from collections import defaultdict
from collections.abc import Collection
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import datetime
import operator
from typing import Any
from typing import NamedTuple

import sqlalchemy as sa
from sqlalchemy import orm

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations.db import allocations
from nova_reservations.db import leased_servers
from nova_reservations.db import models
from nova_reservations.db import pages
from nova_reservations.objects import states

LEASE = models.table(models.Lease)
RESERVATION = models.table(models.Reservation)
EVENT = models.table(models.Event)
ALLOCATION = models.table(models.Allocation)
UNFIT = models.table(models.UnfitDonor)

SORT_KEYS: Mapping[str, tuple[sa.ColumnElement[Any], ...]] = {
    **{
        key: (LEASE.c[key], LEASE.c.id)
        for key in ('created_at', 'start_date', 'end_date', 'name')
    },
    # So many are alike that the index has them by their age.
    'status': (LEASE.c.status, LEASE.c.created_at, LEASE.c.id),
    'id': (LEASE.c.id,),
}
"""Key -> the columns that leases are sorted by; the last tells any two
apart."""

Position = tuple[Any, ...]
"""A place in a list: the values of the columns that it is sorted by."""

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


def page(
    session: orm.Session,
    query: objects.LeaseQuery,
    after: Position | None = None,
) -> tuple[list[objects.Lease], Position | None]:
    """Return leases up to the limit, and where the next page begins; None
    where there is none.

    :param after: where this one begins, in place of the marker.
    :raises: InvalidInput if the marker is no lease that the query could see
    """
    columns = SORT_KEYS[query.sort_key]
    if after is None and query.marker is not None:
        after = _marked(session, query)
    statement = sa.select(*columns).where(*_conditions(query))
    if after is not None:
        statement = statement.where(_beyond(columns, after, query.descending))
    order = sa.desc if query.descending else sa.asc
    # First the ids, of an index alone: what it passes over is not read.
    rows = session.execute(
        statement.order_by(*map(order, columns)).limit(query.limit)
    ).all()
    found: dict[str, objects.Lease] = {}
    for start in range(0, len(rows), _CHUNK):
        ids = [row.id for row in rows[start : start + _CHUNK]]
        found |= {lease.id: lease for lease in get_all(session, ids)}
    is_full = len(rows) == query.limit
    return (
        # One may have been deleted since its id was read.
        [found[row.id] for row in rows if row.id in found],
        tuple(rows[-1]) if is_full else None,
    )


def _conditions(query: objects.LeaseQuery) -> list[sa.ColumnElement[bool]]:
    conditions: list[sa.ColumnElement[bool]] = []
    for name in ('project_id', 'status', 'name'):
        if (wanted := getattr(query, name)) is not None:
            conditions.append(LEASE.c[name] == wanted)
    if query.start_after is not None:
        conditions.append(LEASE.c.start_date >= query.start_after)
    if query.end_before is not None:
        conditions.append(LEASE.c.end_date <= query.end_before)
    if query.over_after is not None:
        conditions.append(
            sa.or_(
                LEASE.c.end_date >= query.over_after,
                LEASE.c.status.not_in(states.OVER),
                LEASE.c.in_nova == sa.true(),
            )
        )
    return conditions


def _marked(session: orm.Session, query: objects.LeaseQuery) -> Position:
    conditions = [LEASE.c.id == query.marker]
    if query.project_id is not None:
        conditions.append(LEASE.c.project_id == query.project_id)
    marker = session.execute(
        sa.select(*SORT_KEYS[query.sort_key]).where(*conditions)
    ).first()
    if marker is None:
        raise exception.InvalidInput(
            reason=f'marker {query.marker} is no lease'
        )
    return tuple(marker)


def _beyond(
    columns: Sequence[sa.ColumnElement[Any]],
    after: Position,
    descending: bool,
) -> sa.ColumnElement[bool]:
    """Return the condition for what comes after a position.

    It is said twice: PostgreSQL and SQLite find the place in an index by the
    first, MariaDB by the second.
    """
    bounds = [
        sa.literal(value, column.type)
        for column, value in zip(columns, after, strict=True)
    ]
    compare = operator.lt if descending else operator.gt
    stepwise = [
        sa.and_(
            *map(operator.eq, columns[:length], bounds[:length]),
            compare(columns[length], bounds[length]),
        )
        for length in range(len(columns))
    ]
    return sa.and_(
        compare(sa.tuple_(*columns), sa.tuple_(*bounds)), sa.or_(*stepwise)
    )


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


# What is due, and the claims of workers


class Due(NamedTuple):
    """A lease that a worker must look at.

    :ivar ready: it is prepared, and its time has come.
    """

    id: str
    attempt: int
    ready: bool
    project_id: str


def due(
    session: orm.Session,
    now: datetime.datetime,
    limit: int,
    without: Collection[str] = (),
) -> list[Due]:
    """Return what a worker must look at, the longest due first; what a
    worker holds is not due.

    :param without: ids of projects whose leases are not looked for
    """
    return [
        Due(row.id, row.attempt, bool(row.ready), row.project_id)
        for row in session.execute(
            sa.select(
                LEASE.c.id,
                LEASE.c.attempt,
                sa.and_(
                    LEASE.c.status == states.Lease.PENDING,
                    LEASE.c.prepared == sa.true(),
                    LEASE.c.start_date <= now,
                ).label('ready'),
                LEASE.c.project_id,
            )
            .where(
                LEASE.c.due_at <= now,
                *([LEASE.c.project_id.not_in(without)] if without else ()),
            )
            .order_by(LEASE.c.due_at, LEASE.c.id)
            .limit(limit)
        )
    ]


def claim(
    session: orm.Session,
    lease_id: str,
    attempt: int,
    worker: str,
    now: datetime.datetime,
    until: datetime.datetime,
) -> bool:
    """Give the lease to the worker; False if another one was first.

    The attempt that the worker then holds is one more than the one given.
    """
    done = session.execute(
        sa.update(LEASE)
        .where(
            LEASE.c.id == lease_id,
            LEASE.c.attempt == attempt,
            LEASE.c.due_at <= now,
        )
        .values(claimed_by=worker, attempt=attempt + 1, due_at=until)
    )
    return _rowcount(done) == 1


def wake_successors(
    session: orm.Session,
    reservation_ids: Collection[str],
    now: datetime.datetime,
) -> None:
    """Have a worker look at once at leases that should have started, and
    wait for what these reservations hold."""
    theirs, mine = ALLOCATION.alias(), ALLOCATION.alias()
    late = (
        LEASE.c.status == states.Lease.PENDING,
        LEASE.c.start_date <= now,
        LEASE.c.claimed_by.is_(None),
    )
    waiting = (
        sa.select(LEASE.c.id)
        .join(RESERVATION, RESERVATION.c.lease_id == LEASE.c.id)
        .join(theirs, theirs.c.reservation_id == RESERVATION.c.id)
        .join(mine, mine.c.resource_id == theirs.c.resource_id)
        .where(
            mine.c.reservation_id.in_(reservation_ids),
            theirs.c.released == sa.false(),
            *late,
        )
    )
    for page in pages.of(session.scalars(waiting)):
        session.execute(
            sa.update(LEASE)
            .where(LEASE.c.id.in_(page), *late)
            .values(due_at=now)
        )


def hurry(
    session: orm.Session, lease_ids: Collection[str], now: datetime.datetime
) -> None:
    """Have workers look at the leases at once.

    One that has a lease in its hands does so when it is done: it finds that
    the version has changed.
    """
    for page in pages.of(lease_ids):
        session.execute(
            sa.update(LEASE)
            .where(LEASE.c.id.in_(page))
            .values(
                version=LEASE.c.version + 1,
                due_at=sa.case(
                    (LEASE.c.claimed_by.is_(None), now), else_=LEASE.c.due_at
                ),
            )
        )


def renew(
    session: orm.Session, lease_id: str, attempt: int, until: datetime.datetime
) -> bool:
    """Keep a claim; False if it was lost."""
    done = session.execute(
        sa.update(LEASE)
        .where(
            LEASE.c.id == lease_id,
            LEASE.c.attempt == attempt,
            LEASE.c.claimed_by.is_not(None),
        )
        .values(due_at=until)
    )
    return _rowcount(done) == 1


def give_back(
    session: orm.Session,
    lease_id: str,
    attempt: int,
    worker: str,
    now: datetime.datetime,
) -> None:
    """Have another worker look at the lease at once, if the claim stands;
    whoever still works on it finds that it was lost."""
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
    """Whether the claim stands, and the lease is in one of the statuses."""
    return (
        session.scalar(
            sa.select(LEASE.c.id).where(
                LEASE.c.id == lease_id,
                LEASE.c.attempt == attempt,
                LEASE.c.claimed_by.is_not(None),
                LEASE.c.status.in_(statuses),
            )
        )
        is not None
    )


def release(
    session: orm.Session, seen: objects.Lease, due_at: datetime.datetime | None
) -> bool:
    """End the claim; False if the lease was written since seen."""
    done = session.execute(
        sa.update(LEASE)
        .where(
            LEASE.c.id == seen.id,
            LEASE.c.attempt == seen.attempt,
            LEASE.c.version == seen.version,
        )
        .values(claimed_by=None, due_at=due_at)
    )
    return _rowcount(done) == 1


def _rowcount(result: sa.Result[Any]) -> int:
    return result.rowcount  # type: ignore[attr-defined,no-any-return]
