# SPDX-License-Identifier: Apache-2.0
"""A place is promised, and servers have it from the start of their lease."""

import dataclasses

import pytest

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations.tests.functional.engine.guaranteed import places

SLOTS = 'virtual:instance'


class TestPromise:
    def test_without_room_nothing_is_made(self, region):
        places.asked_for(region, 4)
        before = list(region.cloud.writes)
        with pytest.raises(
            exception.NotEnoughResources, match='room for 0 servers'
        ):
            places.request(region)
        assert len(list(region.lease_lists.find(objects.LeaseQuery()))) == 1
        assert region.cloud.writes == before

    def test_a_place_counts_with_all_other_leases(self, region):
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
        places.request(region)
        with pytest.raises(exception.NotEnoughResources):
            places.request(region)
        places.request(region, start=60, end=120, amount=4)
        with pytest.raises(exception.NotEnoughResources):
            region.lease(start=90, end=100)

    def test_traits_and_the_zone_count(self, region):
        with pytest.raises(
            exception.NotEnoughResources, match='0 hosts match'
        ):
            places.request(region, availability_zone='elsewhere')
        places.request(region, availability_zone='nova')
        region.cloud.known_flavors['half'] = dataclasses.replace(
            places.HALF, forbidden=frozenset({'HW_CPU_X86_VMX'})
        )
        with pytest.raises(
            exception.NotEnoughResources, match='0 hosts match'
        ):
            places.request(region)

    def test_a_flavor_that_is_not_there_is_refused(self, region):
        with pytest.raises(exception.InvalidInput, match='not be found'):
            places.request(region, flavor_id='none')

    @pytest.mark.parametrize('on_end', ['suspend', ['create_image']])
    def test_servers_must_leave_their_places_at_the_end(self, region, on_end):
        with pytest.raises(exception.InvalidInput, match='add delete to'):
            places.request(region, on_end=on_end)

    def test_servers_must_leave_also_where_the_operator_says_what_is_done(
        self, region
    ):
        region.opts.set_override(
            'instance_on_end', ['suspend'], 'reservations'
        )
        with pytest.raises(exception.InvalidInput, match='instance_on_end'):
            places.request(region)
        places.request(region, on_end='delete')


class TestFromNowOn:
    def test_there_are_slots_before_there_are_servers(self, region):
        lease = places.request(region, 3)
        assert places.of(region, lease) == places.NOTHING
        region.server_leases.receive(lease, region.now)
        slots, hosts = places.of(region, lease)
        assert sum(slots.values()) == 3
        assert hosts == set(slots)
        assert region.cloud.flavors == {}

    def test_servers_run_in_their_places_until_the_end(self, region):
        lease, servers = places.asked_for(region, 3)
        region.work()
        assert region.status(lease) == 'ACTIVE'
        slots, _ = places.of(region, lease)
        assert {places.host_of(region, one) for one in servers} == set(slots)
        [reservation] = region.see(lease).reservations
        assert region.lease_lists.usage(region.see(lease), reservation) == {
            'used': 3
        }
        assert places.findings(region) == []
        region.forward(until=61)
        assert region.status(lease) == 'TERMINATED'
        assert {places.state_of(region, one) for one in servers} == {'gone'}
        assert places.of(region, lease) == places.NOTHING
        assert places.findings(region) == []
        places.asked_for(region, 4)

    def test_a_request_that_nova_refuses_leaves_nothing(self, region):
        lease = places.request(region)
        region.server_leases.receive(lease, region.now)
        region.server_leases.refuse(lease.id, region.now)
        region.forward(until=1)
        assert places.is_gone(region, lease)

    def test_slots_that_can_not_be_made_leave_nothing(self, region):
        lease = places.request(region)
        region.fails('set slots', exception.CloudRefused(what='a', reason='b'))
        with pytest.raises(exception.CloudRefused):
            region.server_leases.receive(lease, region.now)
        region.server_leases.refuse(lease.id, region.now)
        region.forward(until=1)
        assert places.is_gone(region, lease)

    def test_a_request_that_takes_too_long_makes_no_slots(self, region):
        lease = places.request(region)
        region.forward(until=5)
        assert region.status(lease) == 'ERROR'
        with pytest.raises(exception.InvalidState, match='too long'):
            region.server_leases.receive(lease, region.now)
        assert places.of(region, lease) == places.NOTHING
        places.asked_for(region, 4)

    def test_a_request_without_an_answer_gives_the_slots_back(self, region):
        lease = places.request(region)
        region.server_leases.receive(lease, region.now)
        region.forward(until=6)
        assert region.status(lease) == 'ERROR'
        assert places.of(region, lease) == places.NOTHING
        places.asked_for(region, 4)

    def test_servers_that_can_not_be_built_give_it_back(self, region):
        lease, (server,) = places.asked_for(region)
        del region.cloud.instances[server]
        region.cloud.build(server, 'lessee', 'error')
        region.work()
        assert region.status(lease) == 'ERROR'
        assert 'No valid host' in region.see(lease).status_reason
        assert places.of(region, lease) == places.NOTHING
        assert places.state_of(region, server) == 'error'

    def test_a_start_that_failed_leaves_nobody_on_the_hosts(self, region):
        lease, (server, other) = places.asked_for(region, 2, end=10)
        region.cloud.instances[other] = dataclasses.replace(
            region.cloud.instances[other], state='building'
        )
        region.forward(until=9)
        assert region.status(lease) == 'STARTING'
        region.forward(until=13)
        assert region.status(lease) == 'ERROR'
        assert (
            places.state_of(region, server)
            == places.state_of(region, other)
            == 'gone'
        )
        assert places.of(region, lease) == places.NOTHING


class TestLater:
    def test_a_server_is_beside_the_pool_until_its_time(self, region):
        lease, (server,) = places.asked_for(region, start=5)
        assert places.of(region, lease) == places.NOTHING
        region.forward(until=4)
        assert places.state_of(region, server) == 'shelved_offloaded'
        assert places.of(region, lease) == places.NOTHING
        region.forward(until=6)
        assert region.status(lease) == 'ACTIVE'
        slots, _ = places.of(region, lease)
        assert {places.host_of(region, server)} == set(slots)
        region.forward(until=61)
        assert region.status(lease) == 'TERMINATED'
        assert places.of(region, lease) == places.NOTHING

    def test_a_server_that_runs_elsewhere_by_then_is_brought_in(self, region):
        lease, (server,) = places.asked_for(region, start=5)
        region.forward(until=4)
        region.cloud.at_rest.clear()
        region.cloud.boot('beside', 'lessee', server)
        region.forward(until=6)
        assert region.status(lease) == 'ACTIVE'
        assert places.host_of(region, server) in ('one', 'two')
        assert region.cloud.writes.count('shelve server') == 2

    def test_a_server_that_is_still_built_then_is_brought_in(self, region):
        lease, (server,) = places.asked_for(region, start=2)
        built = region.cloud.instances.pop(server)
        region.cloud.build(server, 'lessee', 'building')
        region.forward(until=3)
        assert region.status(lease) == 'STARTING'
        del region.cloud.unbuilt[server]
        region.cloud.instances[server] = built
        region.forward(until=4)
        assert region.status(lease) == 'ACTIVE'
        assert places.host_of(region, server) in ('one', 'two')

    def test_a_server_that_can_not_come_ends_the_lease_in_error(self, region):
        region.opts.set_override('unshelve_timeout', 120, 'reservations')
        lease, (server,) = places.asked_for(region, start=5)
        region.cloud.refusals[server] = 'its host is down'
        region.forward(until=6)
        assert region.status(lease) == 'STARTING'
        assert 'its host is down' in region.see(lease).status_reason
        region.forward(until=8)
        assert region.status(lease) == 'ERROR'
        assert 'its host is down' in region.see(lease).status_reason
        # The server was never in its place, and is left to its owner.
        assert places.host_of(region, server) == 'beside'
        assert places.of(region, lease) == places.NOTHING

    def test_a_lease_waits_for_servers_that_should_have_left(self, cloud_of):
        region = cloud_of('one')
        whole = region.active_lease(end=5)
        region.cloud.slow_servers.add(region.cloud.boot('one', 'lessee'))
        lease, (server,) = places.asked_for(region, start=5)
        region.forward(until=6)
        assert region.status(whole) == 'TERMINATING'
        assert region.status(lease) == 'PENDING'
        assert 'earlier leases' in region.see(lease).status_reason
        region.cloud.finish_tasks()
        region.forward(until=7)
        assert region.status(lease) == 'ACTIVE'
        assert places.host_of(region, server) == 'one'
