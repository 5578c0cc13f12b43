# SPDX-License-Identifier: Apache-2.0
"""Hosts that are being closed to servers without a reservation: for good, by
their enrolment, or for a lease that they are emptied for.

Each has a list of the servers that Nova was building or moving when the host
was closed, and that may still land on it.

Every function joins the caller's transaction.
"""

from collections.abc import Collection
import dataclasses
import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy import orm

from nova_reservations.db import models
from nova_reservations.db import pages
from nova_reservations.db import writes
from nova_reservations.objects import states

CLOSING = models.table(models.Closing)
AWAITED = models.table(models.AwaitedServer)
RESOURCE = models.table(models.Resource)

TASK = 'enrolments'
"""The task that completes enrolments which wait."""

_AT_ONCE = 500


@dataclasses.dataclass(frozen=True, slots=True)
class Closing:
    """:ivar attempt: who closes it: an enrolment, a removal, or a lease.

    :ivar listed_at: when its servers were listed; None: not yet.
    :ivar servers: the listed servers that are still waited for.
    """

    resource_id: int
    attempt: str
    listed_at: datetime.datetime | None = None
    servers: frozenset[str] = frozenset()


def begin(session: orm.Session, resource_id: int, attempt: str) -> Closing:
    """Begin the closing of a host; an earlier attempt has then lost it."""
    delete(session, resource_id)
    session.execute(
        sa.insert(CLOSING).values(resource_id=resource_id, attempt=attempt)
    )
    return Closing(resource_id, attempt)


def get(session: orm.Session, resource_id: int) -> Closing | None:
    row = session.execute(
        sa.select(CLOSING).where(CLOSING.c.resource_id == resource_id)
    ).first()
    if row is None:
        return None
    servers = session.scalars(
        sa.select(AWAITED.c.server_id).where(
            AWAITED.c.resource_id == resource_id
        )
    )
    return Closing(resource_id, row.attempt, row.listed_at, frozenset(servers))


def listed(session: orm.Session) -> list[int]:
    """Return the hosts whose enrolment waits."""
    query = (
        sa.select(CLOSING.c.resource_id)
        .join(RESOURCE, RESOURCE.c.id == CLOSING.c.resource_id)
        .where(
            CLOSING.c.listed_at.is_not(None),
            RESOURCE.c.role == states.Role.POOL,
        )
        .order_by(CLOSING.c.resource_id)
    )
    return list(session.scalars(query))


def set_list(
    session: orm.Session,
    closing: Closing,
    servers: Collection[str],
    now: datetime.datetime,
) -> bool:
    """Write the list, once; return False if another attempt has the
    closing."""
    if not _change(session, closing, listed_at=now):
        return False
    for page in pages.of(servers, _AT_ONCE):
        rows = [
            {'resource_id': closing.resource_id, 'server_id': server}
            for server in page
        ]
        writes.insert(session, AWAITED, rows)
    return True


def forget(
    session: orm.Session, closing: Closing, servers: Collection[str]
) -> None:
    """Wait for these servers no more."""
    for page in pages.of(servers, _AT_ONCE):
        session.execute(
            sa.delete(AWAITED).where(
                AWAITED.c.resource_id == closing.resource_id,
                AWAITED.c.server_id.in_(page),
            )
        )


def set_reason(session: orm.Session, closing: Closing, reason: str) -> bool:
    """Write what the host waits for; return False if another attempt has the
    closing."""
    return _change(session, closing, reason=reason)


def take(session: orm.Session, closing: Closing, attempt: str) -> bool:
    """Give a closing to another attempt; return False if it was lost
    before."""
    return _change(session, closing, attempt=attempt)


def end(session: orm.Session, closing: Closing) -> bool:
    """Delete a closing that is over; return False if another attempt has
    it."""
    # This update locks the row until the commit.
    if not _change(session, closing, listed_at=None):
        return False
    delete(session, closing.resource_id)
    return True


def delete(session: orm.Session, resource_id: int) -> None:
    for table in (AWAITED, CLOSING):
        pages.delete(session, table.c.resource_id, [resource_id])


def _change(session: orm.Session, closing: Closing, **columns: Any) -> bool:
    return writes.changed(
        session,
        CLOSING,
        CLOSING.c.resource_id == closing.resource_id,
        CLOSING.c.attempt == closing.attempt,
        **columns,
    )
