# SPDX-License-Identifier: Apache-2.0
"""Lists of leases, a page at a time.

Every function joins the caller's transaction.

Decision 0020: doc/source/decisions/0020-a-list-is-sent-as-it-is-read
"""

from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import operator
from typing import Any

import sqlalchemy as sa
from sqlalchemy import orm

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations.db import models
from nova_reservations.db import pages
from nova_reservations.db.leases import leases
from nova_reservations.db.leases import project_access
from nova_reservations.objects import states

LEASE = models.table(models.Lease)

CHUNK = 500
"""The number of leases that one query reads."""

FEW = 5000
"""If no more leases than this end late enough, or have changed, these are read
first, and sorted afterwards."""

SORT_KEYS: Mapping[str, tuple[sa.ColumnElement[Any], ...]] = {
    **{
        key: (LEASE.c[key], LEASE.c.id)
        for key in ('created_at', 'start_date', 'end_date')
    },
    # Many leases have the same value, so the index sorts these by age.
    **{
        key: (LEASE.c[key], LEASE.c.created_at, LEASE.c.id)
        for key in ('name', 'status')
    },
    'id': (LEASE.c.id,),
}
"""Key -> the columns that leases are sorted by; the last tells any two
apart."""

Position = tuple[Any, ...]
"""A place in a list: the values of the columns that it is sorted by."""


def page(
    session: orm.Session,
    query: objects.LeaseQuery,
    after: Position | None = None,
) -> tuple[list[objects.Lease], Position | None]:
    """Return leases up to the limit, and where the next page begins; None if
    this is the last.

    :param after: where this page begins, in place of the marker.
    :raises: InvalidInput if the marker is no lease that the query could see
    """
    columns = SORT_KEYS[query.sort_key]
    if after is None and query.marker is not None:
        after = marked(session, query)
        if after is None:
            raise no_marker(query)
    conditions = _conditions(query)
    if after is not None:
        conditions.append(pages.beyond(columns, after, query.descending))
    # First only the ids, from an index, so that the rows of skipped leases are
    # not read.
    rows = session.execute(_statement(session, query, conditions)).all()
    found: dict[str, objects.Lease] = {}
    for start in range(0, len(rows), CHUNK):
        ids = [row.id for row in rows[start : start + CHUNK]]
        found |= {lease.id: lease for lease in leases.get_all(session, ids)}
    is_full = len(rows) == query.limit
    return (
        # One may have been deleted since its id was read.
        [found[row.id] for row in rows if row.id in found],
        tuple(rows[-1]) if is_full else None,
    )


def _statement(
    session: orm.Session,
    query: objects.LeaseQuery,
    conditions: Sequence[sa.ColumnElement[bool]],
) -> sa.Select[Any]:
    columns = SORT_KEYS[query.sort_key]
    of_status = LEASE.c.status.in_(query.statuses)
    order = sa.desc if query.descending else sa.asc
    for few in _recent(query):
        if query.shared_with is not None or _are_few(session, few):
            ids = sa.union(*few).subquery()
            statement = (
                sa.select(*columns)
                .select_from(ids.join(LEASE, LEASE.c.id == ids.c.id))
                .where(*conditions, *([of_status] * bool(query.statuses)))
            )
            for dialect in ('mysql', 'mariadb'):
                # Otherwise MariaDB would follow the order of the list, past
                # all leases that ended long ago.
                statement = statement.prefix_with(
                    'STRAIGHT_JOIN', dialect=dialect
                )
            return statement.order_by(*map(order, columns)).limit(query.limit)

    def in_order(*status: sa.ColumnElement[bool]) -> sa.Select[Any]:
        return (
            sa.select(*columns)
            .where(*conditions, *status)
            .order_by(*map(order, columns))
            .limit(query.limit)
        )

    if not query.statuses:
        return in_order()
    if len(query.statuses) == 1:
        return in_order(LEASE.c.status == query.statuses[0])
    # A page of each status, by its index, and then a page of all these.
    each_status = sa.union_all(
        *(
            sa.select(in_order(LEASE.c.status == status).subquery())
            for status in query.statuses
        )
    ).subquery()
    return (
        sa.select(each_status)
        .order_by(*(order(each_status.c[str(each.key)]) for each in columns))
        .limit(query.limit)
    )


def _recent(
    query: objects.LeaseQuery,
) -> Iterator[list[sa.Select[tuple[str]]]]:
    """Yield queries for ids of leases that include all wanted ones. A query
    that finds few leases is the quickest way to these."""
    if query.shared_with is not None:
        yield [project_access.leases_shared_with(query.shared_with)]
    if query.end_after is not None:
        yield [_ids(query, 'end', LEASE.c.end_date > query.end_after)]
    if query.changed_since is not None:
        yield [
            _ids(query, 'updated', LEASE.c.updated_at >= query.changed_since),
            _ids(query, 'listed', LEASE.c.created_at >= query.changed_since),
        ]


_OF_PROJECT = {
    'end': 'project_end',
    'listed': 'listed_project',
    'updated': 'updated',
}
"""The index of all -> that of the leases of one project."""


def _ids(
    query: objects.LeaseQuery, index: str, condition: sa.ColumnElement[bool]
) -> sa.Select[tuple[str]]:
    statement = sa.select(LEASE.c.id).where(condition)
    if query.project_id is not None:
        statement = statement.where(LEASE.c.project_id == query.project_id)
        index = _OF_PROJECT[index]
    for dialect in ('mysql', 'mariadb'):
        statement = statement.with_hint(
            LEASE, f'FORCE INDEX (ix_nr_leases_{index})', dialect
        )
    return statement


def _are_few(
    session: orm.Session, found: Sequence[sa.Select[tuple[str]]]
) -> bool:
    return all(
        session.scalar(ids.limit(1).offset(FEW)) is None for ids in found
    )


_FILTERS = (
    ('id', 'id', operator.eq),
    ('project_id', 'project_id', operator.eq),
    ('name', 'name', operator.eq),
    ('start_after', 'start_date', operator.ge),
    ('start_before', 'start_date', operator.lt),
    ('end_after', 'end_date', operator.gt),
    ('end_before', 'end_date', operator.le),
)
"""The filters of a query of leases: their name, the column and the
comparison."""


def filters(
    query: objects.LeaseQuery, table: sa.Table
) -> list[sa.ColumnElement[bool]]:
    """Return the conditions on what leases have, deleted or not.

    :param table: of the one or the other
    """
    return [
        compare(table.c[column], wanted)
        for name, column, compare in _FILTERS
        if (wanted := getattr(query, name)) is not None
    ]


def _conditions(query: objects.LeaseQuery) -> list[sa.ColumnElement[bool]]:
    """Return the conditions of the query, without that on statuses."""
    conditions = filters(query, LEASE)
    if query.changed_since is not None:
        conditions.append(
            sa.or_(
                LEASE.c.updated_at >= query.changed_since,
                LEASE.c.created_at >= query.changed_since,
            )
        )
    if query.over_after is not None:
        conditions.append(
            sa.or_(
                LEASE.c.end_date >= query.over_after,
                LEASE.c.status.not_in(states.OVER),
                LEASE.c.in_nova == sa.true(),
            )
        )
    return conditions


def marked(session: orm.Session, query: objects.LeaseQuery) -> Position | None:
    """Return where the page of the query begins; None if its marker is no
    lease that it could see."""
    conditions = [LEASE.c.id == query.marker]
    if query.project_id is not None:
        conditions.append(LEASE.c.project_id == query.project_id)
    if query.shared_with is not None:
        conditions.append(
            LEASE.c.id.in_(
                project_access.leases_shared_with(query.shared_with)
            )
        )
    marker = session.execute(
        sa.select(*SORT_KEYS[query.sort_key]).where(*conditions)
    ).first()
    return None if marker is None else tuple(marker)


def no_marker(query: objects.LeaseQuery) -> exception.InvalidInput:
    return exception.InvalidInput(reason=f'marker {query.marker} is no lease')


def position(query: objects.LeaseQuery, lease: objects.Lease) -> Position:
    """Return the place of a lease in the list that is asked for."""
    return tuple(
        getattr(lease, str(column.key)) for column in SORT_KEYS[query.sort_key]
    )
