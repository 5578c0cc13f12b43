# SPDX-License-Identifier: Apache-2.0
"""Servers without a hint come to open hosts while the lease ends.

Each is either a server of the lease, and leaves with the lease, or an ordinary
server, and stays. Our part of nova-scheduler is the real one; Nova's part is a
few lines in this module.

Decision 0048: doc/source/decisions/0048-open-hosts
"""

from concurrent import futures
import dataclasses
import datetime
import random
import threading

from nova import exception as nova_exception
import oslo_messaging
import pytest

from nova_reservations import ports
from nova_reservations.cloud.placement import placement
from nova_reservations.db.holdings import slot_servers
from nova_reservations.objects import states
from nova_reservations.scheduler import claim
from nova_reservations.scheduler import open_reservations
from nova_reservations.scheduler import request_filter
from nova_reservations.scheduler import requests
from nova_reservations.testing import region as regions
from nova_reservations.tests.functional.engine import test_used_servers
from nova_reservations.tests.unit.scheduler import hosts as nova_hosts

ROUNDS = 8
CROWD = 6
LAST = 16
"""About as many steps as an end makes while servers come."""

EARLY = 4
"""Servers that are claimed for without a pause. An end begins after some of
these claims; our looks at the claims come later.
"""

BOOT = 'boot'

SECOND = datetime.timedelta(seconds=1)
OUTSIDE = 'outside'


class Servers(dict):
    """Servers on hosts, which several threads may change.

    :ivar deleted: UUIDs of the servers that an end has deleted.
    """

    def __init__(self):
        super().__init__()
        self.deleted = set()
        self._lock = threading.Lock()

    def values(self):
        return list(super().values())

    def __delitem__(self, server):
        with self._lock:
            self.deleted.add(server)
            self.pop(server, None)

    def put(self, server):
        with self._lock:
            if server.uuid not in self.deleted:
                self[server.uuid] = server


class Steps:
    """Writes of the worker that ends the lease, to our database and to Nova.
    Boots wait for some of these writes."""

    def __init__(self):
        self._made = 0
        self._changed = threading.Condition()

    def make(self, _):
        if not threading.current_thread().name.startswith(BOOT):
            self._count(1)

    def finish(self):
        self._count(LAST)

    def _count(self, more):
        with self._changed:
            self._made += more
            self._changed.notify_all()

    def pauses(self, seed, first=0):
        """Return a function that either waits for a random step, or does not
        wait.

        :param first: how many of its first calls do not wait in any case
        """
        dice = random.Random(seed)  # noqa: S311
        left = [None] * first

        def pause():
            if left:
                left.pop()
                return
            if dice.random() < 0.5:
                return
            step = dice.randrange(LAST)
            with self._changed:
                assert self._changed.wait_for(lambda: self._made >= step, 60)

        return pause


class Nova:
    """nova-scheduler, nova-conductor and nova-compute, for one new server at a
    time.

    :ivar claims: a semaphore, which each claim releases.
    :ivar let_in: server -> the reservations that have let its claims in, in
        order; None: the server came as an ordinary one.
    """

    def __init__(self, region, monkeypatch):
        self.region = region
        self.reserved = request_filter.install(region.services)
        self.cloud = region.cloud
        self.claims = threading.Semaphore(0)
        self.let_in = {}
        confirm = self.reserved.confirm

        def noted(spec, server):
            admission = confirm(spec, server)
            self.let_in[server].append(admission.reservation_id)
            return admission

        self.reserved.confirm = noted
        monkeypatch.setattr(requests, 'exists', lambda _: False)
        for name in (
            'ensure_trait',
            'roots',
            'traits',
            'aggregates',
            'keep_allocations',
        ):
            monkeypatch.setattr(placement, name, getattr(self, name))

    def boot(self, spec, pauses):
        """Create a server.

        :param pauses: called before each thing that is done
        :returns: its UUID, after it was built or has been deleted
        """
        server = spec.instance_uuid
        self.let_in[server] = []
        open_reservations._select(
            self._select,
            None,
            (),
            {
                'context': None,
                'spec_obj': spec,
                'instance_uuids': [server],
                'filter_properties': pauses,
            },
        )
        pauses()
        built = self.cloud.instances.get(server)
        if built is not None:
            self.cloud.instances.put(
                dataclasses.replace(
                    built, state=ports.ServerState.ACTIVE, task=None
                )
            )
        return server

    def _select(self, spec_obj, filter_properties, **_):
        pauses = filter_properties
        try:
            pauses()
            self.reserved(None, spec_obj)
            pauses()
            admission = self.reserved.admissions.resolve(spec_obj)
        except nova_exception.RequestFilterFailed as refusal:
            raise oslo_messaging.ExpectedException from refusal
        hosts = {*admission.hosts, OUTSIDE}
        for host in sorted(filter(admission.admits, hosts)):
            pauses()
            if claim._claim(
                self._claim,
                None,
                (spec_obj, spec_obj.instance_uuid, self._asked(host), pauses),
                {},
            ):
                return
        raise oslo_messaging.ExpectedException

    def _asked(self, host):
        return {'allocations': {host: {'resources': {'VCPU': 1}}}}

    def _claim(self, spec_obj, instance_uuid, alloc_req, pauses):
        [host] = alloc_req['allocations']
        self.cloud.instances.put(
            ports.Server(
                instance_uuid,
                spec_obj.project_id,
                host,
                ports.ServerState.BUILDING,
                'scheduling',
            )
        )
        self.claims.release()
        pauses()
        return True

    # Placement's part

    def ensure_trait(self):
        pass

    def roots(self, providers):
        return list(providers)

    def traits(self, host):
        return {placement.POOL_TRAIT} if host in self.cloud.marked else set()

    def aggregates(self, host):
        return {
            key
            for key, members in list(self.cloud.aggregate_hosts.items())
            if host in members
        }

    def keep_allocations(self, server, _):
        self.cloud.instances.pop(server, None)


def id_of(lease):
    return lease.reservations[0].id


@pytest.fixture
def region(any_database):
    region = regions.Region(any_database.url, 'one', 'two')
    region.add_host(OUTSIDE, enrol=False)
    region.cloud.instances = Servers()
    yield region
    region.close()


@pytest.fixture
def nova(region, monkeypatch):
    return Nova(region, monkeypatch)


def end(region, lease, steps):
    """Let the lease end, second by second."""
    region.database.before = region.cloud.before = steps.make
    worker = region.worker()
    latest = region.now + regions.minutes(120)
    while region.status(lease) != states.Lease.TERMINATED:
        region.now += SECOND
        assert region.now < latest, region.see(lease).status_reason
        region.work(worker)
    steps.finish()


def recorded(region, lease):
    with region.database.reader() as session:
        return slot_servers.of(session, [id_of(lease)])[id_of(lease)].servers


def goes_on(region):
    """Return the servers whose use of a lease goes on by the record."""
    return [row[0] for row in test_used_servers.used(region) if row[3] is None]


@pytest.mark.parametrize('seed', range(ROUNDS))
def test_servers_leave_with_the_lease_that_let_them_in_or_stay(
    region, nova, seed
):
    soon = region.active_lease(consume='open')
    late = region.active_lease(end=300, consume='open') if seed % 2 else None
    region.now += regions.minutes(60)
    steps = Steps()
    asked = [
        *(nova_hosts.new_server('lessee') for _ in range(CROWD)),
        nova_hosts.new_server('others'),
    ]
    with futures.ThreadPoolExecutor(len(asked), BOOT) as pool:
        boots = [
            pool.submit(
                nova.boot,
                spec,
                # These pauses are before the filter, the look and the claim.
                steps.pauses(f'{seed} {number}', 3 * (number < EARLY)),
            )
            for number, spec in enumerate(asked)
        ]
        for _ in range(seed % (EARLY + 1)):
            assert nova.claims.acquire(timeout=60)
        end(region, soon, steps)
    for boot in boots:
        boot.result()
    there, deleted = region.cloud.instances, region.cloud.instances.deleted
    for server in deleted:
        assert id_of(soon) in nova.let_in[server]
    stayed = []
    for spec in asked:
        server, last = spec.instance_uuid, nova.let_in[spec.instance_uuid][-1]
        if server in deleted:
            assert server not in there
        elif last is None:
            assert there[server].host == OUTSIDE
        else:
            assert last == id_of(late)
            assert {there[server].host} == region.hosts_of(late)
            stayed.append(server)
    assert set(recorded(region, soon)) == set()
    if late:
        assert set(recorded(region, late)) == set(stayed)
    assert goes_on(region) == sorted(stayed)
