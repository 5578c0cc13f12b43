# SPDX-License-Identifier: Apache-2.0
"""Databases, which are empty before each test; and the tests' tiers.

A test is skipped if its database server does not answer. With
NOVA_RESERVATIONS_TEST_REQUIRE_SERVICES=1 in the environment, as in CI, a test
that is skipped, for whatever reason, counts as failed.
"""

import os

# Nova's functional tests choose eventlet for the whole process, unless this
# variable is set before anything imports them.
os.environ['OS_NOVA_DISABLE_EVENTLET_PATCHING'] = 'true'

from nova import monkey_patch

if hasattr(monkey_patch, 'patch'):  # Nova 31 has only the variable.
    monkey_patch.patch()

from collections import Counter
from collections.abc import Callable
from collections.abc import Iterator
import contextlib
import functools
import gc
from importlib import metadata
import pathlib
from typing import Any
import uuid

import hypothesis
from oslo_db.sqlalchemy import engines
import pytest
import sqlalchemy as sa
from sqlalchemy.dialects import registry
from sqlalchemy.dialects.sqlite import pysqlite
import sqlalchemy.util
import yaml

from nova_reservations import hooks
from nova_reservations.db import api
from nova_reservations.db import migration
from nova_reservations.testing import template
from nova_reservations.tests import databases
from nova_reservations.tests import lots
from nova_reservations.tests import profile

# Nova 31 is refused at start until all tests pass with it.
if metadata.version('nova').startswith('31.'):
    hooks.SUPPORTED = range(31, 35)

# No deadlines: the duration of an example depends on the machine's load.
hypothesis.settings.register_profile(
    'all', deadline=None, max_examples=profile.ALL
)
hypothesis.settings.register_profile('fast', deadline=None, max_examples=20)
hypothesis.settings.load_profile('fast')

# Each Nova that starts reads its policies. PyYAML's parser in Python is slow.
yaml.SafeLoader = yaml.CSafeLoader  # type: ignore[misc]

# With Python's defaults, a tenth of a run went into garbage collection, which
# looks at all objects of Nova's modules.
gc.set_threshold(50_000, 20, 20)

FOLDERS = {
    'browser': 'browser',
    'functional/cmd': 'functional',
    'functional/db': 'backends',
    'functional/nova': 'functional',
    'functional/races': 'backends',
    'functional/sandbox': 'scenarios',
}
LATER = pytest.StashKey[list[tuple[str, str]]]()
TIERS = ('unit', 'functional', 'backends', 'fuzz', 'scenarios', 'browser')

SERVERS = {
    'mysql': os.environ.get(
        'NOVA_RESERVATIONS_TEST_MYSQL', 'mysql+pymysql://root@127.0.0.1:3306'
    ),
    'postgresql': os.environ.get(
        'NOVA_RESERVATIONS_TEST_POSTGRESQL',
        'postgresql+psycopg2://postgres@127.0.0.1:5432',
    ),
}
BACKENDS = ['sqlite', *SERVERS]
NO_SKIPS = os.environ.get('NOVA_RESERVATIONS_TEST_REQUIRE_SERVICES') == '1'


def _fail_if_skipped(report):
    if NO_SKIPS and report.skipped and not hasattr(report, 'wasxfail'):
        report.outcome = 'failed'
        report.longrepr = f'skipped where nothing may be: {report.longrepr}'
    return report


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        '--by-lot',
        action='store_true',
        help='of the tests that take longest run those that the seed of '
        'pytest-randomly draws: see tests/lots.py',
    )


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_makereport():
    return _fail_if_skipped((yield))


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_make_collect_report():
    return _fail_if_skipped((yield))


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(
    config: pytest.Config, items: list[pytest.Item]
) -> None:
    """Mark each test with its tier, before ``-m`` selects tests by tier; draw
    those that run.

    Tests of the client, which may be collected in the same run, have no tier:
    they run where Nova is not installed.
    """
    here = pathlib.Path(__file__).parent
    if config.getoption('by_lot'):
        seed = config.getoption('randomly_seed')
        left_out = [item for item in items if not lots.is_drawn(item, seed)]
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if lots.is_drawn(item, seed)]
    _leave_out_later(config, items)
    for item in items:
        if item.path.is_relative_to(here) and not any(
            item.get_closest_marker(tier) for tier in TIERS
        ):
            item.add_marker(_tier(item))


def _leave_out_later(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the tests of what this release of Nova, or one of what it was
    released with, has not; the last lines of the run count them."""
    major = int(metadata.version('nova').split('.')[0])
    later = [
        item
        for item in items
        if (marker := item.get_closest_marker('since_nova'))
        and major < marker.args[0]
    ]
    if later:
        config.hook.pytest_deselected(items=later)
        items[:] = [item for item in items if item not in later]
    config.stash[LATER] = [
        (item.nodeid, item.get_closest_marker('since_nova').kwargs['reason'])
        for item in later
    ]


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    later = config.stash.get(LATER, [])
    for reason, count in Counter(reason for _, reason in later).items():
        terminalreporter.write_line(
            f'{count} not run with this Nova: {reason}'
        )


def pytest_collection_finish(session: pytest.Session) -> None:
    """Check that pytest-xdist runs each group of tests in one process.
    Otherwise each process would start the Nova that a group shares.

    :raises: UsageError
    """
    if not hasattr(session.config, 'workerinput'):
        return
    if not session.config.getoption('loadgroup'):
        return
    for item in session.items:
        if item.get_closest_marker('xdist_group') and '@' not in item.nodeid:
            raise pytest.UsageError(
                f'pytest-xdist does not know the group of {item.nodeid}'
            )


def _tier(item: pytest.Item) -> str:
    """Return the tier of a test that has no marker of its own."""
    fixtures = getattr(item, 'fixturenames', ())
    if 'any_database' in fixtures or 'database_url' in fixtures:
        return 'backends'
    folder = item.path.parent.relative_to(pathlib.Path(__file__).parent)
    return FOLDERS.get(folder.as_posix(), 'unit')


class SQLite(pysqlite.SQLiteDialect_pysqlite):
    """A dialect that is equal in all engines of the process.

    SQLAlchemy caches compiled statements by dialect. Each test has its own
    databases, and so its own engines, but the statements are the same.
    """

    supports_statement_cache = True
    compiled = sqlalchemy.util.LRUCache[Any, Any](10_000)

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self)

    def __hash__(self) -> int:
        return hash(type(self))


registry.register('sqlite.compiled_once', __name__, SQLite.__name__)


@contextlib.contextmanager
def fast_sqlite(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Keep connections to files of SQLite open, as those to a server are;
    keep compiled statements; and do not wait for the disk.

    By default oslo.db opens and closes a connection for each transaction, and
    each commit waits for the disk longer than most tests compute.
    """
    create = sa.create_engine
    created = []

    def create_fast(url: str | sa.URL, **options: Any) -> sa.Engine:
        if not _is_sqlite(url):
            engine = create(url, **options)
        else:
            if options.get('poolclass') is sa.NullPool:
                options |= {'poolclass': sa.QueuePool, 'max_overflow': -1}
            # The option may be set already: a fixture with a wider scope may
            # have called fast_sqlite too.
            options['execution_options'] = {'compiled_cache': SQLite.compiled}
            engine = create(
                sa.make_url(url).set(drivername='sqlite+compiled_once'),
                **options,
            )
            sa.event.listen(engine, 'connect', _do_not_wait_for_disk)
        created.append(engine)
        return engine

    monkeypatch.setattr(sa, 'create_engine', create_fast)
    # For the sake of eventlet, oslo.db yields the processor after each
    # transaction. On a busy machine that takes long.
    monkeypatch.setattr(engines, '_thread_yield', lambda *_: None)
    yield
    for engine in created:
        engine.dispose()


@pytest.fixture(autouse=True)
def _sqlite_is_fast(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with fast_sqlite(monkeypatch):
        yield


def _do_not_wait_for_disk(connection: Any, _: Any) -> None:
    connection.execute('PRAGMA synchronous = OFF')


def _is_sqlite(url: str | sa.URL) -> bool:
    return sa.make_url(url).get_backend_name() == 'sqlite'


@functools.cache
def _server(backend: str) -> tuple[sa.Engine, str | None]:
    """Return an engine of the server, and why it cannot be used, or None."""
    url = sa.make_url(SERVERS[backend])
    engine = sa.create_engine(
        # This runs once in each worker of pytest-xdist.
        url.set(database='postgres') if backend == 'postgresql' else url,
        isolation_level='AUTOCOMMIT',
        poolclass=sa.NullPool,
        connect_args={'connect_timeout': 5},
    )
    try:
        engine.connect().close()
    except sa.exc.OperationalError as error:
        return engine, f'no {backend} at {url!r}: {error.orig}'
    return engine, None


@contextlib.contextmanager
def empty_database(backend: str, directory: pathlib.Path) -> Iterator[str]:
    """Give the URL of a new database without tables."""
    name = f'nova_reservations_test_{uuid.uuid4().hex}'
    if backend == 'sqlite':
        yield f'sqlite:///{directory / name}.db'
        return
    engine, refusal = _server(backend)
    if refusal:
        pytest.skip(refusal)
    with engine.connect() as connection:
        connection.execute(sa.text(f'CREATE DATABASE {name}'))
    try:
        yield (
            sa.make_url(SERVERS[backend])
            .set(database=name)
            .render_as_string(hide_password=False)
        )
    finally:
        force = ' WITH (FORCE)' if backend == 'postgresql' else ''
        with engine.connect() as connection:
            connection.execute(sa.text(f'DROP DATABASE {name}{force}'))


@contextlib.contextmanager
def with_tables(url: str) -> Iterator[api.Database]:
    """Create our tables in an empty database."""
    database = api.Database(url)
    if _is_sqlite(url):
        template.copy_to(pathlib.Path(sa.make_url(url).database or ''))
    else:
        migration.sync(database)
    try:
        yield database
    finally:
        database.dispose()


@pytest.fixture(params=BACKENDS)
def database_url(
    request: pytest.FixtureRequest, tmp_path: pathlib.Path
) -> Iterator[str]:
    """The URL of an empty database, on each kind of server in turn."""
    with empty_database(request.param, tmp_path) as url:
        yield url


Lend = Callable[[str], contextlib.AbstractContextManager[api.Database]]


@pytest.fixture(scope='session')
def lend() -> Iterator[Lend]:
    """Lends one database with our tables, on MariaDB or PostgreSQL, to one
    test after the other."""
    reused: dict[str, databases.Reused] = {}
    with contextlib.ExitStack() as made:

        def lend(
            backend: str,
        ) -> contextlib.AbstractContextManager[api.Database]:
            if backend not in reused or not reused[backend].is_fit:
                url = made.enter_context(
                    empty_database(backend, pathlib.Path())
                )
                reused[backend] = databases.Reused(url)
            return reused[backend].lent()

        yield lend


@pytest.fixture(params=BACKENDS)
def any_database(
    request: pytest.FixtureRequest, tmp_path: pathlib.Path, lend: Lend
) -> Iterator[api.Database]:
    """A database with our tables, on each kind of server in turn."""
    with database_on(request.param, tmp_path, lend) as database:
        yield database


@contextlib.contextmanager
def database_on(
    backend: str, directory: pathlib.Path, lend: Lend
) -> Iterator[api.Database]:
    """Give a database that has our tables, without rows of other tests."""
    if backend != 'sqlite':
        with lend(backend) as database:
            yield database
        return
    with (
        empty_database(backend, directory) as url,
        with_tables(url) as database,
    ):
        yield database


@pytest.fixture
def database(tmp_path: pathlib.Path, lend: Lend) -> Iterator[api.Database]:
    """A database with our tables, on SQLite."""
    with database_on('sqlite', tmp_path, lend) as database:
        yield database
