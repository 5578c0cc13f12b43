# SPDX-License-Identifier: Apache-2.0
"""Numbers that operators watch, as the database has them at this moment.

No query reads leases that were over long ago, of which there are ever more.
Every function joins the caller's transaction.
"""

from collections import Counter
from collections.abc import Mapping
import dataclasses
import datetime
from typing import NamedTuple

import sqlalchemy as sa
from sqlalchemy import orm

from nova_reservations import objects
from nova_reservations.db import counters
from nova_reservations.db import counts
from nova_reservations.db import fields
from nova_reservations.db import models
from nova_reservations.db import tasks
from nova_reservations.db.holdings import held_rows
from nova_reservations.objects import states

ALLOCATION = models.table(models.Allocation)
EVENT = models.table(models.Event)
LEASE = models.table(models.Lease)
RESERVATION = models.table(models.Reservation)
RESOURCE = models.table(models.Resource)
USAGE = models.table(models.Usage)

LIVING = tuple(status for status in states.Lease if status not in states.OVER)
"""States in which a lease has something to come. ERROR is not among them,
although something of such a lease may be left in Nova: see stuck()."""

ENDING = (states.Lease.TERMINATING, states.Lease.DELETING)

_LONG_AGO = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)

_STUCK = (LEASE.c.due_at > _LONG_AGO, LEASE.c.status == states.Lease.ERROR)


@dataclasses.dataclass(frozen=True, slots=True)
class Living:
    """The number of leases of a kind."""

    status: states.Lease
    lease_type: states.LeaseType
    number: int


class Step(NamedTuple):
    """A start or an end that was due.

    :ivar done_at: None: it is not done.
    """

    due_at: datetime.datetime
    done_at: datetime.datetime | None


def living(session: orm.Session) -> list[Living]:
    rows = session.execute(
        sa.select(
            LEASE.c.status,
            LEASE.c.lease_type,
            sa.func.count().label('number'),
        )
        .where(LEASE.c.status.in_(LIVING))
        .group_by(LEASE.c.status, LEASE.c.lease_type)
    )
    return [Living(**fields.of(row, Living)) for row in rows]


def lacking(session: orm.Session) -> int:
    """Return how many leases lack a resource; other degraded leases have a
    replacement, which their owners have not acknowledged yet."""
    lacks = sa.exists().where(
        RESERVATION.c.lease_id == LEASE.c.id,
        RESERVATION.c.missing_resources == sa.true(),
    )
    return counts.of(
        session,
        LEASE,
        LEASE.c.degraded == sa.true(),
        LEASE.c.status.in_(LIVING),
        lacks,
    )


def stuck(session: orm.Session) -> int:
    """Return how many leases failed at their start or end and have something
    left in Nova: a worker looks at them still."""
    return counts.of(session, LEASE, *_STUCK)


def ending_since(session: orm.Session) -> datetime.datetime | None:
    """Return when the oldest end that is still under way began; None: there is
    none."""
    begun = (
        sa.select(sa.func.min(EVENT.c.updated_at))
        .join(LEASE, LEASE.c.id == EVENT.c.lease_id)
        .where(
            EVENT.c.event_type == states.EventType.END,
            EVENT.c.status == states.Event.IN_PROGRESS,
        )
    )
    found = (
        session.scalar(begun.where(LEASE.c.status.in_(ENDING))),
        session.scalar(begun.where(*_STUCK)),
    )
    return min((date for date in found if date is not None), default=None)


def due(
    session: orm.Session,
) -> tuple[datetime.datetime | None, datetime.datetime | None]:
    """Return when the first lease, and the first periodic task, is or was
    due."""
    return (
        session.scalar(
            sa.select(sa.func.min(LEASE.c.due_at)).where(
                LEASE.c.due_at.is_not(None)
            )
        ),
        session.scalar(sa.select(sa.func.min(tasks.WAKES_AT))),
    )


_STEPS = {
    states.EventType.START: (
        LEASE.c.start_date,
        LEASE.c.status.in_((states.Lease.PENDING, states.Lease.STARTING)),
    ),
    states.EventType.END: (
        LEASE.c.end_date,
        sa.or_(
            LEASE.c.status.in_((states.Lease.ACTIVE, *ENDING)),
            sa.and_(
                LEASE.c.status == states.Lease.ERROR,
                LEASE.c.in_nova == sa.true(),
            ),
        ),
    ),
}
"""Kind of a step -> when it is due, and the condition that one which is not
done is still to come."""


def steps(
    session: orm.Session,
    kind: states.EventType,
    after: datetime.datetime,
    now: datetime.datetime,
    limit: int,
) -> list[Step]:
    """Return the starts, or the ends, that were due after a time, the latest
    first; an end is done when nothing of the lease is left in Nova."""
    date, waits = _STEPS[kind]
    done = EVENT.c.status == states.Event.DONE
    rows = session.execute(
        sa.select(date, sa.case((done, EVENT.c.updated_at)))
        .join(EVENT, EVENT.c.lease_id == LEASE.c.id)
        .where(
            date > after,
            date <= now,
            EVENT.c.event_type == kind,
            sa.or_(done, waits),
        )
        .order_by(date.desc())
        .limit(limit)
    )
    return [Step(*row) for row in rows]


def hosts_held(
    session: orm.Session, now: datetime.datetime
) -> Mapping[str, int]:
    """Return project -> how many whole hosts its leases have now."""
    rows = session.execute(
        held_rows.by_leases(
            LEASE.c.project_id,
            sa.func.count(ALLOCATION.c.id).label('hosts'),
        )
        .join(RESOURCE, RESOURCE.c.id == ALLOCATION.c.resource_id)
        .where(
            ALLOCATION.c.start_date <= now,
            ALLOCATION.c.replaced_at.is_(None),
            ALLOCATION.c.exclusive == sa.true(),
            RESOURCE.c.resource_type == objects.HOST,
        )
        .group_by(LEASE.c.project_id)
    )
    return {row.project_id: int(row.hosts) for row in rows}


def host_seconds(
    session: orm.Session, since: datetime.datetime, now: datetime.datetime
) -> Mapping[str, float]:
    """Return project -> for how long its leases had whole hosts, by the
    record, the time of each host added up.

    A lease that ends late counts as much as will be recorded, so that the sum
    never decreases.
    """
    of_hosts = USAGE.c.resource_class == objects.HOST
    had = [
        USAGE.c.project_id,
        USAGE.c.amount,
        USAGE.c.started_at,
    ]
    over = sa.select(*had, USAGE.c.ended_at.label('until')).where(
        USAGE.c.ended_at > since, of_hosts
    )
    going_on = (
        sa.select(*had, LEASE.c.end_date.label('until'))
        .join(LEASE, LEASE.c.id == USAGE.c.lease_id)
        .where(USAGE.c.ended_at.is_(None), of_hosts)
    )
    seconds: Counter[str] = Counter()
    for query in (over, going_on):
        for row in session.execute(query):
            length = min(row.until, now) - max(row.started_at, since)
            if length > datetime.timedelta(0):
                seconds[row.project_id] += row.amount * int(
                    length.total_seconds()
                )
    return seconds


def counted(session: orm.Session, *names: str) -> Mapping[str, int]:
    """Return counter -> its number; 0 if there is no such counter."""
    return {name: counters.value(session, name) for name in names}
