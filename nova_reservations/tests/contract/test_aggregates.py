# SPDX-License-Identifier: Apache-2.0
"""The promises of ``ports.Aggregates``."""

import uuid

import pytest

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations.tests.contract import worlds
from nova_reservations.tests.contract.worlds import DATABASE
from nova_reservations.tests.contract.worlds import go_on
from nova_reservations.tests.contract.worlds import lost
from nova_reservations.tests.contract.worlds import RESERVATION

ANOTHER = 'c0c0c0c0-0000-4000-8000-0000000000c1'


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


class TestPool:
    def test_a_pool_is_not_there_before_it_is_made(self, cloud):
        assert cloud.aggregates.find_pool() is None
        cloud.aggregates.ensure_pool()
        assert cloud.aggregates.find_pool().hosts == set()

    def test_a_mark_leaves_other_traits(self, world):
        cloud, host = world.cloud, world.hosts[0]
        [before] = cloud.hosts.facts([host])
        cloud.aggregates.ensure_pool()
        for _ in range(2):
            cloud.aggregates.mark(host)
        [marked] = cloud.hosts.facts([host])
        assert before.traits <= marked.traits
        for _ in range(2):
            cloud.aggregates.unmark(host)
        [after] = cloud.hosts.facts([host])
        assert after.traits == before.traits

    def test_a_host_that_is_gone_can_lose_its_mark(self, cloud):
        gone = objects.Resource(0, objects.HOST, 'gone', str(uuid.uuid4()))
        cloud.aggregates.ensure_pool()
        cloud.aggregates.unmark(gone)

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


class TestOfAdministrators:
    def test_an_aggregate_that_is_not_there_is_not_found(self, cloud):
        assert cloud.aggregates.find_members('of nobody') is None

    def test_an_aggregate_is_known_by_its_name_with_its_hosts(self, world):
        host = world.hosts[0]
        world.gather('drainable', host)
        members = world.cloud.aggregates.find_members('drainable')
        assert members.hosts == {'host1'}
        assert members.generations == {
            host.uuid: generations(world)[host.uuid]
        }


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

    def test_hosts_that_are_not_named_go(self, world):
        one, two, three, _ = world.hosts
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

    def test_an_unknown_host_is_refused_by_its_name_or_id(self, world):
        for unknown in (
            objects.Resource(0, objects.HOST, 'host9', world.hosts[0].uuid),
            objects.Resource(0, objects.HOST, 'host1', str(uuid.uuid4())),
        ):
            with pytest.raises(
                exception.CloudRefused, match=f'host9|{unknown.uuid}'
            ):
                lease(world.cloud, unknown)

    def test_an_aggregate_is_gone_when_deleted_and_stays_so(self, world):
        lease(world.cloud, *world.hosts)
        delete_aggregate = world.cloud.aggregates.delete_aggregate
        assert delete_aggregate(RESERVATION, go_on) is not None
        assert aggregates(world.cloud) == {}
        assert in_placement(world, RESERVATION) == set()
        assert delete_aggregate(RESERVATION, go_on) is None

    def test_hosts_go_one_by_one_and_others_stay(self, world):
        one, two, three, _ = world.hosts
        lease(world.cloud, one, two)
        lease(world.cloud, one, reservation=ANOTHER)
        remove = world.cloud.aggregates.remove_aggregate_hosts
        before = generations(world)
        changes = remove(RESERVATION, [one, three], go_on)
        after = generations(world)
        assert changes == {one.uuid: (before[one.uuid], after[one.uuid])}
        assert aggregates(world.cloud) == {
            RESERVATION: {'host2'},
            ANOTHER: {'host1'},
        }
        assert in_placement(world, RESERVATION) == {'host2'}
        assert in_placement(world, ANOTHER) == {'host1'}
        assert remove(RESERVATION, [one, three], go_on) == {}
        with pytest.raises(exception.ClaimLost):
            remove(RESERVATION, [two], lost)
        assert in_placement(world, RESERVATION) == {'host2'}

    def test_no_host_is_taken_out_of_one_that_is_gone(self, world):
        remove = world.cloud.aggregates.remove_aggregate_hosts
        assert remove(RESERVATION, world.hosts, go_on) == {}
        assert aggregates(world.cloud) == {}

    def test_changes_of_providers_are_told(self, world):
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

    def test_an_aggregate_that_is_as_wanted_changes_no_provider(self, world):
        lease(world.cloud, *world.hosts)
        assert lease(world.cloud, *world.hosts) == {}

    def test_a_worker_that_lost_the_claim_changes_no_aggregate(self, world):
        with pytest.raises(exception.ClaimLost):
            lease(world.cloud, *world.hosts, check=lost)
        assert aggregates(world.cloud) == {}
        lease(world.cloud, *world.hosts)
        with pytest.raises(exception.ClaimLost):
            world.cloud.aggregates.delete_aggregate(RESERVATION, lost)
        assert aggregates(world.cloud) == {RESERVATION: set(worlds.HOSTS)}

    def test_an_aggregate_says_which_database_it_is_of(self, world):
        lease(world.cloud, world.hosts[0])
        assert world.cloud.aggregates.origins() == {RESERVATION: DATABASE}
        world.cloud.aggregates.sign(RESERVATION, 'another')
        assert world.cloud.aggregates.origins() == {RESERVATION: 'another'}

    def test_an_aggregate_that_is_gone_is_of_no_database(self, cloud):
        cloud.aggregates.sign(RESERVATION, DATABASE)
        assert cloud.aggregates.origins() == {}
