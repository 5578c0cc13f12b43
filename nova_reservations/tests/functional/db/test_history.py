# SPDX-License-Identifier: Apache-2.0
"""No use case reads more rows if more leases have ended long ago."""

import collections
import contextlib
import datetime

import pytest
import sqlalchemy as sa

from nova_reservations import objects
from nova_reservations.db import api
from nova_reservations.db import migration
from nova_reservations.engine.booking import lease_requests
from nova_reservations.objects import states
from nova_reservations.testing import region as regions
from nova_reservations.tests import conftest
from nova_reservations.types.servers import host
from nova_reservations.types.servers import instance
from nova_reservations.types.servers import server
from sandbox.bench import history

# One process fills the databases, for all tests of the module.
pytestmark = pytest.mark.xdist_group('history')

HOSTS = [f'host-{number:02}' for number in range(10)]

FEW, MANY = 1000, 7000
"""Numbers of leases that are over, in the two databases."""

PROJECTS = 2

LATER = 12
"""The number of leases in the future."""

PAGE = 3

CHANCE = 300
"""More rows that a use case may read in the database with MANY leases.

Each host has had 600 more leases there, and a project 3,000 more. Smaller
differences come from MariaDB's plans, and from random IDs.
"""

READ = sa.text(
    'SELECT SUM(variable_value) FROM information_schema.session_status '
    "WHERE variable_name LIKE 'HANDLER_READ%'"
)
TYPES = {
    objects.HOST: host.PhysicalHost,
    'virtual:instance': instance.VirtualInstance,
    objects.SERVER: server.Server,
}
SLOTS = {
    'vcpus': 1,
    'memory_mb': 512,
    'disk_gb': 1,
    'amount': 2,
    'affinity': None,
    'resource_properties': '',
}
SERVER = 'b7a4f7a0-6f9b-4f58-9f4c-6f6d4f8d2a11'


class Rows:
    """:ivar read: statement -> rows that MariaDB has read for it.

    :ivar times: statement -> how often it was executed.
    """

    def __init__(self, engine):
        self.read = collections.Counter()
        self.times = collections.Counter()
        self._engine = engine
        with engine.connect() as connection:
            first, second = (connection.scalar(READ) for _ in range(2))
        self._own = second - first

    @contextlib.contextmanager
    def counted(self):
        listeners = (
            ('before_cursor_execute', self._before),
            ('after_cursor_execute', self._after),
        )
        for listener in listeners:
            sa.event.listen(self._engine, *listener)
        yield
        for listener in listeners:
            sa.event.remove(self._engine, *listener)

    def _before(self, _connection, cursor, _statement, _values, context, _):
        context.rows_before = self._so_far(cursor)

    def _after(self, _connection, cursor, statement, _values, context, _):
        read = self._so_far(cursor) - context.rows_before - self._own
        self.read[statement] += read
        self.times[statement] += 1

    def each_time(self):
        return collections.Counter(
            {name: read / self.times[name] for name, read in self.read.items()}
        )

    def _so_far(self, cursor):
        with cursor.connection.cursor() as other:
            other.execute(READ.text)
            return other.fetchone()[0]


def live(region):
    """Create leases of each kind that are over, and some in the future."""
    for name in HOSTS:
        region.lease(
            hypervisor_properties=f'["==", "$service_name", "{name}"]'
        )
    region.lease_of(('virtual:instance', SLOTS), start=60, end=120)
    lease = request_server(region, start=60)
    region.cloud.boot(HOSTS[0], 'lessee', SERVER)
    region.server_leases.record(lease.id, SERVER, region.now)
    region.server_leases.accept(lease.id, region.now)
    region.forward(until=200)
    for number in range(LATER):
        region.lease(start=1000 + number, end=1001 + number)


def request_server(region, start=0):
    return region.server_leases.request(
        lease_requests.NewLease(
            name='a lease',
            project_id='lessee',
            user_id='user',
            start=region.now + regions.minutes(start),
            end=region.now + regions.minutes(start + 60),
            before_end=None,
            reservations=(lease_requests.NewReservation(objects.SERVER, {}),),
        ),
        region.now,
    )


# The use cases, which run in this order.


def create(region):
    region.made = region.lease(minimum=2)


def create_for_later(region):
    region.lease(start=500, end=530)


def create_slots(region):
    region.slots = region.lease_of(('virtual:instance', SLOTS))


def create_one_that_waits(region):
    region.retry(minimum=len(HOSTS))


def change(region):
    region.change(region.made, end=90)


def show(region):
    region.see(region.made)


def pages(**query):
    """List three pages, one after the other."""

    def run(region):
        marker = None
        for _ in range(3):
            wanted = objects.LeaseQuery(limit=PAGE, marker=marker, **query)
            found = [*region.lease_lists.find(wanted)]
            marker = found[-1].id

    return run


def count(region):
    day = datetime.timedelta(days=1)
    hour = datetime.timedelta(hours=1)
    region.hosts.capacity(region.now, region.now + day, hour, region.now)


def list_allocations(region):
    assert any(
        map(
            any,
            region.resources.allocation_lists(objects.HOST).find(region.now),
        )
    )
    region.resources.allocation_lists(objects.HOST).of(1, region.now)


def delete(region):
    region.delete(region.slots)
    region.work()


def fail_and_heal(region):
    region.cloud.fail(HOSTS[0])
    region.look()
    region.cloud.recover(HOSTS[0])
    region.look()


def do_all_tasks(region):
    for task in region.services.tasks:
        task.run(region.now)


def end(region):
    region.forward(until=300)


MINE = {'project_id': 'lessee'}
NOW = regions.NOON + regions.minutes(200)
SORTED = {
    f'sorted by {key}, {"last" if descending else "first"}': {
        'sort_key': key,
        'descending': descending,
    }
    for key in ('created_at', 'start_date', 'end_date', 'name', 'status')
    for descending in (False, True)
}
FILTERED = {
    'that are to come': {'statuses': (states.Lease.PENDING,)},
    'that are over': {'statuses': (states.Lease.TERMINATED,)},
    'of a name': {'name': 'a lease'},
    'that start later': {'start_after': NOW},
    'that end before': {'end_before': NOW},
    'that overlap a window': {
        'start_before': NOW + regions.minutes(2000),
        'end_after': NOW,
    },
    'that overlap a window, by name': {'end_after': NOW, 'sort_key': 'name'},
    'in several states': {
        'statuses': (states.Lease.ACTIVE, states.Lease.PENDING)
    },
    'that have changed': {'changed_since': NOW},
}
LISTS = {
    f'list {what}{of_whom}': pages(**which, **whose)
    for what, which in {**SORTED, **FILTERED}.items()
    for of_whom, whose in {'': {}, ', of a project': MINE}.items()
}
USE_CASES = {
    'create': create,
    'start': regions.Region.work,
    'create for later': create_for_later,
    'create slots': create_slots,
    'start slots': regions.Region.work,
    'create for a server': request_server,
    'create one that waits': create_one_that_waits,
    'change': change,
    'show': show,
    **LISTS,
    'list all, sorted by id': pages(sort_key='id'),
    'tell the capacity': count,
    'list allocations': list_allocations,
    'delete': delete,
    'fail and heal': fail_and_heal,
    'do all periodic tasks': do_all_tasks,
    'end': end,
}


BY_CHANCE = {'fail and heal'}
"""Use cases in which chance decides how many leases are affected: a lease gets
any of equal hosts, and one host fails. So the test compares the rows that each
statement reads per execution."""


@pytest.fixture(scope='module')
def read(tmp_path_factory):
    """Return use case -> statement -> rows read, with few and with many leases
    that are over."""
    directory = tmp_path_factory.mktemp('history')
    return [read_in(directory, ended) for ended in (FEW, MANY)]


def read_in(directory, ended):
    with conftest.empty_database('mysql', directory) as url:
        database = api.Database(url)
        migration.sync(database)
        region = regions.Region(url, *HOSTS, types=TYPES)
        live(region)
        history.multiply(database.engine(), ended, PROJECTS)
        rows = Rows(region.database.engine())
        found = {}
        for name, use_case in USE_CASES.items():
            rows.read = collections.Counter()
            rows.times = collections.Counter()
            with rows.counted():
                use_case(region)
            found[name] = rows.each_time() if name in BY_CHANCE else rows.read
        region.close()
        database.dispose()
    return found


@pytest.mark.parametrize('use_case', USE_CASES)
def test_a_use_case_reads_no_more_where_many_leases_are_over(use_case, read):
    few, many = (found[use_case] for found in read)
    most, statement = max(
        (rows - few[statement], statement) for statement, rows in many.items()
    )
    more = most if use_case in BY_CHANCE else many.total() - few.total()
    assert more <= CHANCE, (most, statement)
