# SPDX-License-Identifier: Apache-2.0
"""A host was reservable at once although servers that were being built at that
moment could still land on it. Issue 13, item 1.

When two requests enrolled one host at once, the later one found a guest of the
first one's lease and removed the trait. Issue 13, item 14.
"""

import dataclasses
import datetime

import pytest

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations.testing import fake_cloud
from nova_reservations.testing.region import minutes

SERVER = 'f0f0f0f0-0000-4000-8000-00000000000a'
LATER = 'f0f0f0f0-0000-4000-8000-00000000000b'


@pytest.fixture
def region(make_region):
    region = make_region()
    region.cloud.known['new'] = fake_cloud.facts('new')
    return region


def build(region, server=SERVER):
    """Have Nova begin to build a server."""
    region.cloud.build(server, 'somebody', 'building')


def migrate(region):
    """Have Nova look for another host for a server that was there before."""
    region.cloud.boot('elsewhere', 'somebody', SERVER)
    region.cloud.preparing.add(SERVER)
    region.cloud.begin(region.cloud.instances[SERVER], 'resize_prep')


def delete(region):
    """Mark the server as being deleted while it is migrated."""
    server = region.cloud.instances[SERVER]
    region.cloud.instances[SERVER] = dataclasses.replace(
        server, task='deleting'
    )


def let_fail(region, server=SERVER):
    del region.cloud.unbuilt[server]


def let_land(region, host, server=SERVER):
    del region.cloud.unbuilt[server]
    region.cloud.boot(host, 'somebody', server)


def go_on(region, seconds=5):
    region.now += datetime.timedelta(seconds=seconds)
    region.hosts.enrolment.complete_all(region.now)
    [[host]] = region.resources.allocation_lists(objects.HOST).find(region.now)
    return region.hosts.get(host)


def test_a_host_is_reservable_at_once_if_nothing_is_in_flight(region):
    assert region.enrol('new').reservable


def test_a_host_waits_for_what_was_in_flight_and_says_so(region):
    build(region)
    host = region.enrol('new')
    assert not host.reservable
    assert SERVER in host.status_reason
    # The host is closed to others at once.
    assert region.cloud.marked == {'new'}
    with pytest.raises(exception.NotEnoughResources):
        region.lease()
    assert not go_on(region).reservable
    let_fail(region)
    host = go_on(region)
    assert host.reservable
    assert host.status_reason is None
    region.lease()


def test_a_build_that_begins_later_is_not_waited_for(region):
    build(region)
    region.enrol('new')
    build(region, LATER)
    let_fail(region)
    assert go_on(region).reservable


@pytest.mark.parametrize('is_listed', [False, True])
def test_a_server_that_is_deleted_in_its_migration_is_waited_for(
    region, is_listed
):
    region.cloud.slow_servers.add(SERVER)
    migrate(region)
    if not is_listed:
        delete(region)
    assert not region.enrol('new').reservable
    delete(region)
    host = go_on(region)
    assert not host.reservable
    assert SERVER in host.status_reason
    region.cloud.preparing.clear()
    assert go_on(region).reservable


def test_a_host_that_a_server_landed_on_is_never_leased(region):
    build(region)
    region.enrol('new')
    let_land(region, 'new')
    host = go_on(region)
    assert not host.reservable
    assert SERVER in host.status_reason
    # Its user deletes the server, or an administrator moves it.
    del region.cloud.instances[SERVER]
    assert go_on(region).reservable


def test_an_administrator_may_open_a_host_that_waits_again(region):
    build(region)
    host = region.enrol('new')
    let_land(region, 'new')
    region.hosts.enrolment.remove(host.id, region.now)
    assert region.cloud.marked == region.cloud.pool == set()


def test_a_build_that_is_stuck_is_named_and_an_administrator_decides(region):
    build(region)
    region.enrol('new')
    host = go_on(region, region.options.build_wait.total_seconds())
    assert not host.reservable
    assert SERVER in host.status_reason
    assert 'add the host again' in host.status_reason
    assert not go_on(region, 3600).reservable
    assert region.enrol('new').reservable


def test_enrolling_it_again_meanwhile_waits_for_the_same(region):
    build(region)
    region.enrol('new')
    build(region, LATER)
    assert not region.enrol('new').reservable
    let_fail(region)
    assert region.enrol('new').reservable


def test_a_worker_that_dies_is_followed_by_another(region):
    build(region)
    region.enrol('new')
    let_fail(region)
    region.fails('join_pool', RuntimeError('killed'))
    with pytest.raises(RuntimeError):
        go_on(region)
    assert go_on(region).reservable


def test_a_cloud_that_gave_no_answer_is_asked_again_soon(region, caplog):
    build(region)
    region.enrol('new')
    let_fail(region)
    region.fails(
        'join_pool', exception.CloudUnavailable(service='Nova', reason='busy')
    )
    region.forward(until=0.25)
    assert 'reservable yet: Nova' in caplog.text
    [[host]] = region.resources.allocation_lists(objects.HOST).find(region.now)
    assert region.hosts.get(host).reservable


def test_guarded_conductors_leave_nothing_to_wait_for(make_region):
    region = make_region(conductors_guarded=True)
    region.cloud.known['new'] = fake_cloud.facts('new')
    build(region)
    assert region.enrol('new').reservable


def test_a_host_is_not_emptied_for_a_lease_while_builds_are_in_flight(
    make_region,
):
    region = make_region(
        best_effort_aggregate='drainable', best_effort_timeout=minutes(10)
    )
    region.add_host('drainable', enrol=False)
    region.cloud.members = {'drainable'}
    region.drainable_hosts.follow(region.now)
    build(region)
    lease = region.best_effort()
    region.forward(until=1)
    best_effort = region.see(lease)
    assert best_effort.status == 'IN_PROGRESS'
    assert '1 server that was being built' in best_effort.status_reason
    assert SERVER not in best_effort.status_reason
    let_fail(region)
    region.forward(until=2)
    assert region.see(lease).status == 'ACTIVE'


def test_no_drainable_host_is_had_while_a_server_is_deleted_in_its_migration(
    make_region,
):
    region = make_region(
        best_effort_aggregate='drainable', best_effort_timeout=minutes(10)
    )
    region.add_host('drainable', enrol=False)
    region.cloud.members = {'drainable'}
    region.drainable_hosts.follow(region.now)
    region.cloud.slow_servers.add(SERVER)
    migrate(region)
    delete(region)
    lease = region.best_effort()
    region.forward(until=1)
    assert region.see(lease).status == 'IN_PROGRESS'
    region.cloud.preparing.clear()
    region.forward(until=2)
    assert region.see(lease).status == 'ACTIVE'


class TestTwoAtOnce:
    def test_the_later_leaves_what_the_first_has_done(self, region):
        """Both requests have begun. The first one ends, and a guest of its
        lease comes."""

        def first_ends(step):
            region.cloud.before = lambda step: None
            assert region.enrol('new').reservable
            region.active_lease()
            region.cloud.boot('new', 'lessee')

        region.cloud.before = first_ends
        with pytest.raises(exception.ReservationsError):
            region.enrol('new')
        assert region.cloud.marked == region.cloud.pool == {'new'}
        [[host]] = region.resources.allocation_lists(objects.HOST).find(
            region.now
        )
        assert region.hosts.get(host).reservable

    def test_both_requests_are_told_that_the_host_is_enrolled_as_they_asked(
        self, region
    ):
        def other(step):
            if step == 'join_pool':
                region.cloud.before = lambda step: None
                region.hosts.enrolment.enrol('new', {'gpu': 'a'}, region.now)

        region.cloud.before = other
        host = region.hosts.enrolment.enrol('new', {'gpu': 'a'}, region.now)
        assert host.reservable
        assert region.cloud.marked == region.cloud.pool == {'new'}

    def test_the_first_of_two_requests_gives_a_host_its_properties(
        self, region
    ):
        def other(step):
            if step == 'join_pool':
                region.cloud.before = lambda step: None
                region.hosts.enrolment.enrol('new', {'gpu': 'a'}, region.now)

        region.cloud.before = other
        with pytest.raises(exception.AlreadyEnrolled):
            region.hosts.enrolment.enrol('new', {'gpu': 'b'}, region.now)
        [[host]] = region.resources.allocation_lists(objects.HOST).find(
            region.now
        )
        assert region.hosts.get(host).properties == {'gpu': 'a'}

    def test_the_task_may_complete_one_that_is_under_way(self, region):
        def task(step):
            if step == 'join_pool':
                region.cloud.before = lambda step: None
                region.hosts.enrolment.complete_all(region.now)

        region.cloud.before = task
        assert region.enrol('new').reservable
        assert region.cloud.marked == region.cloud.pool == {'new'}


def test_an_end_looks_once_more_when_its_hosts_have_left(make_region):
    """nova-conductor claims a host for a server after the end has looked at
    the hosts. The second look sees that server, and the end waits for it."""
    region = make_region('one')
    lease = region.active_lease()
    guests = []

    def come(step):
        if step == 'delete aggregate' and not guests:
            guests.append(region.cloud.boot('one', 'somebody'))

    region.cloud.before = come
    region.forward(until=61)
    assert region.see(lease).status == 'TERMINATING'
    del region.cloud.instances[guests[0]]
    region.forward(until=63)
    assert region.see(lease).status == 'TERMINATED'
