# SPDX-License-Identifier: Apache-2.0
"""A migration that died half-way on MySQL or MariaDB could not be repeated:
the table, column or index that it had made was there already.

Issue 13, item 14.
"""

import re

import alembic.autogenerate
import alembic.migration
import pytest
import sqlalchemy as sa

from nova_reservations.db import api
from nova_reservations.db import migration
from nova_reservations.db import models
from nova_reservations.tests import conftest

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


def differences(database: api.Database) -> list[object]:
    with database.engine().connect() as connection:
        context = alembic.migration.MigrationContext.configure(
            connection,
            opts={
                'compare_type': True,
                'compare_server_default': True,
                'version_table': migration.VERSION_TABLE,
            },
        )
        return alembic.autogenerate.compare_metadata(
            context, models.Base.metadata
        )


def contents(database: api.Database) -> dict[str, object]:
    """Return all check constraints, and all rows that migrations insert."""
    engine = database.engine()
    inspector = sa.inspect(engine)
    with engine.connect() as connection:
        return {
            'checks': {
                (table, check['name'], check['sqltext'])
                for table in inspector.get_table_names()
                for check in inspector.get_check_constraints(table)
            },
            **{
                model.__tablename__: sorted(
                    map(tuple, connection.execute(sa.select(model.__table__)))
                )
                for model in (models.Counter, models.Task)
            },
        }


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
    assert migration.version(empty) == migration.head()
    assert differences(empty) == []
    assert contents(empty) == whole
