# SPDX-License-Identifier: Apache-2.0
import dataclasses

import pytest
import sqlalchemy as sa

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations.db import models
from nova_reservations.db.holdings import allocations
from nova_reservations.db.holdings import candidates
from nova_reservations.db.resources import hosts
from nova_reservations.engine import identity
from nova_reservations.objects import demand
from nova_reservations.objects import interval
from nova_reservations.objects import search
from nova_reservations.testing import fake_cloud
from nova_reservations.testing.region import minutes

UNREACHABLE = exception.CloudUnavailable(service='placement', reason='down')
GPU = '["==","$gpu","4"]'


def host_named(region, name):
    (host,) = region.hosts.find(objects.HostQuery(name=name))
    return host


def plan(region):
    """Return the generation of each host that a plan made now is based on."""
    wanted = search.Wanted(
        'one',
        demand.Demand(objects.HOST, 1, 1),
        interval.Interval(region.now, region.now + minutes(60)),
    )
    with region.database.reader() as session:
        return {
            found.resource.id: found.generation
            for found in candidates.find(
                session, wanted, search.Search(region.now)
            )
        }


class TestEnrolment:
    @pytest.fixture
    def region(self, make_region):
        region = make_region('old')
        region.cloud.known['new'] = fake_cloud.facts('new')
        return region

    @pytest.mark.parametrize('key', ['service_host', 'uuid'])
    def test_a_host_is_found_by_each_of_its_names(self, region, key):
        name = getattr(fake_cloud.facts('new'), key)
        host = region.enrol(name, gpu='4')
        assert host.reservable
        assert host.facts == fake_cloud.facts('new')
        assert host.properties == {'gpu': '4'}
        assert region.cloud.pool == region.cloud.marked == {'old', 'new'}

    def test_a_name_that_nobody_has_is_not_found(self, region):
        with pytest.raises(exception.NotFound):
            region.enrol('else')

    def test_a_name_of_several_nodes_is_ambiguous(self, region):
        region.cloud.known['twin'] = fake_cloud.facts(
            'twin', hypervisor_hostname='new.example.org'
        )
        with pytest.raises(exception.AmbiguousHost):
            region.enrol('new.example.org')

    def test_a_host_is_enrolled_once(self, region):
        with pytest.raises(exception.AlreadyEnrolled):
            region.enrol('old')

    def test_a_host_with_servers_stays_open_to_all(self, region):
        server = region.cloud.boot('new', 'somebody')
        with pytest.raises(exception.HostInUse, match=server):
            region.enrol('new')
        assert region.cloud.pool == region.cloud.marked == {'old'}
        assert not region.hosts.is_enrolled('new')

    def test_a_host_that_placement_has_something_on_is_in_use(self, region):
        region.cloud.leftovers['new'].add('a migration')
        with pytest.raises(exception.HostInUse, match='a migration'):
            region.enrol('new')

    def test_a_host_that_is_half_enrolled_is_leased_to_nobody(self, region):
        region.fails('join_pool', UNREACHABLE)
        with pytest.raises(exception.CloudUnavailable):
            region.enrol('new')
        with pytest.raises(exception.NotEnoughResources):
            region.lease(minimum=2)
        # The host is closed already to servers without a lease.
        assert region.hosts.is_enrolled('new')
        region.enrol('new')
        region.lease(minimum=2)


class TestRemoval:
    def test_a_removed_host_is_open_to_all_again(self, region):
        region.hosts.enrolment.remove(host_named(region, 'two').id, region.now)
        assert region.cloud.pool == region.cloud.marked == {'one', 'three'}
        with pytest.raises(exception.NotEnoughResources):
            region.lease(minimum=3)

    def test_a_host_of_a_lease_to_come_stays(self, region):
        region.lease(start=600, end=700, minimum=3)
        host = host_named(region, 'two')
        with pytest.raises(exception.HostInUse, match='1 reservation;'):
            region.hosts.enrolment.remove(host.id, region.now)
        assert region.hosts.get(host.id).reservable
        assert 'two' in region.cloud.pool

    def test_a_host_of_a_lease_that_is_over_goes(self, region):
        region.active_lease(minimum=3)
        region.forward(until=61)
        region.hosts.enrolment.remove(host_named(region, 'two').id, region.now)

    def test_a_host_with_servers_stays_reservable(self, region):
        region.cloud.boot('two', 'operators')
        host = host_named(region, 'two')
        with pytest.raises(exception.HostInUse):
            region.hosts.enrolment.remove(host.id, region.now)
        region.lease(minimum=3)

    def test_a_host_stays_reservable_if_nova_does_not_answer(self, region):
        def occupancy(hosts):
            raise UNREACHABLE

        region.cloud.servers.occupancy = occupancy
        with pytest.raises(exception.CloudUnavailable):
            region.hosts.enrolment.remove(
                host_named(region, 'two').id, region.now
            )
        region.lease(minimum=3)

    def test_a_host_that_is_open_is_removed_whatever_is_on_it(self, region):
        region.cloud.boot('two', 'somebody', 'a server')
        region.cloud.marked.remove('two')
        region.hosts.enrolment.remove(host_named(region, 'two').id, region.now)
        assert not region.hosts.is_enrolled('two')
        assert region.cloud.marked == region.cloud.pool == {'one', 'three'}
        assert 'a server' in region.cloud.instances

    def test_an_unknown_host_is_not_found(self, region):
        with pytest.raises(exception.NotFound):
            region.hosts.enrolment.remove(99, region.now)


class TestProperties:
    @pytest.fixture
    def region(self, make_region):
        region = make_region()
        region.cloud.known = {'one': fake_cloud.facts('one')}
        region.enrol('one', gpu='4', rack='a')
        return region

    def change(self, region, **properties):
        host = host_named(region, 'one')
        return region.hosts.update(host.id, properties, region.now).properties

    def test_properties_are_changed_added_and_taken_away(self, region):
        assert self.change(region, gpu='8', rack=None, ssd='yes') == {
            'gpu': '8',
            'ssd': 'yes',
        }

    @pytest.mark.parametrize('value', ['2', None])
    def test_a_property_that_a_lease_was_planned_with_stays(
        self, region, value
    ):
        region.lease(start=60, end=90, resource_properties=GPU)
        with pytest.raises(exception.HostInUse, match='planned with gpu'):
            self.change(region, gpu=value, rack='b')
        assert host_named(region, 'one').properties['rack'] == 'a'

    def test_a_property_that_no_lease_asked_for_may_change(self, region):
        region.lease(start=60, end=90, resource_properties=GPU)
        assert self.change(region, rack='b', gpu='4')['rack'] == 'b'

    def test_a_property_that_a_lease_that_is_over_asked_for_may_change(
        self, region
    ):
        region.lease(resource_properties=GPU)
        region.forward(until=61)
        assert self.change(region, gpu='8')['gpu'] == '8'

    def test_a_lease_is_not_booked_by_a_plan_made_on_old_ones(self, region):
        old = plan(region)
        self.change(region, gpu='8')
        with pytest.raises(exception.Conflict):
            with region.database.writer() as session:
                allocations.advance(session, old)

    def test_a_change_reads_the_facts_at_once(self, region):
        region.cloud.known['one'] = fake_cloud.facts('one', vcpus=32)
        self.change(region, rack='b')
        assert host_named(region, 'one').facts.vcpus == 32


class TestFacts:
    @pytest.fixture
    def region(self, make_region):
        return make_region('one', host_refresh_interval=minutes(1))

    def generation(self, region):
        host = host_named(region, 'one')
        return host.facts.provider_generation

    def change(self, region, **facts):
        known = region.cloud.known['one']
        region.cloud.known['one'] = dataclasses.replace(
            known, provider_generation=known.provider_generation + 1, **facts
        )

    def test_facts_are_read_every_interval(self, region):
        self.change(region, vcpus=32)
        region.work()
        assert host_named(region, 'one').facts.vcpus == 16
        region.now += minutes(1)
        region.work()
        assert host_named(region, 'one').facts.vcpus == 32

    def test_facts_are_read_by_one_worker_for_all(self, region):
        looks = []
        pool_generations = region.cloud.hosts.pool_generations
        region.cloud.hosts.pool_generations = lambda trees: (
            looks.append(1) or pool_generations(trees)
        )
        workers = [region.worker(name) for name in 'abc']
        for _ in range(3):
            region.now += minutes(1)
            for worker in workers:
                region.work(worker)
        assert len(looks) == 3

    def test_a_cloud_that_does_not_answer_is_asked_again(self, region):
        self.change(region, vcpus=32)
        pool_generations = region.cloud.hosts.pool_generations

        def unreachable(trees):
            raise UNREACHABLE

        region.cloud.hosts.pool_generations = unreachable
        region.now += minutes(1)
        region.work()
        region.cloud.hosts.pool_generations = pool_generations
        region.now += minutes(1)
        region.work()
        assert host_named(region, 'one').facts.vcpus == 32

    def test_a_fact_that_does_not_matter_counts_as_no_change(self, region):
        self.change(region)
        assert region.hosts.refresh(region.now) == 0
        assert self.generation(region) == 2
        self.change(region, traits=frozenset())
        assert region.hosts.refresh(region.now) == 1

    def test_a_start_and_an_end_leave_no_host_to_look_at(self, region):
        lease = region.active_lease()
        region.leases.delete(lease.id, region.now)
        region.work()
        with region.database.reader() as session:
            marks = hosts.marks(session)
        for uuid, seen in region.cloud.hosts.pool_generations().items():
            assert marks[uuid].provider_generation == seen.provider_generation
        assert {
            known.provider_generation for known in region.cloud.known.values()
        } != {1}

    def test_a_host_is_not_looked_at_while_a_worker_changes_it(self, region):
        lease = region.active_lease()
        with region.database.writer() as session:
            session.execute(
                sa.update(models.Lease)
                .where(models.Lease.id == lease.id)
                .values(claimed_by='a', due_at=region.now + minutes(1))
            )
        self.change(region, vcpus=32)
        assert region.hosts.refresh(region.now) == 0
        assert host_named(region, 'one').facts.vcpus == 16
        # The worker may be dead.
        assert region.hosts.refresh(region.now + minutes(1)) == 1
        assert host_named(region, 'one').facts.vcpus == 32

    def test_a_start_does_not_fail_for_what_costs_a_look(
        self, region, monkeypatch
    ):
        def lose(session, changes):
            raise exception.Conflict(kind='Host', id=1)

        monkeypatch.setattr(hosts, 'move_provider_generations', lose)
        lease = region.active_lease()
        assert region.see(lease).status == 'ACTIVE'
        region.hosts.refresh(region.now)
        assert host_named(region, 'one').facts.provider_generation == 2

    def test_a_lease_is_not_booked_by_a_plan_made_on_old_facts(self, region):
        old = plan(region)
        self.change(region)
        region.hosts.refresh(region.now)
        with region.database.writer() as session:
            allocations.advance(session, old)
        old = plan(region)
        self.change(region, vcpus=32)
        region.hosts.refresh(region.now)
        with pytest.raises(exception.Conflict):
            with region.database.writer() as session:
                allocations.advance(session, old)

    def test_the_servers_of_a_lease_do_not_lessen_its_host(self, region):
        region.active_lease()
        self.change(region, free_memory_mb=1, free_disk_gb=1)
        region.hosts.refresh(region.now)
        facts = host_named(region, 'one').facts
        assert (facts.free_memory_mb, facts.free_disk_gb) == (65024, 1000)

    def test_other_servers_do(self, region):
        region.lease(start=60, end=90)
        self.change(region, free_memory_mb=1, free_disk_gb=1)
        region.hosts.refresh(region.now)
        facts = host_named(region, 'one').facts
        assert (facts.free_memory_mb, facts.free_disk_gb) == (1, 1)

    @pytest.mark.parametrize('begun', [True, False])
    def test_aggregates_of_no_lease_are_swept_away(self, region, begun):
        """A worker that was suspended in the start of a lease leaves them."""
        if not begun:
            no = exception.CloudRefused(what='it', reason='no')
            region.fails('add host', no)
        deleted = region.active_lease()
        assert deleted.status == ('ACTIVE' if begun else 'ERROR')
        region.delete(deleted)
        region.work()
        left_behind = deleted.reservations[0].id
        lease = region.active_lease()
        assert set(region.cloud.aggregate_hosts) == {lease.reservations[0].id}
        region.cloud.aggregate_hosts[left_behind] = {'one'}
        region.cloud.aggregates.sign(left_behind, identity.of(region.database))
        region.now += minutes(1)
        region.work()
        assert set(region.cloud.aggregate_hosts) == {lease.reservations[0].id}
