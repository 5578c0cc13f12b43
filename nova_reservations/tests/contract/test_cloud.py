# SPDX-License-Identifier: Apache-2.0
"""The promises of the cloud's ports, kept by the fake and by Nova alike.

What is proven here of the engine's fake need not be told again on Nova.
"""

import datetime
import uuid

import pytest

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations import ports
from nova_reservations.tests.contract import worlds

RESERVATION = 'c0c0c0c0-0000-4000-8000-0000000000c0'
ANOTHER = 'c0c0c0c0-0000-4000-8000-0000000000c1'
DATABASE = 'd0d0d0d0-0000-4000-8000-0000000000d0'
ORDER = ports.RequestKey('a3a3a3a3-0000-4000-8000-0000000000a3')


def go_on():
    """The claim stands."""


def lost():
    raise exception.ClaimLost(id='lease', worker='me')


@pytest.fixture
def cloud(world):
    return world.cloud


def lease(cloud, *hosts, reservation=RESERVATION, check=go_on):
    return cloud.aggregates.set_aggregate_hosts(
        reservation, worlds.PROJECT, hosts, check, DATABASE
    )


def aggregates(cloud):
    return {
        reservation: set(hosts)
        for reservation, hosts in cloud.aggregates.lease_aggregates().items()
    }


def in_placement(world, aggregate):
    known = world.cloud.aggregates.provider_aggregates(world.hosts)
    return {host for host, uuids in known.items() if aggregate in uuids}


def generations(world):
    return {
        facts.uuid: facts.provider_generation
        for facts in world.cloud.hosts.facts(world.hosts)
    }


def known(cloud, server):
    [found] = cloud.servers.find_servers([server]).values()
    return found


class TestHosts:
    def test_one_is_found_by_each_of_its_names_exactly(self, world):
        host = world.hosts[0]
        assert world.cloud.hosts.find_hosts(host.uuid) == [host]
        assert (host.id, host.name) == (0, 'host1')
        for name in ('host', 'host%', 'HOST1', str(uuid.uuid4())):
            assert list(world.cloud.hosts.find_hosts(name)) == []

    def test_facts_are_of_those_that_exist(self, world):
        gone = objects.Resource(0, objects.HOST, 'gone', str(uuid.uuid4()))
        [facts] = world.cloud.hosts.facts([world.hosts[0], gone])
        assert (facts.uuid, facts.service_host) == (
            world.hosts[0].uuid,
            'host1',
        )
        assert {one.resource_class for one in facts.inventories} == {
            'DISK_GB',
            'MEMORY_MB',
            'VCPU',
        }

    def test_each_has_a_service_that_works(self, cloud):
        now = datetime.datetime.now(datetime.UTC)
        services = cloud.hosts.compute_services(now)
        assert set(services) == set(worlds.HOSTS)
        assert all(service.is_working for service in services.values())
        assert set(cloud.hosts.compute_services(now, 'host1')) == {'host1'}
        assert cloud.hosts.compute_services(now, 'nobody') == {}

    def test_each_is_in_a_cell(self, cloud):
        cells = cloud.hosts.cells_of(worlds.HOSTS)
        assert set(cells) == set(worlds.HOSTS)
        assert len(set(cells.values())) == 1

    def test_an_aggregate_that_is_not_there_is_none(self, cloud):
        assert cloud.aggregates.find_members('of nobody') is None


class TestPool:
    def test_a_host_joins_and_leaves_however_often_it_is_told(self, world):
        cloud, host = world.cloud, world.hosts[0]
        for _ in range(2):
            cloud.aggregates.ensure_pool()
            cloud.aggregates.join_pool(host)
        pool = cloud.aggregates.find_pool()
        assert (pool.hosts, pool.availability_zone) == ({'host1'}, None)
        assert in_placement(world, pool.uuid) == {'host1'}
        for _ in range(2):
            cloud.aggregates.leave_pool(host)
        assert cloud.aggregates.find_pool().hosts == set()
        assert in_placement(world, pool.uuid) == set()

    def test_generations_are_of_marked_hosts(self, world):
        cloud, host = world.cloud, world.hosts[0]
        cloud.aggregates.ensure_pool()
        assert cloud.hosts.pool_generations() == {}
        for _ in range(2):
            cloud.aggregates.mark(host)
        seen = cloud.hosts.pool_generations()
        assert set(seen) == {host.uuid}
        assert cloud.hosts.pool_generations() == seen
        for _ in range(2):
            cloud.aggregates.unmark(host)
        assert cloud.hosts.pool_generations() == {}


class TestAggregates:
    def test_hosts_are_set_however_often_it_is_told(self, world):
        cloud, hosts = world.cloud, world.hosts[:2]
        for _ in range(2):
            lease(cloud, *hosts)
            assert aggregates(cloud) == {RESERVATION: {'host1', 'host2'}}
            assert in_placement(world, RESERVATION) == {'host1', 'host2'}
        assert cloud.aggregates.has_aggregate_hosts(RESERVATION, hosts)
        assert not cloud.aggregates.has_aggregate_hosts(
            RESERVATION, world.hosts
        )
        assert not cloud.aggregates.has_aggregate_hosts(ANOTHER, hosts)

    def test_those_that_are_not_named_go(self, world):
        one, two, three = world.hosts
        lease(world.cloud, one, two)
        lease(world.cloud, two, three)
        assert aggregates(world.cloud) == {RESERVATION: {'host2', 'host3'}}
        assert in_placement(world, RESERVATION) == {'host2', 'host3'}

    def test_a_host_may_be_in_two(self, world):
        host = world.hosts[0]
        for reservation in (RESERVATION, ANOTHER):
            lease(world.cloud, host, reservation=reservation)
        world.cloud.aggregates.delete_aggregate(RESERVATION, go_on)
        assert aggregates(world.cloud) == {ANOTHER: {'host1'}}
        assert in_placement(world, ANOTHER) == {'host1'}

    def test_an_unknown_host_is_refused(self, world):
        unknown = objects.Resource(0, objects.HOST, 'host9', str(uuid.uuid4()))
        with pytest.raises(exception.CloudRefused):
            lease(world.cloud, world.hosts[0], unknown)

    def test_one_is_gone_when_deleted_and_stays_so(self, world):
        lease(world.cloud, *world.hosts)
        delete_aggregate = world.cloud.aggregates.delete_aggregate
        assert delete_aggregate(RESERVATION, go_on) is not None
        assert aggregates(world.cloud) == {}
        assert in_placement(world, RESERVATION) == set()
        assert delete_aggregate(RESERVATION, go_on) is None

    def test_what_it_changes_of_providers_is_told(self, world):
        leased = [host.uuid for host in world.hosts[:2]]
        for change in (
            lambda: lease(world.cloud, *world.hosts[:2]),
            lambda: world.cloud.aggregates.delete_aggregate(
                RESERVATION, go_on
            ),
        ):
            before = generations(world)
            changes = change()
            after = generations(world)
            assert changes == {
                uuid: (before[uuid], after[uuid]) for uuid in leased
            }
            assert all(before[uuid] < after[uuid] for uuid in leased)

    def test_what_is_as_wanted_changes_no_provider(self, world):
        lease(world.cloud, *world.hosts)
        assert lease(world.cloud, *world.hosts) == {}

    def test_who_lost_the_claim_changes_nothing(self, world):
        with pytest.raises(exception.ClaimLost):
            lease(world.cloud, *world.hosts, check=lost)
        assert aggregates(world.cloud) == {}
        lease(world.cloud, *world.hosts)
        with pytest.raises(exception.ClaimLost):
            world.cloud.aggregates.delete_aggregate(RESERVATION, lost)
        assert aggregates(world.cloud) == {RESERVATION: set(worlds.HOSTS)}

    def test_one_says_which_database_it_is_of(self, world):
        lease(world.cloud, world.hosts[0])
        assert world.cloud.aggregates.origins() == {RESERVATION: DATABASE}
        world.cloud.aggregates.sign(RESERVATION, 'another')
        assert world.cloud.aggregates.origins() == {RESERVATION: 'another'}


class TestServers:
    def test_one_occupies_its_host(self, world):
        server = world.boot(world.hosts[0])
        occupancy = world.cloud.servers.occupancy(world.hosts)
        assert set(occupancy) == set(worlds.HOSTS)
        [found] = occupancy['host1'].servers
        assert (found.uuid, found.project_id, found.host, found.state) == (
            server,
            worlds.PROJECT,
            'host1',
            'active',
        )
        assert found.task is None
        assert not occupancy['host1'].empty
        assert occupancy['host2'].empty
        on = world.cloud.servers.servers_on(world.hosts)
        assert [one.server.uuid for one in on['host1']] == [server]
        assert list(on['host2']) == []

    def test_those_that_do_not_exist_are_gone(self, world):
        server, nobody = world.boot(world.hosts[0]), str(uuid.uuid4())
        found = world.cloud.servers.find_servers([server, nobody])
        assert set(found) == {server}
        assert found[server].host == 'host1'
        assert set(world.cloud.servers.gone_servers([server, nobody])) == {
            nobody
        }

    def test_one_that_was_not_created_in_a_reservation_is_not_let_in(
        self, world
    ):
        server = world.boot(world.hosts[0])
        assert set(world.cloud.servers.let_in(RESERVATION, [server])) == set()

    def test_one_is_deleted_and_may_be_again(self, world):
        server = world.boot(world.hosts[0])
        found = known(world.cloud, server)
        with pytest.raises(exception.ClaimLost):
            world.cloud.servers.delete_servers([found], lost)
        assert known(world.cloud, server).task is None
        assert world.cloud.servers.delete_servers([found], go_on) == {}
        world.eventually(
            lambda: world.cloud.servers.occupancy(world.hosts)['host1'].empty
        )
        assert set(world.cloud.servers.gone_servers([server])) == {server}
        assert world.cloud.servers.delete_servers([found], go_on) == {}

    def test_one_is_stopped_once(self, world):
        server = world.boot(world.hosts[0])
        found = known(world.cloud, server)
        with pytest.raises(exception.ClaimLost):
            world.cloud.servers.stop_servers([found], ORDER, lost)
        assert world.cloud.servers.stop_servers([found], ORDER, go_on) == {}
        world.eventually(lambda: known(world.cloud, server).state == 'stopped')
        assert known(world.cloud, server).host == 'host1'

    def test_one_is_shelved_and_leaves_its_host(self, world):
        server = world.boot(world.hosts[0])
        found = known(world.cloud, server)
        with pytest.raises(exception.ClaimLost):
            world.cloud.servers.shelve_servers([found], ORDER, lost)
        assert world.cloud.servers.shelve_servers([found], ORDER, go_on) == {}
        world.eventually(
            lambda: known(world.cloud, server).state == 'shelved_offloaded'
        )
        assert known(world.cloud, server).host == ''
        world.eventually(
            lambda: world.cloud.servers.occupancy(world.hosts)['host1'].empty
        )
