# SPDX-License-Identifier: Apache-2.0
"""Leases end, and others begin, while hosts fall silent and are heard again.
Two workers act on all leases."""

import contextlib
import time

import pytest
import sqlalchemy as sa

from nova_reservations import objects
from nova_reservations.db import models
from nova_reservations.db.upkeep import audit
from nova_reservations.objects import states
from nova_reservations.testing import region as regions
from nova_reservations.tests.functional.races import test_shrinking

HOSTS = [f'host-{number}' for number in range(6)]
COMING = {states.Lease.PENDING, states.Lease.STARTING}
OVER = {states.Lease.TERMINATED, states.Lease.ERROR}


@pytest.fixture
def region(any_database):
    region = regions.Region(
        any_database.url,
        *HOSTS,
        settle=2 * test_shrinking.SECOND,
        host_refresh_interval=regions.minutes(60 * 24 * 365),
    )
    yield region
    region.close()


class Lessee(test_shrinking.Lessee):
    """Makes leases one after the other, and servers in each.

    :ivar claiming: servers that have claimed, and whose claim nova-scheduler
        has not checked yet.
    """

    def __init__(self, region):
        super().__init__(region)
        self.claiming = set()

    def lease(self, dice):
        now = self.region.lease(end=0.2, minimum=3)
        with contextlib.suppress(*test_shrinking.REFUSALS):
            self.region.lease(start=0.2, end=0.5, minimum=dice.randint(1, 3))
        # A busy machine starts the lease later than eight boots take.
        for _ in range(100):
            if self.region.status(now) not in COMING:
                break
            time.sleep(0.02)
        for _ in range(8):
            time.sleep(0.02)
            with contextlib.suppress(*test_shrinking.REFUSALS):
                self.boot(now, dice)
        if dice.random() < 0.2:
            self.region.delete(now)

    def boot(self, lease, dice):
        region, [reservation] = self.region, lease.reservations
        access = region.access.admit(
            reservation.id, lease.project_id, in_slot=False
        )
        host, server = dice.choice(sorted(access.hosts)), f'{dice.random()}'
        self.claiming.add(server)
        region.cloud.hints[server] = reservation.id
        region.cloud.boot(host, lease.project_id, server)
        if host not in (region.aggregate_of(lease) or ()):
            region.cloud.instances.pop(server, None)
        self.claiming.discard(server)


class Watch:
    """Has hosts fall silent, and checks all servers and hosts meanwhile.

    :ivar waiting: how often a reservation had left some of its hosts only.
    """

    def __init__(self, region, lessees):
        self.region = region
        self.lessees = lessees
        self.waiting = 0

    def look(self, dice):
        """Check that each host with a server is held by the server's
        reservation."""
        fail_or_recover(self.region, dice)
        before = self._servers()
        held, free = self._holders()
        after = self._servers()
        for server in before.keys() & after.keys():
            reservation = self.region.cloud.hints[server]
            assert before[server] in held.get(reservation, ())
        self.waiting += any(free.get(key) for key in held)
        time.sleep(0.02)

    def _servers(self):
        claiming = set().union(*(each.claiming for each in self.lessees))
        return {
            uuid: server.host
            for uuid, server in dict(self.region.cloud.instances).items()
            if uuid not in claiming
        }

    def _holders(self):
        """Return reservation id -> its hosts, and reservation id -> the hosts
        that it has left."""
        held, free = {}, {}
        with self.region.database.reader() as session:
            for row in session.execute(
                sa.select(
                    models.Allocation.reservation_id,
                    models.Allocation.released,
                    models.Resource.name,
                ).join(
                    models.Resource,
                    models.Resource.id == models.Allocation.resource_id,
                )
            ):
                of_all = free if row.released else held
                of_all.setdefault(row.reservation_id, set()).add(row.name)
        return held, free


def fail_or_recover(region, dice):
    """Have one host after the other be silent for a while, at random."""
    if dice.random() < 0.05:
        for host in HOSTS:
            region.cloud.recover(host)
        region.cloud.fail(dice.choice(HOSTS))


def test_no_lease_has_a_host_with_servers_of_the_one_before(region):
    lessees = [Lessee(region) for _ in range(3)]
    watch = Watch(region, lessees)
    # On a busy machine the first try may meet no such reservation.
    for _ in range(5):
        test_shrinking.live(region, lessees, watch.look)
        if watch.waiting:
            break
    assert watch.waiting
    for host in HOSTS:
        region.cloud.recover(host)
    for _ in range(300):
        region.now += test_shrinking.SECOND
        region.work()
    with region.database.reader() as session:
        assert audit.doubled(session) == []
    for lease in region.lease_lists.find(objects.LeaseQuery()):
        assert lease.status in OVER
        assert region.hosts_of(lease) == set()
    assert region.cloud.instances == {}
    assert region.cloud.aggregate_hosts == {}
