# SPDX-License-Identifier: Apache-2.0
"""Ends of leases where a nova-compute is not heard: its guests may run on."""

import pytest

from nova_reservations.testing.region import minutes
from nova_reservations.tests.functional.engine import test_instances


def guest_of(region, lease):
    """Return a server on the only host of the lease."""
    (host,) = region.hosts_of(lease)
    return region.cloud.boot(host, lease.project_id)


@pytest.fixture
def one(make_region):
    return make_region('one')


def test_the_next_lease_gets_no_host_on_which_a_guest_may_run(one):
    lease = one.active_lease()
    late = one.lease(start=60, end=120, project='another')
    server = guest_of(one, lease)
    one.cloud.fail('one')
    one.forward(until=62)
    assert server in one.cloud.instances
    assert one.see(lease).status_reason == (
        f'server {server} (active) on host one can not be deleted: its host '
        'is down'
    )
    assert one.hosts_of(lease) == {'one'}
    assert one.status(late) == 'PENDING'
    one.cloud.recover('one')
    one.forward(until=63)
    assert one.status(lease) == 'TERMINATED'
    assert one.status(late) == 'ACTIVE'
    assert one.cloud.instances == {}


def test_a_host_that_is_fenced_is_free_at_once(one):
    lease = one.active_lease()
    guest_of(one, lease)
    one.cloud.fail('one', forced_down=True)
    one.forward(until=61)
    assert one.status(lease) == 'TERMINATED'
    assert one.cloud.instances == {}


def test_an_end_that_waits_for_a_host_goes_on_when_it_is_fenced(one):
    lease = one.active_lease()
    guest_of(one, lease)
    one.cloud.fail('one')
    one.forward(until=80)
    assert one.status(lease) == 'ERROR'
    one.cloud.fail('one', forced_down=True)
    one.forward(until=82)
    assert one.status(lease) == 'TERMINATED'


def test_what_was_being_deleted_when_its_host_fell_silent_is_waited_for(one):
    lease = one.active_lease()
    server = guest_of(one, lease)
    one.cloud.slow_servers.add(server)
    one.forward(until=60.1)
    one.cloud.fail('one')
    one.forward(until=61)
    assert 'its host is down' in one.see(lease).status_reason
    one.cloud.recover('one')
    one.cloud.finish_tasks()
    one.forward(until=62)
    assert one.status(lease) == 'TERMINATED'


def test_slots_of_a_host_that_is_not_heard_are_not_free(make_region):
    region = make_region('one', types=test_instances.TYPES)
    lease = test_instances.active(region, *test_instances.slots(4))
    late = region.lease(start=60, end=120, project='another')
    server = test_instances.boot(region, lease)
    region.cloud.fail('one')
    region.forward(until=62)
    assert server in region.cloud.instances
    assert 'its host is down' in region.see(lease).status_reason
    assert region.status(late) == 'PENDING'
    region.cloud.recover('one')
    region.forward(until=63)
    assert region.status(late) == 'ACTIVE'


def test_what_nova_fails_to_delete_is_tried_again_after_a_minute(one):
    lease = one.active_lease()
    server = guest_of(one, lease)
    one.cloud.undeletable.add(server)
    one.forward(until=60.5)
    assert one.cloud.writes.count('delete server') == 1
    assert one.see(lease).status_reason == (
        f'server {server} (error) on host one can not be deleted: Nova has '
        'failed at it, and is asked again within a minute'
    )
    one.cloud.undeletable.clear()
    one.forward(until=61.2)
    assert one.status(lease) == 'TERMINATED'
    assert one.now - lease.end_date < minutes(2)
