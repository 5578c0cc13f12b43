# SPDX-License-Identifier: Apache-2.0
"""The subject of measurements: a cloud with its users."""

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Sequence
from concurrent import futures
import datetime
import functools
import itertools
import json
import os
import subprocess
import sys
from typing import Any
from typing import TypeVar

import requests
import sqlalchemy as sa

from nova_reservations.db import models
from sandbox import layout as lo
from sandbox import person
from sandbox import polls
from sandbox.bench import fleet
from sandbox.bench import measure
from sandbox.person import body

#: The number of clients that send requests at the same time.
CLIENTS = 8

#: The params of a reservation of slots.
SLOTS = {
    'resource_type': 'virtual:instance',
    'vcpus': 1,
    'memory_mb': 256,
    'disk_gb': 1,
    'amount': 2,
    'affinity': None,
    'resource_properties': '',
}

T = TypeVar('T')

_LEASE = models.table(models.Lease)


class Subject:
    """:ivar quick: whether to measure less, on a smaller cloud."""

    def __init__(self, layout: lo.Layout, quick: bool) -> None:
        self.layout = layout
        self.quick = quick
        self.databases = fleet.Databases(layout)
        self.operator = person.Operator(layout.auth_url)
        self.demo = self._user()
        self.project_id = str(self.demo.compute.get_project_id())
        #: All hosts of a sandbox are enrolled, except the last.
        *self.enrolled, self.ordinary = lo.HOSTS
        self._hours = itertools.count(24 * 60)
        self._copies = {self.enrolled[0]: 0, self.ordinary: 0}
        self._groups: list[str] = []
        self._leases: list[str] = []

    def pick(self, quick: int, full: int) -> int:
        return quick if self.quick else full

    @functools.cached_property
    def clients(self) -> list[person.Person]:
        """The clients; each has its own token and connections."""
        return [self._user() for _ in range(CLIENTS)]

    def _user(self) -> person.Person:
        user = person.Person(self.layout.auth_url, 'demo')
        # A retry is needed: connections are idle between two parts of a row,
        # and the server may close one just when it is used again.
        for api in (user.compute, user.reservation):
            api.connect_retries = 1
        return user

    def ensure_slots(self) -> None:
        """Remove the quotas, and enrol the hosts."""
        quotas = dict.fromkeys(
            ('instances', 'cores', 'ram', 'server_groups'), -1
        )
        body(
            self.operator.compute.put(
                f'/os-quota-sets/{self.project_id}',
                json={'quota_set': quotas},
            )
        )
        for host in self.enrolled:
            enrolled = body(
                self.operator.reservation.post(
                    '/os-hosts', json={'name': host}
                ),
                201,
            )['host']
            # An update reads the facts of the host. Otherwise the next
            # refresh would read those of all of its copies at once.
            body(
                self.operator.reservation.put(
                    f'/os-hosts/{enrolled["id"]}', json={'bench': 'yes'}
                )
            )

    def populate(self, enrolled: int, ordinary: int = 0) -> None:
        """Ensure that there are so many hosts, most of them as rows only."""
        for original, real, wanted in (
            (self.enrolled[0], len(self.enrolled), enrolled),
            (self.ordinary, 1, ordinary),
        ):
            there = real + self._copies[original]
            if there < wanted:
                self.databases.copy_host(
                    original,
                    (f'{original}-{n}' for n in range(there, wanted)),
                )
                self._copies[original] = wanted - real

    # Timed actions; what they create is deleted later, untimed.

    def floor_write(self, who: person.Person) -> float:
        """Return the seconds of a write in Nova."""
        group = {'name': 'bench', 'policy': 'anti-affinity'}
        answer = who.compute.post(
            '/os-server-groups', json={'server_group': group}
        )
        self._groups.append(body(answer)['server_group']['id'])
        return answer.elapsed.total_seconds()

    def lease_write(
        self, who: person.Person, start: datetime.datetime | None = None
    ) -> float:
        """Return the seconds that creating a lease of one host takes.

        :param start: by default an hour after that of the last one
        """
        if start is None:
            start = now() + datetime.timedelta(hours=next(self._hours))
        answer = self.ask(who, start, 1)
        self._leases.append(body(answer, 201)['lease']['id'])
        return answer.elapsed.total_seconds()

    def slots_write(
        self, who: person.Person, start: datetime.datetime | None = None
    ) -> float:
        """Return the seconds that creating a lease of two slots takes."""
        if start is None:
            start = now() + datetime.timedelta(hours=next(self._hours))
        answer = who.ask_lease_of(
            'bench', start, start + datetime.timedelta(minutes=30), SLOTS
        )
        self._leases.append(body(answer, 201)['lease']['id'])
        return answer.elapsed.total_seconds()

    def forget(self) -> None:
        """Delete everything that the timed writes have created."""
        self.each_client(
            lambda who, id_: body(
                who.compute.delete(f'/os-server-groups/{id_}'), 204
            ),
            self._groups,
        )
        self._groups.clear()
        self.delete(self._leases)
        self._leases.clear()

    def each_client(
        self,
        call: Callable[[person.Person, str], T],
        arguments: Iterable[str],
    ) -> list[T]:
        """Call a function with each argument, with one thread per client."""
        with futures.ThreadPoolExecutor(CLIENTS) as pool:
            return list(
                pool.map(call, itertools.cycle(self.clients), arguments)
            )

    def ask(
        self, who: person.Person, start: datetime.datetime | None, hosts: int
    ) -> requests.Response:
        """Ask for a lease of half an hour."""
        end = (start or now()) + datetime.timedelta(minutes=30)
        return who.ask_lease('bench', start, end, hosts)

    def create(self, start: datetime.datetime | None, hosts: int = 1) -> str:
        answer = body(self.ask(self.demo, start, hosts), 201)
        return str(answer['lease']['id'])

    # Leases, read from the database: polling by the API would cost the
    # workers as much as the measured work.

    def count(self, leases: Sequence[str], *conditions: Any) -> int:
        with self.databases.ours.connect() as connection:
            return (
                connection.scalar(
                    sa.select(sa.func.count())
                    .select_from(_LEASE)
                    .where(_LEASE.c.id.in_(leases), *conditions)
                )
                or 0
            )

    def wait(
        self, leases: Sequence[str], status: str, seconds: float = 60
    ) -> None:
        """Wait until all have the status.

        :raises Unexpected: if they do not get it in time
        """
        polls.until(
            f'{len(leases)} {status}',
            lambda: self.count(leases, _LEASE.c.status == status),
            lambda count: count == len(leases),
            seconds,
        )

    def active(self, leases: Sequence[str]) -> int:
        """Return how many of them are ACTIVE."""
        return self.count(leases, _LEASE.c.status == 'ACTIVE')

    def servers(self) -> int:
        """Return how many servers Nova has."""
        return self.databases.servers()

    def wait_prepared(self, leases: Sequence[str], seconds: float) -> None:
        polls.until(
            f'{len(leases)} prepared',
            lambda: self.count(leases, _LEASE.c.prepared == sa.true()),
            lambda count: count == len(leases),
            seconds,
        )

    def delete(self, leases: Sequence[str]) -> None:
        """Delete leases, and wait until their hosts are free."""

        self.each_client(
            lambda who, id_: body(
                who.reservation.delete(f'/leases/{id_}'), 204
            ),
            leases,
        )
        polls.until(
            'none left',
            lambda: self.count(leases),
            lambda count: count == 0,
            60 + len(leases),
        )

    def probe(self, name: str, **arguments: Any) -> Any:
        """Run a probe in a process of its own; return what it found."""
        done = subprocess.run(
            [
                sys.executable,
                '-m',
                'sandbox.bench.probes',
                name,
                str(self.layout.directory),
                json.dumps(arguments),
            ],
            env=os.environ | {'OS_NOVA_DISABLE_EVENTLET_PATCHING': 'true'},
            capture_output=True,
            text=True,
        )
        if done.returncode:
            raise person.Unexpected(f'probe {name} to end', done.stderr)
        return json.loads(done.stdout.splitlines()[-1])


def now() -> datetime.datetime:
    """Return the current time in whole seconds."""
    return datetime.datetime.now(datetime.UTC).replace(microsecond=0)


def get(who: Any, path: str) -> float:
    """Return the seconds until the whole answer is read."""
    return measure.seconds(lambda: body(who.get(path)))
