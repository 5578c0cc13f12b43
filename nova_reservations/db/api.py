# SPDX-License-Identifier: Apache-2.0
"""The database as an object, which is passed to its users.

Functions of the modules beside this one take a session and join its
transaction; engine functions own it, by ``with database.writer()``.
"""

from collections.abc import Iterator
from collections.abc import Mapping
import contextlib
import datetime
import sqlite3
from typing import Any

from oslo_db import exception as db_exc
from oslo_db.sqlalchemy import enginefacade
import sqlalchemy as sa
from sqlalchemy import event
from sqlalchemy import orm
from sqlalchemy.ext import compiler
from sqlalchemy.sql import functions

from nova_reservations import exception
from nova_reservations.db import causality
from nova_reservations.objects import logins
from nova_reservations.ports import fences

LOCK_WAIT_SECONDS = 30
"""How long a statement waits for a lock. A transaction of ours keeps others
waiting for much less: one that does so for longer has stopped.

Decision 0031: doc/source/decisions/0031-promises-may-move
"""

Session = orm.Session
"""The session of a transaction: only ``db`` imports SQLAlchemy."""


class utcnow(functions.FunctionElement[Any]):
    """The time of the database, as text: see ``utc``."""

    type = sa.String()
    inherit_cache = True


@compiler.compiles(utcnow, 'sqlite')
def _sqlite_utcnow(*_: Any, **__: Any) -> str:
    return "strftime('%Y-%m-%d %H:%M:%S', 'now')"


@compiler.compiles(utcnow, 'mysql', 'mariadb')
def _mysql_utcnow(*_: Any, **__: Any) -> str:
    return "date_format(utc_timestamp(), '%%Y-%%m-%%d %%H:%%i:%%s')"


@compiler.compiles(utcnow, 'postgresql')
def _postgresql_utcnow(*_: Any, **__: Any) -> str:
    return (
        "to_char(timezone('utc', clock_timestamp()), 'YYYY-MM-DD HH24:MI:SS')"
    )


def utc(text: object) -> datetime.datetime:
    """Return the time that a database has given as ``utcnow``."""
    return datetime.datetime.fromisoformat(str(text)).replace(
        tzinfo=datetime.UTC
    )


class Database:
    """One database of reservations.

    Nothing is opened before the first transaction, so that an object made
    before a fork can be used after it.
    """

    def __init__(
        self,
        url: str,
        parameters: str = '',
        options: Mapping[str, Any] | None = None,
    ) -> None:
        """:param parameters: added to the query of the URL
        :param options: of the engine, by the names that oslo.db has for them
        :raises: DatabaseUnavailable if no driver understands the URL
        """
        self.url = url
        try:
            parsed = sa.make_url(url)
            if parameters:
                parsed = parsed.update_query_string(parameters, append=True)
            parsed.get_dialect().import_dbapi()
        except (sa.exc.ArgumentError, ImportError) as error:
            raise exception.DatabaseUnavailable(reason=error) from error
        if parsed.get_backend_name() in ('mysql', 'mariadb'):
            # Names may contain any character, whatever Nova's own tables
            # accept. Without utf8mb4 some characters would be a database
            # error.
            parsed = parsed.update_query_dict({'charset': 'utf8mb4'})
        self._facade = enginefacade.transaction_context()
        self._facade.configure(
            connection=parsed.render_as_string(hide_password=False),
            sqlite_fk=True,
            expire_on_commit=False,
            mysql_sql_mode='TRADITIONAL',
            max_retries=0,
            **(options or {}),
        )
        if parsed.get_backend_name() == 'sqlite':
            self._facade.append_on_engine_create(_prepare_sqlite)
        elif parsed.get_backend_name() == 'postgresql':
            self._facade.append_on_engine_create(_prepare_postgresql)
        elif parsed.get_backend_name() in ('mysql', 'mariadb'):
            self._facade.append_on_engine_create(_prepare_mysql)
            configured = (options or {}).get('mysql_wsrep_sync_wait')
            self._facade.append_on_engine_create(
                lambda engine: causality.prepare(
                    engine, is_configured=configured is not None
                )
            )

    @contextlib.contextmanager
    def reader(self) -> Iterator[orm.Session]:
        """A transaction that only reads. All its statements see one state,
        on PostgreSQL, too.

        :raises: DatabaseUnavailable
        """
        with (
            translated(),
            collides_with_nobody(),
            self._facade.reader.using(_Context()) as session,
        ):
            if session.get_bind().dialect.name == 'postgresql':
                session.connection(
                    execution_options={'isolation_level': 'REPEATABLE READ'}
                )
            yield session

    @contextlib.contextmanager
    def causal_reader(self) -> Iterator[orm.Session]:
        """A read-only transaction, for decisions on who may act in Nova. It
        sees all that was committed before it at any node of a Galera cluster,
        even if an operator has configured that other transactions do not wait.

        :raises: DatabaseUnavailable, also if the node is too far behind
        """
        with self.reader() as session, causality.caught_up(session):
            yield session

    @contextlib.contextmanager
    def writer(self) -> Iterator[orm.Session]:
        """A transaction that writes; commits unless an exception leaves it.

        :raises: DatabaseUnavailable
        :raises: Conflict if the database found that two writers collided
        :raises: AttemptLost if the thread is fenced, and not wanted any more
        """
        # In a transaction of its own: the first statement of this one decides
        # what MySQL lets it see.
        fences.current()()
        with translated(), self._facade.writer.using(_Context()) as session:
            if session.get_bind().dialect.name == 'sqlite':
                # Otherwise SQLite may fail at once when a transaction that has
                # only read begins to write.
                session.connection(execution_options={'nr_writer': True})
            yield session

    @contextlib.contextmanager
    def rehearsal(self) -> Iterator[orm.Session]:
        """A transaction that writes, and is rolled back at its end.

        :raises: DatabaseUnavailable, Conflict
        """
        with self.writer() as session:
            yield session
            session.rollback()

    def now(self) -> datetime.datetime:
        """The time by which leases start and end: the database's, in UTC.

        So a worker whose own clock is wrong does no harm.
        """
        with self.reader() as session:
            return utc(session.scalar(sa.select(utcnow())))

    @contextlib.contextmanager
    def connection(self) -> Iterator[sa.Connection]:
        """A connection on which the caller begins the transactions.

        :raises: DatabaseUnavailable
        """
        with translated(), self.engine().connect() as connection:
            yield connection

    def engine(self) -> sa.Engine:
        engine: sa.Engine = self._facade.writer.get_engine()
        return engine

    def dispose(self) -> None:
        """Close the connections; the next transaction opens new ones."""
        self._facade.dispose_pool()


@enginefacade.transaction_context_provider
class _Context:
    """A context for enginefacade to keep its session on, one per
    transaction."""


@contextlib.contextmanager
def translated() -> Iterator[None]:
    """Turn database errors into our exceptions.

    :raises: DatabaseUnavailable, Conflict
    """
    try:
        yield
    except db_exc.DBDeadlock as error:
        if is_locked(error):
            raise exception.LockedTooLong(reason=_cause(error)) from error
        # Galera finds at the commit that another node was first.
        raise exception.Conflict(kind='row', id='of a booking') from error
    except db_exc.DBReferenceError as error:
        # The row that this one refers to was deleted since it was read.
        raise exception.Conflict(kind='row', id=error.constraint) from error
    except db_exc.DBDuplicateEntry as error:
        raise exception.Conflict(kind='row', id=error.columns) from error
    # oslo.db does not translate errors that it does not know: a PostgreSQL
    # server that is down, a wrong password, a full disk. Nor does it translate
    # the timeout of SQLAlchemy's pool when all connections are in use.
    except (
        db_exc.DBError,
        db_exc.CantStartEngineError,
        sa.exc.OperationalError,
        sa.exc.TimeoutError,
        sa.exc.DisconnectionError,
    ) as error:
        if _is_refused(error):
            raise
        if is_locked(error):
            raise exception.LockedTooLong(reason=_cause(error)) from error
        if logins.is_refused(error):
            raise exception.DatabaseRefused(reason=_cause(error)) from error
        raise exception.DatabaseUnavailable(reason=_cause(error)) from error


@contextlib.contextmanager
def collides_with_nobody() -> Iterator[None]:
    """Translate a deadlock in a reader, which takes no locks: it means that a
    Galera node is too far behind.

    :raises: DatabaseUnavailable
    """
    try:
        yield
    except db_exc.DBDeadlock as error:
        raise exception.DatabaseUnavailable(reason=_cause(error)) from error


def _is_refused(error: Exception) -> bool:
    """Return whether the server works and has rejected a row. That is a bug of
    ours, but MySQL's drivers report a failure of the server."""
    cause = getattr(error, 'inner_exception', error)
    if isinstance(cause, sa.exc.IntegrityError):
        return True
    orig = getattr(cause, 'orig', None)
    return orig is not None and orig.args[:1] in _CHECK_VIOLATED


def is_locked(error: Exception) -> bool:
    """Return whether a statement has waited for a lock for too long. oslo.db
    calls that a deadlock on MySQL, and does not know it on PostgreSQL."""
    orig = getattr(getattr(error, 'inner_exception', error), 'orig', None)
    return orig is not None and (
        orig.args[:1] == _LOCK_WAIT_TIMEOUT
        or getattr(orig, 'pgcode', None) == _LOCK_NOT_AVAILABLE
    )


_LOCK_WAIT_TIMEOUT = (1205,)
"""The first argument of the driver's error, for MySQL and MariaDB."""

_LOCK_NOT_AVAILABLE = '55P03'
"""The code of the error, for PostgreSQL."""

_CHECK_VIOLATED = ((3819,), (4025,))
"""A violated CHECK: the first argument of the driver's error, for MySQL and
for MariaDB."""


def _cause(error: Exception) -> str:
    """Return the driver's message, on one line."""
    wrapped = getattr(error, 'inner_exception', error)
    return ' '.join(str(getattr(wrapped, 'orig', wrapped)).split())


def _prepare_mysql(engine: sa.Engine) -> None:
    """Limit the time for which statements wait for locks of rows."""

    @event.listens_for(engine, 'connect')
    def connect(connection: Any, _: Any) -> None:
        with contextlib.closing(connection.cursor()) as cursor:
            cursor.execute(
                f'SET SESSION innodb_lock_wait_timeout = {LOCK_WAIT_SECONDS}'
            )


def _prepare_postgresql(engine: sa.Engine) -> None:
    """Limit the time for which statements wait for locks."""

    @event.listens_for(engine, 'connect')
    def connect(connection: Any, _: Any) -> None:
        with contextlib.closing(connection.cursor()) as cursor:
            cursor.execute(f"SET lock_timeout = '{LOCK_WAIT_SECONDS}s'")
        # A rollback would undo it.
        connection.commit()


def wait_for_locks(connection: sa.Connection) -> None:
    """Have this connection wait for locks for ever, as a migration must."""
    if connection.dialect.name == 'postgresql':
        connection.exec_driver_sql('SET lock_timeout = 0')
        connection.commit()


def _prepare_sqlite(engine: sa.Engine) -> None:
    """Let many processes write: WAL, a long wait, explicit transactions."""

    @event.listens_for(engine, 'connect')
    def connect(connection: sqlite3.Connection, _: Any) -> None:
        connection.isolation_level = None
        connection.execute('PRAGMA journal_mode = WAL')
        connection.execute('PRAGMA synchronous = NORMAL')
        connection.execute(f'PRAGMA busy_timeout = {LOCK_WAIT_SECONDS * 1000}')

    @event.listens_for(engine, 'before_cursor_execute', retval=True)
    def begin(
        connection: sa.Connection,
        _cursor: Any,
        statement: str,
        parameters: Any,
        *_: Any,
    ) -> tuple[str, Any]:
        # oslo.db begins each transaction by a statement of its own.
        options = connection.get_execution_options()
        if statement == 'BEGIN' and options.get('nr_writer'):
            statement = 'BEGIN IMMEDIATE'
        return statement, parameters
