# SPDX-License-Identifier: Apache-2.0
"""Leases as they were when they were deleted.

Every function joins the caller's transaction.

Decision 0040: doc/source/decisions/0040-the-record-of-what-was-held
"""

from collections.abc import Collection
from collections.abc import Mapping
import dataclasses
import datetime
import json
from typing import Any

import sqlalchemy as sa
from sqlalchemy import orm

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations.db import fields
from nova_reservations.db import models
from nova_reservations.db import pages
from nova_reservations.db import writes
from nova_reservations.db.leases import lease_pages
from nova_reservations.objects import states

DELETED = models.table(models.DeletedLease)
RESERVATION = models.table(models.DeletedReservation)

_UNTRIED = states.FIRST | {states.Lease.TIMEDOUT}
"""Leases that nothing was made in Nova for, if nothing of them is there now.
Of a start that failed a suspended worker may leave something later."""


def keep(
    session: orm.Session, lease: objects.Lease, now: datetime.datetime
) -> None:
    """Keep what is needed of a lease that is deleted now.

    Only a lease that has begun is kept: others are promises, of which a
    project can make and delete any number. If something of it was in Nova, or
    was to be, its reservations are known for a while.
    """
    if lease.has_begun:
        deleting = lease.status == states.Lease.DELETING
        kept = _ended(lease) if deleting else lease
        row = {
            **fields.columns(kept, DELETED),
            'deleted_at': now,
            'document': _document(kept),
        }
        session.execute(sa.insert(DELETED).values(row))
    elif lease.status in _UNTRIED:
        return
    reservations = [
        {
            'id': item.id,
            'lease_id': lease.id,
            'deleted_at': None if lease.has_begun else now,
        }
        for item in lease.reservations
    ]
    writes.insert(session, RESERVATION, reservations)


def _ended(lease: objects.Lease) -> objects.Lease:
    """Return a lease of which nothing is left."""
    return dataclasses.replace(
        lease,
        status=states.Lease.TERMINATED,
        status_reason=None,
        status_detail=None,
        reservations=tuple(
            dataclasses.replace(item, status=states.Reservation.DELETED)
            for item in lease.reservations
        ),
        events=tuple(
            dataclasses.replace(event, status=states.Event.DONE)
            if event.event_type == states.EventType.END
            else event
            for event in lease.events
        ),
    )


def get(session: orm.Session, lease_id: str) -> objects.Lease:
    """:raises: NotFound"""
    row = session.execute(
        sa.select(DELETED).where(DELETED.c.id == lease_id)
    ).first()
    if row is None:
        raise exception.NotFound(kind='Lease', id=lease_id)
    return _lease(row)


def had(session: orm.Session, reservation_ids: Collection[str]) -> set[str]:
    """Return those of the ids that are of reservations of deleted leases."""
    found: set[str] = set()
    for page in pages.of(reservation_ids):
        found.update(
            session.scalars(
                sa.select(RESERVATION.c.id).where(RESERVATION.c.id.in_(page))
            )
        )
    return found


def page(
    session: orm.Session,
    query: objects.LeaseQuery,
    after: lease_pages.Position | None = None,
) -> tuple[list[objects.Lease], lease_pages.Position | None]:
    """Return deleted leases up to the limit, and where the next page begins;
    None if this is the last.

    :param after: where this page begins, in place of the marker.
    :raises: InvalidInput if the marker is no lease that the query could see
    """
    columns = _columns(query)
    conditions = lease_pages.filters(query, DELETED)
    if query.changed_since is not None:
        conditions.append(DELETED.c.deleted_at >= query.changed_since)
    if query.statuses:
        conditions.append(DELETED.c.status.in_(query.statuses))
    if after is None and query.marker is not None:
        after = marked(session, query)
        if after is None:
            raise lease_pages.no_marker(query)
    if after is not None:
        conditions.append(pages.beyond(columns, after, query.descending))
    order = sa.desc if query.descending else sa.asc
    rows = session.execute(
        sa.select(DELETED)
        .where(*conditions)
        .order_by(*map(order, columns))
        .limit(query.limit)
    ).all()
    found = [_lease(row) for row in rows]
    if not found or len(found) != query.limit:
        return found, None
    return found, lease_pages.position(query, found[-1])


def marked(
    session: orm.Session, query: objects.LeaseQuery
) -> lease_pages.Position | None:
    """Return where the page of the query begins; None if its marker is no
    deleted lease that it could see."""
    conditions = [DELETED.c.id == query.marker]
    if query.project_id is not None:
        conditions.append(DELETED.c.project_id == query.project_id)
    marker = session.execute(
        sa.select(*_columns(query)).where(*conditions)
    ).first()
    return None if marker is None else tuple(marker)


def _columns(query: objects.LeaseQuery) -> list[sa.ColumnElement[Any]]:
    keys = lease_pages.SORT_KEYS[query.sort_key]
    return [DELETED.c[str(column.key)] for column in keys]


_DATES = (datetime.datetime, datetime.datetime | None)


def _document(lease: objects.Lease) -> Any:
    """Return a lease as JSON has it."""
    text = json.dumps(
        dataclasses.asdict(lease), default=datetime.datetime.isoformat
    )
    return json.loads(text)


def _lease(row: sa.Row[Any]) -> objects.Lease:
    found = _read(objects.Lease, row.document)
    found |= {
        'reservations': tuple(map(_reservation, found['reservations'])),
        'events': tuple(
            objects.Event(**_read(objects.Event, event))
            for event in found['events']
        ),
        'deleted_at': row.deleted_at,
    }
    return objects.Lease(**found)


def _reservation(document: Mapping[str, Any]) -> objects.Reservation:
    found = _read(objects.Reservation, document)
    servers = tuple(
        objects.LeasedServer(**server) for server in found['servers']
    )
    return objects.Reservation(**found | {'servers': servers})


def _read(kind: type[Any], document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields that a document has: a document of another release may
    have more, or fewer."""
    found = fields.known(document.items(), kind)
    for field in dataclasses.fields(kind):
        if field.type in _DATES and found.get(field.name) is not None:
            found[field.name] = datetime.datetime.fromisoformat(
                found[field.name]
            )
    return found
