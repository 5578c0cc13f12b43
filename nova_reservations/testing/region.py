# SPDX-License-Identifier: Apache-2.0
"""A region for tests: our engine on a cloud in memory, with a manual clock.

To the engine each worker is like a process of its own: workers share only the
database and the cloud.
"""

from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import contextlib
import datetime
import functools
import pathlib
import tempfile
from typing import Any

import sqlalchemy as sa
from sqlalchemy import orm

from nova_reservations import objects
from nova_reservations.db import api
from nova_reservations.db import models
from nova_reservations.db import tasks
from nova_reservations.db.leases import looks
from nova_reservations.db.resources import drainable_hosts as drainable_rows
from nova_reservations.engine import assembly
from nova_reservations.engine import clocks
from nova_reservations.engine import fenced_cloud
from nova_reservations.engine import identity
from nova_reservations.engine import resource_types
from nova_reservations.engine.booking import lease_requests
from nova_reservations.engine.worker import senders
from nova_reservations.engine.worker import worker as workers
from nova_reservations.objects import states
from nova_reservations.plugins.drain_strategies import shipped
from nova_reservations.plugins.event_actions import offered
from nova_reservations.plugins.monitors import base as monitor
from nova_reservations.testing import fake_cloud
from nova_reservations.testing import options
from nova_reservations.testing import pace
from nova_reservations.testing import picture
from nova_reservations.testing import template
from nova_reservations.types import base
from nova_reservations.types.servers import host
from nova_reservations.types.servers import monitor as compute

NOON = datetime.datetime(2030, 1, 1, 12, tzinfo=datetime.UTC)

Hook = Callable[[str], None]

_SELDOM_AND_AT_ONCE: dict[str, Any] = {
    'host_refresh_interval': datetime.timedelta(days=1),
    'polling_interval': datetime.timedelta(days=1),
    'healing_interval': datetime.timedelta(days=1),
    'lease_exists_notifications': False,
    'down_after': datetime.timedelta(0),
    'settle': datetime.timedelta(0),
}
"""Periodic tasks run only when a test says so, and no delay is waited for."""


def minutes(count: float) -> datetime.timedelta:
    return datetime.timedelta(minutes=count)


class Database(api.Database):
    """:ivar before: called before each writing transaction, in its thread."""

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self.before: Hook = lambda step: None

    @contextlib.contextmanager
    def writer(self) -> Iterator[orm.Session]:
        self.before('record')
        with super().writer() as session:
            yield session


class Region:
    """:ivar now: the time; only tests and forward() change it.

    :ivar apart: the time between looks in forward(), after many in a row;
        None: as long as it is.
    :ivar notes: (event type, payload) of all notifications.

    :param names: the names of the hosts, which are all enrolled
    :param enrolled: whether the database has these hosts already
    :param overrides: changes of our options, by name
    :param changes: changes of the engine's settings
    """

    apart: datetime.timedelta | None = None

    def __init__(
        self,
        url: str,
        *names: str,
        enrolled: bool = False,
        types: Mapping[str, type[base.ResourceType]] | None = None,
        monitors: Sequence[type[monitor.Monitor]] = (compute.ComputeMonitor,),
        overrides: Mapping[str, Any] | None = None,
        **changes: Any,
    ) -> None:
        self.now = NOON
        self.notes: list[tuple[str, Mapping[str, Any]]] = []
        self.cloud = fake_cloud.FakeCloud(*names)
        self.cloud.volumes.clock = lambda: self.now
        self.database = Database(url)
        # Created now, so that it is no step of the story under test.
        identity.of(self.database)
        self.opts = options.defaults()
        for name, value in (overrides or {}).items():
            self.opts.set_override(name, value, 'reservations')
        self.options = options.engine_settings(
            **{**_SELDOM_AND_AT_ONCE, **changes}
        )
        nova = fenced_cloud.fenced(self.cloud)
        kinds = types or {objects.HOST: host.PhysicalHost}
        self.types = resource_types.Types(
            {name: kind(nova, self.opts) for name, kind in kinds.items()}
        )
        parts = assembly.Parts(
            self.database,
            nova,
            assembly.Plugins(
                self.types,
                [kind(nova, self.opts) for kind in monitors],
                shipped.load(self.opts),
                offered.Actions(self.cloud, self.opts),
            ),
            self.options,
            self._notify,
            clocks.Clock(lambda: self.now, lambda: self.now),
        )
        self.services = assembly.assemble(parts)
        self.hosts = self.services.hosts
        self.resources = self.services.resources
        self.drainable_hosts = self.services.drainable_hosts
        self.leases = self.services.leases
        self.lease_lists = self.services.lease_lists
        self.access = self.services.access
        self.server_leases = self.services.server_leases
        self.monitoring = self.services.monitoring
        self.healing = self.services.healing
        self._workers: list[workers.Worker] = []
        self._begin(names, enrolled)

    def _begin(self, names: Sequence[str], enrolled: bool) -> None:
        if enrolled:
            self.cloud.marked.update(names)
            self.cloud.pool.update(names)
            self.cloud.has_pool = True
        else:
            for name in names:
                self.enrol(name)
        with self.database.writer() as session:
            for task in self.services.tasks:
                session.execute(
                    sa.update(models.Task)
                    .where(models.Task.name == task.name)
                    .values(due_at=task.next_at(self.now))
                )

    def _notify(self, event_type: str, payload: Mapping[str, Any]) -> None:
        self.notes.append((event_type, payload))

    def close(self) -> None:
        for worker in self._workers:
            worker.stop()
        self.database.dispose()

    # What operators and users do

    def enrol(self, name: str, **properties: str) -> objects.Host:
        return self.hosts.enrolment.enrol(name, properties, self.now)

    def add_host(self, name: str, *, enrol: bool = True) -> None:
        """Add one more host to the cloud."""
        self.cloud.known[name] = fake_cloud.facts(name)
        self.cloud.recover(name)
        if enrol:
            self.enrol(name)

    def lease(
        self,
        start: float = 0,
        end: float = 60,
        minimum: int = 1,
        maximum: int | None = None,
        project: str = 'lessee',
        **asked: Any,
    ) -> objects.Lease:
        """Lease hosts; start and end are minutes from now on."""
        item = {'min': minimum, 'max': maximum or minimum, **asked}
        return self.lease_of(
            (objects.HOST, item), start=start, end=end, project=project
        )

    def lease_of(
        self,
        *items: tuple[str, Mapping[str, Any]],
        start: float = 0,
        end: float = 60,
        project: str = 'lessee',
        before_end: float | None = None,
        **more: Any,
    ) -> objects.Lease:
        """:param more: other fields of NewLease, such as lease_type"""
        return self.leases.create(
            lease_requests.NewLease(
                name='a lease',
                project_id=project,
                user_id='user',
                start=self.now + minutes(start),
                end=self.now + minutes(end),
                before_end=None
                if before_end is None
                else self.now + minutes(before_end),
                reservations=tuple(
                    lease_requests.NewReservation(*item) for item in items
                ),
                **more,
            ),
            self.now,
        )

    def retry(
        self,
        minimum: int = 1,
        end: float = 60,
        start: float = 0,
        retries: int | None = None,
        duration: float | None = None,
        project: str = 'lessee',
        **asked: Any,
    ) -> objects.Lease:
        """Lease hosts now, or as soon as they are free."""
        item = {'min': minimum, 'max': minimum, **asked}
        return self.lease_of(
            (objects.HOST, item),
            start=start,
            end=end if duration is None else start + duration,
            project=project,
            lease_type=states.LeaseType.RETRY,
            max_retries=retries,
            duration=None if duration is None else minutes(duration),
        )

    def add_drainable(self, *names: str, servers: int = 1) -> None:
        """Add drainable hosts, each with so many servers of some project."""
        self.cloud.members = (self.cloud.members or set()) | set(names)
        for name in names:
            self.add_host(name, enrol=False)
            for number in range(servers):
                self.cloud.boot(name, 'somebody', f'{number} of {name}')
        self.drainable_hosts.follow(self.now)

    def best_effort(
        self,
        minimum: int = 1,
        end: float = 60,
        duration: float | None = None,
        project: str = 'lessee',
        **asked: Any,
    ) -> objects.Lease:
        """Lease hosts now, even if drainable ones have to be emptied."""
        return self.lease_of(
            (objects.HOST, {'min': minimum, 'max': minimum, **asked}),
            end=end if duration is None else duration,
            project=project,
            lease_type=states.LeaseType.BEST_EFFORT,
            duration=None if duration is None else minutes(duration),
        )

    def active_lease(self, **asked: Any) -> objects.Lease:
        lease = self.lease(**asked)
        self.work()
        return self.see(lease)

    def change(self, lease: objects.Lease, **changes: Any) -> objects.Lease:
        """Update a lease: dates are minutes from now on, and other changes are
        those of its only reservation."""
        dates: dict[str, Any] = {
            key: self.now + minutes(changes.pop(key))
            for key in ('start', 'end', 'before_end')
            if key in changes
        }
        name = changes.pop('name', None)
        return self.leases.update(
            lease.id,
            lease_requests.LeaseChanges(
                name=name,
                reservations={lease.reservations[0].id: changes}
                if changes
                else {},
                **dates,
            ),
            self.now,
        )

    def acknowledge(self, lease: objects.Lease) -> None:
        """Acknowledge that resources of the lease were changed."""
        self.leases.update(
            lease.id,
            lease_requests.LeaseChanges(
                acknowledged=[item.id for item in lease.reservations]
            ),
            self.now,
        )

    def delete(self, lease: objects.Lease) -> None:
        self.leases.delete(lease.id, self.now)

    def fails(self, step: str, error: Exception, times: int = 1) -> None:
        """Make a write to the cloud fail the first so many times."""
        left = [error] * times

        def before(made: str) -> None:
            if made == step and left:
                raise left.pop()

        self.cloud.before = before

    # What workers do

    def worker(self, name: str = 'worker', threads: int = 4) -> workers.Worker:
        worker = workers.Worker(
            name,
            self.database,
            self.services.lifecycle,
            self.services.tasks,
            threads,
            senders.Senders(self.database, self.services.messages),
        )
        self._workers.append(worker)
        return worker

    def work(self, worker: workers.Worker | None = None) -> None:
        """Do everything that is due at this instant."""
        worker = worker or self._anybody()
        while self._is_due():
            worker.tick(self.now)
            worker.drain()

    def _is_due(self) -> bool:
        with self.database.reader() as session:
            look = looks.at(session, self.now)
        return look.lease or look.message or bool(look.tasks)

    def soon(self, task: str) -> None:
        """Make a periodic task due."""
        with self.database.writer() as session:
            tasks.hurry(session, task, self.now)

    def look(self) -> None:
        """Poll the monitors, and do everything that is due then."""
        self.monitoring.poll(self.now)
        self.healing.check_replaced(self.now)
        self.work()

    def _anybody(self) -> workers.Worker:
        return self._workers[0] if self._workers else self.worker()

    def forward(
        self, *, until: float, by: workers.Worker | None = None
    ) -> None:
        """Let time pass until so many minutes after noon; everything that
        becomes due is done at its second, or as ``apart`` says."""
        target = NOON + minutes(until)
        paced = pace.Pace(self.database, self.apart)
        while True:
            self.work(by)
            due = paced.next(self.now)
            if due is None or due > target:
                break
            self.now = due
        self.now = target
        self.work(by)

    def next_due(self) -> datetime.datetime | None:
        return pace.next_due(self.database)

    # What there is to see

    def see(self, lease: objects.Lease) -> objects.Lease:
        return self.leases.get(lease.id)

    def status(self, lease: objects.Lease) -> str:
        return str(self.see(lease).status)

    def hosts_of(self, lease: objects.Lease) -> set[str]:
        """Return the hosts that the lease holds, without released ones."""
        with self.database.reader() as session:
            return set(
                session.scalars(
                    sa.select(models.Resource.name)
                    .join(
                        models.Allocation,
                        models.Allocation.resource_id == models.Resource.id,
                    )
                    .join(
                        models.Reservation,
                        models.Reservation.id
                        == models.Allocation.reservation_id,
                    )
                    .where(
                        models.Reservation.lease_id == lease.id,
                        models.Allocation.released == sa.false(),
                    )
                )
            )

    def fenced(self) -> set[str]:
        """Return drainable hosts that leases have, or have not given back."""
        with self.database.reader() as session:
            known = drainable_rows.find(session)
        return {each.resource.name for each in known if each.fenced_for}

    def aggregate_of(self, lease: objects.Lease) -> set[str] | None:
        return self.cloud.aggregate_hosts.get(lease.reservations[0].id)

    def told(self, lease: objects.Lease) -> list[str]:
        """Return the types of the notifications of the lease."""
        return [
            kind.removeprefix('lease.')
            for kind, payload in self.notes
            if payload.get('lease_id') == lease.id
        ]

    def picture(self) -> dict[str, Any]:
        """Return everything that would differ if work was done twice, or not
        at all; times are left out."""
        return {
            'leases': {
                lease.id: picture.without_times(lease)
                for lease in self.lease_lists.find(objects.LeaseQuery())
            },
            'held': picture.held(self.database),
            'recorded': picture.recorded(self.database),
            'notes': sorted(
                (kind, payload.get('lease_id')) for kind, payload in self.notes
            ),
            'pool': sorted(self.cloud.pool),
            'fenced': self.fenced(),
            'moved': sorted(self.cloud.moved),
            'marked': sorted(self.cloud.marked),
            'aggregates': self.cloud.aggregates.lease_aggregates(),
            'servers': sorted(self.cloud.instances),
            'shelved': sorted(self.cloud.shelved),
            'migrated': sorted(self.cloud.migrated),
            'images': sorted(
                (server, order.reason) for server, order in self.cloud.images
            ),
            'neutron': picture.in_neutron(self.cloud),
        }


@functools.cache
def _with_hosts(*names: str) -> bytes:
    """Return the file of an SQLite database with these hosts enrolled.

    It is made once per process, because enrolling hosts takes longer than most
    tests with them.
    """
    with tempfile.TemporaryDirectory() as directory:
        file = pathlib.Path(directory, 'enrolled.db')
        region = Region(template.copy_to(file), *names)
        # When tasks are due next depends on the options of a region.
        with region.database.writer() as session:
            session.execute(sa.update(models.Task).values(due_at=NOON))
        region.close()
        return file.read_bytes()


class Factory:
    """Makes regions, each on a fresh SQLite database."""

    def __init__(self, directory: pathlib.Path):
        self.directory = directory
        self.made: list[Region] = []

    def __call__(self, *names: str, **options: Any) -> Region:
        file = self.file()
        file.write_bytes(_with_hosts(*names))
        region = Region(f'sqlite:///{file}', *names, enrolled=True, **options)
        self.made.append(region)
        return region

    def file(self) -> pathlib.Path:
        """Return a path for the database of the next region."""
        return self.directory / f'{len(self.made)}.db'

    def close(self) -> None:
        for region in self.made:
            region.close()
