# SPDX-License-Identifier: Apache-2.0
"""The cost of use cases beside leases that ended long ago.

Two databases have the same hosts and leases, and one of them has a million
more leases that are over. The engine does everything in both in turns, on a
cloud in memory.
"""

from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Mapping
import contextlib
import datetime
import itertools
import statistics
from typing import Any

from nova_reservations import objects
from nova_reservations.db import api
from nova_reservations.db import migration
from nova_reservations.db.leases import due_leases
from nova_reservations.db.leases import looks
from nova_reservations.objects import states
from nova_reservations.testing import region as regions
from sandbox.bench import history
from sandbox.bench import measure
from sandbox.bench import subject as su
from sandbox.bench.report import Figure
from sandbox.bench.report import Row

MOST = 1.1
"""The maximum of a figure, relative to the one without ended leases."""

_HOSTS = 50
_LATER = 120
"""The number of leases in the future, in both databases."""

_PROJECTS = 100
_MINE = {'project_id': 'lessee'}
_PAGE = 50


class _Side:
    """One of the two databases, with the measured actions."""

    def __init__(self, region: regions.Region) -> None:
        self.region = region
        self._starts = itertools.count(400 * 24 * 60, 5)
        for number in range(_HOSTS):
            region.lease(
                project=f'project {number % 2}' if number else 'lessee'
            )
        region.forward(until=60)
        for _ in range(_LATER):
            self.create()

    def create(self) -> objects.Lease:
        """Lease a host for an hour of next year."""
        start = next(self._starts)
        return self.region.lease(start=start, end=start + 60)

    def timed_create(self) -> float:
        return measure.seconds(self.create)

    def timed_start(self) -> float:
        lease = self.region.lease(end=1)
        seconds = measure.seconds(self.region.work)
        self._expect(lease, states.Lease.ACTIVE)
        self._end()
        return seconds

    def timed_end(self) -> float:
        lease = self.region.lease(end=1)
        self.region.work()
        seconds = self._end()
        self._expect(lease, states.Lease.TERMINATED)
        return seconds

    def _end(self) -> float:
        """Return the seconds that it takes to end the leases whose end is in a
        minute."""
        self.region.now += datetime.timedelta(minutes=1)
        return measure.seconds(self.region.work)

    def _expect(self, lease: objects.Lease, status: states.Lease) -> None:
        if self.region.status(lease) != status:
            raise RuntimeError(f'lease {lease.id} is not {status}')

    def timed_delete(self) -> float:
        lease = self.create()
        return measure.seconds(lambda: self.region.delete(lease))

    def timed_look(self) -> float:
        """Look for due leases, of which there are none."""
        now = self.region.now

        def look() -> None:
            with self.region.database.reader() as session:
                if looks.at(session, now).lease:
                    due_leases.find(session, now, _PAGE)

        return measure.seconds(look)

    def timed_capacity(self) -> float:
        now = self.region.now
        return measure.seconds(
            lambda: self.region.hosts.capacity(
                now,
                now + datetime.timedelta(days=30),
                datetime.timedelta(days=1),
                now,
            )
        )

    def timed_tasks(self) -> float:
        """Do all periodic tasks."""

        def run() -> None:
            for task in self.region.services.tasks:
                task.run(self.region.now)

        return measure.seconds(run)

    def timed_page(self, **query: Any) -> float:
        wanted = objects.LeaseQuery(limit=_PAGE, **query)
        return measure.seconds(lambda: [*self.region.lease_lists.find(wanted)])

    def timed_next_page(self, **query: Any) -> float:
        """Read the page after one of the leases in the future."""
        query |= {'statuses': (states.Lease.PENDING,)}
        wanted = objects.LeaseQuery(limit=_PAGE, **query)
        *_, last = self.region.lease_lists.find(wanted)
        return self.timed_page(marker=last.id, **_without_status(query))


def _without_status(query: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in query.items() if key != 'statuses'}


_LISTS: Mapping[str, Mapping[str, Any]] = {
    'a page of leases': {},
    'the latest page': {'descending': True},
    'a page of those to come': {'statuses': (states.Lease.PENDING,)},
    'a page of those that are over': {'statuses': (states.Lease.TERMINATED,)},
    'a page of those of a name': {'name': 'a lease'},
    'a page of those that start from a date on': {
        'start_after': regions.NOON + datetime.timedelta(days=1)
    },
    'a page by their end': {'sort_key': 'end_date'},
    'a page by their start': {'sort_key': 'start_date'},
}

_Take = Callable[[_Side], float]


def _takes() -> dict[str, _Take]:
    takes: dict[str, _Take] = {
        'a create': _Side.timed_create,
        'a start': _Side.timed_start,
        'an end': _Side.timed_end,
        'a delete': _Side.timed_delete,
        'a look at what is due': _Side.timed_look,
        'the capacity of a month': _Side.timed_capacity,
        'all periodic tasks': _Side.timed_tasks,
    }
    for who, whose in {'of all': {}, 'of a project': _MINE}.items():
        for what, which in _LISTS.items():
            takes[f'{what}, {who}'] = _page(**which, **whose)
        takes[f'a page in the middle, {who}'] = _next_page(**whose)
    return takes


def _page(**query: Any) -> _Take:
    return lambda side: side.timed_page(**query)


def _next_page(**query: Any) -> _Take:
    return lambda side: side.timed_next_page(**query)


def million(subject: su.Subject) -> Row:
    """A million ended leases beside creates, starts, ends and lists."""
    count = subject.pick(10_000, 1_000_000)
    rounds = subject.pick(5, 100)
    with _side(subject, 'few') as few, _side(subject, 'many') as many:
        ended = history.multiply(
            many.region.database.engine(), count, _PROJECTS
        )
        history.analyze(few.region.database.engine())
        return Row(
            [
                _compared(f'{name}, beside {ended:,} ended leases, p50', *pair)
                for name, take in _takes().items()
                for pair in [
                    measure.interleaved(
                        rounds, *(_on(side, take) for side in (few, many))
                    )
                ]
            ]
        )


def _on(side: _Side, take: _Take) -> Callable[[], float]:
    return lambda: take(side)


def _compared(what: str, few: list[float], many: list[float]) -> Figure:
    without = 1000 * statistics.median(few)
    return Figure(
        what,
        1000 * statistics.median(many),
        'ms',
        floor=without,
        limit=MOST * without,
    )


@contextlib.contextmanager
def _side(subject: su.Subject, which: str) -> Iterator[_Side]:
    """Create a database, which is dropped in the end."""
    name = subject.layout.database_name(which)
    server = subject.databases.ours
    with server.connect() as connection:
        connection.exec_driver_sql(f'CREATE DATABASE {name}')
    database = api.Database(subject.layout.database(which))
    try:
        migration.sync(database)
        region = regions.Region(
            database.url, *(f'host-{number}' for number in range(_HOSTS))
        )
        try:
            yield _Side(region)
        finally:
            region.close()
    finally:
        database.dispose()
        with server.connect() as connection:
            connection.exec_driver_sql(f'DROP DATABASE {name}')
