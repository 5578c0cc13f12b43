# SPDX-License-Identifier: Apache-2.0
"""The promises of ``ports.Hosts``."""

import uuid

import pytest

from nova_reservations import objects
from nova_reservations import ports
from nova_reservations.tests.contract import worlds


def _gather(world, host):
    world.cloud.aggregates.set_aggregate_hosts(
        worlds.RESERVATION,
        worlds.PROJECT,
        [host],
        worlds.go_on,
        worlds.DATABASE,
    )


SSD = 'aggregate_instance_extra_specs:ssd'


def _tag(world, host):
    world.tag(host, 'ssd', 'true')


def _move_to_zone(world, host):
    world.move_to_zone(host, 'there')


class TestFinding:
    def test_a_host_is_found_by_each_of_its_names_exactly(self, world):
        host = world.hosts[0]
        assert world.cloud.hosts.find_hosts(host.uuid) == [host]
        assert (host.id, host.name) == (0, 'host1')
        for name in ('host', 'host%', 'HOST1', str(uuid.uuid4())):
            assert list(world.cloud.hosts.find_hosts(name)) == []

    def test_hosts_are_in_a_cell_each(self, cloud):
        cells = cloud.hosts.cells_of([*worlds.HOSTS, 'gone'])
        assert set(cells) == set(worlds.HOSTS)
        assert cells['host1'] == cells['host2'] == cells['host3']
        assert cells['host3'] != cells['host4']


class TestFacts:
    def test_facts_are_of_hosts_that_exist(self, world):
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

    def test_servers_take_nothing_of_hosts_that_count_as_empty(self, world):
        host = world.hosts[0]
        [empty] = world.cloud.hosts.facts([host])
        world.boot(host)
        [facts] = world.cloud.hosts.facts([host], as_if_empty=[host.uuid])
        for name in ('free_memory_mb', 'free_disk_gb'):
            assert getattr(facts, name) == getattr(empty, name)

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

    def test_a_host_that_nova_or_placement_lacks_can_not_be_used(self, world):
        hosts, known = world.cloud.hosts, world.hosts[0]
        other = objects.Resource(0, objects.HOST, 'host2', str(uuid.uuid4()))
        assert set(hosts.without_provider([known, other])) == {'host2'}
        assert hosts.unusable([known]) == {}
        assert set(hosts.unusable([known, other])) == {'host2'}

    def test_servers_of_another_machine_of_the_name_are_not_on_the_host(
        self, world
    ):
        known = world.hosts[0]
        world.boot(known)
        former = objects.Resource(0, objects.HOST, 'host1', str(uuid.uuid4()))
        occupancy = world.cloud.servers.occupancy
        assert not occupancy([known])['host1'].empty
        assert occupancy([former])['host1'].empty

    @pytest.mark.parametrize('change', [_gather, _move_to_zone, _tag])
    def test_generations_are_others_when_facts_may_be(self, world, change):
        cloud, host = world.cloud, world.hosts[0]
        cloud.aggregates.ensure_pool()
        cloud.aggregates.mark(host)
        seen = cloud.hosts.pool_generations()
        change(world, host)
        changed = cloud.hosts.pool_generations()
        assert changed.keys() == seen.keys()
        assert changed != seen
        [facts] = cloud.hosts.facts([host])
        assert changed[host.uuid] == ports.HostVersion(
            facts.provider_generation,
            facts.availability_zone,
            facts.cell,
            aggregates=facts.aggregates,
        )

    def test_metadata_of_aggregates_are_facts(self, world):
        cloud, host = world.cloud, world.hosts[0]
        world.tag(host, 'ssd', 'true, fast')
        world.tag(host, 'filter_tenant_id', 'theirs')
        [facts] = cloud.hosts.facts([host])
        assert dict(facts.specs)[SSD] == 'fast,true'
        assert not any('filter_tenant_id' in name for name, _ in facts.specs)
        assert cloud.hosts.passes(SSD, 'fast,true', 's== true')
        assert not cloud.hosts.passes(SSD, 'fast,true', 's== slow')
        assert cloud.hosts.passes(
            'capabilities:cpu_info:topology:cores',
            dict(facts.specs)['cpu_info'],
            '>= 1',
        )


class TestServices:
    def test_hosts_have_a_service_each_that_works(self, world):
        services = world.cloud.hosts.compute_services(world.now, worlds.HOSTS)
        assert set(services) == set(worlds.HOSTS)
        assert all(service.is_working for service in services.values())

    def test_a_service_is_asked_for_alone(self, world):
        services = world.cloud.hosts.compute_services
        assert set(services(world.now, ['host1'])) == {'host1'}

    def test_a_host_that_nova_does_not_know_has_none(self, world):
        services = world.cloud.hosts.compute_services
        assert services(world.now, ['nobody', 'host1'])['nobody'] == ports.GONE
        assert services(world.now, ['nobody']) == {'nobody': ports.GONE}

    def test_a_disabled_service_still_acts_on_its_servers(self, world):
        world.disable(world.hosts[0])
        service = world.cloud.hosts.compute_services(world.now, ['host1'])[
            'host1'
        ]
        assert service.disabled
        assert service.is_heard
        assert not service.is_working
        assert not service.is_down

    def test_a_service_that_nova_has_disabled_itself_is_down(self, world):
        world.disable(world.hosts[0], by_nova=True)
        service = world.cloud.hosts.compute_services(world.now, ['host1'])[
            'host1'
        ]
        assert service.gave_up
        assert service.is_down

    def test_a_service_that_is_forced_down_is_not_heard(self, world):
        world.force_down(world.hosts[0])
        services = world.cloud.hosts.compute_services(world.now, worlds.HOSTS)
        assert services['host1'].forced_down
        assert not services['host1'].is_heard
        assert not services['host1'].is_working
        assert services['host2'].is_working

    def test_a_silent_service_is_down(self, world):
        services = world.cloud.hosts.compute_services(
            world.silent_at(), worlds.HOSTS
        )
        assert all(service.is_down for service in services.values())

    def test_services_are_known_by_their_cells(self, world):
        world.force_down(world.hosts[0])
        cells = world.cloud.hosts.services_by_cell(world.now)
        [services, others] = sorted(cells.values(), key=len, reverse=True)
        assert set(services) == {'host1', 'host2', 'host3'}
        assert set(others) == {'host4'}
        assert services['host1'].forced_down
        assert services['host2'].is_working
