# SPDX-License-Identifier: Apache-2.0
"""Reservations of slots, from the promise to the end, on a cloud in memory."""

import contextlib
import dataclasses

import pytest

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations import ports
from nova_reservations.engine.worker import leftovers
from nova_reservations.testing import region as regions
from nova_reservations.testing.steps import Killed
from nova_reservations.testing.steps import Steps
from nova_reservations.tests import profile
from nova_reservations.types.servers import flavor
from nova_reservations.types.servers import host
from nova_reservations.types.servers import instance

VIRTUAL = 'virtual:instance'
FLAVOR = 'flavor:instance'
TYPES = {
    objects.HOST: host.PhysicalHost,
    VIRTUAL: instance.VirtualInstance,
    FLAVOR: flavor.FlavorInstance,
}


def slots(amount=1, vcpus=8, memory_mb=1024, disk_gb=10, **others):
    """Ask for slots; a host has room for eight of these."""
    return VIRTUAL, {
        'vcpus': vcpus,
        'memory_mb': memory_mb,
        'disk_gb': disk_gb,
        'amount': amount,
        'affinity': None,
        'resource_properties': '',
        **others,
    }


@pytest.fixture
def cloud_of_two(make_region):
    return make_region('one', 'two', types=TYPES)


def id_of(lease):
    [reservation] = lease.reservations
    return reservation.id


def active(region, *item):
    lease = region.lease_of(item)
    region.work()
    assert region.status(lease) == 'ACTIVE'
    return region.see(lease)


def furniture(region, lease):
    """Return all that the cloud has of the lease's only reservation."""
    cloud, key = region.cloud, id_of(lease)
    return {
        'slots': cloud.classes.get(key),
        'flavor': cloud.flavors.get(key),
        'whose': cloud.admitted.get(key),
        'group': cloud.groups.get(key),
        'hosts': cloud.aggregate_hosts.get(key),
    }


NOTHING = dict.fromkeys(['slots', 'flavor', 'whose', 'group', 'hosts'])


def boot(region, lease, host='one'):
    server = region.cloud.boot(host, lease.project_id)
    region.cloud.reservation_of[server] = id_of(lease)
    region.access.record_server(server, id_of(lease), region.now)
    return server


def shelve(region, server):
    found = region.cloud.instances.pop(server)
    region.cloud.at_rest[server] = dataclasses.replace(
        found, host='', state='shelved_offloaded'
    )


def test_a_lease_of_slots_starts_with_a_flavor_and_slots_on_hosts(
    cloud_of_two,
):
    lease = active(cloud_of_two, *slots(10))
    found = furniture(cloud_of_two, lease)
    assert found == {
        'slots': found['slots'],
        'flavor': ports.Flavor(8, 1024, 10),
        'whose': 'lessee',
        'group': None,
        'hosts': {'one', 'two'},
    }
    assert sorted(found['slots'].values()) == [2, 8]


@pytest.mark.parametrize('affinity', [True, False])
def test_affinity_has_a_server_group(cloud_of_two, affinity):
    lease = active(cloud_of_two, *slots(2, affinity=affinity))
    found = furniture(cloud_of_two, lease)
    assert found['group'] is affinity
    assert sorted(found['slots'].values()) == ([2] if affinity else [1, 1])


def test_nobody_has_the_flavor_before_the_start(cloud_of_two):
    lease = cloud_of_two.lease_of(slots(), start=60, end=120)
    cloud_of_two.forward(until=55)
    found = furniture(cloud_of_two, lease)
    assert found['flavor'] and found['slots'] and not found['whose']
    cloud_of_two.forward(until=60)
    assert furniture(cloud_of_two, lease)['whose'] == 'lessee'


def test_a_lease_that_changes_after_it_was_prepared_is_prepared_anew(
    cloud_of_two,
):
    lease = cloud_of_two.lease_of(slots(), start=60, end=120)
    cloud_of_two.forward(until=55)
    cloud_of_two.change(lease, memory_mb=2048, amount=2, affinity=False)
    cloud_of_two.forward(until=60)
    found = furniture(cloud_of_two, lease)
    assert found['flavor'].memory_mb == 2048
    assert sorted(found['slots'].values()) == [1, 1]
    assert found['group'] is False
    assert cloud_of_two.status(lease) == 'ACTIVE'


def test_an_active_lease_gets_more_slots(cloud_of_two):
    lease = active(cloud_of_two, *slots(2))
    cloud_of_two.change(lease, amount=9)
    cloud_of_two.work()
    found = furniture(cloud_of_two, lease)
    assert sum(found['slots'].values()) == 9
    assert found['whose'] == 'lessee'


@pytest.mark.parametrize(
    'change', [{'vcpus': 1}, {'affinity': True}, {'disk_gb': 0}]
)
def test_an_active_lease_keeps_its_size(cloud_of_two, change):
    lease = active(cloud_of_two, *slots(2))
    with pytest.raises(exception.InvalidState, match='cannot be updated'):
        cloud_of_two.change(lease, **change)


def test_the_end_takes_all_servers_and_all_that_was_made(cloud_of_two):
    lease = active(cloud_of_two, *slots(2))
    boot(cloud_of_two, lease)
    shelved = boot(cloud_of_two, lease)
    shelve(cloud_of_two, shelved)
    other = cloud_of_two.cloud.boot('one', 'lessee')
    cloud_of_two.forward(until=61)
    assert cloud_of_two.status(lease) == 'TERMINATED'
    assert set(cloud_of_two.cloud.instances) == {other}
    assert not cloud_of_two.cloud.at_rest
    assert furniture(cloud_of_two, lease) == NOTHING


def test_the_end_waits_for_servers_that_take_their_time(cloud_of_two):
    lease = active(cloud_of_two, *slots(2))
    # A host without any server gives its slots back.
    host = min(furniture(cloud_of_two, lease)['slots'])
    cloud_of_two.cloud.slow_servers.add(boot(cloud_of_two, lease, host))
    cloud_of_two.forward(until=60)
    assert cloud_of_two.status(lease) == 'TERMINATING'
    assert 'is being deleted' in cloud_of_two.see(lease).status_reason
    assert furniture(cloud_of_two, lease)['slots']
    cloud_of_two.cloud.finish_tasks()
    cloud_of_two.forward(until=61)
    assert cloud_of_two.status(lease) == 'TERMINATED'


def test_the_end_tells_who_keeps_a_slot(cloud_of_two):
    lease = active(cloud_of_two, *slots(2))
    cloud_of_two.cloud.stuck[id_of(lease)] = {'a migration'}
    cloud_of_two.forward(until=61)
    assert 'a slot for a migration' in cloud_of_two.see(lease).status_detail
    cloud_of_two.cloud.stuck.clear()
    cloud_of_two.forward(until=90)
    assert furniture(cloud_of_two, lease) == NOTHING


def test_a_lease_that_is_deleted_leaves_nothing(cloud_of_two):
    lease = active(cloud_of_two, *slots(2))
    server = boot(cloud_of_two, lease)
    cloud_of_two.delete(lease)
    cloud_of_two.forward(until=1)
    assert server not in cloud_of_two.cloud.instances
    assert furniture(cloud_of_two, lease) == NOTHING
    with pytest.raises(exception.NotFound):
        cloud_of_two.see(lease)


def test_a_prepared_lease_that_is_deleted_leaves_nothing(cloud_of_two):
    lease = cloud_of_two.lease_of(slots(), start=5, end=60)
    cloud_of_two.work()
    cloud_of_two.delete(lease)
    cloud_of_two.forward(until=1)
    assert furniture(cloud_of_two, lease) == NOTHING


def test_whole_hosts_follow_slots_and_slots_follow_whole_hosts(cloud_of_two):
    first = cloud_of_two.lease_of(slots(16), start=0, end=60)
    whole = cloud_of_two.lease(start=60, end=120, minimum=2)
    last = cloud_of_two.lease_of(slots(16), start=120, end=180)
    for minute, lease in ((59, first), (61, whole), (121, last)):
        cloud_of_two.forward(until=minute)
        assert cloud_of_two.status(lease) == 'ACTIVE'


def test_the_sweep_clears_slots_of_no_lease(cloud_of_two):
    gone = active(cloud_of_two, *slots(2))
    cloud_of_two.forward(until=61)
    lease = active(cloud_of_two, *slots(2))
    cloud_of_two.cloud.classes[id_of(gone)] = {'one': 1}
    leftovers.Sweep(cloud_of_two.database, cloud_of_two.cloud).run()
    assert set(cloud_of_two.cloud.classes) == {id_of(lease)}


def test_a_class_that_another_service_has_made_is_left_alone(cloud_of_two):
    theirs = '2f2d2b5e-95b5-4c4e-8b68-0a8f4b7a9c11'
    cloud_of_two.cloud.classes[theirs] = {'one': 1}
    cloud_of_two.cloud.foreign.add(theirs)
    leftovers.Sweep(cloud_of_two.database, cloud_of_two.cloud).run()
    assert theirs in cloud_of_two.cloud.classes
    assert findings(cloud_of_two) == []


def findings(region):
    return region.services.audit.findings(region.now)


def test_an_audit_finds_slots_that_others_changed_and_mends_them(
    cloud_of_two,
):
    lease = active(cloud_of_two, *slots(2))
    assert findings(cloud_of_two) == []
    cloud_of_two.cloud.classes[id_of(lease)] = {'one': 1}
    [found] = findings(cloud_of_two)
    assert 'has other slots in placement' in found.problem
    found.repair()
    cloud_of_two.work()
    assert sum(furniture(cloud_of_two, lease)['slots'].values()) == 2
    assert findings(cloud_of_two) == []


def test_an_audit_finds_slots_of_no_lease_and_clears_them(cloud_of_two):
    gone = '2f2d2b5e-95b5-4c4e-8b68-0a8f4b7a9c11'
    cloud_of_two.cloud.classes[gone] = {'one': 1}
    [found] = findings(cloud_of_two)
    assert gone in found.problem
    found.repair()
    assert findings(cloud_of_two) == []


def test_an_audit_finds_a_host_that_has_become_too_small(cloud_of_two):
    active(cloud_of_two, *slots(16))
    known = cloud_of_two.cloud.known['one']
    smaller = dataclasses.replace(
        known,
        provider_generation=known.provider_generation + 1,
        inventories=tuple(
            dataclasses.replace(each, allocation_ratio=1.0)
            for each in known.inventories
        ),
    )
    cloud_of_two.cloud.known['one'] = smaller
    cloud_of_two.hosts.refresh(cloud_of_two.now)
    [found] = findings(cloud_of_two)
    assert found.problem.startswith(
        'Host one has 16 VCPU, of which leases were promised 64'
    )


def test_usage_names_the_servers_that_hold_slots(cloud_of_two):
    lease = active(cloud_of_two, *slots(2))
    [reservation] = lease.reservations
    assert cloud_of_two.lease_lists.usage(lease, reservation)['used'] == 0
    server = boot(cloud_of_two, lease)
    assert cloud_of_two.lease_lists.usage(lease, reservation) == {
        'used': 1,
        'servers': [server],
    }


def test_a_flavor_is_promised_as_it_was(cloud_of_two):
    big = ports.Flavor(
        4, 2048, 20, 5, 1024, 1.0, {'trait:HW_CPU_X86_VMX': 'required'}
    )
    cloud_of_two.cloud.known_flavors['big'] = ports.KnownFlavor(
        'big',
        'm1.big',
        True,
        big,
        {'VCPU': 4, 'MEMORY_MB': 2048, 'DISK_GB': 26},
        frozenset({'HW_CPU_X86_VMX'}),
        frozenset(),
    )
    lease = cloud_of_two.lease_of(
        (FLAVOR, {'flavor_id': 'big', 'amount': 3, 'affinity': None}),
        start=60,
        end=120,
    )
    del cloud_of_two.cloud.known_flavors['big']
    cloud_of_two.change(lease, amount=4)
    cloud_of_two.forward(until=60)
    assert furniture(cloud_of_two, lease)['flavor'] == big
    assert sum(furniture(cloud_of_two, lease)['slots'].values()) == 4


@pytest.mark.parametrize(
    'traits', [({'NO_SUCH'}, ()), ((), {'HW_CPU_X86_VMX'})]
)
def test_traits_of_a_flavor_count(cloud_of_two, traits):
    required, forbidden = map(frozenset, traits)
    cloud_of_two.cloud.known_flavors['odd'] = ports.KnownFlavor(
        'odd',
        'odd',
        True,
        ports.Flavor(1, 1, 0),
        {'VCPU': 1},
        required,
        forbidden,
    )
    with pytest.raises(exception.NotEnoughResources, match='0 hosts match'):
        cloud_of_two.lease_of(
            (FLAVOR, {'flavor_id': 'odd', 'amount': 1, 'affinity': None})
        )


def test_a_flavor_that_is_not_there_is_refused(cloud_of_two):
    with pytest.raises(exception.InvalidInput, match='could not be found'):
        cloud_of_two.lease_of(
            (FLAVOR, {'flavor_id': 'none', 'amount': 1, 'affinity': None})
        )


# A worker that is killed between any two steps


def kill(step):
    raise Killed


@pytest.mark.fuzz
def test_another_worker_finishes_a_start_that_a_killed_one_began(make_region):
    for number in profile.steps():
        region = make_region('one', 'two', types=TYPES)
        lease = region.lease_of(slots(9), start=5, end=60)
        with Steps(region, number, kill) as steps:
            with contextlib.suppress(Killed):
                region.forward(until=6)
        if not steps.reached:
            break
        region.now = regions.NOON + regions.minutes(7)
        region.work(region.worker('another'))
        assert region.status(lease) == 'ACTIVE'
        found = furniture(region, lease)
        assert sum(found['slots'].values()) == 9
        assert found['whose'] == 'lessee'
        assert found['hosts'] == {'one', 'two'}
    assert number > 8


@pytest.mark.fuzz
def test_another_worker_finishes_an_end_that_a_killed_one_began(make_region):
    for number in profile.steps():
        region = make_region('one', 'two', types=TYPES)
        lease = active(region, *slots(9))
        boot(region, lease)
        with Steps(region, number, kill) as steps:
            with contextlib.suppress(Killed):
                region.forward(until=61)
        if not steps.reached:
            break
        region.now = max(region.now, regions.NOON + regions.minutes(62))
        region.forward(until=70, by=region.worker('another'))
        assert region.status(lease) == 'TERMINATED'
        assert furniture(region, lease) == NOTHING
        assert not region.cloud.instances
    assert number > 8


def failing(region):
    """Return a lease with a server on a host that has just failed."""
    region.opts.set_override('heal_evacuate', True, group='reservations')
    lease = active(region, *slots(2))
    [host] = furniture(region, lease)['slots']
    boot(region, lease, host)
    region.cloud.fail(host, forced_down=True)
    region.soon('monitor')
    return lease, host


@pytest.mark.fuzz
def test_another_worker_finishes_a_heal_that_a_killed_one_began(make_region):
    for number in profile.steps():
        region = make_region('one', 'two', types=TYPES)
        lease, failed = failing(region)
        with Steps(region, number, kill) as steps:
            victim = region.worker('victim')
            for _ in range(5):
                # The failure is seen, then healed in our database, then in
                # Nova.
                with contextlib.suppress(Killed):
                    victim.tick(region.now)
                victim.drain()
        if not steps.reached:
            break
        other_worker = region.worker('another')
        for _ in range(5):
            # After a while nothing holds slots on the failed host. A step that
            # has failed is tried again half a minute later.
            region.now += regions.minutes(1)
            region.soon('monitor')
            region.work(other_worker)
        [other] = {'one', 'two'} - {failed}
        found = furniture(region, lease)
        assert found['slots'] == {other: 2}
        assert found['hosts'] == {other}
        assert found['whose'] == 'lessee'
        [server] = region.cloud.instances.values()
        assert server.host == other
        [reservation] = region.see(lease).reservations
        assert reservation.resources_changed
        assert not reservation.missing_resources
        assert region.told(lease).count('degraded') == 1
        region.now += regions.minutes(1)
        region.cloud.recover(failed)
        region.look()
        assert region.hosts_of(region.lease()) == {failed}
        region.forward(until=90)
        assert region.status(lease) == 'TERMINATED'
        assert furniture(region, lease) == NOTHING
    assert number > 8
