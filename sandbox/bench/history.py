# SPDX-License-Identifier: Apache-2.0
"""Leases that ended long ago: copies, made by MariaDB, of those that the
engine has ended.

Everything that is kept of a lease is copied. The n-th copy was n hours before
the original, so that a resource had one after the other.
"""

from collections.abc import Sequence
import time
from typing import Any

import sqlalchemy as sa

from nova_reservations.db import models
from nova_reservations.objects import names
from nova_reservations.objects import states

_NAMES = 10_000

_LEASE = models.table(models.Lease)
_RESERVATION = models.table(models.Reservation)
_ALLOCATION = models.table(models.Allocation)
_AMOUNT = models.table(models.AllocationAmount)

#: The tables whose rows belong to a lease, and those of a reservation.
_OF_LEASE = (models.table(models.Event), models.table(models.UnfitHost))
_OF_RESERVATION = (
    _ALLOCATION,
    models.table(models.Server),
    models.table(models.LeasedServer),
)

#: Columns whose ids must differ in each copy.
_IDS = ('id', 'lease_id', 'reservation_id')


def multiply(engine: sa.Engine, count: int, projects: int) -> int:
    """Copy the leases that are over until there are about so many; return
    their number.

    :param projects: the number of projects of the copies, one of which is the
        original's
    :raises: ValueError if no lease is over
    """
    with engine.connect() as connection:
        connection = connection.execution_options(isolation_level='AUTOCOMMIT')
        for setting in (
            # No checks: the copies are consistent.
            'foreign_key_checks',
            'unique_checks',
            # No join cache: then all first copies come first, and then all
            # second ones, so that indexes are written page by page.
            'join_cache_level',
        ):
            connection.exec_driver_sql(f'SET SESSION {setting} = 0')
        leases = _ids(connection, _LEASE, 'status', [states.Lease.TERMINATED])
        if not leases:
            raise ValueError('no lease is over')
        _copy_all(connection, leases, count // len(leases), projects)
        # Write dirty pages now; otherwise later readers would have to.
        tables = ', '.join(models.Base.metadata.tables)
        connection.exec_driver_sql(f'FLUSH TABLES {tables} FOR EXPORT')
        connection.exec_driver_sql('UNLOCK TABLES')
    analyze(engine)
    return len(leases) * (count // len(leases) + 1)


def analyze(engine: sa.Engine) -> None:
    """Update the database's statistics of all tables."""
    tables = ', '.join(models.Base.metadata.tables)
    with engine.connect() as connection:
        connection.exec_driver_sql(f'ANALYZE TABLE {tables}')


def _copy_all(
    connection: sa.Connection,
    leases: Sequence[str],
    times: int,
    projects: int,
) -> None:
    reservations = _ids(connection, _RESERVATION, 'lease_id', leases)
    allocations = _ids(connection, _ALLOCATION, 'reservation_id', reservations)
    number = _Number(times)
    for table, column, keys in (
        (_LEASE, 'id', leases),
        (_RESERVATION, 'lease_id', leases),
        *((table, 'lease_id', leases) for table in _OF_LEASE),
        *(
            (table, 'reservation_id', reservations)
            for table in _OF_RESERVATION
        ),
    ):
        which = table.c[column].in_(keys)
        _copy(connection, table, which, number, projects)
    # With statistics, the next statement does not join by a full scan.
    connection.exec_driver_sql(f'ANALYZE TABLE {_ALLOCATION}')
    _copy_amounts(connection, allocations, number)


def _ids(
    connection: sa.Connection,
    table: sa.Table,
    column: str,
    values: Sequence[Any],
) -> list[Any]:
    return [
        *connection.scalars(
            sa.select(table.c.id).where(table.c[column].in_(values))
        )
    ]


def _copy(
    connection: sa.Connection,
    table: sa.Table,
    which: sa.ColumnElement[bool],
    number: '_Number',
    projects: int,
) -> None:
    # Copied from a separate table: if a statement reads the table that it
    # writes, the database first puts all rows into a temporary table.
    originals = sa.table(
        'originals', *(sa.column(each.name, each.type) for each in table.c)
    )
    connection.exec_driver_sql(f'CREATE TABLE originals LIKE {table.name}')
    connection.execute(
        sa.insert(originals).from_select(
            [*originals.c], sa.select(table).where(which)
        )
    )
    # The database sets autoincrement columns itself.
    counted = table.autoincrement_column
    columns = [
        column
        for column in originals.c
        if counted is None or column.name != counted.name
    ]
    connection.execute(
        sa.insert(table).from_select(
            [column.name for column in columns],
            sa.select(
                *(_changed(column, number, projects) for column in columns)
            )
            .select_from(number.table.join(originals, sa.true()))
            .prefix_with('STRAIGHT_JOIN'),
        )
    )
    connection.exec_driver_sql('DROP TABLE originals')


class _Number:
    """A table with the numbers of the copies.

    :ivar each: its column.
    """

    def __init__(self, times: int) -> None:
        self.table = sa.table(
            f'seq_1_to_{times}', sa.column('seq', sa.Integer)
        )
        self.each = self.table.c.seq
        self._times = times
        self._now = int(time.time() * 1000)

    def id(self, original: sa.ColumnElement[str]) -> sa.ColumnElement[Any]:
        """Return the id of a copy. It is unique and, like all our ids, begins
        with its time."""
        milliseconds = self._now - self.each * 3_600_000
        return self._id(
            sa.func.concat(
                sa.func.lpad(
                    sa.func.lower(sa.func.hex(milliseconds)), 12, '0'
                ),
                '7',
            ),
            original,
        )

    def server_id(
        self, original: sa.ColumnElement[str]
    ) -> sa.ColumnElement[Any]:
        """Return the id of a copied server, spread like random ids."""
        place = sa.func.floor(self.each * (0xFFFFFFFF / self._times))
        return self._id(
            sa.func.lpad(sa.func.lower(sa.func.hex(place)), 8, '0'), original
        )

    def _id(
        self, begin: sa.ColumnElement[str], original: sa.ColumnElement[str]
    ) -> sa.ColumnElement[Any]:
        text: sa.ColumnElement[str] = sa.func.left(
            sa.func.concat(
                begin, sa.func.md5(sa.func.concat(original, self.each))
            ),
            32,
        )
        for dash in (9, 14, 19, 24):
            text = sa.func.insert(text, dash, 0, '-')
        return sa.collate(text, models.TABLE_OPTIONS['mysql_collate'])


def _changed(
    column: sa.ColumnClause[Any], number: _Number, projects: int
) -> sa.ColumnElement[Any]:
    """Return the value of a column in a copy."""
    if column.name in _IDS:
        return number.id(column)
    if column.name == 'server_uuid':
        return number.server_id(column)
    if isinstance(column.type, models.UTCDateTime):
        return sa.func.timestampadd(sa.text('HOUR'), -number.each, column)
    if column.name == 'project_id':
        project = sa.func.concat('project ', number.each % projects)
        return sa.case((number.each % projects == 0, column), else_=project)
    if column.name == 'name':
        return sa.func.concat(column, ' ', number.each % _NAMES)
    return column


def _copy_amounts(
    connection: sa.Connection,
    allocations: Sequence[int],
    number: _Number,
) -> None:
    original, copy = _ALLOCATION.alias(), _ALLOCATION.alias()
    reservation = number.id(original.c.reservation_id)
    slots = sa.func.concat(
        names.SLOTS, sa.func.replace(sa.func.upper(reservation), '-', '_')
    )
    connection.execute(
        sa.insert(_AMOUNT).from_select(
            ['allocation_id', 'resource_class', 'amount'],
            sa.select(
                copy.c.id,
                sa.case(
                    (_AMOUNT.c.resource_class.startswith(names.SLOTS), slots),
                    else_=_AMOUNT.c.resource_class,
                ),
                _AMOUNT.c.amount,
            )
            .join(original, original.c.id == _AMOUNT.c.allocation_id)
            .join(number.table, sa.true())
            .join(
                copy,
                sa.and_(
                    copy.c.reservation_id == reservation,
                    copy.c.resource_id == original.c.resource_id,
                ),
            )
            .where(original.c.id.in_(allocations)),
        )
    )
