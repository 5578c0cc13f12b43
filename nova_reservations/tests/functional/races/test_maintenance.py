# SPDX-License-Identifier: Apache-2.0
"""Operators take hosts out while leases are booked, changed and healed."""

from concurrent import futures
import contextlib
import random
import time

import pytest

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations.db.holdings import cordons as cordon_rows
from nova_reservations.db.upkeep import audit
from nova_reservations.engine.leases import maintenance
from nova_reservations.objects import states
from nova_reservations.testing import region as regions

HOSTS = [f'host-{number}' for number in range(4)]
SECONDS = 4
REFUSALS = (
    exception.Contended,
    exception.HostInUse,
    exception.InvalidState,
    exception.NotEnoughResources,
    exception.NotFound,
)


@pytest.fixture
def region(any_database):
    region = regions.Region(any_database.url, *HOSTS)
    yield region
    region.close()


class Operator:
    """:ivar windows: the windows that were granted."""

    def __init__(self, region):
        self.region = region
        self.windows = []
        self.ids = [host.id for host in region.hosts.find(objects.HostQuery())]

    def maintain(self, dice):
        start = dice.randrange(10, 100, 10)
        held = self.region.services.maintenance.maintain(
            dice.choice(self.ids),
            maintenance.Window(
                self.region.now + regions.minutes(start),
                self.region.now + regions.minutes(start + 10),
                'operators',
                'operator',
            ),
            self.region.now,
        )
        self.windows.append(held.window)

    def cordon(self, dice):
        """Cordon a host, and check that only windows of operators come to
        it."""
        region, host_id = self.region, dice.choice(self.ids)
        held = region.services.maintenance.cordon(host_id, region.now)
        before = {each.lease_id for each in held.occupants}
        for _ in range(20):
            with region.database.reader() as session:
                after = cordon_rows.find(session, host_id)
            new = {
                each.lease_id
                for each in after
                if each.project_id != 'operators'
            }
            assert new <= before, 'a lease came to a cordoned host'
        region.services.maintenance.uncordon(host_id, region.now)


def lease(region):
    def act(dice):
        start = dice.randrange(10, 100, 10)
        made = region.lease(
            start=start, end=start + 30, minimum=dice.randint(1, 2)
        )
        with contextlib.suppress(*REFUSALS):
            region.change(made, end=start + 60)
        if dice.random() < 0.7:
            region.delete(made)

    return act


def test_no_lease_has_a_host_in_its_window_nor_comes_to_a_cordoned_one(
    region,
):
    deadline = time.monotonic() + SECONDS

    def while_time_lasts(seed, act):
        dice = random.Random(seed)  # noqa: S311
        while time.monotonic() < deadline:
            with contextlib.suppress(*REFUSALS):
                act(dice)

    operator = Operator(region)
    operator.maintain(random.Random(0))  # noqa: S311
    acts = [lease(region)] * 3 + [operator.maintain, operator.cordon]
    with futures.ThreadPoolExecutor(len(acts)) as pool:
        done = [
            pool.submit(while_time_lasts, seed, act)
            for seed, act in enumerate(acts)
        ]
    for one in done:
        one.result()
    assert operator.windows
    with region.database.reader() as session:
        assert audit.doubled(session) == []
    for window in operator.windows:
        assert region.status(window) == states.Lease.PENDING
        assert len(region.hosts_of(window)) == 1
