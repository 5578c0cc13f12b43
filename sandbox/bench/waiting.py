# SPDX-License-Identifier: Apache-2.0
"""The cost of resources that come free while many leases wait."""

from collections.abc import Callable
import dataclasses
import datetime
import json
import time
import uuid

from nova_reservations import objects
from nova_reservations.db.leases import freed_capacity
from nova_reservations.db.leases import leases as rows
from nova_reservations.db.leases import retry_queue
from nova_reservations.db.resources import hosts
from nova_reservations.engine import assembly
from nova_reservations.engine.booking import lease_requests
from nova_reservations.objects import states
from sandbox.bench import alone
from sandbox.bench import subject as su
from sandbox.bench.report import Figure
from sandbox.bench.report import Row

WAITING = 2000
HOSTS = 100
_AGAIN = 10
_MANY = 50
_HOUR = datetime.timedelta(hours=1)


def waiting(subject: su.Subject) -> Row:
    """2,000 leases wait, and something comes free: our CPU."""
    figures = []
    for different in (False, True):
        with alone.services(subject, 'waiting') as services:
            what = 'different things' if different else 'the same'
            figures += _measure(
                _Crowd(services, different),
                f'{WAITING:,} wait for {what}; CPU when',
            )
    return Row(figures)


def _measure(crowd: '_Crowd', them: str) -> list[Figure]:
    """Return the seconds of CPU until everything free was offered."""
    none = crowd.walk(crowd.free_later)
    often = sum(crowd.walk(crowd.free_later) for _ in range(_AGAIN))
    first = crowd.walk(lambda: crowd.free(0))
    last = crowd.walk(lambda: crowd.free(HOSTS - 1))
    many = crowd.walk(lambda: crowd.free(*range(1, _MANY + 1)))
    return [
        Figure(f'{them} none can use what came free', none, 's', limit=2),
        Figure(f'{them} it is so {_AGAIN} times', often, 's', limit=2),
        Figure(
            f'{them} one host can be used by the first', first, 's', limit=2
        ),
        Figure(f'{them} one host more came free', last, 's', limit=2),
        Figure(
            f'{them} {_MANY} get a host; beside the CPU of {_MANY} new leases',
            many,
            's',
            floor=crowd.create(_MANY),
        ),
    ]


class _Crowd:
    """:ivar holders: the leases that have the hosts from in an hour on."""

    def __init__(self, services: assembly.Services, different: bool) -> None:
        self.services = services
        self.now = services.database.now()
        with services.database.writer() as session:
            for number in range(HOSTS):
                # Only the last waiting lease fits the last host.
                last = number == HOSTS - 1
                host_id = hosts.insert(
                    session,
                    alone.facts(f'host-{number}'),
                    {'rack': str(WAITING - 1 if last else number)},
                    self.now,
                )
                hosts.set_reservable(session, host_id, True, self.now)
        self.holders = [
            self._lease(_HOUR, 240 * _HOUR, f'host-{number}').id
            for number in range(HOSTS)
        ]
        first = self._lease(0 * _HOUR, 2 * _HOUR, None)
        with services.database.writer() as session:
            for number in range(WAITING):
                rows.insert(
                    session,
                    _like(
                        first,
                        retry_queue.arrive(session),
                        _wish(number if different else None),
                    ),
                )
        services.leases.delete(first.id, self.now)
        self.walk(lambda: None)

    def _lease(
        self,
        start: datetime.timedelta,
        end: datetime.timedelta,
        host: str | None,
    ) -> objects.Lease:
        """Lease a host; without a name, wait for any host."""
        return self.services.leases.create(
            lease_requests.NewLease(
                name='bench',
                project_id='bench',
                user_id='bench',
                start=self.now + start,
                end=self.now + end,
                before_end=None,
                reservations=(
                    lease_requests.NewReservation(
                        objects.HOST,
                        {
                            'min': 1,
                            'max': 1,
                            'resource_properties': json.dumps(
                                ['==', '$service_name', host]
                            )
                            if host
                            else '',
                        },
                    ),
                ),
                lease_type=None if host else states.LeaseType.RETRY,
                duration=None if host else end - start,
            ),
            self.now,
        )

    def free(self, *numbers: int) -> None:
        """Make hosts free, by deleting the leases that have them."""
        for number in numbers:
            self.services.leases.delete(self.holders[number], self.now)

    def free_later(self) -> None:
        """Make a host free at a time that no waiting lease wants."""
        later = self._lease(300 * _HOUR, 301 * _HOUR, 'host-0')
        self.services.leases.delete(later.id, self.now)

    def create(self, count: int) -> float:
        """Return the seconds of CPU that so many new leases take."""
        began = time.process_time()
        for number in range(count):
            self._lease(400 * _HOUR, 401 * _HOUR, f'host-{number}')
        return time.process_time() - began

    def walk(self, free: Callable[[], None]) -> float:
        """Free resources, and then run the task that offers them to waiting
        leases; return the seconds of CPU of that task."""
        [task] = [
            task
            for task in self.services.tasks
            if task.name == freed_capacity.QUEUE
        ]
        free()
        began = time.process_time()
        while True:
            task.run(self.now)
            with self.services.database.reader() as session:
                if not freed_capacity.untold(session):
                    return time.process_time() - began


def _wish(number: int | None) -> str:
    """Return a requirement that matches one rack, or all racks."""
    if number is None:
        return json.dumps(['>=', '$rack', '0'])
    return json.dumps(
        ['and', ['==', '$rack', str(number)], ['>=', '$vcpus', '8']]
    )


def _like(lease: objects.Lease, arrival: int, wish: str) -> objects.Lease:
    """Return a copy of a waiting lease, as if it had been requested."""
    lease_id = str(uuid.uuid4())
    [wanted] = lease.reservations
    return dataclasses.replace(
        lease,
        id=lease_id,
        arrival=arrival,
        reservations=(
            dataclasses.replace(
                wanted,
                id=str(uuid.uuid4()),
                lease_id=lease_id,
                params={**wanted.params, 'resource_properties': wish},
            ),
        ),
        events=tuple(
            dataclasses.replace(event, id=str(uuid.uuid4()), lease_id=lease_id)
            for event in lease.events
        ),
    )
