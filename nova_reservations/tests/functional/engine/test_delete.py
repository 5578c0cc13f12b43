# SPDX-License-Identifier: Apache-2.0
import pytest

from nova_reservations import exception
from nova_reservations.testing.region import minutes

pytestmark = pytest.mark.usefixtures('long_waits')


def is_gone(region, lease):
    return lease.id not in region.picture()['leases']


def test_a_lease_that_nova_knows_nothing_of_is_gone_with_the_answer(region):
    lease = region.lease(start=60, end=120, minimum=3)
    region.delete(lease)
    assert is_gone(region, lease)
    assert region.told(lease) == ['create', 'delete']
    region.lease(start=60, end=120, minimum=3)


def test_a_lease_that_is_over_is_gone_with_the_answer(region):
    lease = region.active_lease()
    region.forward(until=61)
    region.delete(lease)
    assert is_gone(region, lease)


def test_a_lease_whose_start_failed_is_gone_with_the_answer(region):
    lease = region.lease()
    region.fails('add host', exception.CloudRefused(what='it', reason='no'))
    region.work()
    region.delete(lease)
    assert is_gone(region, lease)


def test_a_prepared_lease_is_gone_when_its_aggregate_is(region):
    lease = region.lease(start=5)
    region.work()
    region.delete(lease)
    assert region.status(lease) == 'DELETING'
    region.work()
    assert is_gone(region, lease)
    assert region.cloud.aggregate_hosts == {}


def test_an_active_lease_is_deleting_until_its_servers_are_gone(region):
    lease = region.active_lease(minimum=3)
    for host in 'one', 'two', 'three':
        server = region.cloud.boot(host, 'lessee')
        region.cloud.slow_servers.add(server)
    region.delete(lease)
    assert region.status(lease) == 'DELETING'
    region.forward(until=1)
    assert region.hosts_of(lease) == {'one', 'two', 'three'}
    with pytest.raises(exception.NotEnoughResources):
        region.lease(project='another')
    region.cloud.finish_tasks()
    region.forward(until=2)
    assert is_gone(region, lease)
    assert region.cloud.aggregate_hosts == {}
    assert region.told(lease)[-1] == 'delete'
    region.lease(minimum=3, project='another')


def test_a_lease_is_deleted_in_the_middle_of_its_end(region):
    lease = region.active_lease()
    (host,) = region.hosts_of(lease)
    region.cloud.slow_servers.add(region.cloud.boot(host, 'lessee'))
    region.forward(until=61)
    assert region.status(lease) == 'TERMINATING'
    region.delete(lease)
    region.cloud.finish_tasks()
    region.forward(until=62)
    assert is_gone(region, lease)


def test_to_delete_twice_is_to_delete_once(region):
    lease = region.active_lease()
    region.delete(lease)
    region.delete(lease)
    region.work()
    assert region.told(lease).count('delete') == 1
    with pytest.raises(exception.NotFound):
        region.delete(lease)


def test_a_start_that_was_refused_and_not_undone_yet_is_deleted(region):
    lease = region.lease(minimum=2)
    region.fails('add host', exception.CloudRefused(what='it', reason='no'))
    undone = region.cloud.before

    def before(step):
        undone(step)
        if step == 'delete aggregate':
            raise exception.CloudUnavailable(service='Nova', reason='gone')

    region.cloud.before = before
    region.work()
    assert region.status(lease) == 'ERROR'
    region.delete(lease)
    assert region.status(lease) == 'DELETING'
    region.cloud.before = lambda step: None
    region.forward(until=1)
    assert is_gone(region, lease)


def test_the_deletion_of_a_prepared_lease_spares_the_one_before(make_region):
    region = make_region('one')
    first = region.active_lease(end=60)
    server = region.cloud.boot('one', 'lessee')
    second = region.lease(start=60, end=120)
    region.forward(until=55)
    assert region.aggregate_of(second) == {'one'}
    region.delete(second)
    region.work()
    assert is_gone(region, second)
    assert server in region.cloud.instances
    assert region.status(first) == 'ACTIVE'
    assert region.aggregate_of(first) == {'one'}


def test_a_failed_start_spares_the_servers_of_the_lease_before(make_region):
    region = make_region('one', end_timeout=minutes(1))
    first = region.active_lease(end=60)
    server = region.cloud.boot('one', 'lessee')
    region.cloud.slow_servers.add(server)
    second = region.lease(start=60, end=61)
    region.forward(until=61.1)
    assert region.status(second) == 'ERROR'
    assert region.aggregate_of(second) is None
    assert region.hosts_of(second) == set()
    assert region.status(first) == 'ERROR'
    assert region.hosts_of(first) == {'one'}


def test_a_deleted_lease_is_kept_with_all_that_belongs_to_it(region):
    lease = region.active_lease(minimum=3)
    region.delete(lease)
    region.forward(until=1)
    kept = region.lease_lists.deleted(lease.id)
    assert kept.status == 'TERMINATED'
    assert kept.deleted_at is not None
    assert kept.events[0] == lease.events[0]
    assert kept.reservations[0].params == lease.reservations[0].params
    assert kept.reservations[0].status == 'deleted'
