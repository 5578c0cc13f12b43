# SPDX-License-Identifier: Apache-2.0
"""A database is restored from a backup after the cloud has gone on.

The tests show what doc/source/admin/restore.rst says.
"""

import pytest

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations.engine.worker import leftovers
from nova_reservations.testing import addresses
from nova_reservations.testing import pools
from nova_reservations.testing import segments
from nova_reservations.tests.functional.engine import stack_leases
from nova_reservations.tests.functional.engine import test_instances
from nova_reservations.tests.functional.engine.restored import back_up
from nova_reservations.tests.functional.engine.restored import do_all
from nova_reservations.tests.functional.engine.restored import findings
from nova_reservations.tests.functional.engine.restored import left
from nova_reservations.tests.functional.engine.restored import problems
from nova_reservations.tests.functional.engine.restored import repair
from nova_reservations.tests.functional.engine.restored import restore

pytestmark = pytest.mark.usefixtures('long_waits')

ONE = '["==","$service_name","one"]'


def _of(module):
    return {'types': module.TYPES, 'monitors': module.MONITORS}


def _addresses(region):
    addresses.enrol(region, 101)
    return addresses.asked(1)


def _networks(region):
    segments.enrol(region, 101)
    return segments.asked()


def _volumes(region):
    pools.enrol(region, pools.FAST)
    return pools.asked(10)


KINDS = {
    'hosts': ({}, lambda _: (objects.HOST, {'min': 1, 'max': 1})),
    'slots': (
        {'types': test_instances.TYPES},
        lambda _: test_instances.slots(),
    ),
    'addresses': (_of(addresses), _addresses),
    'networks': (_of(segments), _networks),
    'volumes': (_of(pools), _volumes),
}


class TestLeasesMadeSince:
    @pytest.mark.parametrize('kind', KINDS)
    def test_resources_of_a_lost_lease_are_left_and_named(
        self, make_region, kind
    ):
        options, prepare = KINDS[kind]
        region = make_region('one', 'two', **options)
        asked = prepare(region)
        backup = back_up(region)
        lease = region.lease_of(asked)
        region.work()
        assert region.status(lease) == 'ACTIVE'
        before = left(region)
        restore(region, backup)
        do_all(region)
        assert left(region) == before
        [problem] = problems(region)
        assert lease.reservations[0].id in problem
        assert 'is of no lease' in problem

    def test_their_servers_are_named_and_stay(self, region):
        backup = back_up(region)
        lease = region.active_lease()
        [host] = region.hosts_of(lease)
        server = region.cloud.boot(host, lease.project_id)
        restore(region, backup)
        do_all(region)
        assert (
            f'Server {server} of project lessee is on host {host}, which no '
            'lease has now' in '; '.join(problems(region))
        )
        repair(region)
        assert server in region.cloud.instances
        [problem] = problems(region)
        assert server in problem

    def test_the_next_lease_of_their_hosts_finds_the_servers(self, region):
        backup = back_up(region)
        lease = region.active_lease(resource_properties=ONE)
        server = region.cloud.boot('one', lease.project_id)
        restore(region, backup)
        following = region.active_lease(
            resource_properties=ONE, project='another', end=30
        )
        assert region.status(following) == 'ACTIVE'
        region.forward(until=60)
        assert server in region.cloud.instances
        seen = region.see(following)
        assert seen.status == 'ERROR'
        assert server in str(seen.why)

    def test_a_new_lease_of_the_same_project_keeps_others_away(self, region):
        backup = back_up(region)
        lease = region.active_lease(resource_properties=ONE)
        server = region.cloud.boot('one', lease.project_id)
        restore(region, backup)
        repair(region)
        region.active_lease(resource_properties=ONE, end=90)
        assert problems(region) == []
        with pytest.raises(exception.NotEnoughResources):
            region.lease(resource_properties=ONE, project='another')
        assert server in region.cloud.instances

    def test_promises_leave_nothing(self, region):
        backup = back_up(region)
        region.lease(start=100, end=160)
        restore(region, backup)
        do_all(region)
        assert problems(region) == []

    def test_a_lost_lease_that_was_prepared_has_left_its_aggregate(
        self, region
    ):
        backup = back_up(region)
        lease = region.active_lease(start=5)
        restore(region, backup)
        do_all(region)
        [problem] = problems(region)
        assert lease.reservations[0].id in problem


class TestLeasesChangedSince:
    @pytest.fixture
    def lease(self, region):
        lease = region.active_lease(end=30, resource_properties=ONE)
        region.cloud.boot('one', lease.project_id, 'a server')
        return lease

    def test_a_lease_that_was_prolonged_ends_at_its_old_end(
        self, region, lease
    ):
        backup = back_up(region)
        region.change(lease, end=90)
        region.forward(until=40)
        restore(region, backup)
        region.forward(until=41)
        assert region.status(lease) == 'TERMINATED'
        assert region.cloud.instances == {}

    def test_a_lease_that_is_prolonged_again_first_does_not_end(
        self, region, lease
    ):
        backup = back_up(region)
        region.change(lease, end=90)
        region.forward(until=40)
        restore(region, backup)
        region.change(lease, end=50)
        do_all(region)
        assert region.status(lease) == 'ACTIVE'
        assert 'a server' in region.cloud.instances
        assert problems(region) == []

    def test_a_lease_that_has_ended_ends_once_more(self, region, lease):
        backup = back_up(region)
        region.forward(until=40)
        restore(region, backup)
        region.forward(until=41)
        assert region.status(lease) == 'TERMINATED'
        assert problems(region) == []

    def test_the_second_end_of_a_lease_touches_no_servers_of_the_next(
        self, region, lease
    ):
        backup = back_up(region)
        region.forward(until=40)
        following = region.active_lease(
            resource_properties=ONE, project='another'
        )
        server = region.cloud.boot('one', following.project_id)
        restore(region, backup)
        do_all(region)
        region.forward(until=50)
        assert region.status(lease) != 'TERMINATED'
        assert server in str(region.see(lease).why)
        assert server in region.cloud.instances
        assert region.aggregate_of(following) == {'one'}

    def test_a_lease_that_was_deleted_is_active_without_hosts(
        self, region, lease
    ):
        backup = back_up(region)
        region.delete(lease)
        region.forward(until=2)
        restore(region, backup)
        do_all(region)
        assert region.status(lease) == 'ACTIVE'
        assert region.aggregate_of(lease) is None
        [problem] = problems(region)
        assert 'has other hosts in Nova' in problem
        repair(region)
        assert region.aggregate_of(lease) == {'one'}
        assert problems(region) == []

    @pytest.mark.parametrize('kind', KINDS)
    def test_a_lease_that_has_started_starts_again_as_it_is(
        self, make_region, kind
    ):
        options, prepare = KINDS[kind]
        region = make_region('one', **options)
        lease = region.lease_of(prepare(region), start=20, end=90)
        backup = back_up(region)
        region.forward(until=20)
        region.cloud.boot('one', lease.project_id, 'a server')
        before = left(region)
        restore(region, backup)
        for finding in findings(region):
            assert 'is of no lease' not in finding.problem
        leftovers.Sweep(region.database, region.cloud).run()
        assert left(region) == before
        region.work()
        assert region.status(lease) == 'ACTIVE'
        assert left(region) == before

    def test_a_lease_that_waited_and_started_waits_beside_what_it_has(
        self, region
    ):
        before = region.lease(end=10, minimum=3)
        lease = region.retry(end=90, minimum=3)
        region.forward(until=5)
        backup = back_up(region)
        region.forward(until=12)
        hosts = region.hosts_of(lease)
        server = region.cloud.boot(min(hosts), lease.project_id)
        restore(region, backup)
        do_all(region)
        region.forward(until=15)
        assert region.status(lease) == 'CREATING'
        assert region.aggregate_of(lease) == hosts
        assert server in region.cloud.instances
        # The server on its host is not one of the lease that was there before.
        assert server in str(region.see(before).why)


class TestStacks:
    @pytest.fixture
    def region(self, make_region):
        return stack_leases.region_of(make_region)

    def test_a_stack_of_a_lost_lease_is_left(self, region):
        backup = back_up(region)
        stack_leases.active(region)
        before = left(region)['stacks_made']
        restore(region, backup)
        do_all(region)
        repair(region)
        assert left(region)['stacks_made'] == before != {}

    def test_a_stack_of_a_lease_that_has_started_is_not_over(self, region):
        lease = stack_leases.ask(region, start=20, end=90)
        backup = back_up(region)
        region.forward(until=20)
        region.cloud.stacks.finish()
        region.forward(until=22)
        assert region.status(lease) == 'ACTIVE'
        before = left(region)
        restore(region, backup)
        repair(region)
        region.forward(until=24)
        assert region.status(lease) == 'ACTIVE'
        assert left(region) == before


class TestDrainableHosts:
    @pytest.fixture
    def region(self, make_region):
        """A drainable host whose lease is lost, as it is younger than the
        backup."""
        region = make_region('one', best_effort_aggregate='drainable')
        region.add_host('away', enrol=False)
        region.add_drainable('green')
        backup = back_up(region)
        lease = region.best_effort(minimum=2)
        region.forward(until=1)
        assert region.aggregate_of(lease) == {'one', 'green'}
        region.cloud.boot('green', lease.project_id)
        restore(region, backup)
        do_all(region)
        return region

    def test_a_drained_host_stays_closed_while_its_reservation_is_in_nova(
        self, region
    ):
        assert 'green' in region.cloud.marked
        assert region.fenced() == set()
        [problem] = problems(region)
        assert 'is of no lease' in problem

    def test_a_drained_host_is_opened_when_its_reservation_has_left_nova(
        self, region
    ):
        repair(region)
        assert 'green' in region.cloud.marked
        [problem] = problems(region)
        assert 'Host green has the trait of the pool' in problem
        do_all(region)
        assert 'green' not in region.cloud.marked
        assert problems(region) == []


class TestHosts:
    def test_a_host_that_was_enrolled_since_is_named_and_added(self, region):
        region.add_host('four', enrol=False)
        backup = back_up(region)
        region.enrol('four')
        restore(region, backup)
        do_all(region)
        [problem] = problems(region)
        assert region.cloud.known['four'].uuid in problem
        region.enrol('four')
        assert problems(region) == []

    def test_a_host_is_open_once_it_is_added_with_servers_on_it(self, region):
        region.add_host('four', enrol=False)
        backup = back_up(region)
        region.enrol('four')
        region.cloud.boot('four', 'lessee')
        restore(region, backup)
        do_all(region)
        assert 'four' in region.cloud.marked
        with pytest.raises(exception.HostInUse):
            region.enrol('four')
        assert 'four' not in region.cloud.marked

    @pytest.fixture
    def removed(self, region):
        """Remove a host, and restore the backup from before; return the
        host."""
        backup = back_up(region)
        [host] = region.hosts.find(objects.HostQuery(name='two'))
        region.hosts.enrolment.remove(host.id, region.now)
        region.cloud.boot('two', 'somebody', 'ordinary')
        restore(region, backup)
        do_all(region)
        return host

    def test_a_host_that_was_removed_since_is_named(self, region, removed):
        assert 'two' not in region.cloud.marked
        found = problems(region)
        assert len(found) == 3
        assert 'Host two lacks the trait' in found[0]
        assert 'Host two is not in the aggregate freepool' in found[1]
        assert 'Server ordinary of project somebody' in found[2]

    def test_a_host_is_removed_again_though_it_has_servers(
        self, region, removed
    ):
        region.hosts.enrolment.remove(removed.id, region.now)
        assert problems(region) == []
        assert 'two' not in region.cloud.marked
        assert 'ordinary' in region.cloud.instances

    def test_a_repair_closes_it_with_the_servers_on_it(self, region, removed):
        repair(region)
        assert 'two' in region.cloud.marked
        [problem] = problems(region)
        assert 'Server ordinary of project somebody' in problem
