# SPDX-License-Identifier: Apache-2.0
"""The world of a story: the lease API as nova-api serves it and several
workers, on one database and one cloud in memory, with a clock that only the
story moves."""

from collections.abc import Iterator
from collections.abc import Mapping
import contextlib
import itertools
from typing import Any
import uuid

from oslo_utils import uuidutils
import pytest
import webob

from nova_reservations import objects
from nova_reservations.api import middleware
from nova_reservations.engine.worker import worker as engine_worker
from nova_reservations.objects import ids
from nova_reservations.objects import limits
from nova_reservations.testing import addresses
from nova_reservations.testing import pools
from nova_reservations.testing import region as regions
from nova_reservations.testing import segments
from nova_reservations.tests.functional.api import conftest as apis
from nova_reservations.tests.functional.engine import test_instances
from nova_reservations.tests.storm import pauses
from nova_reservations.tests.storm import reached
from nova_reservations.types.cinder import fake as fake_volumes
from nova_reservations.types.neutron import fake_networks

HOSTS = ('one', 'two', 'three', 'four')
"""The hosts of the pool, when the story begins; four is not enrolled yet."""

DRAINABLE = ('green', 'red')
GPU = 'A100'
"""The value of the property gpu that leases may require."""

AWAY = 'away'
"""A host that is neither in the pool nor emptied, where servers can go."""

ADDRESSES = ('203.0.113.101', '203.0.113.102')
VLANS = (101, 102)
minutes = regions.minutes
POOLS = (pools.FAST, pools.SLOW)
WORKERS = 3

LIMITS = {'leases': 6, 'waiting': 2, 'hosts': 2, 'slots': 6}

SETTINGS: Mapping[str, tuple[Any, ...]] = {
    'limited': (False, True),
    'cleaning': (0, 0, 10),
    'evacuate': (False, True),
}
"""The options of operators: the first value is the plainest.
``cleaning`` is in minutes."""

TYPES = {
    **test_instances.TYPES,
    **addresses.TYPES,
    **segments.TYPES,
    **pools.TYPES,
}
MONITORS = tuple({*addresses.MONITORS, *segments.MONITORS, *pools.MONITORS})


class World:
    """:ivar made: the ids of all leases that were made, in their order.

    :ivar series: the ids of all series.
    :ivar busy: the numbers of the workers that are in the middle of a step.
    """

    def __init__(
        self,
        url: str,
        settings: Mapping[str, Any],
        seen: reached.Reached,
    ) -> None:
        self.settings = settings
        self.seen = seen
        self.region = _region(url, settings)
        self.region.database.now = lambda: self.region.now  # type: ignore[method-assign]
        self.pauses = pauses.Pauses(self.region)
        app = middleware.Reservations(apis.Nova(), self.region.services)
        self.people = {
            'admin': apis.Person(
                app, 'operators', 'admin', 'member', 'reader'
            ),
            'ours': apis.Person(app, 'ours', 'member', 'reader'),
            'theirs': apis.Person(app, 'theirs', 'member', 'reader'),
        }
        self.made: list[str] = []
        self.series: list[str] = []
        self.busy: set[int] = set()
        self._numbers = itertools.count()
        self.workers = [self._new_worker() for _ in range(WORKERS)]
        self._furnish()

    def close(self) -> None:
        self.region.close()

    # What is there

    def _furnish(self) -> None:
        """Add what can be leased, as operators do, and hosts that can be
        emptied."""
        region = self.region
        for name in HOSTS:
            region.add_host(name, enrol=False)
        region.add_host(AWAY, enrol=False)
        region.cloud.members = set(DRAINABLE)
        for name in DRAINABLE:
            region.add_host(name, enrol=False)
            region.cloud.intrude(name, 'somebody')
        region.drainable_hosts.follow(region.now)
        external = fake_networks.external()
        region.cloud.networks_known[external.id] = external
        for name in POOLS:
            region.cloud.volumes.pools[name] = fake_volumes.pool(name)
        for name in HOSTS[:3]:
            gpu = GPU if name in HOSTS[:2] else None
            self.ask('admin', 'POST', '/os-hosts', {'name': name, 'gpu': gpu})
        self.ask('admin', 'POST', '/floatingips', address_of(0))
        self.ask('admin', 'POST', '/networks', vlan_of(0))
        self.ask('admin', 'POST', '/resources', pool_of(0))

    def ask(
        self,
        person: str,
        method: str,
        path: str,
        body: Any = None,
        **options: Any,
    ) -> webob.Response:
        """Send a request to the lease API, and check the answer against the
        document of the API: no answer may be a fault of the server."""
        answer = self.people[person].send(
            method, f'/os-reservations/v1{path}', body, **options
        )
        assert answer.status_int != 500, answer.text
        self.seen.request(method, path, answer.status_int)
        apis.check_shape(method, f'/v1{path.partition("?")[0]}', answer)
        self._remember(answer)
        return answer

    def ask_above(self, path: str) -> None:
        """Ask for something that is no part of a version of the API."""
        person = self.people['ours']
        answer = person.send('GET', f'/os-reservations{path}')
        self.seen.request('GET', path, answer.status_int)
        assert answer.status_int < 500, answer.text

    def _remember(self, answer: webob.Response) -> None:
        if answer.status_int != 201:
            return
        for lease in answer.json.get('leases') or [answer.json.get('lease')]:
            if lease is not None and lease['id'] not in self.made:
                self.made.append(lease['id'])
                if lease['series_id'] not in (None, *self.series):
                    self.series.append(lease['series_id'])

    def lease(self, number: int) -> objects.Lease | None:
        """Return the lease that is so many before the newest; None if there is
        none, or it was deleted."""
        if not self.made:
            return None
        lease_id = self.made[-1 - number % len(self.made)]
        return next(
            iter(
                self.region.lease_lists.find(objects.LeaseQuery(id=lease_id))
            ),
            None,
        )

    def leases(self) -> list[objects.Lease]:
        return list(self.region.lease_lists.find(objects.LeaseQuery()))

    def date(self, minutes: float) -> str:
        """Return the date in so many minutes, as clients write it."""
        if not minutes:
            return 'now'
        date = self.region.now + regions.minutes(minutes)
        return f'{date:%Y-%m-%d %H:%M}'

    # Workers

    def _new_worker(self) -> engine_worker.Worker:
        return self.region.worker(f'worker {next(self._numbers)}', threads=1)

    def replace_worker(self, number: int) -> None:
        """Let another process take the place of one that was killed."""
        self.workers[number] = self._new_worker()


def _region(url: str, settings: Mapping[str, Any]) -> regions.Region:
    most = limits.Limits.of(LIMITS) if settings['limited'] else None
    changes: dict[str, Any] = {} if most is None else {'limits': most}
    return regions.Region(
        url,
        types=TYPES,
        monitors=MONITORS,
        overrides={'heal_evacuate': settings['evacuate']},
        cleaning_time=regions.minutes(settings['cleaning']),
        best_effort_aggregate='drainable',
        best_effort_timeout=regions.minutes(5),
        heal_evacuate=settings['evacuate'],
        **changes,
    )


def address_of(number: int) -> dict[str, Any]:
    return {
        'floating_network_id': fake_networks.EXTERNAL,
        'floating_ip_address': ADDRESSES[number],
    }


def vlan_of(number: int) -> dict[str, Any]:
    return {
        'network_type': 'vlan',
        'physical_network': segments.PHYSICAL,
        'segment_id': VLANS[number],
    }


def pool_of(number: int) -> dict[str, Any]:
    name = POOLS[number]
    return {
        'resource_type': pools.pools.VOLUME,
        'name': name,
        'properties': {
            pools.pools.VOLUME_TYPE: name.partition('#')[2],
        },
    }


@contextlib.contextmanager
def same_ids(patches: pytest.MonkeyPatch) -> Iterator[None]:
    """Let each story have the same ids whenever it happens: they decide, for
    example, in which order hosts are tried."""
    numbers = itertools.count(1)

    def new() -> str:
        number = next(numbers)
        spread = uuid.uuid5(uuid.NAMESPACE_OID, str(number)).int
        low = 1 << 63 | spread & (1 << 62) - 1
        return str(uuid.UUID(int=number << 80 | 7 << 76 | low))

    def other() -> str:
        return str(uuid.uuid5(uuid.NAMESPACE_URL, str(next(numbers))))

    with patches.context() as context:
        context.setattr(ids, 'new', new)
        context.setattr(uuidutils, 'generate_uuid', other)
        context.setattr(uuid, 'uuid4', lambda: uuid.UUID(other()))
        yield
