# SPDX-License-Identifier: Apache-2.0
import datetime
import pathlib

import alembic.autogenerate
import alembic.migration
import alembic.script
from oslo_db import exception as db_exc
import pytest
import sqlalchemy as sa

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations.db import api
from nova_reservations.db import migration
from nova_reservations.db import models
from nova_reservations.db.leases import lease_pages
from nova_reservations.db.leases import leases
from nova_reservations.tests import migrations

NOON = datetime.datetime(2030, 1, 1, 12, tzinfo=datetime.UTC)
LATER = NOON + datetime.timedelta(hours=1)


@pytest.fixture
def empty(database_url):
    """A database without our tables, on each kind of server in turn."""
    database = api.Database(database_url)
    yield database
    database.dispose()


def set_version(database, version):
    with database.engine().begin() as connection:
        connection.execute(
            sa.text(f'UPDATE {migration.VERSION_TABLE} SET version_num = :v'),  # noqa: S608
            {'v': version},
        )


def test_the_migrations_make_the_tables_of_the_models(any_database):
    with any_database.engine().connect() as connection:
        context = alembic.migration.MigrationContext.configure(
            connection,
            opts={
                'compare_type': True,
                'compare_server_default': True,
                'version_table': migration.VERSION_TABLE,
            },
        )
        assert (
            alembic.autogenerate.compare_metadata(
                context, models.Base.metadata
            )
            == []
        )


def test_the_migrations_make_the_checks_of_the_models(any_database):
    """Alembic does not compare check constraints."""
    wanted = {
        (table.name, str(constraint.name))
        for table in models.Base.metadata.tables.values()
        for constraint in table.constraints
        if isinstance(constraint, sa.CheckConstraint)
    }
    inspector = sa.inspect(any_database.engine())
    found = {
        (table, check['name'])
        for table in inspector.get_table_names()
        for check in inspector.get_check_constraints(table)
        # MariaDB adds a check for each JSON column.
        if check['name'].startswith('ck_')
    }
    assert found == wanted


def test_every_index_and_constraint_has_a_name(any_database):
    engine = any_database.engine()
    inspector = sa.inspect(engine)
    for table in models.Base.metadata.tables:
        named = [
            *inspector.get_indexes(table),
            *inspector.get_unique_constraints(table),
        ]
        # A test on a whole Nova runs Nova's migrations in this process. After
        # them, all foreign keys are made without names on PostgreSQL.
        if engine.dialect.name != 'postgresql':
            named += inspector.get_foreign_keys(table)
        for found in named:
            assert found['name'].startswith(('ix_nr_', 'uq_nr_', 'fk_nr_'))


def test_the_tables_stand_beside_those_of_others(empty):
    with empty.engine().begin() as connection:
        connection.execute(sa.text('CREATE TABLE instances (id INTEGER)'))
    migration.sync(empty)
    tables = set(sa.inspect(empty.engine()).get_table_names())
    assert tables - {'instances'} == {
        *models.Base.metadata.tables,
        migration.VERSION_TABLE,
    }


def test_to_sync_again_changes_nothing(any_database):
    before = migration.version(any_database)
    migration.sync(any_database)
    assert migration.version(any_database) == before == migration.head()


def _columns(lease_id, start):
    return {
        'id': lease_id,
        'name': 'a lease',
        'project_id': 'p',
        'user_id': 'u',
        'start_date': start,
        'end_date': LATER,
        'status': 'PENDING',
        'degraded': False,
        'in_nova': False,
        'prepared': False,
        'version': 3,
        'attempt': 0,
        'created_at': NOON,
    }


@pytest.fixture
def second(monkeypatch, tmp_path):
    """A release with a made-up second migration."""
    migrations.add_second(monkeypatch, tmp_path)


def _insert(database, table, *rows):
    """Write as a process that knows the columns of the rows, and no others."""
    known = sa.table(
        table,
        *(
            sa.column(
                name,
                models.UTCDateTime()
                if isinstance(value, datetime.datetime)
                else None,
            )
            for name, value in rows[0].items()
        ),
    )
    with database.engine().begin() as connection:
        connection.execute(sa.insert(known), rows)


def test_rows_live_through_an_upgrade(empty, second):
    migration.sync(empty, migrations.FIRST)
    _insert(empty, 'nr_leases', _columns('a', NOON), _columns('b', LATER))
    _insert(
        empty,
        'nr_events',
        *(
            {
                'id': f'event of {lease}',
                'lease_id': lease,
                'event_type': 'start_lease',
                'time': LATER,
                'status': 'UNDONE',
                'created_at': NOON,
            }
            for lease in 'ab'
        ),
    )
    _insert(empty, 'nr_resources', _host(1, 'one'))
    migration.sync(empty)
    assert migration.version(empty) == migration.head() == migrations.SECOND
    with empty.reader() as session:
        found = lease_pages.page(session, objects.LeaseQuery(sort_key='id'))[0]
        [resource] = session.execute(sa.select(models.Resource.__table__))
        added = session.execute(
            sa.text('SELECT id, colour, weight FROM nr_leases ORDER BY id')
        ).all()
        colours = session.scalars(
            sa.text('SELECT name FROM nr_colours ORDER BY name')
        ).all()
    assert [(lease.id, lease.version) for lease in found] == [
        ('a', 3),
        ('b', 3),
    ]
    assert [event.id for lease in found for event in lease.events] == [
        'event of a',
        'event of b',
    ]
    assert (resource.role, resource.name) == ('pool', 'one')
    assert added == [('a', 'grey', 7), ('b', 'grey', 7)]
    assert colours == ['green', 'grey']


def test_an_upgrade_changes_indexes_and_constraints(empty, second):
    migration.sync(empty)
    inspector = sa.inspect(empty.engine())
    of_leases = {item['name'] for item in inspector.get_indexes('nr_leases')}
    assert 'ix_nr_leases_colour' in of_leases
    assert 'ix_nr_leases_series' not in of_leases
    assert 'ix_nr_leases_due' in of_leases
    with pytest.raises((db_exc.DBError, sa.exc.DBAPIError)):
        _insert(empty, 'nr_resources', _host(1, 'one') | {'spread': -1})


def test_a_worker_of_the_release_before_works_on_newer_tables(
    empty, monkeypatch, tmp_path
):
    with monkeypatch.context() as patch:
        migrations.add_second(patch, tmp_path)
        migration.sync(empty)
    assert migration.state(empty) is migration.State.NEWER
    migration.check(empty)
    _insert(empty, 'nr_leases', _columns('a', LATER))
    with empty.reader() as session:
        assert leases.get(session, 'a').lease_type == 'scheduled'


def test_a_worker_waits_for_tables_of_its_release(empty, second):
    migration.sync(empty, migrations.FIRST)
    assert migration.state(empty) is migration.State.OLD
    with pytest.raises(exception.SchemaTooOld, match=r'at 0001, .* 0002'):
        migration.check(empty)
    migration.sync(empty)
    migration.check(empty)


def _known_columns(database):
    inspector = sa.inspect(database.engine())
    return {
        (table, column['name']): column['nullable']
        or column['default'] is not None
        for table in inspector.get_table_names()
        for column in inspector.get_columns(table)
    }


def _check_columns_that_come(database):
    """Return the columns that come to tables of the first migration: who does
    not know them can still write."""
    migration.sync(database, migrations.FIRST)
    before = _known_columns(database)
    tables = {table for table, _ in before}
    migration.sync(database)
    after = _known_columns(database)
    assert before.keys() <= after.keys()
    come = {key for key in after.keys() - before.keys() if key[0] in tables}
    assert all(after[key] for key in come)
    return come


def test_columns_that_come_may_be_left_out(empty):
    _check_columns_that_come(empty)


def test_columns_of_a_second_migration_may_be_left_out(empty, second):
    assert _check_columns_that_come(empty) == {
        ('nr_leases', 'colour'),
        ('nr_leases', 'weight'),
    }


@pytest.mark.parametrize(
    ('table', 'column'),
    [
        ('nr_leases', 'status'),
        ('nr_leases', 'lease_type'),
    ],
)
def test_a_value_that_the_code_does_not_know_is_refused(empty, table, column):
    migration.sync(empty)
    values = {**_columns('a', LATER), column: 'no such'}
    with pytest.raises((db_exc.DBError, sa.exc.DBAPIError)):
        with empty.engine().begin() as connection:
            connection.execute(
                sa.insert(models.Base.metadata.tables[table]), [values]
            )


def _host(number, name):
    return {
        'id': number,
        'resource_type': 'physical:host',
        'name': name,
        'uuid': f'uuid {number}',
        'reservable': True,
        'generation': 0,
        'spread': 1,
        'created_at': NOON,
    }


def test_the_facts_of_a_host_go_with_it(any_database):
    tables = models.Base.metadata.tables
    host = dict.fromkeys(
        (
            column.name
            for column in tables['nr_hosts'].c
            if not column.nullable and column.server_default is None
        ),
        1,
    )
    with any_database.engine().begin() as connection:
        for table, row in (
            ('nr_resources', _host(1, 'one')),
            ('nr_hosts', {**host, 'resource_id': 1}),
            (
                'nr_facts',
                {'id': 1, 'name': 'cpu_info', 'digest': '', 'value': ''},
            ),
            ('nr_host_facts', {'resource_id': 1, 'fact_id': 1}),
        ):
            connection.execute(sa.insert(tables[table]), [row])
    with any_database.engine().begin() as connection:
        for table in ('nr_hosts', 'nr_resources'):
            connection.execute(sa.delete(tables[table]))
        assert not connection.execute(sa.select(tables['nr_host_facts'])).all()


def test_after_an_upgrade_rows_that_refer_to_none_are_still_refused(empty):
    migration.sync(empty)
    with pytest.raises(db_exc.DBReferenceError):
        with empty.engine().begin() as connection:
            connection.execute(
                sa.insert(models.Event.__table__),
                [
                    {
                        'id': 'e',
                        'lease_id': 'none',
                        'event_type': 'start_lease',
                        'time': NOON,
                        'status': 'UNDONE',
                        'created_at': NOON,
                    }
                ],
            )


def test_a_database_without_our_tables_is_refused(empty):
    assert migration.version(empty) is None
    with pytest.raises(exception.SchemaTooOld, match='db sync'):
        migration.check(empty)


def test_a_schema_that_is_older_is_refused(any_database, monkeypatch):
    monkeypatch.setattr(migration, 'head', lambda: '9999')
    with pytest.raises(exception.SchemaTooOld, match='this code needs 9999'):
        migration.check(any_database)


def test_a_schema_that_is_newer_is_tolerated(any_database):
    set_version(any_database, 'of a later release')
    migration.check(any_database)


def test_a_schema_of_this_code_is_fine(any_database):
    migration.check(any_database)


def test_revisions_are_named_as_alembic_knows_them():
    scripts = alembic.script.ScriptDirectory(
        str(pathlib.Path(migration.__file__).parent / 'migrations')
    )
    assert scripts.get_current_head() == migration.head()
