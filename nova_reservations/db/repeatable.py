# SPDX-License-Identifier: Apache-2.0
"""Migrations on MySQL and MariaDB, which commit each change of the schema at
once. A migration that died half-way can be run again, and goes on from there.

A step is left out if the schema is already as the step would leave it. SQL
that a migration executes by itself must be repeatable.
"""

from collections.abc import Sequence
from typing import Any

from alembic.ddl import mysql
import sqlalchemy as sa


# It sets no __dialect__, which would register it for Nova's migrations, too.
class RepeatableImpl(mysql.MySQLImpl):
    """Alembic's implementation, but it looks at the schema before each
    step."""

    def create_table(self, table: sa.Table, **kw: Any) -> None:
        if not self._inspector().has_table(table.name):
            super().create_table(table, **kw)
        for index in table.indexes:
            self.create_index(index)

    def drop_table(self, table: sa.Table, **kw: Any) -> None:
        if self._inspector().has_table(table.name):
            super().drop_table(table, **kw)

    def add_column(
        self, table_name: str, column: sa.Column[Any], **kw: Any
    ) -> None:
        if column.name not in self._columns(table_name):
            super().add_column(table_name, column, **kw)

    def drop_column(
        self, table_name: str, column: sa.Column[Any], **kw: Any
    ) -> None:
        if column.name in self._columns(table_name):
            super().drop_column(table_name, column, **kw)

    def create_index(self, index: sa.Index, **kw: Any) -> None:
        if str(index.name) not in self._indexes(_table(index)):
            super().create_index(index, **kw)

    def drop_index(self, index: sa.Index, **kw: Any) -> None:
        if str(index.name) in self._indexes(_table(index)):
            super().drop_index(index, **kw)

    def add_constraint(self, const: Any, **kw: Any) -> None:
        if str(const.name) not in self._constraints(const.table.name):
            super().add_constraint(const, **kw)

    def drop_constraint(self, const: Any, **kw: Any) -> None:
        if str(const.name) in self._constraints(const.table.name):
            super().drop_constraint(const, **kw)

    def bulk_insert(
        self,
        table: sa.TableClause,
        rows: list[dict[str, Any]],
        multiinsert: bool = True,
    ) -> None:
        """Insert the rows whose primary key does not exist."""
        key = [
            table.c[name]
            for name in self._inspector().get_pk_constraint(table.name)[
                'constrained_columns'
            ]
            if name in table.c
        ]
        assert self.connection is not None
        there = set(map(tuple, self.connection.execute(sa.select(*key))))
        super().bulk_insert(
            table,
            [
                row
                for row in rows
                if tuple(row[column.name] for column in key) not in there
            ],
            multiinsert,
        )

    def _inspector(self) -> sa.Inspector:
        """Return a new inspector: an old one has cached what it saw."""
        assert self.connection is not None
        return sa.inspect(self.connection)

    def _columns(self, table: str) -> set[str]:
        return {
            column['name'] for column in self._inspector().get_columns(table)
        }

    def _indexes(self, table: str) -> set[str | None]:
        return {
            index['name'] for index in self._inspector().get_indexes(table)
        }

    def _constraints(self, table: str) -> set[str | None]:
        inspector = self._inspector()
        found: list[Sequence[Any]] = [
            inspector.get_check_constraints(table),
            inspector.get_foreign_keys(table),
            inspector.get_unique_constraints(table),
        ]
        return {constraint['name'] for kind in found for constraint in kind}


def _table(index: sa.Index) -> str:
    assert index.table is not None
    return str(index.table.name)
