# SPDX-License-Identifier: Apache-2.0
"""Leases that nobody uses are reported, or end; all other leases are left
alone.
"""

import dataclasses

import pytest

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations.db.leases import leases
from nova_reservations.engine import claimed_leases
from nova_reservations.engine.worker import deleted_servers
from nova_reservations.engine.worker import unused_leases
from nova_reservations.objects import states
from nova_reservations.testing import addresses
from nova_reservations.testing.region import minutes
from nova_reservations.tests.functional.engine import recorded
from nova_reservations.tests.functional.engine import test_instances
from nova_reservations.tests.functional.engine import test_maintenance
from nova_reservations.tests.functional.engine import test_server_leases
from nova_reservations.types.servers import host
from nova_reservations.types.servers import server

TIMEOUT = 15
"""Minutes after which a lease counts as unused."""


@pytest.fixture
def make(make_region):
    def make(*names, action='end', **options):
        return make_region(
            *names,
            unused_lease_timeout=minutes(TIMEOUT),
            unused_lease_action=states.UnusedAction(action),
            **options,
        )

    return make


@pytest.fixture
def region(make):
    return make('one', 'two')


def look(region, after=TIMEOUT):
    region.now += minutes(after)
    region.soon(deleted_servers.TASK)
    region.work()


def use(region, lease):
    assert region.access.use(lease.id, region.now)


def test_a_lease_that_nobody_uses_ends_and_says_why(region):
    lease = region.active_lease(end=60)
    look(region)
    ended = region.see(lease)
    assert ended.status == 'TERMINATED'
    assert ended.status_reason == (
        'It was not used: no server was in it for 15 minutes from its start on'
    )
    assert region.hosts_of(lease) == set()
    assert region.aggregate_of(lease) is None
    assert not recorded.going_on(region)
    assert recorded.totals(region)['lessee', objects.HOST] == TIMEOUT * 60
    assert region.told(lease)[-2:] == ['unused', 'event.end_lease']
    # Other leases can have its hosts at once.
    assert region.lease(minimum=2, end=30)


def test_an_unused_lease_does_not_end_a_second_before(region):
    lease = region.active_lease()
    look(region, TIMEOUT - 1 / 60)
    assert region.status(lease) == 'ACTIVE'


def test_nothing_ends_where_the_option_is_not_set(make_region):
    region = make_region('one', unused_lease_action=states.UnusedAction.END)
    lease = region.active_lease()
    look(region)
    assert region.status(lease) == 'ACTIVE'
    assert 'unused' not in region.told(lease)


def test_the_owner_is_told_once_where_no_lease_is_to_end(make):
    region = make('one', action='notify')
    lease = region.active_lease(end=60)
    look(region)
    look(region)
    assert region.told(lease).count('unused') == 1
    seen = region.see(lease)
    assert (seen.status, seen.status_reason) == ('ACTIVE', None)
    region.forward(until=61)
    seen = region.see(lease)
    assert (seen.status, seen.status_reason) == ('TERMINATED', None)


def test_a_lease_that_was_told_of_may_end_later(make):
    region = make('one', action='notify')
    lease = region.active_lease(end=60)
    look(region)
    ending = unused_leases.UnusedLeases(
        region.database,
        region.cloud,
        region.types,
        dataclasses.replace(
            region.options, unused_lease_action=states.UnusedAction.END
        ),
        lambda *note: None,
    )
    region.now += minutes(1)
    ending.look(region.now)
    region.work()
    assert region.status(lease) == 'TERMINATED'
    assert '16 minutes' in region.see(lease).status_reason


def test_a_single_server_makes_a_lease_used_until_its_end(region):
    lease = region.active_lease()
    use(region, lease)
    look(region, 59)
    assert region.status(lease) == 'ACTIVE'
    assert 'unused' not in region.told(lease)


@pytest.mark.parametrize('project', ['lessee', 'somebody'])
def test_a_server_on_its_hosts_keeps_a_lease_whoever_let_the_server_in(
    region, project
):
    lease = region.active_lease()
    [name] = region.hosts_of(lease)
    stranger = region.cloud.boot(name, project)
    look(region)
    assert region.status(lease) == 'ACTIVE'
    # The lease counts as used from then on.
    del region.cloud.instances[stranger]
    look(region)
    assert region.status(lease) == 'ACTIVE'


def test_a_lease_that_starts_late_has_the_time_from_then_on(region):
    lease = region.lease(start=10, end=60)
    region.now += minutes(20)
    region.work()
    assert region.status(lease) == 'ACTIVE'
    look(region, TIMEOUT - 1)
    assert region.status(lease) == 'ACTIVE'
    look(region, 1)
    assert region.status(lease) == 'TERMINATED'


def test_a_lease_that_lacks_a_host_is_let_be(region):
    lease = region.active_lease(minimum=2)
    region.cloud.fail('one')
    region.look()
    assert region.see(lease).degraded
    look(region)
    assert region.status(lease) == 'ACTIVE'


def test_slots_that_nobody_uses_end_too(make):
    region = make('one', types=test_instances.TYPES)
    lease = region.lease_of(test_instances.slots(), end=60)
    used = region.lease_of(test_instances.slots(), end=60)
    region.work()
    region.access.record_server(
        'a server', used.reservations[0].id, region.now
    )
    look(region)
    assert region.status(lease) == 'TERMINATED'
    assert region.status(used) == 'ACTIVE'


def test_servers_that_carry_their_lease_use_it(make):
    region = make(
        'one',
        types={objects.HOST: host.PhysicalHost, objects.SERVER: server.Server},
    )
    lease = test_server_leases.request(region)
    name = test_server_leases.record(region, lease)
    test_server_leases.boot(region, name)
    region.server_leases.accept(lease.id, region.now)
    region.work()
    assert region.status(lease) == 'ACTIVE'
    look(region)
    assert region.status(lease) == 'ACTIVE'


def test_a_window_of_maintenance_is_let_be(region):
    test_maintenance.maintain(region, 0, 60)
    region.work()
    look(region)
    assert {
        lease.status for lease in region.lease_lists.find(objects.LeaseQuery())
    } == {'ACTIVE'}


def test_few_leases_are_ended_at_a_look(make, monkeypatch):
    monkeypatch.setattr(unused_leases, 'AT_ONCE', 2)
    region = make('one', 'two', 'three')
    for _ in range(3):
        region.active_lease(end=60)
    look(region)
    assert len(active(region)) == 1
    look(region, 1)
    assert active(region) == []


@pytest.mark.parametrize('action', ['end', 'notify'])
def test_leases_of_which_nobody_can_tell_hold_up_no_others(
    make, monkeypatch, action
):
    monkeypatch.setattr(unused_leases, 'AT_ONCE', 1)
    region = make('one', 'two', 'three', action=action)
    strangers, silent, lease = (region.active_lease(end=60) for _ in range(3))
    region.cloud.signed[strangers.reservations[0].id] = 'another'
    occupancy = region.cloud.servers.occupancy

    def of_cells(hosts):
        if region.hosts_of(silent) & {host.name for host in hosts}:
            raise exception.CloudUnavailable(service='nova', reason='silence')
        return occupancy(hosts)

    monkeypatch.setattr(region.cloud.servers, 'occupancy', of_cells)
    look(region)
    assert 'unused' in region.told(lease)
    for other in strangers, silent:
        assert region.status(other) == 'ACTIVE'
        assert 'unused' not in region.told(other)


def test_no_lease_is_ended_where_most_are_unused(make, monkeypatch):
    monkeypatch.setattr(unused_leases, 'MANY', 1)
    region = make('one', 'two', 'three', 'four')
    found = [region.active_lease(end=60) for _ in range(3)]
    use(region, found[0])
    look(region)
    assert len(active(region)) == 3
    # Now half of the leases are used.
    use(region, region.active_lease(end=40))
    look(region, 1)
    assert len(active(region)) == 2


def active(region):
    return [
        *region.lease_lists.find(
            objects.LeaseQuery(statuses=(states.Lease.ACTIVE,))
        )
    ]


def test_a_lease_that_bears_the_name_of_another_database_is_let_be(region):
    lease = region.active_lease()
    region.cloud.signed[lease.reservations[0].id] = 'another'
    look(region)
    assert region.status(lease) == 'ACTIVE'


def test_while_nova_is_silent_nothing_ends(region, monkeypatch):
    lease = region.active_lease()

    def silent(*_):
        raise exception.CloudUnavailable(service='nova', reason='silence')

    with monkeypatch.context() as patch:
        patch.setattr(region.cloud.servers, 'occupancy', silent)
        look(region)
    assert region.status(lease) == 'ACTIVE'
    look(region, 1)
    assert region.status(lease) == 'TERMINATED'


def test_a_lease_in_the_hands_of_a_worker_is_left_for_the_next_look(region):
    lease = region.active_lease()
    region.change(lease, end=40)
    seen = region.see(lease)
    with region.database.writer() as session:
        leases.change(session, seen, region.now, due_at=region.now)
        seen = leases.get(session, lease.id)
        assert leases.claim(
            session,
            lease.id,
            seen.attempt,
            'another',
            region.now,
            region.now + 99 * claimed_leases.DURATION,
        )
    look(region)
    assert region.status(lease) == 'ACTIVE'


def test_a_server_that_is_too_late_is_not_let_in(region):
    lease = region.active_lease()
    look(region)
    assert not region.access.use(lease.id, region.now)
    with pytest.raises(exception.InvalidState):
        region.access.admit(
            lease.reservations[0].id, lease.project_id, in_slot=False
        )


@pytest.mark.parametrize('action', ['end', 'notify'])
def test_leases_of_addresses_are_let_be_and_are_in_nobodys_way(make, action):
    region = make(
        'one',
        action=action,
        types=addresses.TYPES,
        monitors=addresses.MONITORS,
    )
    some = range(101, 101 + unused_leases.AT_ONCE)
    addresses.enrol(region, *some)
    others = [region.lease_of(addresses.asked(1)) for _ in some]
    region.work()
    region.now += minutes(1)
    lease = region.active_lease()
    look(region)
    for other in others:
        assert region.status(other) == 'ACTIVE'
        assert 'unused' not in region.told(other)
    assert 'unused' in region.told(lease)
    assert (region.status(lease) == 'TERMINATED') == (action == 'end')
