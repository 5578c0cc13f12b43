# SPDX-License-Identifier: Apache-2.0
"""An audit names what somebody broke, and mends it, or says who must."""

import pytest
import sqlalchemy as sa

from nova_reservations.db import models
from nova_reservations.db.holdings import allocations
from nova_reservations.db.holdings import withdrawals
from nova_reservations.db.resources import hosts
from nova_reservations.objects import states
from nova_reservations.testing.region import minutes
from nova_reservations.tests.functional.engine import stories

pytestmark = pytest.mark.usefixtures('long_waits')


@pytest.fixture
def auditor(region):
    return region.services.audit


def problems(auditor, now):
    return [finding.problem for finding in auditor.findings(now)]


def repair(auditor, now):
    for finding in auditor.findings(now):
        assert finding.repair is not None, finding.problem
        finding.repair()


def write(region, table, key, **columns):
    """Write a row as our own code never would."""
    with region.database.writer() as session:
        session.execute(sa.update(table).where(key).values(**columns))


def write_lease(region, lease, **columns):
    write(region, models.Lease, models.Lease.id == lease.id, **columns)


@pytest.mark.parametrize('story', stories.ALL)
def test_nothing_is_found_wherever_a_lease_is(region, auditor, story):
    story(region)
    region.work()
    assert problems(auditor, region.now) == []
    region.forward(until=stories.THE_END)
    assert problems(auditor, region.now) == []


def test_a_lease_that_waits_for_a_worker_too_long_is_named(region, auditor):
    lease = region.lease()
    assert problems(auditor, region.now + minutes(1)) == []
    [problem] = problems(auditor, region.now + minutes(2))
    assert f'Lease {lease.id} waits past its time' in problem


def test_a_lease_that_nobody_would_look_at_is_woken(region, auditor):
    lease = region.lease(start=10, end=20)
    write_lease(region, lease, due_at=None)
    [problem] = problems(auditor, region.now)
    assert f'Lease {lease.id} has work left' in problem
    repair(auditor, region.now)
    assert problems(auditor, region.now) == []
    region.forward(until=20)
    assert region.status(lease) == 'TERMINATED'


def test_a_lease_that_is_looked_at_after_its_end_is_woken(region, auditor):
    lease = region.active_lease(end=20)
    write_lease(region, lease, due_at=region.now + minutes(50))
    [problem] = problems(auditor, region.now)
    assert f'Lease {lease.id} has work left' in problem
    repair(auditor, region.now)
    region.work()
    assert problems(auditor, region.now) == []
    region.forward(until=20)
    assert region.status(lease) == 'TERMINATED'


def test_a_host_that_two_hold_at_once_is_named(region, auditor):
    one, other = (
        region.lease(start=start, end=start + 10) for start in (10, 20)
    )
    [host] = region.hosts_of(one)
    with region.database.writer() as session:
        [holding] = allocations.holdings(session, [one.reservations[0].id])[
            one.reservations[0].id
        ]
    write(
        region,
        models.Allocation,
        models.Allocation.reservation_id == other.reservations[0].id,
        resource_id=holding.resource.id,
        start_date=one.start_date,
    )
    [finding] = auditor.findings(region.now)
    assert finding.problem.startswith(f'Host {host} is given to reservations')
    assert one.reservations[0].id in finding.problem
    assert other.reservations[0].id in finding.problem
    assert finding.repair is None


def test_resources_that_a_lease_that_is_over_holds_are_released(
    region, auditor
):
    lease = region.active_lease(end=20)
    region.forward(until=20)
    reservation = lease.reservations[0].id
    write(
        region,
        models.Allocation,
        models.Allocation.reservation_id == reservation,
        released=False,
    )
    [problem] = problems(auditor, region.now)
    assert f'Reservation {reservation} holds resources' in problem
    repair(auditor, region.now)
    assert problems(auditor, region.now) == []
    assert region.hosts_of(lease) == set()


def test_a_host_that_lost_its_trait_gets_it_back(region, auditor):
    region.cloud.marked.remove('one')
    [problem] = problems(auditor, region.now)
    assert 'Host one lacks the trait' in problem
    repair(auditor, region.now)
    assert problems(auditor, region.now) == []
    assert region.cloud.marked == {'one', 'two', 'three'}


def test_a_host_that_left_the_pool_comes_back(region, auditor):
    region.cloud.pool.remove('two')
    [problem] = problems(auditor, region.now)
    assert 'Host two is not in the aggregate freepool' in problem
    repair(auditor, region.now)
    assert problems(auditor, region.now) == []
    assert region.cloud.pool == {'one', 'two', 'three'}


def test_a_server_on_a_host_that_no_lease_has_is_named(region, auditor):
    """The server bypassed the scheduler, or its lease is lost."""
    server = region.cloud.intrude('two', 'somebody')
    [finding] = auditor.findings(region.now)
    assert (
        f'Server {server} of project somebody is on host two, which no lease '
        'has now' in finding.problem
    )
    assert finding.repair is None


def test_a_server_on_a_host_of_a_lease_is_of_its_end(region, auditor):
    lease = region.active_lease(minimum=3)
    region.cloud.intrude('two', 'somebody')
    assert problems(auditor, region.now) == []
    region.forward(until=80)
    assert region.status(lease) == 'ERROR'
    assert problems(auditor, region.now) == []


def test_an_availability_zone_of_the_pool_is_named(region, auditor):
    region.cloud.pool_zone = 'az1'
    [finding] = auditor.findings(region.now)
    assert 'freepool has an availability zone' in finding.problem
    assert finding.repair is None


def test_a_host_that_is_enrolled_half_way_is_named(region, auditor):
    with region.database.writer() as session:
        hosts.set_reservable(session, 1, False, region.now)
    [finding] = auditor.findings(region.now)
    assert finding.problem.startswith('Host one is enrolled half-way')
    assert finding.repair is None


def test_a_host_that_is_marked_and_not_enrolled_is_named(region, auditor):
    """The host may be in another database, and without the trait it is open to
    all."""
    with region.database.writer() as session:
        withdrawals.remove_host(session, 3)
    [finding] = auditor.findings(region.now)
    assert region.cloud.known['three'].uuid in finding.problem
    assert finding.repair is None


@pytest.mark.parametrize(
    'members', [set(), {'one', 'two', 'three'}], ids=['missing', 'surplus']
)
def test_a_lease_gets_back_exactly_its_hosts_in_nova(region, auditor, members):
    lease = region.active_lease(minimum=2)
    region.cloud.aggregate_hosts[lease.reservations[0].id] = set(members)
    [problem] = problems(auditor, region.now)
    assert 'has other hosts in Nova' in problem
    repair(auditor, region.now)
    region.work()
    assert problems(auditor, region.now) == []
    assert region.aggregate_of(lease) == region.hosts_of(lease)
    assert region.status(lease) == 'ACTIVE'


def test_a_lease_gets_back_its_hosts_in_placement(region, auditor):
    lease = region.active_lease(minimum=2)
    host = min(region.hosts_of(lease))
    region.cloud.unmirrored.add((host, lease.reservations[0].id))
    [problem] = problems(auditor, region.now)
    assert 'has other hosts in placement' in problem
    repair(auditor, region.now)
    region.work()
    assert problems(auditor, region.now) == []


@pytest.mark.parametrize('known', [True, False], ids=['over', 'deleted'])
def test_an_aggregate_of_no_lease_is_disbanded(region, auditor, known):
    lease = region.active_lease(end=20)
    region.forward(until=20)
    if not known:
        region.delete(lease)
    region.cloud.aggregate_hosts[lease.reservations[0].id] = {'one'}
    [problem] = problems(auditor, region.now)
    assert 'is of no lease any more' in problem
    repair(auditor, region.now)
    assert problems(auditor, region.now) == []
    assert region.cloud.aggregate_hosts == {}


def test_a_repair_leaves_what_a_worker_has(region, auditor):
    lease = region.active_lease()
    write_lease(
        region,
        lease,
        claimed_by='somebody',
        due_at=region.now + minutes(0.5),
        status=states.Lease.TERMINATING,
    )
    region.cloud.aggregate_hosts.clear()
    assert problems(auditor, region.now) == []


def test_a_fault_that_is_over_at_the_second_look_is_not_found(region, auditor):
    region.cloud.marked.clear()
    region.cloud.pool.clear()

    def meanwhile():
        region.cloud.marked |= set(region.cloud.known)
        region.cloud.pool.add('one')

    found = auditor.lasting(pause=meanwhile)
    assert [finding.problem.split()[1] for finding in found] == [
        'two',
        'three',
    ]


def test_there_is_one_look_where_nothing_is_found(region, auditor):
    assert auditor.lasting(pause=pytest.fail) == []
