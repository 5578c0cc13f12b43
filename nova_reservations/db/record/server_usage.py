# SPDX-License-Identifier: Apache-2.0
"""The record of the servers that were in reservations.

Every function joins the caller's transaction.

Decision 0040: doc/source/decisions/0040-the-record-of-what-was-held
"""

from collections.abc import Collection
from collections.abc import Mapping
import dataclasses
import datetime
from typing import Any
from typing import NamedTuple

import sqlalchemy as sa
from sqlalchemy import orm

from nova_reservations.db import fields
from nova_reservations.db import models
from nova_reservations.db import pages
from nova_reservations.objects import states
from nova_reservations.objects import usage as records

ALLOCATION = models.table(models.Allocation)
LEASE = models.table(models.Lease)
LEASED = models.table(models.LeasedServer)
RESERVATION = models.table(models.Reservation)
RESOURCE = models.table(models.Resource)
USAGE = models.table(models.ServerUsage)

LETS_IN = states.OPEN | {states.Lease.CREATING}
"""The states of leases of which the record of servers may go on."""


_TRIES = 10
"""The most rows before the last one among which the flavor is looked for that
a server had before a resize."""


@dataclasses.dataclass(frozen=True, slots=True)
class Stay:
    """A server that is in a reservation, by the record.

    :ivar id: of its row.
    :ivar flavor: the name of the flavor with which it was let in.
    :ivar carries: whether it carries its own lease.
    """

    id: int
    server_uuid: str
    reservation_id: str
    started_at: datetime.datetime
    flavor: str
    carries: bool


class Row(NamedTuple):
    """A row of the record."""

    id: int
    lease_id: str
    reservation_id: str


def admit(
    session: orm.Session,
    server_uuid: str,
    reservation_id: str,
    size: records.Size,
    now: datetime.datetime,
) -> None:
    """Record that the reservation lets the server in.

    The server's former row ends, even if it was of the same reservation: a
    worker that has seen the server elsewhere before this call ends that row,
    and not the new one. A server that is made before its lease begins counts
    from the lease's start on.

    :raises: Conflict if the same server is let in at the same time
    """
    # The lease is locked first, so that later reads see what an earlier end
    # has written.
    lease = _held_lease(session, reservation_id)
    if lease is None:
        return
    known = session.execute(
        sa.select(USAGE).where(
            USAGE.c.server_uuid == server_uuid, USAGE.c.ended_at.is_(None)
        )
    ).all()
    same = dataclasses.asdict(size) | {'reservation_id': reservation_id}
    if any(
        row.started_at >= now
        and all(getattr(row, name) == value for name, value in same.items())
        for row in known
    ):
        return
    _end(session, {row.id: row.started_at for row in known}, now)
    is_active = lease.status == states.Lease.ACTIVE
    session.execute(
        sa.insert(USAGE).values(
            **same,
            server_uuid=server_uuid,
            goes_on=server_uuid,
            lease_id=lease.id,
            project_id=lease.project_id,
            user_id=lease.user_id,
            started_at=now if is_active else max(now, lease.start_date),
        )
    )


def _held_lease(
    session: orm.Session, reservation_id: str
) -> sa.Row[Any] | None:
    """Lock and return the lease of a reservation if servers may be let in: it
    does not end before the commit.

    Galera's nodes do not know of each other's locks. A server that one lets in
    while another ends the lease is forgotten when the lease gives its hosts
    back, or ends at the hourly look (``engine/record/late_servers.py``).
    """
    lease_id = (
        sa.select(RESERVATION.c.lease_id)
        .where(RESERVATION.c.id == reservation_id)
        .scalar_subquery()
    )
    return session.execute(
        sa.select(
            LEASE.c.id,
            LEASE.c.project_id,
            LEASE.c.user_id,
            LEASE.c.status,
            LEASE.c.start_date,
        )
        .where(LEASE.c.id == lease_id, LEASE.c.status.in_(sorted(LETS_IN)))
        .with_for_update(read=True)
    ).first()


def begin(
    session: orm.Session,
    reservation_ids: Collection[str],
    now: datetime.datetime,
) -> None:
    """Let servers that were there before their lease count from now on."""
    rows = _going_on(session, reservation_ids)
    pages.update(session, USAGE.c.id, rows, started_at=now)


def end(
    session: orm.Session,
    reservation_ids: Collection[str],
    at: datetime.datetime,
) -> bool:
    """Record that nothing is in the reservations any more; return whether
    anything was, by the record."""
    rows = _going_on(session, reservation_ids)
    _end(session, rows, at)
    return bool(rows)


def undo(session: orm.Session, reservation_ids: Collection[str]) -> None:
    """Forget servers of leases that have not begun, and will not."""
    pages.delete(session, USAGE.c.id, _going_on(session, reservation_ids))


def leave(
    session: orm.Session,
    server_uuids: Collection[str],
    now: datetime.datetime,
) -> None:
    """Record that the servers are gone."""
    _end(session, _present(session, server_uuids), now)


def move_out(
    session: orm.Session, stays: Collection[Stay], now: datetime.datetime
) -> None:
    """Record that servers are elsewhere. A server that was let in again since
    the stays were read has a new row, which goes on."""
    _end(session, {stay.id: stay.started_at for stay in stays}, now)


def come_back(
    session: orm.Session,
    stay: Stay,
    flavor: str,
    host: str,
    now: datetime.datetime,
) -> bool:
    """Record that a server is where it was before this stay, with the flavor
    that it had there; return False if it was not there.

    That is so if a resize, which was let in, is reverted.

    :raises: Conflict if the same server is let in at the same time
    """
    former = _before(session, stay, flavor)
    if former is None:
        return False
    there = places(session, [former.reservation_id])
    if host not in there.get(former.reservation_id, ()):
        return False
    move_out(session, [stay], now)
    size = records.Size(**fields.of(former, records.Size))
    admit(session, stay.server_uuid, former.reservation_id, size, now)
    return True


def _before(
    session: orm.Session, stay: Stay, flavor: str
) -> sa.Row[Any] | None:
    """Return the last stay with the flavor from which the server has come to
    this one, without having been elsewhere. If nova-scheduler tries several
    hosts, each try is a stay."""
    until = stay.started_at
    for row in session.execute(
        sa.select(USAGE)
        .where(
            USAGE.c.server_uuid == stay.server_uuid,
            USAGE.c.ended_at <= stay.started_at,
        )
        .order_by(USAGE.c.ended_at.desc(), USAGE.c.id.desc())
        .limit(_TRIES)
    ):
        if row.ended_at != until:
            break
        if row.flavor == flavor:
            return row
        until = row.started_at
    return None


def places(
    session: orm.Session, reservation_ids: Collection[str]
) -> dict[str, set[str]]:
    """Return reservation id -> the names of the resources that it holds, or
    has not left yet."""
    found: dict[str, set[str]] = {}
    for page in pages.of(reservation_ids):
        for row in session.execute(
            sa.select(ALLOCATION.c.reservation_id, RESOURCE.c.name)
            .join(RESOURCE, RESOURCE.c.id == ALLOCATION.c.resource_id)
            .where(
                ALLOCATION.c.reservation_id.in_(page),
                ALLOCATION.c.released == sa.false(),
            )
        ):
            found.setdefault(row.reservation_id, set()).add(row.name)
    return found


def forget(session: orm.Session, server_uuids: Collection[str]) -> None:
    """Forget servers that were to be created, and were not."""
    pages.delete(session, USAGE.c.id, _present(session, server_uuids))


def of(
    session: orm.Session, reservation_ids: Collection[str]
) -> frozenset[str]:
    """Return the UUIDs of all servers that the reservations have let in."""
    query = sa.select(USAGE.c.server_uuid.distinct()).where(
        USAGE.c.reservation_id.in_(reservation_ids)
    )
    return frozenset(session.scalars(query))


def watched(session: orm.Session, after: str, limit: int) -> list[Stay]:
    """Return a page of servers that are in a reservation, in the order of
    their UUIDs.

    :param after: the last server of the page before; '' for the first page
    """
    rows = session.execute(
        sa.select(
            USAGE.c.id,
            USAGE.c.server_uuid,
            USAGE.c.reservation_id,
            USAGE.c.started_at,
            USAGE.c.flavor,
        )
        .where(USAGE.c.ended_at.is_(None), USAGE.c.server_uuid > after)
        .order_by(USAGE.c.server_uuid)
        .limit(limit)
    ).all()
    query = sa.select(LEASED.c.server_uuid).where(
        LEASED.c.server_uuid.in_({row.server_uuid for row in rows})
    )
    carriers = set(session.scalars(query))
    return [
        Stay(**fields.of(row, Stay), carries=row.server_uuid in carriers)
        for row in rows
    ]


def going_on(session: orm.Session, after: int, limit: int) -> list[Row]:
    """Return a page of the rows that go on.

    :param after: the last row of the page before; 0 for the first page
    """
    rows = session.execute(
        sa.select(USAGE.c.id, USAGE.c.lease_id, USAGE.c.reservation_id)
        .where(USAGE.c.ended_at.is_(None), USAGE.c.id > after)
        # In the order of the index: otherwise PostgreSQL may read all past
        # rows by their ids.
        .order_by(USAGE.c.ended_at, USAGE.c.id)
        .limit(limit)
    )
    return [Row(*row) for row in rows]


def not_over(session: orm.Session, lease_ids: Collection[str]) -> set[str]:
    """Return those of the leases of which rows may go on."""
    query = sa.select(LEASE.c.id).where(
        LEASE.c.id.in_(lease_ids),
        LEASE.c.status.in_(sorted(LETS_IN)),
    )
    return set(session.scalars(query))


def _going_on(
    session: orm.Session, reservation_ids: Collection[str]
) -> dict[int, datetime.datetime]:
    """Return row id -> when it began. The locking read finds all committed
    rows, even those that are newer than the transaction's snapshot."""
    rows = session.execute(
        sa.select(USAGE.c.id, USAGE.c.started_at)
        .where(
            USAGE.c.reservation_id.in_(reservation_ids),
            USAGE.c.ended_at.is_(None),
        )
        .with_for_update()
    )
    return {row.id: row.started_at for row in rows}


def _present(
    session: orm.Session, server_uuids: Collection[str]
) -> dict[int, datetime.datetime]:
    """Return row id -> when it began, of the servers that are in any
    reservation."""
    return {
        row.id: row.started_at
        for page in pages.of(server_uuids)
        for row in session.execute(
            sa.select(USAGE.c.id, USAGE.c.started_at).where(
                USAGE.c.server_uuid.in_(page), USAGE.c.ended_at.is_(None)
            )
        )
    }


def _end(
    session: orm.Session,
    rows: Mapping[int, datetime.datetime],
    at: datetime.datetime,
) -> None:
    present = USAGE.c.ended_at.is_(None)
    over = (key for key, began in rows.items() if began < at)
    pages.update(session, USAGE.c.id, over, present, ended_at=at, goes_on=None)
    never = (key for key, began in rows.items() if began >= at)
    pages.delete(session, USAGE.c.id, never)
