# SPDX-License-Identifier: Apache-2.0
"""The time limits of connections to databases; ``cloud/time_limits.py`` has
those of all other calls that leave the process.

The limits are set where SQLAlchemy opens connections. Whatever the URL of a
database says comes first.

Decision 0059: doc/source/decisions/0059-nothing-is-waited-for-for-ever
"""

from collections.abc import Callable
from collections.abc import Mapping
import functools
import select
from typing import Any

import sqlalchemy as sa
from sqlalchemy import event

Seconds = Callable[[], float | None]
"""Returns for how long a call may wait at this moment; None: for ever."""


def install(seconds: Seconds) -> None:
    """Limit the waits of all connections that this process opens, of Nova's to
    its databases, too."""
    event.listen(sa.Engine, 'do_connect', functools.partial(connect, seconds))


def connect(
    seconds: Seconds,
    dialect: Any,
    _: Any,
    args: list[Any],
    options: dict[str, Any],
) -> None:
    """Add the limits to the options with which a connection is opened."""
    most = seconds()
    if most is None:
        return
    if dialect.driver == 'psycopg2':
        _limit_waits(dialect.dbapi, seconds)
    for name, value in _options(dialect.driver, most).items():
        options.setdefault(name, value)


def _options(driver: str, seconds: float) -> Mapping[str, Any]:
    """Return the arguments of a driver that limit its waits."""
    names = ('connect_timeout', 'read_timeout', 'write_timeout')
    match driver:
        case 'pymysql':
            return dict.fromkeys(names, seconds)
        case 'mysqldb':
            return dict.fromkeys(names, max(1, round(seconds)))
    return {}


@functools.cache
def _limit_waits(psycopg2: Any, seconds: Seconds) -> None:
    """Limit the waits of psycopg2, whose connections have no such option."""
    # eventlet has set a callback of its own, if Nova uses it.
    if psycopg2.extensions.get_wait_callback() is None:
        psycopg2.extensions.set_wait_callback(
            functools.partial(_wait, psycopg2, seconds)
        )


def _wait(psycopg2: Any, seconds: Seconds, connection: Any) -> None:
    events = {
        psycopg2.extensions.POLL_READ: select.POLLIN,
        psycopg2.extensions.POLL_WRITE: select.POLLOUT,
    }
    while (state := connection.poll()) != psycopg2.extensions.POLL_OK:
        waiting = select.poll()
        waiting.register(connection.fileno(), events[state])
        most = seconds()
        if not waiting.poll(None if most is None else most * 1000):
            # psycopg2 closes the connection.
            raise psycopg2.OperationalError(f'no answer in {most:g} s')
