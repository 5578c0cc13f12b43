# SPDX-License-Identifier: Apache-2.0
import contextlib
import sqlite3

from oslo_db.sqlalchemy import enginefacade
import pytest
import sqlalchemy
from sqlalchemy import exc

from sandbox import databases


@pytest.fixture
def engine(tmp_path):
    """An engine as OpenStack's services have it, on a file in WAL mode."""
    file = tmp_path / 'some.db'
    with contextlib.closing(sqlite3.connect(file)) as connection:
        connection.execute('PRAGMA journal_mode=WAL')
        connection.execute('CREATE TABLE host (free INTEGER)')
    database = enginefacade.transaction_context()
    database.configure(connection=f'sqlite:///{file}?timeout=0.1')
    return database.writer.get_engine()


@pytest.fixture
def begin_late():
    databases.begin_late()
    yield
    sqlalchemy.event.remove(*databases.LISTENER)


def read_then_write_while_another_writes(engine):
    with engine.begin() as one, engine.begin() as other:
        one.exec_driver_sql('SELECT count(*) FROM host')
        other.exec_driver_sql('INSERT INTO host VALUES (1)')
        other.commit()
        one.exec_driver_sql('INSERT INTO host VALUES (2)')


def test_oslo_db_lets_a_reader_that_comes_to_write_fail(engine):
    with pytest.raises(exc.OperationalError, match='locked'):
        read_then_write_while_another_writes(engine)


def test_a_transaction_begun_late_writes_after_the_other(engine, begin_late):
    read_then_write_while_another_writes(engine)
    with engine.connect() as connection:
        rows = connection.exec_driver_sql('SELECT free FROM host')
        assert [free for (free,) in rows] == [1, 2]


def test_a_transaction_begun_late_is_still_rolled_back(engine, begin_late):
    with engine.connect() as connection:
        connection.exec_driver_sql('INSERT INTO host VALUES (1)')
        connection.rollback()
        rows = connection.exec_driver_sql('SELECT free FROM host')
        assert [*rows] == []
