# SPDX-License-Identifier: Apache-2.0
"""Leases that are past their end count against limits for what they still
hold.
"""

import contextlib

import pytest

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations.engine.booking import lease_requests
from nova_reservations.testing.region import minutes
from nova_reservations.testing.region import NOON
from nova_reservations.tests.functional.engine import pools
from nova_reservations.tests.functional.engine import test_end
from nova_reservations.tests.functional.engine import test_lease_offers
from nova_reservations.tests.functional.engine import test_limits
from nova_reservations.types import base
from nova_reservations.types.servers import host

limit = test_limits.limit
refused = test_limits.refused
gib = test_limits.gib

WHOLE = pools.POOL, {}


class Kept(pools.Pool):
    """Pools whose end waits for the project as long as ``kept`` is set."""

    kept = False

    def end(self, booking):
        if not self.kept:
            return None
        return base.Waiting('a volume is attached')


@pytest.fixture
def region(make_region):
    """Hosts and pools; an end may take ten minutes."""
    region = make_region(
        'one',
        'two',
        end_timeout=minutes(10),
        types={objects.HOST: host.PhysicalHost, pools.POOL: Kept},
    )
    for name in 'abc':
        region.resources.add(pools.POOL, name, region.now, {pools.GIB: 6})
    return region


@pytest.fixture
def keep(region):
    """Makes a lease until 13:00 that keeps what it has after its end."""

    def keep(*items):
        lease = region.lease_of(*items)
        region.types[pools.POOL].kept = True
        region.work()
        return lease

    return keep


def pass_to(region, *times):
    """Let time pass until each of these minutes after noon; no worker runs in
    between."""
    for time in times:
        region.now = NOON + minutes(time)
        region.work()


def give_back(region, at):
    region.types[pools.POOL].kept = False
    region.cloud.finish_tasks()
    pass_to(region, at)


def used(region):
    return region.leases.limits.used('lessee', region.now)[1]


def told(lease, number):
    return (
        f'; lease {lease.id}, which ended at 2030-01-01 13:00, has not given '
        f'back {number} of them$'
    )


def test_a_host_counts_until_its_servers_are_gone(region):
    limit(region, hosts=1)
    lease, _ = test_end.with_slow_server(region)
    pass_to(region, 61)
    assert region.status(lease) == 'TERMINATING'
    with refused('2 hosts at 2030-01-01 13:01, 1 allowed.*' + told(lease, 1)):
        region.lease()
    assert used(region).hosts == 1
    give_back(region, 63)
    assert used(region).hosts == 0
    region.lease()


@pytest.mark.parametrize(
    ('item', 'name', 'number'),
    [(WHOLE, pools.POOL, 1), (gib(6), f'{pools.POOL}/{pools.GIB}', 6)],
)
@pytest.mark.parametrize('deleted', [False, True])
def test_a_pool_that_is_in_use_still_counts(
    region, keep, item, name, number, deleted
):
    limit(region, resources={name: number})
    lease = keep(item)
    if deleted:
        region.delete(lease)
    pass_to(region, 61)
    assert region.status(lease) == ('DELETING' if deleted else 'TERMINATING')
    with refused(f'{2 * number} .*' + told(lease, number)):
        region.lease_of(item)
    assert used(region).resources[name] == number
    give_back(region, 62)
    assert used(region).resources == {}
    region.lease_of(item)


def test_an_ordinary_end_is_in_the_way_of_what_begins_now_alone(region, keep):
    limit(region, resources={pools.POOL: 1})
    keep(WHOLE)
    pass_to(region, 60)
    with refused('2 test:pool at 2030-01-01 13:00, 1 allowed'):
        region.lease_of(WHOLE, start=0.5, end=60)
    region.lease_of(WHOLE, start=1, end=60)


def test_an_end_of_a_minute_is_in_the_way_until_it_should_be_over(
    region, keep
):
    limit(region, resources={pools.POOL: 1})
    lease = keep(WHOLE)
    pass_to(region, 60, 61)
    with refused('2 test:pool at 2030-01-01 13:09.*' + told(lease, 1)):
        region.lease_of(WHOLE, start=8.5, end=60)
    region.lease_of(WHOLE, start=9, end=60)


def test_a_request_for_a_little_later_at_each_end_gets_one_beside(
    region, keep
):
    limit(region, resources={pools.POOL: 1})
    keep(WHOLE)
    got = []
    for time in (60, 62, 64, 66):
        pass_to(region, time - 0.5, time)
        with contextlib.suppress(exception.OverLimit):
            got.append(region.lease_of(WHOLE, start=1.5, end=2))
    assert len(got) == 1


def test_an_end_that_takes_too_long_is_in_the_way_of_all_times(region, keep):
    limit(region, resources={pools.POOL: 1})
    lease = keep(WHOLE)
    pass_to(region, 60, 71)
    assert region.status(lease) == 'ERROR'
    with refused('2 test:pool at 2031-01-01 .*' + told(lease, 1)):
        region.lease_of(WHOLE, start=365 * 24 * 60, end=366 * 24 * 60)
    region.lease_of(gib(1))
    give_back(region, 75)
    assert region.status(lease) == 'TERMINATED'
    region.lease_of(WHOLE, start=120, end=180)


def test_nobody_holds_one_after_the_other_past_their_ends(region, keep):
    limit(region, resources={pools.POOL: 2})
    for _ in range(2):
        keep(WHOLE)
    pass_to(region, 60, 71)
    with refused('and 1 other have not given back 2 of them'):
        region.lease_of(WHOLE, start=24 * 60, end=25 * 60)


def test_a_lease_that_takes_too_long_to_end_counts_as_one(region, keep):
    limit(region, leases=1)
    lease = keep(WHOLE)
    pass_to(region, 60, 69)
    soon = region.lease(start=60, end=90)
    assert used(region).leases == 1
    region.delete(soon)
    pass_to(region, 71)
    assert used(region).leases == 1
    with refused(
        '2 leases, 1 allowed for this project; lease '
        f'{lease.id}, which ended at 2030-01-01 13:00, counts until all '
        'is given back$'
    ):
        region.lease()
    give_back(region, 75)
    region.lease()


def test_a_lease_that_takes_too_long_to_delete_counts_before_its_end(region):
    limit(region, leases=1)
    lease = region.lease_of(WHOLE, end=24 * 60)
    region.work()
    region.types[pools.POOL].kept = True
    region.delete(lease)
    pass_to(region, 0, 9)
    assert used(region).leases == 0
    pass_to(region, 11)
    assert used(region).leases == 1
    with refused('which ended at 2030-01-01 12:00, counts until all is'):
        region.lease()
    give_back(region, 15)
    region.lease()


def test_a_replaced_host_does_not_count(region):
    """Servers may be on the replaced host as long as nobody knows its
    state."""
    limit(region, hosts=1)
    lease, _ = test_end.with_slow_server(region)
    (host,) = region.hosts_of(lease)
    region.cloud.fail(host)
    region.look()
    assert region.hosts_of(lease) == {'one', 'two'}
    assert used(region).hosts == 1
    pass_to(region, 30)
    assert used(region).hosts == 1


def test_host_hours_are_of_the_time_to_come(region):
    limit(region, host_hours=1)
    test_end.with_slow_server(region)
    pass_to(region, 61)
    assert used(region).host_hours == 0
    region.lease()


def test_a_lease_that_nobody_has_ended_may_be_prolonged(region):
    """All workers have been away for longer than an end may take."""
    limit(region, hosts=1)
    lease = region.active_lease()
    region.now += minutes(90)
    with refused('2 hosts'):
        region.change(lease, end=60, min=2, max=2)
    region.change(lease, end=60)
    with refused('2 hosts at'):
        region.lease(start=20)


def test_a_lease_that_waits_gets_a_host_when_its_project_has_given_one_back(
    region,
):
    limit(region, hosts=1)
    _, server = test_end.with_slow_server(region)
    region.lease(end=70, project='other')
    (other,) = {'one', 'two'} - {region.cloud.instances[server].host}
    waits = region.retry(
        start=60,
        end=300,
        hypervisor_properties=f'["==","$service_name","{other}"]',
    )
    pass_to(region, 60, 72)
    assert region.status(waits) == 'CREATING'
    assert 'has not given back 1 of them' in region.see(waits).status_reason
    give_back(region, 74)
    assert region.status(waits) == 'ACTIVE'


def test_offers_and_dry_runs_know_it(region, keep):
    limit(region, resources={pools.POOL: 1})
    keep(WHOLE)
    pass_to(region, 60, 71)
    assert test_lease_offers.offered(region, WHOLE) == []
    asked = lease_requests.NewLease(
        name='a lease',
        project_id='lessee',
        user_id='user',
        start=region.now + minutes(5),
        end=region.now + minutes(60),
        before_end=None,
        reservations=(lease_requests.NewReservation(*WHOLE),),
    )
    with refused('2 test:pool'):
        region.leases.create(asked, region.now, dry_run=True)
