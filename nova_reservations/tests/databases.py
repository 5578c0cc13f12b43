# SPDX-License-Identifier: Apache-2.0
"""Databases with our tables that the tests of a process use in turn.

A server takes longer to create the tables than most tests run. It deletes the
rows of one test in next to no time.
"""

from collections.abc import Iterator
import contextlib

import sqlalchemy as sa

from nova_reservations.db import api
from nova_reservations.db import migration
from nova_reservations.db import models

_VERSION = sa.table(
    migration.VERSION_TABLE, sa.column('version_num', sa.String())
)

Columns = set[tuple[str, str]]
"""Pairs of a table and a column."""


class Reused:
    """An empty database in which our tables are created once.

    :ivar is_fit: whether the next test may use the database.
    """

    def __init__(self, url: str) -> None:
        self.url = url
        self.is_fit = True
        database = api.Database(url)
        migration.sync(database)
        database.dispose()
        with _connection(url) as connection:
            self._columns = _columns(connection)
            self._rows = {
                table: rows
                for table in _tables()
                if (rows := connection.execute(sa.select(table)).all())
            }

    @contextlib.contextmanager
    def lent(self) -> Iterator[api.Database]:
        """Lend the database to a test. Afterwards its rows are again those
        that the migrations leave.

        A test that changes the tables must use a database of its own.
        """
        database = api.Database(self.url)
        self.is_fit = False
        try:
            yield database
        finally:
            database.dispose()
            with _connection(self.url) as connection:
                self._restore(connection)
        self.is_fit = True

    def _restore(self, connection: sa.Connection) -> None:
        columns = _columns(connection)
        for name in {table for table, _ in columns - self._columns}:
            connection.execute(sa.text(f'DROP TABLE {name}'))
        assert columns >= self._columns, 'a test has changed the tables'
        tables = _tables()
        filled = connection.execute(
            sa.union_all(
                *(
                    sa.select(sa.literal(number)).where(
                        sa.exists().select_from(table)
                    )
                    for number, table in enumerate(tables)
                )
            )
        ).scalars()
        # Foreign keys: rows go before the rows that they refer to.
        for number in sorted(filled, reverse=True):
            connection.execute(sa.delete(tables[number]))
        for table in tables:
            if rows := self._rows.get(table):
                connection.execute(
                    sa.insert(table), [dict(row._mapping) for row in rows]
                )


def _tables() -> list[sa.TableClause]:
    return [_VERSION, *models.Base.metadata.sorted_tables]


@contextlib.contextmanager
def _connection(url: str) -> Iterator[sa.Connection]:
    engine = sa.create_engine(url, poolclass=sa.NullPool)
    with engine.begin() as connection:
        yield connection


def _columns(connection: sa.Connection) -> Columns:
    schema = {'mysql': 'DATABASE()', 'postgresql': 'CURRENT_SCHEMA()'}
    here = schema[connection.dialect.name]
    query = sa.text(
        'SELECT table_name, column_name FROM information_schema.columns '  # noqa: S608
        f'WHERE table_schema = {here}'
    )
    return {(table, column) for table, column in connection.execute(query)}
