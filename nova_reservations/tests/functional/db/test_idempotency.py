# SPDX-License-Identifier: Apache-2.0
"""Idempotency keys of requests, on each kind of server."""

import datetime

import pytest
import sqlalchemy as sa

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations.db.leases import idempotency

NOW = datetime.datetime(2030, 1, 1, tzinfo=datetime.UTC)
KEY = objects.IdempotencyKey.of('project', 'user', 'key', {})

END = {
    'mysql': ('SELECT connection_id()', 'KILL {}'),
    'postgresql': (
        'SELECT pg_backend_pid()',
        'SELECT pg_terminate_backend({})',
    ),
}
"""Statements that name a connection, and that end it from another one."""


@pytest.mark.parametrize('any_database', sorted(END), indirect=True)
def test_a_connection_that_is_lost_at_a_key_is_a_database_that_is_away(
    any_database,
):
    name, end = END[any_database.engine().dialect.name]

    def lose(connection, _, statement, *__):
        if statement.startswith('INSERT INTO nr_idempotency_keys'):
            with any_database.connection() as other:
                other.execute(sa.text(end.format(number)))

    sa.event.listen(any_database.engine(), 'before_cursor_execute', lose)
    try:
        with (
            pytest.raises(exception.DatabaseUnavailable),
            any_database.writer() as session,
        ):
            number = session.scalar(sa.text(name))
            idempotency.insert(session, KEY, 'lease', NOW)
    finally:
        sa.event.remove(any_database.engine(), 'before_cursor_execute', lose)
    with any_database.writer() as session:
        idempotency.insert(session, KEY, 'lease', NOW)
        assert idempotency.made(session, KEY).lease_id == 'lease'
