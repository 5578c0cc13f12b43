# SPDX-License-Identifier: Apache-2.0
"""The response times of the lease API."""

from collections.abc import Callable
from concurrent import futures
import datetime
import itertools
import random
import statistics
import time

from sandbox import person
from sandbox.bench import fleet
from sandbox.bench import measure
from sandbox.bench import subject as su
from sandbox.bench.report import Figure
from sandbox.bench.report import Row
from sandbox.person import body


def create(subject: su.Subject) -> Row:
    """Create one host lease."""
    floor, ours = measure.interleaved(
        subject.pick(40, 300),
        lambda: subject.floor_write(subject.demo),
        lambda: subject.lease_write(subject.demo),
    )
    subject.forget()
    median = statistics.median(floor)
    return Row(
        [
            Figure(
                'create one host lease, p50',
                statistics.median(ours),
                's',
                floor=median,
                limit=1.5 * median,
            )
        ]
    )


def clients(subject: su.Subject) -> Row:
    """8 clients create at once, in 2 workers of the API."""
    floor, ours = _Load(subject.floor_write), _Load(subject.lease_write)
    seconds = subject.pick(4, 30)
    for load in (floor, ours, ours, floor):
        load.run(subject.clients, seconds)
        subject.forget()
    return Row(
        [
            Figure(
                f'{su.CLIENTS} clients creating, writes per second',
                ours.rate,
                '/s',
                floor=floor.rate,
                limit=0.75 * floor.rate,
                at_least=True,
            ),
            Figure(
                f'{su.CLIENTS} clients creating, p95',
                measure.percentile(ours.samples, 95),
                's',
                floor=measure.percentile(floor.samples, 95),
                limit=1,
            ),
            Figure(
                f'{su.CLIENTS} clients creating, errors',
                ours.errors,
                '',
                floor=floor.errors,
                limit=0,
            ),
        ]
    )


class _Load:
    """Load of many clients at once, for a while, several times.

    :ivar samples: the seconds of each write.
    """

    def __init__(self, write: Callable[[person.Person], float]) -> None:
        self._write = write
        self.samples: list[float] = []
        self.errors = 0
        self._elapsed = 0.0

    @property
    def rate(self) -> float:
        """The number of writes per second."""
        return len(self.samples) / self._elapsed

    def run(self, clients: list[person.Person], seconds: float) -> None:
        began = time.monotonic()

        def work(client: person.Person) -> None:
            while time.monotonic() < began + seconds:
                try:
                    self.samples.append(self._write(client))
                except person.Unexpected:
                    self.errors += 1

        with futures.ThreadPoolExecutor(len(clients)) as pool:
            list(pool.map(work, clients))
        self._elapsed += time.monotonic() - began


#: The number of hosts in the row "scale".
HOSTS = 10_000
LEASES_OF_EACH = 10


def scale(subject: su.Subject) -> Row:
    """Create and read with 10,000 hosts and 100,000 allocations."""
    rounds = subject.pick(20, 200)
    random_hour = random.Random(1)  # noqa: S311

    def lease(hours: range) -> float:
        start = su.now() + datetime.timedelta(hours=random_hour.choice(hours))
        return subject.lease_write(subject.demo, start)

    # Hours before the first existing lease, and hours among these leases.
    before, among = range(1, 22), range(24, 24 * 2 * LEASES_OF_EACH)
    takes = [
        lambda: subject.floor_write(subject.demo),
        lambda: lease(before),
        lambda: lease(among),
    ]
    empty = [*map(statistics.median, measure.interleaved(rounds, *takes))]
    subject.forget()
    future = fleet.Future(
        subject.databases,
        subject.project_id,
        su.now(),
        HOSTS,
        LEASES_OF_EACH,
    )
    try:
        future.create(subject.enrolled[0])
        full = [*map(statistics.median, measure.interleaved(rounds, *takes))]
        subject.forget()
        reads = _reads(subject)
        profile = subject.probe('create', rounds=subject.pick(10, 50))
    finally:
        future.delete()
    allocations = HOSTS * LEASES_OF_EACH
    figures = [
        Figure(
            f'create with {HOSTS:,} hosts and {allocations:,} allocations '
            f'{which}, p50',
            full[place],
            's',
            floor=full[0],
            # Scaled by the floor, which other load of the machine has
            # affected, too.
            limit=1.5 * empty[place] * full[0] / empty[0],
        )
        for place, which in ((1, 'later'), (2, 'around'))
    ]
    figures.append(
        Figure('the same on an empty cloud, p50', empty[2], 's', empty[0])
    )
    return Row(
        [*figures, *reads],
        {
            'Statements of a create on the full cloud': profile['statements'],
            'Time of a create on the full cloud': profile['profile'],
        },
    )


def listed(subject: su.Subject) -> Row:
    """List 100,000 leases, as an administrator does."""
    hosts = subject.pick(HOSTS // 100, HOSTS // 10)
    future = _Many(
        subject.databases,
        subject.project_id,
        su.now(),
        hosts,
        LEASES_OF_EACH * 10,
    )
    subject.each_client(
        lambda who, _: subject.floor_write(who), map(str, range(_PAGE))
    )
    try:
        future.create(subject.enrolled[0])
        floor = subject.probe(
            'listing',
            ours=False,
            token=subject.demo.compute.get_token(),
            path=f'/os-server-groups?limit={_PAGE}',
            key='policy',
        )
        ours = subject.probe(
            'listing',
            ours=True,
            token=subject.operator.compute.get_token(),
            path='/os-reservations/v1/leases',
            key='lease_type',
        )
    finally:
        future.delete()
        subject.forget()
    # Nova has no list of so many: its floor is one page, and so many pages.
    # A lease is five rows, a server group is one: hence more than the floor.
    pages = ours['count'] / floor['count']
    return Row(
        [
            Figure(
                f'list {ours["count"]:,} leases',
                ours['seconds'],
                's',
                floor=pages * floor['seconds'],
                limit=1.5 * pages * floor['seconds'],
            ),
            Figure(
                f'list {ours["count"]:,} leases, memory of nova-api',
                ours['mib'],
                'MiB',
                floor=floor['mib'],
                limit=32,
            ),
        ]
    )


#: The maximum number of items that Nova lists at once.
_PAGE = 1000


class _Many(fleet.Future):
    """Each lease has one host: there are as many as allocations."""

    size = 1


def slots(subject: su.Subject) -> Row:
    """Create a lease of slots, also with 10,000 hosts and 100,000 shares."""
    rounds = subject.pick(20, 200)
    # A share has four rows: to write them all takes half a minute.
    hosts = subject.pick(HOSTS // 5, HOSTS)
    random_hour = random.Random(1)  # noqa: S311
    among = range(24, 24 * 2 * LEASES_OF_EACH)

    def lease() -> float:
        start = su.now() + datetime.timedelta(hours=random_hour.choice(among))
        return subject.slots_write(subject.demo, start)

    def take() -> list[float]:
        samples = measure.interleaved(
            rounds, lambda: subject.floor_write(subject.demo), lease
        )
        subject.forget()
        return [*map(statistics.median, samples)]

    few = take()
    future = fleet.Future(
        subject.databases,
        subject.project_id,
        su.now(),
        hosts,
        LEASES_OF_EACH,
        su.SLOTS,
    )
    try:
        future.create(subject.enrolled[0])
        many = take()
    finally:
        future.delete()
    return Row(
        [
            Figure(
                'create one lease of slots, p50',
                few[1],
                's',
                floor=few[0],
                limit=1.5 * few[0],
            ),
            Figure(
                f'create one with {hosts:,} hosts and '
                f'{hosts * LEASES_OF_EACH:,} shares around, p50',
                many[1],
                's',
                floor=many[0],
                limit=1.5 * few[1] * many[0] / few[0],
            ),
        ]
    )


def _reads(subject: su.Subject) -> list[Figure]:
    """List and show, where there are ten thousand leases."""
    group = body(
        subject.demo.compute.post(
            '/os-server-groups',
            json={'server_group': {'name': 'read', 'policy': 'anti-affinity'}},
        )
    )['server_group']['id']
    page = body(subject.demo.reservation.get('/leases?limit=1000'))['leases']
    lease = itertools.cycle(each['id'] for each in page)
    floor, pages, shows = map(
        statistics.median,
        measure.interleaved(
            subject.pick(10, 100),
            lambda: su.get(subject.demo.compute, f'/os-server-groups/{group}'),
            lambda: su.get(subject.demo.reservation, '/leases?limit=1000'),
            lambda: su.get(subject.demo.reservation, f'/leases/{next(lease)}'),
        ),
    )
    body(subject.demo.compute.delete(f'/os-server-groups/{group}'), 204)
    return [
        Figure(
            f'list a page of {len(page):,} leases, p50', pages, 's', floor, 0.5
        ),
        # They are equal within the precision of the measurement.
        Figure('show a lease, p50', shows, 's', floor, 1.1 * floor),
    ]
