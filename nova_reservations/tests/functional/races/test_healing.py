# SPDX-License-Identifier: Apache-2.0
"""Hosts fail and recover while leases are made, changed and deleted."""

from concurrent import futures
import contextlib
import random
import time

import pytest

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations.db.holdings import allocations
from nova_reservations.db.upkeep import audit
from nova_reservations.objects import states
from nova_reservations.testing import region as regions
from nova_reservations.tests.functional.engine import shown

HOSTS = [f'host-{number}' for number in range(6)]
SECONDS = 5
REFUSALS = (
    exception.Contended,
    exception.InvalidInput,
    exception.InvalidState,
    exception.NotEnoughResources,
    exception.NotFound,
)


@pytest.fixture
def region(any_database):
    region = regions.Region(any_database.url, *HOSTS)
    yield region
    region.close()


def test_no_host_is_held_twice_and_what_can_be_healed_is(region):
    # All threads share one clock, as workers share the database's.
    deadline = time.monotonic() + SECONDS

    def while_time_lasts(seed, act):
        dice = random.Random(seed)  # noqa: S311
        while time.monotonic() < deadline:
            with contextlib.suppress(*REFUSALS):
                act(dice)

    def lease(dice):
        lease = region.lease(
            start=dice.choice([0, 30]), end=90, minimum=dice.randint(1, 2)
        )
        region.change(lease, end=dice.choice([60, 120]))
        if dice.random() < 0.7:
            region.delete(lease)

    def fail(dice):
        host = dice.choice(HOSTS)
        region.cloud.fail(host)
        region.monitoring.poll(region.now)
        region.healing.heal(region.now)
        region.cloud.recover(host)
        region.monitoring.poll(region.now)
        region.healing.check_replaced(region.now)

    def work(dice):
        one = workers[dice.randrange(2)]
        one.tick(region.now)
        time.sleep(0.05)

    workers = [region.worker(f'worker {number}') for number in range(2)]
    with futures.ThreadPoolExecutor(5) as pool:
        acts = [
            pool.submit(while_time_lasts, seed, act)
            for seed, act in enumerate([lease, lease, fail, fail])
        ]
        acts.append(pool.submit(while_time_lasts, 9, work))
    for act in acts:
        act.result()
    for one in workers:
        one.drain()
    for host in HOSTS:
        region.cloud.recover(host)
    region.now += regions.minutes(1)
    region.look()
    with region.database.reader() as session:
        assert audit.doubled(session) == []
    assert shown.overlaps(region) == []
    for one in region.lease_lists.find(objects.LeaseQuery()):
        if one.status == states.Lease.ACTIVE:
            with region.database.reader() as session:
                [held] = allocations.holdings(
                    session, [one.reservations[0].id]
                ).values()
            assert all(each.usable or each.replaced for each in held)
            assert region.aggregate_of(one) == {
                each.resource.name for each in held if each.usable
            }
