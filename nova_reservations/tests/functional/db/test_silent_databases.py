# SPDX-License-Identifier: Apache-2.0
"""A database that says nothing is not waited for for ever."""

import socket

from oslo_db import exception as db_exc
import pytest
import sqlalchemy as sa

from nova_reservations import exception
from nova_reservations.cloud import time_limits
from nova_reservations.db import api

LITTLE_PATIENCE = 2
"""Seconds; a busy machine opens a connection in less."""

SERVERS = pytest.mark.parametrize(
    'any_database', ['mysql', 'postgresql'], indirect=True
)

SLEEP = {'mysql': 'SELECT SLEEP(20)', 'postgresql': 'SELECT pg_sleep(20)'}


@pytest.fixture
def silent():
    """The port of a server that accepts connections, and says nothing."""
    with socket.create_server(('127.0.0.1', 0)) as server:
        yield server.getsockname()[1]


@pytest.fixture
def limits():
    time_limits.install()
    with time_limits.limited_to(LITTLE_PATIENCE):
        yield


@pytest.mark.parametrize('driver', ['mysql+pymysql', 'postgresql+psycopg2'])
def test_a_server_that_does_not_greet_is_not_waited_for(
    silent, limits, driver
):
    database = api.Database(f'{driver}://root@127.0.0.1:{silent}/any')
    with pytest.raises(exception.DatabaseUnavailable):
        database.now()


@SERVERS
def test_an_answer_that_does_not_come_is_not_waited_for(any_database):
    time_limits.install()
    with any_database.reader() as session:
        backend = session.get_bind().dialect.name
    any_database.dispose()
    with (
        time_limits.limited_to(LITTLE_PATIENCE),
        pytest.raises(exception.DatabaseUnavailable),
        any_database.reader() as session,
    ):
        session.execute(sa.text(SLEEP[backend]))
    with any_database.reader() as session:
        assert session.scalar(sa.text('SELECT 1')) == 1


@SERVERS
def test_a_server_that_hangs_is_lost_for_nova_as_if_it_were_down(
    any_database, limits
):
    """oslo.db takes the connection out of the pool then."""
    engine = any_database.engine()
    engine.dispose()
    with engine.connect() as connection:
        with pytest.raises(db_exc.DBConnectionError):
            connection.execute(sa.text(SLEEP[engine.dialect.name]))
        assert connection.invalidated
