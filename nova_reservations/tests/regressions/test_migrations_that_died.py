# SPDX-License-Identifier: Apache-2.0
"""A migration that died half-way on MySQL or MariaDB could not be repeated:
the table, column or index that it had made was there already.

Issue 13, item 14.
"""

import re

import pytest
import sqlalchemy as sa

from nova_reservations.db import api
from nova_reservations.db import migration
from nova_reservations.tests import conftest
from nova_reservations.tests import migrations

pytestmark = pytest.mark.backends

WRITE = re.compile(r'\s*(CREATE|ALTER|DROP|INSERT|UPDATE)\b')


class Died(BaseException):
    """No handler catches it, as if the process was killed."""


def die_after_each(database: api.Database) -> None:
    """Interrupt the sync after each statement that writes, once per
    statement."""
    done: set[str] = set()

    def executed(_connection, _cursor, statement, *_) -> None:
        if WRITE.match(statement) and statement not in done:
            done.add(statement)
            raise Died(statement)

    sa.event.listen(database.engine(), 'after_cursor_execute', executed)


def sync(database: api.Database) -> bool:
    """Return whether the sync was not interrupted."""
    try:
        migration.sync(database)
    except Died:
        return False
    return True


def contents(database: api.Database) -> dict[str, list[str]]:
    """Return the lines of each table's definition, and its rows."""
    with database.engine().connect() as connection:
        found = {}
        for name in sa.inspect(connection).get_table_names():
            table = sa.table(name)
            made = connection.execute(sa.text(f'SHOW CREATE TABLE {name}'))
            rows = connection.execute(
                sa.select(sa.text('*')).select_from(table)
            )
            # Indexes are listed in the order in which they were made.
            lines = [line.rstrip(',') for line in made.one()[1].splitlines()]
            found[name] = sorted([*lines, *map(str, rows)])
        return found


@pytest.fixture(autouse=True)
def two_migrations(monkeypatch, tmp_path):
    """The first migration makes the tables, and a second one changes them."""
    migrations.add_second(monkeypatch, tmp_path)


@pytest.fixture
def whole(tmp_path):
    """The schema after migrations that nothing interrupts."""
    with conftest.empty_database('mysql', tmp_path) as url:
        database = api.Database(url)
        migration.sync(database)
        yield contents(database)
        database.dispose()


@pytest.fixture
def empty(tmp_path):
    with conftest.empty_database('mysql', tmp_path) as url:
        database = api.Database(url)
        yield database
        database.dispose()


def test_a_sync_that_dies_after_any_statement_is_repeated(empty, whole):
    """Changes of the schema remain after an interrupted sync; changes of rows
    do not. So each sync is interrupted one statement later than the sync
    before."""
    die_after_each(empty)
    deaths = 0
    while not sync(empty):
        deaths += 1
        assert deaths < 400, 'it does not get on'
    assert deaths > 50
    assert migration.version(empty) == migration.head() == migrations.SECOND
    assert contents(empty) == whole
