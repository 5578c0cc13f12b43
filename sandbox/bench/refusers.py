# SPDX-License-Identifier: Apache-2.0
"""The cost for others of requests that are refused again and again."""

from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Sequence
import contextlib
import dataclasses
import datetime
import json
import multiprocessing
import os
import statistics
import time
from typing import Any
import uuid
import zlib

import sqlalchemy as sa

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations.db import counters
from nova_reservations.db import models
from nova_reservations.db.holdings import allocations
from nova_reservations.db.resources import hosts
from nova_reservations.engine import assembly
from nova_reservations.engine.booking import lease_requests
from sandbox.bench import alone
from sandbox.bench import history
from sandbox.bench import measure
from sandbox.bench import subject as su
from sandbox.bench.report import Figure
from sandbox.bench.report import Row

FIXED = 5000
"""Hosts whose promises can't move: half of these are for shares, half of them
name their host."""

MOVABLE = 500
"""Hosts whose promises may move."""

DAYS = 4
"""Each host is promised for half of each of these days, and neighbouring hosts
for different hours, so that no host is free for a whole day."""

CLIENTS = 6

SLOT = {
    'amount': 1,
    'vcpus': 1,
    'memory_mb': 1024,
    'disk_gb': 0,
    'affinity': None,
}

_LEASE = models.table(models.Lease)
_RESERVATION = models.table(models.Reservation)
_EVENT = models.table(models.Event)
_ALLOCATION = models.table(models.Allocation)
_AMOUNT = models.table(models.AllocationAmount)

_REFUSED = 0.1
_CROWDED = 2.0
_HEALED = 1.0
_HOUR = datetime.timedelta(hours=1)
_DAY = datetime.timedelta(days=1)
_SPAWN = multiprocessing.get_context('spawn')


def refusers(subject: su.Subject) -> Row:
    """Refusals among 5,000 hosts whose promises can't move, and what others
    wait for them."""
    with alone.services(subject, 'refusers') as services:
        crowd = Crowd(services)
        crowd.fill()
        return Row(measured(crowd, subject.pick(5, 20)))


def measured(crowd: 'Crowd', rounds: int) -> list[Figure]:
    among = f'among {FIXED:,} hosts with {FIXED * DAYS:,} fixed promises'
    figures = []
    for name, dry_run in (('dry run', True), ('create', False)):
        crowd.refused(dry_run)
        took = [crowd.refused(dry_run) for _ in range(rounds)]
        figures.append(
            Figure(
                f'a refused {name} {among}: CPU of ours, p50',
                statistics.median(took),
                's',
                limit=_REFUSED,
            )
        )
    with crowd.locked():
        took = [measure.seconds(crowd.refused) for _ in range(rounds)]
    figures.append(
        Figure(
            'a refused create while the lock of crowded bookings is held, '
            'the longest',
            max(took),
            's',
            limit=5,
        )
    )
    alone_, beside = crowd.bothers(rounds)
    figures += [
        Figure(
            f'a booking for which promises move, beside {CLIENTS} clients '
            'that are refused without a pause, p95',
            _p95(beside.booked),
            's',
            floor=_p95(alone_.booked),
            limit=_CROWDED * _p95(alone_.booked),
        ),
        Figure(
            'a lease healed by moving promises, beside the same, the longest',
            max(beside.healed),
            's',
            floor=max(alone_.healed),
            limit=max(alone_.healed) + _HEALED,
        ),
        Figure(
            'refusals per second of the same clients', beside.refusals, '/s'
        ),
    ]
    return figures


def _p95(values: Sequence[float]) -> float:
    return sorted(values)[int(len(values) * 0.95)]


@dataclasses.dataclass(frozen=True)
class _Times:
    """:ivar booked: the seconds of each booking.

    :ivar healed: those of each healing.
    :ivar refusals: others that were refused, per second.
    """

    booked: Sequence[float]
    healed: Sequence[float]
    refusals: float = 0


class Crowd:
    """Two kinds of hosts, with promises as described at FIXED, MOVABLE and
    DAYS."""

    def __init__(self, services: assembly.Services) -> None:
        self.services = services
        self.now = services.database.now()

    def fill(self) -> None:
        """Make hosts and promises."""
        with self.services.database.writer() as session:
            first = {
                kind: self._host(session, kind) for kind in ('fixed', 'free')
            }
        fixed = self._hosts('fixed', first['fixed'], FIXED, 10_000)
        free = self._hosts('free', first['free'], MOVABLE, 100_000)
        for kind, asked in (
            ('fixed', SLOT),
            ('fixed', {'min': 1, 'max': 1}),
            ('free', {'min': 1, 'max': 1}),
        ):
            lease = self._lease(kind, 3 * DAYS, asked)
            if kind == 'free':
                its = [(number, host) for number, host in enumerate(free)]
            else:
                odd = 'amount' in asked
                its = [*enumerate(fixed)][odd::2]
            self._promise(lease, its, named=asked.get('min') and kind)
            self.services.leases.delete(lease.id, self.now)
        history.analyze(self.services.database.engine())
        self.services.database.dispose()

    def _host(self, session: Any, kind: str) -> int:
        host_id = hosts.insert(
            session, alone.facts(kind), {'kind': kind}, self.now
        )
        hosts.set_reservable(session, host_id, True, self.now)
        return host_id

    def _hosts(
        self, kind: str, original: int, count: int, base: int
    ) -> list[int]:
        """Copy a host; return the ids of all."""
        ids = [base + number for number in range(count - 1)]
        with self.services.database.writer() as session:
            for model in (
                models.Resource,
                models.Host,
                models.HostTrait,
                models.Inventory,
                models.ResourceProperty,
            ):
                table = models.table(model)
                key = 'id' if model is models.Resource else 'resource_id'
                rows = [
                    dict(row)
                    for row in session.execute(
                        sa.select(table).where(table.c[key] == original)
                    ).mappings()
                ]
                own = {
                    'uuid': lambda n: str(uuid.uuid4()),
                    'name': lambda n: f'{kind}-{n}',
                    'service_host': lambda n: f'{kind}-{n}',
                    'hypervisor_hostname': lambda n: f'{kind}-{n}',
                    'spread': lambda n: zlib.crc32(str(n).encode()) >> 1,
                    key: lambda n: n,
                }
                copies = [
                    row | {name: own[name](n) for name in own if name in row}
                    for n in ids
                    for row in rows
                ]
                if copies:
                    session.execute(sa.insert(table), copies)
        return [original, *ids]

    def _promise(
        self,
        lease: objects.Lease,
        of: Iterable[tuple[int, int]],
        named: Any,
    ) -> None:
        """Copy a lease for each of the hosts and days."""
        [reservation] = lease.reservations
        hosts_of = [*of]
        with self.services.database.writer() as session:
            allocated = session.scalars(
                sa.select(_ALLOCATION.c.id).where(
                    _ALLOCATION.c.reservation_id == reservation.id
                )
            ).all()
            for table, key, keys in (
                (_LEASE, 'id', [lease.id]),
                (_RESERVATION, 'lease_id', [lease.id]),
                (_EVENT, 'lease_id', [lease.id]),
                (_ALLOCATION, 'id', allocated),
                (_AMOUNT, 'allocation_id', allocated),
            ):
                rows = session.execute(
                    sa.select(table).where(table.c[key].in_(keys))
                ).mappings()
                copies = [
                    self._copy(dict(row), lease, which, host_id, day, named)
                    for row in rows.all()
                    for which, host_id in hosts_of
                    for day in range(DAYS)
                ]
                if copies:
                    session.execute(sa.insert(table), copies)

    def _copy(
        self,
        row: dict[str, Any],
        lease: objects.Lease,
        which: int,
        host_id: int,
        day: int,
        named: Any,
    ) -> dict[str, Any]:
        start = self.now + (1 + day) * _DAY + which % 24 * _HOUR
        number = host_id * DAYS + day
        copy = dict(row)
        values = {
            'start_date': start,
            'end_date': start + 12 * _HOUR,
            'due_at': start,
            'time': start,
            'lease_id': _id(lease.id, number),
            'reservation_id': _id(lease.reservations[0].id, number),
            'resource_id': host_id,
            'allocation_id': 1_000_000 + number,
        }
        copy |= {key: its for key, its in values.items() if key in row}
        if 'exclusive' in row:
            copy['id'] = 1_000_000 + number
        elif 'id' in row:
            copy['id'] = _id(row['id'], number)
        if named == 'fixed' and 'params' in row:
            copy['params'] = dict(row['params']) | {
                'resource_properties': json.dumps(
                    ['==', '$service_name', f'fixed-{host_id}']
                )
            }
        return copy

    def refused(self, dry_run: bool = False) -> float:
        """Return the seconds of CPU of this thread for a new lease that is
        refused."""
        began = time.thread_time()
        try:
            self._lease('fixed', 2, {'min': 1, 'max': 1}, dry_run=dry_run)
        except exception.NotEnoughResources:
            return time.thread_time() - began
        raise RuntimeError('a lease was granted where nothing can move')

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the lock of bookings for which promises move."""
        with self.services.database.rehearsal() as session:
            counters.increment(session, 'booking')
            yield

    def bothers(self, rounds: int) -> tuple[_Times, _Times]:
        """Return what others take alone, and beside clients that are
        refused."""
        alone_ = self._times(rounds)
        until = _SPAWN.Event()
        ready = _SPAWN.Semaphore(0)
        count = _SPAWN.Value('i', 0)
        clients = [
            _SPAWN.Process(
                target=refuse,
                args=(
                    self.services.database.url,
                    number % 2 == 0,
                    until,
                    ready,
                    count,
                ),
            )
            for number in range(CLIENTS)
        ]
        for client in clients:
            client.start()
        try:
            for _ in clients:
                ready.acquire()
            before, began = count.value, time.monotonic()
            beside = self._times(rounds)
            took = time.monotonic() - began
            return alone_, dataclasses.replace(
                beside, refusals=(count.value - before) / took
            )
        finally:
            until.set()
            for client in clients:
                client.join()

    def _times(self, rounds: int) -> _Times:
        booked, healed = [], []
        for _ in range(rounds):
            began = time.monotonic()
            lease = self._lease('free', 2, {'min': 1, 'max': 1})
            booked.append(time.monotonic() - began)
            with self.services.database.reader() as session:
                [host_id] = allocations.held_by(session, lease)
            began = time.monotonic()
            self.services.healing.heal_lease(
                lease.id, self.now, drained=[host_id]
            )
            healed.append(time.monotonic() - began)
        return _Times(booked, healed)

    def _lease(
        self, kind: str, after: int, asked: Any, dry_run: bool = False
    ) -> objects.Lease:
        return self.services.leases.create(
            lease_requests.NewLease(
                name='bench',
                project_id='bench',
                user_id='bench',
                start=self.now + after * _DAY,
                end=self.now + (after + 1) * _DAY,
                before_end=None,
                reservations=(
                    lease_requests.NewReservation(
                        'virtual:instance'
                        if 'amount' in asked
                        else objects.HOST,
                        asked
                        | {
                            'resource_properties': json.dumps(
                                ['==', '$kind', kind]
                            )
                        },
                    ),
                ),
            ),
            self.now,
            dry_run=dry_run,
        )


def refuse(
    url: str, dry_run: bool, until: Any, ready: Any, count: Any
) -> None:
    """Be a client whose requests are refused, until told to stop.

    It takes only the CPU that others leave: how long these wait for a lock is
    measured, not how many processors there are.
    """
    os.nice(19)
    crowd = Crowd(alone.on(url))
    crowd.refused(dry_run)
    ready.release()
    while not until.is_set():
        crowd.refused(dry_run)
        with count.get_lock():
            count.value += 1
    crowd.services.database.dispose()


def _id(of: str, number: int) -> str:
    return str(uuid.uuid5(uuid.UUID(of), str(number)))
