# SPDX-License-Identifier: Apache-2.0
"""The schema's history, by Alembic, in a version table of our own."""

from collections.abc import Iterator
import contextlib
import enum
import pathlib

import sqlalchemy as sa

from nova_reservations import exception
from nova_reservations.db import api

VERSION_TABLE = 'nr_alembic_version'

_HERE = pathlib.Path(__file__).parent / 'migrations'


def sync(database: api.Database, revision: str = 'head') -> None:
    """Bring the schema to a revision; tables and rows that exist stay.

    :raises: DatabaseUnavailable
    """
    # Imported only here: each nova-scheduler checks the schema, and Alembic
    # would take 7 MiB of memory in each.
    import alembic.command
    import alembic.config

    config = alembic.config.Config()
    config.set_main_option('script_location', str(_HERE))
    with database.connection() as connection, _tables_remade(connection):
        api.wait_for_locks(connection)
        config.attributes['connection'] = connection
        alembic.command.upgrade(config, revision)


@contextlib.contextmanager
def _tables_remade(connection: sa.Connection) -> Iterator[None]:
    """Let SQLite change a table in the only way it has: to make a new one,
    copy the rows and drop the old one, which others refer to."""
    if connection.dialect.name != 'sqlite':
        yield
        return
    # This must run before SQLAlchemy begins a transaction: within one the
    # PRAGMA does nothing.
    raw = connection.connection.cursor()
    raw.execute('PRAGMA foreign_keys = OFF')
    try:
        yield
    finally:
        connection.rollback()
        raw.execute('PRAGMA foreign_keys = ON')
        raw.close()


def version(database: api.Database) -> str | None:
    """Return the schema's revision; None where there is none yet.

    :raises: DatabaseUnavailable
    """
    table = sa.table(VERSION_TABLE, sa.column('version_num', sa.String()))
    with database.connection() as connection:
        if not sa.inspect(connection).has_table(VERSION_TABLE):
            return None
        return connection.scalar(sa.select(table.c.version_num))


def head() -> str:
    """Return the revision that this code was written for."""
    return max(_revisions())


def _revisions() -> set[str]:
    """Return all that this code knows: files are named 0001_what.py."""
    return {
        file.name.partition('_')[0]
        for file in (_HERE / 'versions').glob('[0-9]*_*.py')
    }


class State(enum.StrEnum):
    """The state of the schema, for this code."""

    CURRENT = 'current'
    OLD = 'old'
    NEWER = 'newer'
    """A newer schema is fine: migrations only add to that of the release
    before."""


def state(database: api.Database) -> State:
    """:raises: DatabaseUnavailable"""
    return _state(version(database))


def _state(current: str | None) -> State:
    if current == head():
        return State.CURRENT
    if current is None or current in _revisions():
        return State.OLD
    return State.NEWER


def check(database: api.Database) -> None:
    """Refuse to run on a schema that is older than this code.

    :raises: SchemaTooOld, DatabaseUnavailable
    """
    current = version(database)
    if _state(current) is State.OLD:
        raise exception.SchemaTooOld(
            f'The schema of reservations is at {current or "no revision"}, '
            f'this code needs {head()}: run "nova-reservations-manage db '
            f'sync" and start again.'
        )
