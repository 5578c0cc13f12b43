# SPDX-License-Identifier: Apache-2.0
"""One running Nova, which tests of one or several modules share.

A whole Nova takes longer to start and to stop than most tests take with it.
After each test all databases get back the content that they had when Nova had
started, computes forget their servers, and stopped computes start again.
"""

from collections.abc import Callable
from collections.abc import Iterator
import contextlib
import copy
import datetime
import pathlib
import sqlite3
import tempfile
import time
from typing import Any
import unittest

import fixtures
from futurist._thread import ThreadWorker
from nova import policy
from nova import quota
import nova.conf
from nova.scheduler.client import report
from nova.virt import fake
from oslo_utils import timeutils
import testtools

from nova_reservations import bootstrap
from nova_reservations.compute import tracker as tracking_of_nova
from nova_reservations.db.resources import hosts
from nova_reservations.engine import identity
from nova_reservations.tests.functional.nova import base

CONF = nova.conf.CONF

POLL = 0.05
# A Nova that has nothing to do in this many looks in a row is at rest.
LOOKS = 2
UNDER_WAY_LOOKS = 20
# A Nova that still works after these seconds is replaced.
PATIENCE = 10

HAS_TABLE = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?"
GET_VERSION = 'SELECT value FROM nr_counters WHERE name = ?'
SET_VERSION = 'UPDATE nr_counters SET value = ? WHERE name = ?'
HAVE_REPORTED = 'UPDATE services SET updated_at = ?, last_seen_up = ?'
REMAINS = {
    'allocations': 'SELECT consumer_id FROM allocations',
    'instances': 'SELECT uuid FROM instances',
    'nr_hosts': 'SELECT resource_id FROM nr_hosts',
    'nr_leases': 'SELECT id FROM nr_leases',
}
CONFIGURED_BY = (
    'hosts',
    'NUMBER_OF_CELLS',
    'far_hosts',
    'api_is_ours',
    'compute_driver',
    'guarded',
    'compute_resources',
    'units',
    'consumers',
    'evacuates',
)
"""Class attributes that determine how a Nova is configured."""
UNDER_WAY = (
    'SELECT 1 FROM instances WHERE deleted = 0 AND task_state IS NOT NULL'
)


class SharedNova(base.NovaTestCase):
    """Tests that share one Nova with the tests before and after them.

    Classes that configure Nova alike share one Nova. After a test that starts
    services of its own, or whose work does not come to rest, the next test
    gets another Nova.
    """

    _running: '_Running'

    def setUp(self) -> None:
        self._running = _get(type(self))
        testtools.TestCase.setUp(self)
        self.hear_all_cells()
        # This cleanup runs last, when the test's own mocks are gone.
        self.addCleanup(self._running.clean)
        for name, value in vars(self._running.nova).items():
            self.__dict__.setdefault(name, value)
        # The test gets copies of the clients: it may change their
        # microversion.
        self.api = copy.copy(self.api)
        self.admin_api = copy.copy(self.admin_api)
        self.others_api = copy.copy(self.others_api)
        self.computes = dict(self.computes)
        self.now = datetime.datetime.now(datetime.UTC).replace(microsecond=0)
        self.services = bootstrap.build(CONF)
        self.addCleanup(self.services.database.dispose)
        self.worker = bootstrap.build_worker(CONF, self.services)
        self.addCleanup(self.worker.stop)

    def start(self) -> None:
        """Start the Nova, as a test that does not share its Nova would."""
        super().setUp()

    @property
    def now(self) -> datetime.datetime:
        return self._running.now

    @now.setter
    def now(self, now: datetime.datetime) -> None:
        self._running.now = now

    def addCleanup(
        self, cleanup: Callable[..., object], /, *args: Any, **kwargs: Any
    ) -> None:
        # oslotest's addCleanup would stop all mocks at the end, also Nova's.
        unittest.TestCase.addCleanup(self, cleanup, *args, **kwargs)

    def flags(self, **options: Any) -> None:
        """Override options until the test is over."""
        if self is not self._running.nova:
            group = options.get('group')
            section = CONF[group] if group else CONF
            for name in options.keys() - {'group'}:
                self.addCleanup(CONF.set_override, name, section[name], group)
        super().flags(**options)

    def start_service(self, *args: Any, **kwargs: Any) -> Any:
        running = self._running
        if self is not running.nova:
            running.is_spoilt = True
            return running.nova.start_service(*args, **kwargs)
        service = super().start_service(*args, **kwargs)
        running.managers.append(service.manager)
        return service


class _Running:
    """:ivar nova: the test case that has started Nova.

    :ivar kind: how Nova is configured.
    :ivar is_spoilt: whether no other test can use this Nova.
    :ivar managers: the managers of all services that have been started.
    :ivar now: the time that the databases tell.
    """

    now: datetime.datetime

    def __init__(self, asked_by: type[SharedNova]) -> None:
        self.kind = kind_of(asked_by)
        self.managers: list[Any] = []
        self.is_spoilt = False
        self.nova = asked_by('start')
        self.nova._running = self
        with contextlib.ExitStack() as stack:
            stack.callback(self.stop)
            self.nova.useFixture(fixtures.NestedTempfile())
            directory = pathlib.Path(tempfile.gettempdir())
            self.nova.start()
            # Nova's fixtures have idle threads look for work, or for their
            # end, a hundred times a second.
            ThreadWorker.MAX_IDLE_FOR = 1
            # Processes keep the database's name, so the copied content must
            # have it.
            identity.of(self.nova.services.database)
            self._rules = dict(policy._ENFORCER.rules)
            self._images = copy.deepcopy(self.nova.glance.images)
            self._content = {
                file: _read(file)
                for pattern in ('*.sqlite', '*.db')
                for file in directory.rglob(pattern)
            }
            stack.pop_all()

    def stop(self) -> None:
        ThreadWorker.MAX_IDLE_FOR = 0.01
        self.nova.doCleanups()

    def clean(self) -> None:
        """Give Nova its first state back, or mark it as spoilt."""
        if self.is_spoilt:
            return
        self.is_spoilt = True
        if not self._comes_to_rest():
            return
        self._restore()
        self._start_what_stopped()
        self._empty_computes()
        self._forget()
        self._check()
        self.is_spoilt = False

    def _comes_to_rest(self) -> bool:
        """Wait for Nova to finish all work and all requests; return whether it
        did."""
        deadline = time.monotonic() + PATIENCE
        looks = 0
        while looks < (UNDER_WAY_LOOKS if self._is_under_way() else LOOKS):
            time.sleep(POLL)
            looks += 1
            if any(manager._in_progress_tasks for manager in self.managers):
                looks = 0
            if time.monotonic() > deadline:
                return False
        return True

    def _is_under_way(self) -> bool:
        """Return whether any server has a task, even if no service works at
        it. Either a message is on its way, or the test has prevented that
        message."""
        return any(
            database.execute(UNDER_WAY).fetchone()
            for database in self._databases('instances')
        )

    def _start_what_stopped(self) -> None:
        now = timeutils.utcnow().isoformat(' ', 'microseconds')
        for database in self._databases('services'):
            # The services have reported all the time; the restored rows are
            # old.
            database.execute(HAVE_REPORTED, [now, now])
        for host, compute in list(self.nova.computes.items()):
            if compute.manager._shutdown_in_progress.is_set():
                self.managers.remove(compute.manager)
                self.nova.start_in_cell(host)

    def _empty_computes(self) -> None:
        """Have computes forget all servers: their restored database has
        none."""
        for host, compute in self.nova.computes.items():
            driver, tracker = compute.manager.driver, compute.manager.rt
            driver.instances.clear()
            driver.active_migrations.clear()
            driver.resources = fake.Resources(
                driver.vcpus, driver.memory_mb, driver.local_gb
            )
            compute.manager.reportclient.clear_provider_cache()
            plugins = tracking_of_nova.plugins_of(tracker)
            for node in tracker.compute_nodes if plugins else ():
                # This drops the plugins' promises, and the record of failed
                # plugins.
                plugins.remove(node)
            if (
                plugins
                or tracker.tracked_instances
                or tracker.tracked_migrations
            ):
                with self.nova.at(host) as context:
                    compute.manager.update_available_resource(context)

    def _restore(self) -> None:
        """Give all databases the content that they had at first."""
        [version] = [
            database.execute(GET_VERSION, [hosts.POOL]).fetchone()[0]
            for database in self._databases('nr_counters')
        ]
        for file, content in self._content.items():
            with _open(file) as database:
                content.backup(database)
        for database in self._databases('nr_counters'):
            # Caches of the pool are compared with this counter.
            database.execute(SET_VERSION, [version + 1, hosts.POOL])

    def _databases(self, table: str) -> Iterator[sqlite3.Connection]:
        """Open each database that has the table, one after the other, and
        commit."""
        for file in self._content:
            with _open(file) as database:
                if database.execute(HAS_TABLE, [table]).fetchone():
                    yield database

    def _forget(self) -> None:
        """Clear the caches of Nova's services."""
        known = self.nova.scheduler_service.manager.host_manager
        known.aggs_by_id.clear()
        known.host_aggregates_map.clear()
        known._init_aggregates()
        known._instance_info.clear()
        report.report_client_singleton().clear_provider_cache()
        quota.UID_QFD_POPULATED_CACHE_BY_PROJECT.clear()
        policy._ENFORCER.set_rules(dict(self._rules), use_conf=True)
        self.nova.glance.images.clear()
        self.nova.glance.images.update(copy.deepcopy(self._images))
        self.nova.notifier.reset()

    def _check(self) -> None:
        """Check that nothing of the test is left.

        :raises: AssertionError
        """
        left = [
            server
            for compute in self.nova.computes.values()
            for server in (
                *compute.manager.driver.instances,
                *compute.manager.rt.tracked_instances,
                *compute.manager.rt.tracked_migrations,
            )
        ]
        for table, query in REMAINS.items():
            for database in self._databases(table):
                left += database.execute(query).fetchall()
        if left:
            raise AssertionError(f'The test has left {left}')


_running: _Running | None = None


def _get(asked_by: type[SharedNova]) -> _Running:
    """Return the running Nova, or start another one if that can not be
    used."""
    global _running
    if _running and (_running.is_spoilt or _running.kind != kind_of(asked_by)):
        stop()
    if _running is None:
        _running = _Running(asked_by)
    return _running


def stop() -> None:
    """Stop the running Nova: two of them can not run in one process."""
    global _running
    running, _running = _running, None
    if running:
        running.stop()


def kind_of(asked_by: type[SharedNova]) -> tuple[object, ...]:
    """Return a key that is the same for Novas that are configured alike."""
    installs = (vars(each).get('_install') for each in asked_by.mro())
    chosen = (getattr(asked_by, name, None) for name in CONFIGURED_BY)
    return (*filter(None, installs), *chosen)


def _read(file: pathlib.Path) -> sqlite3.Connection:
    content = sqlite3.connect(':memory:', check_same_thread=False)
    with _open(file) as database:
        database.backup(content)
    return content


@contextlib.contextmanager
def _open(file: pathlib.Path) -> Iterator[sqlite3.Connection]:
    database = sqlite3.connect(file, timeout=60)
    try:
        database.execute('PRAGMA synchronous = OFF')
        with database:
            yield database
    finally:
        database.close()
