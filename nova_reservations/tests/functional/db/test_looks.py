# SPDX-License-Identifier: Apache-2.0
"""One query tells the time and what is due, on each kind of database."""

import datetime

from pymysql import connections
import pytest
import sqlalchemy as sa

from nova_reservations import exception
from nova_reservations.db import api
from nova_reservations.db import models
from nova_reservations.db import tasks
from nova_reservations.db.leases import looks
from nova_reservations.tests.functional.db.test_leases import lease
from nova_reservations.tests.functional.db.test_leases import NOON
from nova_reservations.tests.functional.db.test_leases import store

SECOND = datetime.timedelta(seconds=1)
HOUR = datetime.timedelta(hours=1)

SERVERS = pytest.mark.parametrize(
    'any_database', ['mysql', 'postgresql'], indirect=True
)


@pytest.fixture
def worker(any_database):
    worker = looks.Looks(any_database)
    yield worker
    worker.close()


def look_at(database, now=NOON):
    with database.reader() as session:
        return looks.at(session, now)


def put_off(database, due_at):
    """Let no task be due before ``due_at``."""
    with database.writer() as session:
        session.execute(sa.update(models.Task).values(due_at=due_at))


def test_a_look_tells_the_time_of_the_database(any_database, worker):
    assert abs(worker.look().now - any_database.now()) < 5 * SECOND


def test_a_look_tells_whether_a_lease_is_due(any_database, worker):
    assert not worker.look().lease
    store(any_database, lease(due_at=None), lease(due_at=NOON))
    assert not worker.look().lease
    assert not look_at(any_database, NOON - SECOND).lease
    assert look_at(any_database).lease
    store(any_database, lease(due_at=any_database.now() - HOUR))
    assert worker.look().lease


def test_a_look_tells_which_tasks_are_due(any_database, worker):
    put_off(any_database, NOON)
    assert not worker.look().tasks
    with any_database.writer() as session:
        tasks.hurry(session, 'refresh', any_database.now())
    found = worker.look()
    assert found.tasks == {'refresh': 0}
    with any_database.writer() as session:
        assert tasks.take(session, 'refresh', 0, found.now, NOON, NOON)
    assert not worker.look().tasks


def test_leases_start_where_the_tasks_are_lost(any_database, worker):
    """The tasks may be lost after a restore of some tables."""
    with any_database.writer() as session:
        session.execute(sa.delete(models.Task))
    store(any_database, lease(due_at=any_database.now() - HOUR))
    found = worker.look()
    assert found.lease
    assert not found.tasks


@SERVERS
def test_a_connection_that_the_server_has_closed_is_replaced(
    any_database, worker
):
    worker.look()
    with any_database.engine().connect() as other:
        statement = (
            'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE '
            'datname = current_database() AND pid <> pg_backend_pid()'
            if any_database.engine().dialect.name == 'postgresql'
            else f'KILL {_thread(worker)}'
        )
        other.execute(sa.text(statement))
    assert worker.look().now


def _thread(worker):
    return worker._connection.connection.dbapi_connection.thread_id()


def test_a_database_that_is_down_is_said_to_be():
    worker = looks.Looks(api.Database('mysql+pymysql://root@127.0.0.1:1/none'))
    with pytest.raises(exception.DatabaseUnavailable):
        worker.look()


@pytest.mark.parametrize('any_database', ['mysql'], indirect=True)
def test_a_look_is_one_round_trip(any_database, worker, monkeypatch):
    sent = []
    execute = connections.Connection._execute_command

    def count(connection, command, statement):
        sent.append(statement)
        return execute(connection, command, statement)

    monkeypatch.setattr(connections.Connection, '_execute_command', count)
    worker.look()
    sent.clear()
    for _ in range(3):
        worker.look()
    assert len(sent) == 3
