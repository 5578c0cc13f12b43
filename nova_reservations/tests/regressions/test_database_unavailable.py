# SPDX-License-Identifier: Apache-2.0
"""A database that was only busy was reported as a bug of ours: 500.

An exhausted pool of SQLAlchemy, and errors that oslo.db knows only as DBError,
reached users as 500, and nova-scheduler as an unknown exception. The pool
could not be made larger either: our engine read none of the options beside its
URL. Issue 13, item 3.
"""

import contextlib

import nova.conf
from nova.tests import fixtures as nova_fixtures
from oslo_db import exception as db_exc
import pytest
import sqlalchemy as sa

from nova_reservations import bootstrap
from nova_reservations import conf
from nova_reservations import exception
from nova_reservations.api import faults
from nova_reservations.db import api
from nova_reservations.testing import fake_cloud

CONF = nova.conf.CONF

SERVERS = pytest.mark.parametrize(
    'any_database', ['mysql', 'postgresql'], indirect=True
)
"""SQLite is left out: it has no pool."""


@pytest.fixture
def nova_conf():
    with nova_fixtures.ConfFixture(CONF):
        conf.register_opts(CONF)
        yield CONF


@contextlib.contextmanager
def database_of(settings, url, group, **options):
    """Build the services of a process with this URL, and these options, in one
    group of its configuration."""
    settings.set_override('connection', None, group='reservations')
    settings.set_override('connection', url, group=group)
    for name, value in options.items():
        settings.set_override(name, value, group=group)
    services = bootstrap.build(
        settings, nova=fake_cloud.FakeCloud(), notify=lambda *_: None
    )
    try:
        yield services.database
    finally:
        services.database.dispose()


@SERVERS
@pytest.mark.parametrize('group', ['reservations', 'api_database'])
def test_the_pool_is_as_large_as_the_group_of_the_url_says(
    any_database, nova_conf, group
):
    with database_of(
        nova_conf,
        any_database.url,
        group,
        max_pool_size=1,
        max_overflow=1,
        pool_timeout=0,
    ) as database:
        with database.reader() as first, database.reader() as second:
            for session in (first, second):
                session.scalar(sa.select(1))
            with pytest.raises(exception.DatabaseUnavailable):
                database.now()
        assert database.now()


@pytest.mark.parametrize('any_database', ['mysql'], indirect=True)
@pytest.mark.parametrize('group', ['reservations', 'api_database'])
def test_galera_waits_as_the_group_of_the_url_says(
    any_database, nova_conf, group
):
    with (
        database_of(
            nova_conf, any_database.url, group, mysql_wsrep_sync_wait=3
        ) as database,
        database.reader() as session,
    ):
        waits = session.scalar(sa.text('SELECT @@SESSION.wsrep_sync_wait'))
    assert waits == 3


@pytest.mark.parametrize('any_database', ['mysql'], indirect=True)
def test_parameters_beside_novas_url_are_of_ours_too(any_database, nova_conf):
    with database_of(
        nova_conf,
        any_database.url,
        'api_database',
        connection_parameters='read_timeout=1&charset=utf8',
    ) as database:
        with pytest.raises(exception.DatabaseUnavailable):
            with database.reader() as session:
                session.execute(sa.text('SELECT SLEEP(3)'))


@pytest.mark.parametrize(
    'error',
    [
        db_exc.DBError(Exception('mysql-server-17: Commands out of sync')),
        db_exc.DBNonExistentTable('nr_leases'),
        db_exc.CantStartEngineError(),
        sa.exc.TimeoutError('QueuePool limit of size 5 overflow 50 reached'),
    ],
    ids=lambda error: type(error).__name__,
)
@pytest.mark.parametrize('kind', ['reader', 'writer'])
def test_failures_of_a_database_are_a_reason_to_come_back(
    database, kind, error
):
    with pytest.raises(exception.DatabaseUnavailable) as raised:
        with getattr(database, kind)():
            raise error
    answer = faults.response(raised.value, 'req-1')
    assert answer.status_int == 503
    assert answer.headers['Retry-After'] == '5'
    assert 'mysql-server-17' not in answer.text


@pytest.mark.parametrize(
    'error', [db_exc.DBDeadlock(), db_exc.DBDuplicateEntry(['id'])]
)
def test_another_writer_who_was_first_is_no_failure(database, error):
    with pytest.raises(exception.Conflict):
        with database.writer():
            raise error


def test_a_database_has_no_pool_to_be_told_of_by_default(tmp_path):
    database = api.Database(f'sqlite:///{tmp_path}/a.db')
    assert database.now()
    database.dispose()
