# SPDX-License-Identifier: Apache-2.0
"""The schema's history, by Alembic, in a version table of our own."""

import pathlib

import alembic.command
import alembic.config
import alembic.migration
import alembic.script

from nova_reservations import exception
from nova_reservations.db import api

VERSION_TABLE = 'nr_alembic_version'

_HERE = pathlib.Path(__file__).parent / 'migrations'


def _config() -> alembic.config.Config:
    config = alembic.config.Config()
    config.set_main_option('script_location', str(_HERE))
    return config


def sync(database: api.Database, revision: str = 'head') -> None:
    """Bring the schema to a revision; what is there already stays.

    :raises: DatabaseUnavailable
    """
    config = _config()
    with database.connection() as connection:
        config.attributes['connection'] = connection
        alembic.command.upgrade(config, revision)


def version(database: api.Database) -> str | None:
    """Return the schema's revision; None where there is none yet.

    :raises: DatabaseUnavailable
    """
    with database.connection() as connection:
        return alembic.migration.MigrationContext.configure(
            connection, opts={'version_table': VERSION_TABLE}
        ).get_current_revision()


def head() -> str:
    """Return the revision that this code was written for."""
    revision = alembic.script.ScriptDirectory.from_config(
        _config()
    ).get_current_head()
    assert revision is not None
    return revision


def check(database: api.Database) -> None:
    """Refuse to run on a schema that is older than this code.

    A newer one is fine: within a release migrations only add.

    :raises: SchemaTooOld, DatabaseUnavailable
    """
    current = version(database)
    known = {
        script.revision
        for script in alembic.script.ScriptDirectory.from_config(
            _config()
        ).walk_revisions()
    }
    if current is None or (current in known and current != head()):
        raise exception.SchemaTooOld(
            f'The schema of reservations is at {current or "no revision"}, '
            f'this code needs {head()}: run "nova-reservations-manage db '
            f'sync" and start again.'
        )
