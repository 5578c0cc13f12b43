# SPDX-License-Identifier: Apache-2.0
"""Servers that are guaranteed a place by the lease that they carry, on a
cloud in memory."""

import contextlib
import dataclasses
import itertools
import uuid

import pytest

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations import ports
from nova_reservations.engine import audit
from nova_reservations.engine import deleted_servers
from nova_reservations.engine import lease_requests
from nova_reservations.plugins.resource_types import host
from nova_reservations.plugins.resource_types import instance
from nova_reservations.plugins.resource_types import server as server_plugin
from nova_reservations.testing.region import minutes
from nova_reservations.testing.steps import Killed
from nova_reservations.testing.steps import Steps

SLOTS = 'virtual:instance'
TYPES = {
    objects.HOST: host.PhysicalHost,
    SLOTS: instance.VirtualInstance,
    objects.SERVER: server_plugin.Server,
}
HALF = ports.KnownFlavor(
    'half',
    'm1.half',
    True,
    ports.Flavor(8, 30000, 10),
    {'VCPU': 8, 'MEMORY_MB': 30000, 'DISK_GB': 10},
    frozenset({'HW_CPU_X86_VMX'}),
    frozenset(),
)
"""Of which a host has room for two."""


@pytest.fixture
def cloud_of(make_region):
    def make(*names):
        made = make_region(*names, types=TYPES)
        made.cloud.known_flavors['half'] = HALF
        return made

    return make


@pytest.fixture
def region(cloud_of):
    return cloud_of('one', 'two')


def request(region, amount=1, start=0, end=60, **asked):
    return region.server_leases.request(
        lease_requests.NewLease(
            name='mine',
            project_id='lessee',
            user_id='user',
            start=region.now + minutes(start),
            end=region.now + minutes(end),
            before_end=None,
            reservations=(
                lease_requests.NewReservation(
                    objects.SERVER,
                    {
                        'guaranteed': True,
                        'flavor_id': 'half',
                        'amount': amount,
                        'availability_zone': None,
                        **asked,
                    },
                ),
            ),
        ),
        region.now,
    )


def make(region, lease):
    """Do with the request what Nova does: a server for later runs beside the
    pool, of which this cloud knows no hosts."""
    [reservation] = lease.reservations
    made = []
    for _ in range(reservation.params['amount']):
        server = str(uuid.uuid4())
        region.server_leases.record(lease.id, server, region.now)
        place = 'beside'
        if lease.start_date <= region.now:
            place = region.cloud.free_slots(reservation.id)[0]
        region.cloud.boot(place, 'lessee', server)
        region.cloud.tenancy[server] = reservation.id
        made.append(server)
    return made


def asked_for(region, *args, **asked):
    """Return a lease whose servers Nova has made."""
    lease = request(region, *args, **asked)
    region.server_leases.receive(lease, region.now)
    servers = make(region, lease)
    region.server_leases.accept(lease.id, region.now)
    return lease, servers


def place(region, lease):
    """Return what the cloud has of the lease's place."""
    [reservation] = lease.reservations
    return (
        region.cloud.classes.get(reservation.id),
        region.cloud.aggregate_hosts.get(reservation.id),
    )


NOTHING = (None, None)


def host_of(region, server):
    found = region.cloud.servers.find_servers([server])
    return found[server].host if found else 'gone'


def state_of(region, server):
    found = region.cloud.servers.find_servers([server])
    return found[server].state if found else 'gone'


def is_gone(region, lease):
    with pytest.raises(exception.NotFound):
        region.see(lease)
    return place(region, lease) == NOTHING


def findings(region):
    return audit.Audit(region.database, region.cloud).findings(region.now)


class TestPromise:
    def test_without_room_nothing_is_made(self, region):
        asked_for(region, 4)
        before = list(region.cloud.writes)
        with pytest.raises(
            exception.NotEnoughResources, match='room for 0 servers'
        ):
            request(region)
        assert len(list(region.leases.find(objects.LeaseQuery()))) == 1
        assert region.cloud.writes == before

    def test_it_counts_with_all_other_leases(self, region):
        region.lease(start=0, end=60)
        region.lease_of(
            (
                SLOTS,
                {
                    'vcpus': 1,
                    'memory_mb': 30000,
                    'disk_gb': 0,
                    'amount': 1,
                    'affinity': None,
                    'resource_properties': '',
                },
            ),
            end=60,
        )
        request(region)
        with pytest.raises(exception.NotEnoughResources):
            request(region)
        request(region, start=60, end=120, amount=4)
        with pytest.raises(exception.NotEnoughResources):
            region.lease(start=90, end=100)

    def test_traits_and_the_zone_count(self, region):
        with pytest.raises(
            exception.NotEnoughResources, match='0 hosts match'
        ):
            request(region, availability_zone='elsewhere')
        request(region, availability_zone='nova')
        region.cloud.known_flavors['half'] = dataclasses.replace(
            HALF, forbidden=frozenset({'HW_CPU_X86_VMX'})
        )
        with pytest.raises(
            exception.NotEnoughResources, match='0 hosts match'
        ):
            request(region)

    def test_a_flavor_that_is_not_there_is_refused(self, region):
        with pytest.raises(exception.InvalidInput, match='not be found'):
            request(region, flavor_id='none')

    @pytest.mark.parametrize('on_end', ['suspend', ['create_image']])
    def test_at_the_end_they_must_leave(self, region, on_end):
        with pytest.raises(exception.InvalidInput, match='add delete to'):
            request(region, on_end=on_end)

    def test_also_where_the_operator_says_what_is_done(self, region):
        region.opts.set_override(
            'instance_on_end', ['suspend'], 'reservations'
        )
        with pytest.raises(exception.InvalidInput, match='instance_on_end'):
            request(region)
        request(region, on_end='delete')
        region.opts.clear_override('instance_on_end', 'reservations')


class TestFromNowOn:
    def test_there_are_slots_before_there_are_servers(self, region):
        lease = request(region, 3)
        assert place(region, lease) == NOTHING
        region.server_leases.receive(lease, region.now)
        slots, hosts = place(region, lease)
        assert sum(slots.values()) == 3
        assert hosts == set(slots)
        assert region.cloud.flavors == {}

    def test_they_run_there_until_the_end(self, region):
        lease, servers = asked_for(region, 3)
        region.work()
        assert region.status(lease) == 'ACTIVE'
        slots, _ = place(region, lease)
        assert {host_of(region, one) for one in servers} == set(slots)
        [reservation] = region.see(lease).reservations
        assert region.leases.usage(region.see(lease), reservation) == {
            'used': 3
        }
        assert findings(region) == []
        region.forward(until=61)
        assert region.status(lease) == 'TERMINATED'
        assert {state_of(region, one) for one in servers} == {'gone'}
        assert place(region, lease) == NOTHING
        assert findings(region) == []
        asked_for(region, 4)

    def test_a_request_that_nova_refuses_leaves_nothing(self, region):
        lease = request(region)
        region.server_leases.receive(lease, region.now)
        region.server_leases.refuse(lease.id, region.now)
        region.forward(until=1)
        assert is_gone(region, lease)

    def test_slots_that_can_not_be_made_leave_nothing(self, region):
        lease = request(region)
        region.fails('set slots', exception.CloudRefused(what='a', reason='b'))
        with pytest.raises(exception.CloudRefused):
            region.server_leases.receive(lease, region.now)
        region.server_leases.refuse(lease.id, region.now)
        region.forward(until=1)
        assert is_gone(region, lease)

    def test_a_request_that_takes_too_long_makes_no_slots(self, region):
        lease = request(region)
        region.forward(until=5)
        assert region.status(lease) == 'ERROR'
        with pytest.raises(exception.InvalidState, match='too long'):
            region.server_leases.receive(lease, region.now)
        assert place(region, lease) == NOTHING
        asked_for(region, 4)

    def test_a_request_without_an_answer_gives_the_slots_back(self, region):
        lease = request(region)
        region.server_leases.receive(lease, region.now)
        region.forward(until=6)
        assert region.status(lease) == 'ERROR'
        assert place(region, lease) == NOTHING
        asked_for(region, 4)

    def test_servers_that_can_not_be_built_give_it_back(self, region):
        lease, (server,) = asked_for(region)
        del region.cloud.instances[server]
        region.cloud.build(server, 'lessee', 'error')
        region.work()
        assert region.status(lease) == 'ERROR'
        assert 'No valid host' in region.see(lease).status_reason
        assert place(region, lease) == NOTHING
        assert state_of(region, server) == 'error'

    def test_a_start_that_failed_leaves_nobody_on_the_hosts(self, region):
        lease, (server, other) = asked_for(region, 2, end=10)
        region.cloud.instances[other] = dataclasses.replace(
            region.cloud.instances[other], state='building'
        )
        region.forward(until=9)
        assert region.status(lease) == 'STARTING'
        region.forward(until=13)
        assert region.status(lease) == 'ERROR'
        assert state_of(region, server) == state_of(region, other) == 'gone'
        assert place(region, lease) == NOTHING


class TestLater:
    def test_it_is_beside_the_pool_until_its_time(self, region):
        lease, (server,) = asked_for(region, start=5)
        assert place(region, lease) == NOTHING
        region.forward(until=4)
        assert state_of(region, server) == 'shelved_offloaded'
        assert place(region, lease) == NOTHING
        region.forward(until=6)
        assert region.status(lease) == 'ACTIVE'
        slots, _ = place(region, lease)
        assert {host_of(region, server)} == set(slots)
        region.forward(until=61)
        assert region.status(lease) == 'TERMINATED'
        assert place(region, lease) == NOTHING

    def test_one_that_runs_elsewhere_by_then_is_brought_in(self, region):
        lease, (server,) = asked_for(region, start=5)
        region.forward(until=4)
        region.cloud.at_rest.clear()
        region.cloud.boot('beside', 'lessee', server)
        region.forward(until=6)
        assert region.status(lease) == 'ACTIVE'
        assert host_of(region, server) in ('one', 'two')
        assert region.cloud.writes.count('shelve server') == 2

    def test_one_that_is_still_built_then_is_brought_in(self, region):
        lease, (server,) = asked_for(region, start=2)
        built = region.cloud.instances.pop(server)
        region.cloud.build(server, 'lessee', 'building')
        region.forward(until=3)
        assert region.status(lease) == 'STARTING'
        del region.cloud.unbuilt[server]
        region.cloud.instances[server] = built
        region.forward(until=4)
        assert region.status(lease) == 'ACTIVE'
        assert host_of(region, server) in ('one', 'two')

    def test_one_that_can_not_come_ends_it_in_error(self, region):
        region.opts.set_override('unshelve_timeout', 120, 'reservations')
        lease, (server,) = asked_for(region, start=5)
        region.cloud.refusals[server] = 'its host is down'
        region.forward(until=6)
        assert region.status(lease) == 'STARTING'
        assert 'its host is down' in region.see(lease).status_reason
        region.forward(until=8)
        assert region.status(lease) == 'ERROR'
        assert 'its host is down' in region.see(lease).status_reason
        # It was never in the place, and is its owner's.
        assert host_of(region, server) == 'beside'
        assert place(region, lease) == NOTHING
        region.opts.clear_override('unshelve_timeout', 'reservations')

    def test_it_waits_for_those_who_should_have_left(self, cloud_of):
        region = cloud_of('one')
        whole = region.active_lease(end=5)
        region.cloud.slow_servers.add(region.cloud.boot('one', 'lessee'))
        lease, (server,) = asked_for(region, start=5)
        region.forward(until=6)
        assert region.status(whole) == 'TERMINATING'
        assert region.status(lease) == 'PENDING'
        assert 'earlier leases' in region.see(lease).status_reason
        region.cloud.finish_tasks()
        region.forward(until=7)
        assert region.status(lease) == 'ACTIVE'
        assert host_of(region, server) == 'one'


class TestChange:
    @pytest.fixture
    def region(self, cloud_of):
        return cloud_of('one')

    @pytest.mark.parametrize('works', [True, False])
    def test_it_lasts_longer_where_it_is_or_not_at_all(self, region, works):
        lease, (server,) = asked_for(region)
        if works:
            region.work()
        region.change(lease, end=90)
        region.add_host('two')
        region.lease(
            start=120,
            end=180,
            resource_properties='["==", "$service_name", "one"]',
        )
        with pytest.raises(exception.NotEnoughResources, match='where it is'):
            region.change(lease, end=150)
        region.change(lease, end=120)
        region.work()
        assert region.hosts_of(lease) == {'one'} == {host_of(region, server)}
        assert region.see(lease).status == 'ACTIVE'

    def test_one_for_later_may_be_planned_elsewhere(self, region):
        lease, (server,) = asked_for(region, start=30, end=60)
        region.work()
        region.add_host('two')
        region.lease(
            start=60,
            end=90,
            resource_properties='["==", "$service_name", "one"]',
        )
        region.change(lease, end=90)
        assert region.hosts_of(lease) == {'two'}
        with pytest.raises(exception.NotEnoughResources):
            request(region, 3, start=40, end=90)
        region.forward(until=31)
        assert host_of(region, server) == 'two'

    def test_its_dates_count_while_servers_are_made(self, region):
        lease = request(region, start=30, end=60)
        region.lease(start=60, end=90)
        with pytest.raises(exception.NotEnoughResources):
            region.change(lease, end=90)
        region.change(lease, end=50)
        region.lease(start=50, end=60)

    def test_what_has_begun_does_not_begin_later(self, region):
        lease, _ = asked_for(region)
        with pytest.raises(exception.InvalidInput, match='already started'):
            region.change(lease, start=30)

    def test_it_can_not_be_told_to_stay(self, region):
        lease, _ = asked_for(region)
        region.change(lease, on_end='create_image,delete')
        with pytest.raises(exception.InvalidInput, match='add delete to'):
            region.change(lease, on_end='suspend')

    @pytest.mark.parametrize('start', [0, 30])
    @pytest.mark.parametrize('works', [True, False])
    def test_deleted_it_leaves_nothing(self, region, start, works):
        lease, (server,) = asked_for(region, start=start)
        if works:
            region.work()
        region.delete(lease)
        region.forward(until=1)
        assert is_gone(region, lease)
        assert state_of(region, server) == 'gone'
        asked_for(region, 2)

    def test_it_ends_with_its_servers(self, region):
        lease, servers = asked_for(region, 2)
        region.work()
        for server in servers:
            del region.cloud.instances[server]
        region.soon(deleted_servers.TASK)
        region.work()
        assert region.status(lease) == 'TERMINATED'
        assert place(region, lease) == NOTHING

    def test_a_resize_has_to_fit(self, region):
        _, (server,) = asked_for(region)
        region.cloud.known_flavors |= {
            'large': dataclasses.replace(
                HALF, amounts={'VCPU': 9, 'MEMORY_MB': 1}
            ),
            'small': dataclasses.replace(
                HALF, amounts={'VCPU': 8, 'MEMORY_MB': 1}
            ),
        }
        check = region.server_leases.check_resize
        with pytest.raises(exception.InvalidState, match='flavor large asks'):
            check(server, 'large')
        check(server, 'small')
        check(server, 'one that nova does not have')
        check(str(uuid.uuid4()), 'large')
        region.forward(until=61)
        check(server, 'large')


class TestHealing:
    @pytest.fixture
    def region(self, region):
        region.opts.set_override('heal_evacuate', True, 'reservations')
        yield region
        region.opts.clear_override('heal_evacuate', 'reservations')

    def test_the_place_is_replaced_and_the_server_follows(self, region):
        lease, (server,) = asked_for(region)
        region.work()
        failed = host_of(region, server)
        region.cloud.fail(failed, forced_down=True)
        region.look()
        [other] = {'one', 'two'} - {failed}
        assert place(region, lease) == ({other: 1}, {other})
        region.now += minutes(1)
        region.look()
        assert host_of(region, server) == other
        [reservation] = region.see(lease).reservations
        assert reservation.resources_changed
        assert not reservation.missing_resources
        region.now += minutes(1)
        region.cloud.recover(failed)
        region.look()
        region.look()
        assert region.hosts_of(region.lease()) == {failed}
        region.forward(until=65)
        assert place(region, lease) == NOTHING

    def test_what_fails_while_it_is_built_is_not_given_away(self, region):
        """Its host, where the server may be, is for nobody else."""
        lease, (server,) = asked_for(region)
        region.cloud.instances[server] = dataclasses.replace(
            region.cloud.instances[server], state='building'
        )
        region.work()
        failed = host_of(region, server)
        region.cloud.fail(failed)
        region.look()
        region.cloud.recover(failed)
        region.look()
        assert region.status(lease) == 'STARTING'
        with pytest.raises(exception.NotEnoughResources):
            region.lease(minimum=1)

    def test_before_its_time_it_just_has_another(self, region):
        lease, (server,) = asked_for(region, start=30)
        region.work()
        [failed] = region.hosts_of(lease)
        region.cloud.fail(failed)
        region.look()
        region.soon('heal')
        region.forward(until=31)
        [other] = {'one', 'two'} - {failed}
        assert region.hosts_of(lease) == {other} == {host_of(region, server)}


# Whoever is killed between any two steps


def kill(step):
    raise Killed(step)


def ask(region, start):
    """Do all that nova-api does."""
    with contextlib.suppress(Killed):
        asked_for(region, 2, start=start)


@pytest.mark.fuzz
@pytest.mark.parametrize('start', [0, 3])
def test_whenever_the_request_dies_its_place_is_resolved(cloud_of, start):
    for number in itertools.count(1):
        region = cloud_of('one')
        with Steps(region, number, kill) as steps:
            ask(region, start)
        if not steps.reached:
            break
        region.forward(until=10)
        for lease in region.leases.find(objects.LeaseQuery()):
            if lease.status == 'ERROR':
                assert place(region, lease) == NOTHING
                assert not lease.server_reservation.servers
            else:
                assert lease.status == 'ACTIVE'
                assert place(region, lease)[0] == {'one': 2}
        region.forward(until=70)
        assert not region.cloud.instances
        assert not region.cloud.classes
        assert not region.cloud.aggregate_hosts
        assert region.lease(end=80)
    assert number >= (8 if start == 0 else 4)


@pytest.mark.fuzz
@pytest.mark.parametrize('start', [0, 3])
def test_another_worker_finishes_what_a_killed_one_began(cloud_of, start):
    for number in itertools.count(1):
        region = cloud_of('one')
        ask(region, start)
        [lease] = region.leases.find(objects.LeaseQuery())
        with Steps(region, number, kill) as steps:
            victim = region.worker('victim')
            for until in (1, 5, 61, 62):
                with contextlib.suppress(Killed):
                    region.forward(until=until, by=victim)
                if steps.reached:
                    break
        if not steps.reached:
            break
        other = region.worker('other')
        if region.now < lease.created_at + minutes(5):
            region.forward(until=5, by=other)
            assert region.status(lease) == 'ACTIVE', number
            assert place(region, lease) == ({'one': 2}, {'one'})
            assert len(region.cloud.instances) == 2
        region.forward(until=70, by=other)
        assert region.status(lease) == 'TERMINATED', number
        assert place(region, lease) == NOTHING
        assert not region.cloud.instances
        assert region.lease(end=80)
    assert number > 10
