# SPDX-License-Identifier: Apache-2.0
import datetime

import pytest

from nova_reservations import exception
from nova_reservations.db.holdings import allocations
from nova_reservations.testing.region import minutes
from nova_reservations.testing.region import NOON

SECOND = datetime.timedelta(seconds=1)


def with_slow_server(region, project='lessee', **asked):
    """Return an active lease, and a server on its host whose deletion takes
    long."""
    lease = region.active_lease(**asked)
    (host,) = region.hosts_of(lease)
    server = region.cloud.boot(host, project)
    region.cloud.slow_servers.add(server)
    return lease, server


def test_an_ended_lease_leaves_nothing_behind(region):
    lease = region.active_lease(minimum=2)
    for host in region.hosts_of(lease):
        region.cloud.boot(host, 'lessee')
    region.forward(until=61)
    lease = region.see(lease)
    assert lease.status == 'TERMINATED'
    assert [str(item.status) for item in lease.reservations] == ['deleted']
    assert {str(event.status) for event in lease.events} == {'DONE'}
    assert region.cloud.instances == {}
    assert region.aggregate_of(lease) is None
    assert region.hosts_of(lease) == set()
    assert lease.due_at is None
    assert not lease.in_nova


def test_the_pool_keeps_its_hosts_all_along(region):
    region.active_lease(minimum=3)
    assert region.cloud.pool == {'one', 'two', 'three'}
    region.forward(until=61)
    assert region.cloud.pool == region.cloud.marked == {'one', 'two', 'three'}


def test_an_end_waits_for_slow_servers_without_holding_the_lease(region):
    lease, server = with_slow_server(region)
    region.forward(until=61)
    lease = region.see(lease)
    assert lease.status == 'TERMINATING'
    assert lease.claimed_by is None
    assert lease.due_at == region.now + SECOND
    (host,) = region.hosts_of(lease)
    assert lease.status_reason == (
        f'server {server} (active, deleting) on host {host} is being deleted'
    )
    region.cloud.finish_tasks()
    region.forward(until=62)
    assert region.status(lease) == 'TERMINATED'


@pytest.mark.parametrize(
    'servers, seconds', [(1, 1), (20, 1), (60, 3), (200, 5)]
)
def test_the_more_servers_leave_the_less_often_they_are_looked_at(
    region, servers, seconds
):
    lease, _ = with_slow_server(region)
    (host,) = region.hosts_of(lease)
    for _ in range(servers - 1):
        region.cloud.slow_servers.add(region.cloud.boot(host, 'lessee'))
    region.forward(until=60.5)
    assert region.see(lease).due_at == region.now + seconds * SECOND


def test_a_server_that_was_let_in_just_before_the_end_goes_too(make_region):
    region = make_region('one', settle=30 * SECOND)
    lease = region.active_lease(end=60)
    region.forward(until=60)
    assert region.status(lease) == 'TERMINATING'
    server = region.cloud.intrude('one', lease.project_id)
    region.cloud.hints[server] = lease.reservations[0].id
    region.forward(until=61)
    assert region.status(lease) == 'TERMINATED'
    assert not region.cloud.instances


def test_hosts_of_an_end_that_waits_are_not_free(make_region):
    region = make_region('one')
    lease, _ = with_slow_server(region)
    region.forward(until=61)
    assert region.status(lease) == 'TERMINATING'
    try:
        region.lease(project='another')
    except exception.NotEnoughResources as error:
        assert '1 is taken in this window' in str(error)
    else:
        raise AssertionError('an occupied host was leased')
    region.cloud.finish_tasks()
    region.forward(until=62)
    assert region.hosts_of(region.lease(project='another')) == {'one'}


def test_an_allocation_that_placement_still_has_on_a_host_is_waited_for(
    region,
):
    lease = region.active_lease()
    (host,) = region.hosts_of(lease)
    region.cloud.leftovers[host].add('a consumer')
    region.forward(until=61)
    assert region.see(lease).status_reason == (
        f'placement holds an allocation of somebody else on host {host}: an '
        'administrator has to look at it'
    )
    region.cloud.leftovers.clear()
    region.forward(until=62)
    assert region.status(lease) == 'TERMINATED'


def test_a_server_of_others_is_told_of_and_left(region):
    lease = region.active_lease()
    (host,) = region.hosts_of(lease)
    server = region.cloud.boot(host, 'operators')
    region.forward(until=61)
    lease = region.see(lease)
    assert lease.status == 'TERMINATING'
    assert lease.status_reason == (
        f'a server that is not of this reservation is on host {host}: an '
        'administrator has to move it'
    )
    assert server in region.cloud.instances
    assert region.hosts_of(lease) == {host}


def test_an_end_that_takes_too_long_is_an_error_until_it_is_over(make_region):
    region = make_region('one', end_timeout=minutes(1))
    lease, server = with_slow_server(region)
    region.forward(until=61.1)
    lease = region.see(lease)
    assert lease.status == 'ERROR'
    assert server in lease.status_reason
    assert region.hosts_of(lease) == {'one'}
    region.cloud.finish_tasks()
    region.forward(until=62.2)
    lease = region.see(lease)
    assert lease.status == 'TERMINATED'
    assert lease.status_reason is None
    assert region.hosts_of(lease) == set()
    assert region.told(lease).count('event.end_lease') == 1


def test_a_lease_in_error_can_be_deleted_and_is_gone_when_empty(make_region):
    region = make_region('one', end_timeout=minutes(1))
    lease, _ = with_slow_server(region)
    region.forward(until=61.1)
    region.delete(lease)
    region.forward(until=61.2)
    assert region.status(lease) == 'DELETING'
    region.cloud.finish_tasks()
    region.forward(until=62.3)
    assert list(region.picture()['leases']) == []


def test_a_long_end_does_not_delay_a_start(make_region):
    region = make_region('one', 'two')
    with_slow_server(
        region, hypervisor_properties='["==","$service_name","one"]'
    )
    late = region.lease(
        start=60,
        end=120,
        hypervisor_properties='["==","$service_name","two"]',
    )
    worker = region.worker('only', threads=1)
    region.now = NOON + minutes(60)
    region.work(worker)
    assert region.status(late) == 'ACTIVE'


def test_an_end_goes_on_where_a_cloud_that_went_away_left_it(region):
    lease = region.active_lease()
    region.fails(
        'delete aggregate',
        exception.CloudUnavailable(service='placement', reason='timeout'),
        times=2,
    )
    region.forward(until=60)
    lease = region.see(lease)
    assert lease.status == 'TERMINATING'
    assert lease.status_reason == 'placement can not be reached at this moment'
    region.forward(until=61)
    assert region.status(lease) == 'TERMINATED'


def test_a_server_without_a_host_goes_with_a_lease_without_one(region):
    lease = region.active_lease()
    [reservation] = lease.reservations
    region.cloud.build('unbuilt', 'lessee', 'building')
    region.cloud.hints['unbuilt'] = reservation.id
    with region.database.writer() as session:
        held = allocations.holdings(session, [reservation.id])
        allocations.delete(
            session,
            reservation.id,
            [holding.resource.id for holding in held[reservation.id]],
        )
    region.forward(until=62)
    assert region.status(lease) == 'TERMINATED'
    assert region.cloud.unbuilt == {}
