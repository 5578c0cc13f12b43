# SPDX-License-Identifier: Apache-2.0
"""Leases give hosts and slots back while they are changed, healed, used and
deleted."""

from concurrent import futures
import contextlib
import datetime
import functools
import random
import threading
import time

import pytest

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations.db.holdings import allocations
from nova_reservations.db.holdings import healing
from nova_reservations.db.upkeep import audit
from nova_reservations.objects import states
from nova_reservations.testing import region as regions
from nova_reservations.tests import conftest
from nova_reservations.tests.functional.engine import shown
from nova_reservations.tests.functional.engine import test_instances

HOSTS = [f'host-{number}' for number in range(9)]
SECONDS = 4
SECOND = datetime.timedelta(seconds=1)
REFUSALS = (
    exception.Contended,
    exception.InvalidInput,
    exception.InvalidState,
    exception.NotEnoughResources,
    exception.NotFound,
)


@pytest.fixture
def region(any_database):
    region = regions.Region(any_database.url, *HOSTS, settle=2 * SECOND)
    yield region
    region.close()


class Lessee:
    """Makes leases, and changes each of them several times.

    :ivar shrunk: how many requests to give hosts back were accepted.
    """

    def __init__(self, region):
        self.region = region
        self.shrunk = 0

    def lease(self, dice):
        lease = self.region.lease(end=90, minimum=3)
        changes = (self.shrink, self.name, self.grow, self.prolong, self.boot)
        for _ in range(10):
            time.sleep(0.05)
            with contextlib.suppress(*REFUSALS):
                dice.choice(changes)(lease, dice)
        if dice.random() < 0.9:
            self.region.delete(lease)

    def shrink(self, lease, dice):
        size = dice.randint(1, 2)
        self.region.change(lease, min=size, max=size)
        self.shrunk += 1

    def name(self, lease, dice):
        self.region.change(lease, release_hosts=[dice.choice(HOSTS)])
        self.shrunk += 1

    def grow(self, lease, dice):
        self.region.change(lease, min=dice.randint(1, 3), max=3)

    def prolong(self, lease, dice):
        self.region.change(lease, end=dice.choice([60, 90, 120]))

    def boot(self, lease, dice):
        """Let a server in as nova-scheduler does: claim first, and then check
        that the host is still in the aggregate."""
        region, [reservation] = self.region, lease.reservations
        access = region.access.admit(
            reservation.id, lease.project_id, in_slot=False
        )
        host = dice.choice(sorted(access.hosts))
        server = region.cloud.boot(host, lease.project_id)
        region.cloud.hints[server] = reservation.id
        if host not in (region.aggregate_of(lease) or ()):
            region.cloud.instances.pop(server, None)


def fail(region, dice):
    host = dice.choice(HOSTS)
    region.cloud.fail(host)
    region.monitoring.poll(region.now)
    region.healing.heal(region.now)
    region.cloud.recover(host)
    region.monitoring.poll(region.now)
    region.healing.check_replaced(region.now)
    time.sleep(0.1)


def test_no_host_is_held_twice_and_each_server_is_on_a_host_of_its_lease(
    region,
):
    lessees = [Lessee(region) for _ in range(3)]
    live(region, lessees)
    assert sum(lessee.shrunk for lessee in lessees)
    with region.database.reader() as session:
        assert audit.doubled(session) == []
    assert shown.overlaps(region) == []
    for lease in region.lease_lists.find(objects.LeaseQuery()):
        if lease.status == states.Lease.ACTIVE:
            check(region, lease)


def live(region, lessees, disturb=None):
    """Run lessees, failures and two workers for some seconds, and then let all
    that is begun end.

    :param disturb: replaces the failures of hosts that are healed
    """
    deadline = time.monotonic() + SECONDS

    def while_time_lasts(seed, act):
        dice = random.Random(seed)  # noqa: S311
        while time.monotonic() < deadline:
            with contextlib.suppress(*REFUSALS):
                act(dice)

    def work(dice):
        region.now += SECOND
        workers[dice.randrange(2)].tick(region.now)
        time.sleep(0.02)

    workers = [region.worker(f'worker {number}') for number in range(2)]
    acts = [
        *(lessee.lease for lessee in lessees),
        disturb or functools.partial(fail, region),
        work,
    ]
    with futures.ThreadPoolExecutor(len(acts)) as pool:
        done = [
            pool.submit(while_time_lasts, seed, act)
            for seed, act in enumerate(acts)
        ]
    for one in done:
        one.result()
    for worker in workers:
        worker.drain()
    region.now += regions.minutes(1)
    region.look()


def check(region, lease):
    [reservation] = lease.reservations
    with region.database.reader() as session:
        [held] = allocations.holdings(session, [reservation.id]).values()
    assert all(each.leaving_at is None for each in held)
    usable = {each.resource.name for each in held if each.usable}
    assert region.aggregate_of(lease) == usable
    assert sum(each.stays for each in held) <= reservation.params['max']
    used = {
        server.host
        for uuid, server in region.cloud.instances.items()
        if region.cloud.hints.get(uuid) == reservation.id
    }
    assert used <= {each.resource.name for each in held}


@pytest.mark.parametrize('any_database', conftest.SERVERS, indirect=True)
def test_a_replacement_is_given_back_while_healing_would_exchange_it(
    region, monkeypatch
):
    lease = region.active_lease(minimum=3)
    [reservation] = lease.reservations
    failed, *kept = sorted(region.hosts_of(lease))
    region.cloud.fail(failed)
    region.monitoring.poll(region.now)
    region.healing.heal(region.now)
    [given] = region.hosts_of(lease).difference(kept, [failed])
    region.cloud.recover(failed)
    region.monitoring.poll(region.now)
    former, changes = healing.former, [{'release_hosts': [given]}]

    def change_meanwhile(session, reservation_id):
        while changes:
            region.change(lease, **changes.pop())
        return former(session, reservation_id)

    monkeypatch.setattr(healing, 'former', change_meanwhile)
    region.healing.check_replaced(region.now)
    assert changes == []
    with region.database.reader() as session:
        [held] = allocations.holdings(session, [reservation.id]).values()
    stays = {each.resource.name for each in held if each.stays}
    assert stays == set(kept)


class SlotLessee(Lessee):
    """A lessee of slots. Placement gives each slot once, so claims and changes
    of the number of slots come one after the other."""

    def __init__(self, region, placement):
        super().__init__(region)
        self.placement = placement

    def lease(self, dice):
        asked = dice.randint(4, 12)
        lease = self.region.lease_of(test_instances.slots(asked), end=90)
        for _ in range(10):
            time.sleep(0.05)
            with contextlib.suppress(*REFUSALS):
                dice.choice((self.resize, self.prolong, self.boot))(
                    lease, dice
                )
        if dice.random() < 0.9:
            self.region.delete(lease)

    def resize(self, lease, dice):
        before = self.region.see(lease).reservations[0].params['amount']
        wanted = dice.randint(1, 12)
        self.region.change(lease, amount=wanted)
        self.shrunk += wanted < before

    def boot(self, lease, dice):
        region, [reservation] = self.region, lease.reservations
        region.access.admit(reservation.id, lease.project_id, in_slot=True)
        with self.placement:
            if reservation.id not in region.cloud.classes:
                return
            hosts = region.cloud.free_slots(reservation.id)
            if hosts:
                server = region.cloud.boot(
                    dice.choice(hosts), lease.project_id
                )
                region.cloud.reservation_of[server] = reservation.id


@pytest.fixture
def region_of_slots(any_database):
    region = regions.Region(
        any_database.url, *HOSTS[:4], types=test_instances.TYPES
    )
    yield region
    region.close()


def test_no_slot_is_promised_twice_and_each_server_has_one(region_of_slots):
    region, placement = region_of_slots, threading.RLock()
    ensure_slots = region.cloud.slots.ensure_slots

    def one_by_one(slots, check):
        with placement:
            ensure_slots(slots, check)

    region.cloud.slots.ensure_slots = one_by_one
    lessees = [SlotLessee(region, placement) for _ in range(3)]
    live(region, lessees)
    assert sum(lessee.shrunk for lessee in lessees)
    with region.database.reader() as session:
        assert audit.doubled(session) == audit.overbooked(session) == []
    for lease in region.lease_lists.find(objects.LeaseQuery()):
        if lease.status == states.Lease.ACTIVE:
            check_slots(region, lease)


def check_slots(region, lease):
    [reservation] = lease.reservations
    key = reservation.id
    with region.database.reader() as session:
        slots = allocations.slots(session, [key])[key]
        [holdings] = allocations.holdings(session, [key]).values()
    by_host = {
        holding.resource.name: slots[holding.resource.id]
        for holding in holdings
        if holding.stays
    }
    assert sum(by_host.values()) == reservation.params['amount']
    assert region.cloud.classes[key] == by_host
    for host in HOSTS:
        held = region.cloud.held_on(key, host)
        assert held <= by_host.get(host, 0)
