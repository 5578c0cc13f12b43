# SPDX-License-Identifier: Apache-2.0
"""The plans that a database makes for statements."""

from collections.abc import Callable
import re

import sqlalchemy as sa
from sqlalchemy import orm

from nova_reservations.db import api


def of(
    database: api.Database, run: Callable[[orm.Session], object]
) -> list[sa.Row]:
    """Return the plans of the database for all statements of ``run``."""
    statements = []

    def note(_connection, _cursor, statement, parameters, *_) -> None:
        if statement.startswith(('SELECT', 'UPDATE')):
            statements.append((statement, parameters))

    engine = database.engine()
    explain = 'EXPLAIN ' + 'QUERY PLAN ' * (engine.dialect.name == 'sqlite')
    with database.reader() as session:
        sa.event.listen(engine, 'before_cursor_execute', note)
        run(session)
        sa.event.remove(engine, 'before_cursor_execute', note)
        return [
            row
            for statement, parameters in statements
            for row in session.connection().exec_driver_sql(
                explain + statement, parameters
            )
        ]


def reads_a_whole_table(backend: str, row: sa.Row) -> bool:
    # Tasks are few, and all of them are asked for. PostgreSQL also reads other
    # small tables faster without an index, once autovacuum has counted their
    # rows: properties, counters and closings have few rows, nr_lease_exists
    # has one, and nr_servers has none here.
    if backend == 'mysql':
        return row.type == 'ALL' and bool(
            re.match('nr_(?!tasks)', row.table or '')
        )
    if backend == 'postgresql':
        return bool(
            re.search(
                r'Seq Scan on '
                r'nr_(?!tasks|properties|counters|closings|lease_exists|'
                r'servers)',
                row[0],
            )
        )
    return bool(re.match(r'SCAN nr_(?!tasks|.* USING )', row.detail))
