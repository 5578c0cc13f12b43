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
from nova_reservations.db import deleted_leases
from nova_reservations.db import lease_pages
from nova_reservations.db import leases
from nova_reservations.db import migration
from nova_reservations.db import models

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


def test_they_make_the_checks_of_the_models(any_database):
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


_USED = models.table(models.ServerUsage)


def _servers():
    """Return servers of reservations, one of which was recorded twice."""
    of_all = dict.fromkeys(
        (column.name for column in _USED.c if not column.nullable), 1
    ) | {'started_at': NOON}
    return [
        {**of_all, 'id': number, 'server_uuid': server, 'ended_at': ended}
        for number, server, ended in (
            (1, 'twice', LATER),
            (2, 'twice', None),
            (3, 'twice', None),
            (4, 'once', None),
        )
    ]


def test_what_is_there_lives_through_an_upgrade(empty):
    migration.sync(empty, '0001')
    stamps = {'created_at': NOON, 'updated_at': None}
    with empty.engine().begin() as connection:
        old = sa.MetaData()
        old.reflect(connection)
        for table, rows in (
            ('nr_leases', [_columns('a', NOON), _columns('b', LATER)]),
            (
                'nr_events',
                [
                    {
                        'id': f'event of {lease}',
                        'lease_id': lease,
                        'event_type': 'start_lease',
                        'time': LATER,
                        'status': 'UNDONE',
                        **stamps,
                    }
                    for lease in 'ab'
                ],
            ),
            (
                'nr_resources',
                [
                    {
                        'id': 1,
                        'resource_type': 'physical:host',
                        'name': 'one',
                        'uuid': '1',
                        'reservable': True,
                        'generation': 5,
                        'spread': 1,
                        **stamps,
                    }
                ],
            ),
        ):
            connection.execute(sa.insert(old.tables[table]), rows)
    migration.sync(empty, '0038')
    with empty.engine().begin() as connection:
        connection.execute(sa.insert(_USED), _servers())
    migration.sync(empty)
    with empty.reader() as session:
        used = session.execute(
            sa.select(_USED.c.id, _USED.c.goes_on).order_by(_USED.c.id)
        ).all()
        found = lease_pages.page(session, objects.LeaseQuery(sort_key='id'))[0]
        [resource] = session.execute(sa.select(models.Resource.__table__))
    assert [(lease.id, lease.lease_type) for lease in found] == [
        ('a', 'immediate'),
        ('b', 'scheduled'),
    ]
    assert [lease.version for lease in found] == [3, 3]
    assert [event.id for lease in found for event in lease.events] == [
        'event of a',
        'event of b',
    ]
    assert (resource.role, resource.generation) == ('pool', 5)
    assert used == [(1, None), (3, 'twice'), (4, 'once')]


def test_reservations_of_leases_that_were_deleted_before_are_known(empty):
    migration.sync(empty, '0042')
    stamps = dict.fromkeys(
        ('start_date', 'end_date', 'created_at', 'deleted_at'), NOON
    )
    had = {f'lease-{number}': [f'of-{number}'] for number in range(250)}
    had |= {'bare': [], 'of two': ['one', 'two']}
    with empty.engine().begin() as connection:
        connection.execute(
            sa.insert(models.DeletedLease.__table__),
            [
                {
                    'id': lease,
                    'name': 'a lease',
                    'project_id': 'p',
                    'status': 'TERMINATED',
                    'document': {'reservations': [{'id': id} for id in ids]},
                    **stamps,
                }
                for lease, ids in had.items()
            ],
        )
    migration.sync(empty)
    ids = {each for some in had.values() for each in some}
    with empty.reader() as session:
        assert deleted_leases.had(session, {*ids, 'unknown'}) == ids


def test_a_worker_of_the_schema_before_can_still_write(empty):
    migration.sync(empty)
    with empty.engine().begin() as connection:
        connection.execute(
            sa.insert(models.Lease.__table__), [_columns('a', LATER)]
        )
    with empty.reader() as session:
        assert leases.get(session, 'a').lease_type == 'scheduled'


def _known_columns(database):
    inspector = sa.inspect(database.engine())
    return {
        (table, column['name']): column['nullable']
        or column['default'] is not None
        for table in inspector.get_table_names()
        for column in inspector.get_columns(table)
    }


def test_who_does_not_know_the_columns_that_come_can_still_write(empty):
    migration.sync(empty, '0038')
    before = _known_columns(empty)
    tables = {table for table, _ in before}
    migration.sync(empty)
    after = _known_columns(empty)
    assert before.keys() <= after.keys()
    come = {key for key in after.keys() - before.keys() if key[0] in tables}
    assert ('nr_server_usage', 'goes_on') in come
    assert all(after[key] for key in come)


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


def test_resources_of_one_name_are_told_before_the_schema_changes(empty):
    migration.sync(empty, '0050')
    with empty.engine().begin() as connection:
        old = sa.MetaData()
        old.reflect(connection, only=['nr_resources'])
        connection.execute(
            sa.insert(old.tables['nr_resources']),
            [_host(1, 'one'), _host(2, 'two'), _host(3, 'one')],
        )
    with pytest.raises(
        exception.InvalidState, match=r'host one .*first is 1, the last 3\)\.'
    ):
        migration.sync(empty)
    assert migration.version(empty) == '0050'
    with empty.engine().begin() as connection:
        connection.execute(sa.text('DELETE FROM nr_resources WHERE id = 3'))
    migration.sync(empty)
    assert migration.version(empty) == migration.head()


def test_who_does_not_know_facts_can_delete_a_host_that_has_some(any_database):
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
