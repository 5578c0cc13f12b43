# SPDX-License-Identifier: Apache-2.0
"""Hosts fail and come back; leases get other hosts meanwhile, if there are
any.
"""

import datetime

import pytest
import sqlalchemy as sa

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations.db import models
from nova_reservations.db.holdings import allocations
from nova_reservations.db.holdings import candidates
from nova_reservations.db.holdings import healing
from nova_reservations.db.leases import freed_capacity
from nova_reservations.objects import search
from nova_reservations.testing import fake_cloud
from nova_reservations.testing.region import minutes
from nova_reservations.tests import booking
from nova_reservations.tests.functional.engine import test_instances
from nova_reservations.tests.functional.engine.failures import CHANGED
from nova_reservations.tests.functional.engine.failures import check
from nova_reservations.tests.functional.engine.failures import fail
from nova_reservations.tests.functional.engine.failures import flags
from nova_reservations.tests.functional.engine.failures import HOUR
from nova_reservations.tests.functional.engine.failures import MISSING
from nova_reservations.tests.functional.engine.failures import on
from nova_reservations.tests.functional.engine.failures import recover
from nova_reservations.tests.functional.engine.failures import used
from nova_reservations.tests.functional.engine.failures import WHOLE


@pytest.fixture
def region(make_region):
    """Two hosts; leases are checked every hour."""
    return make_region('one', 'two', healing_interval=HOUR)


class TestTheSeedsTimeline:
    """Three leases of one host at different times. The host fails at point 2,
    90 minutes after noon, and the checks are an hour apart."""

    @pytest.fixture
    def region(self, make_region):
        return make_region('one', healing_interval=HOUR)

    @pytest.fixture
    def leases(self, region):
        leases = [
            region.lease(start=start, end=end)
            for start, end in ((0, 110), (120, 180), (230, 260))
        ]
        region.work()
        return leases

    @pytest.fixture
    def spare(self, region, leases):
        region.add_host('two')

    def until(self, region, minute, leases):
        """Return which host each lease has at that minute."""
        region.forward(until=minute)
        return [''.join(sorted(region.hosts_of(lease))) for lease in leases]

    def test_leases_are_healed_when_they_need_the_host(
        self, region, leases, spare
    ):
        point_1 = self.until(region, 60, leases)
        assert point_1 == ['one', 'one', 'one']
        region.forward(until=90)
        fail(region, 'one')
        first, second, third = leases
        assert used(region, first) == region.aggregate_of(first) == {'two'}
        assert region.hosts_of(second) == {'two'}
        assert region.hosts_of(third) == {'one'}
        assert flags(region, first) == CHANGED
        assert flags(region, second) == flags(region, third) == WHOLE
        point_3 = self.until(region, 150, leases)
        assert point_3[1:] == ['two', 'one']
        assert region.aggregate_of(second) == {'two'}
        point_4 = self.until(region, 210, leases)
        assert point_4[2] == 'two'
        recover(region, 'one')
        point_5 = self.until(region, 240, leases)
        assert point_5[2] == 'two'
        assert region.aggregate_of(third) == {'two'}
        assert flags(region, third) == WHOLE
        region.forward(until=270)
        assert {region.status(lease) for lease in leases} == {'TERMINATED'}

    def test_a_host_that_recovers_before_is_left_its_later_leases(
        self, region, leases, spare
    ):
        region.forward(until=90)
        fail(region, 'one')
        region.forward(until=200)
        recover(region, 'one')
        assert self.until(region, 240, leases)[2] == 'one'
        assert region.aggregate_of(leases[2]) == {'one'}
        assert 'degraded' not in region.told(leases[2])

    def test_leases_without_a_spare_host_lack_the_failed_one(
        self, region, leases
    ):
        first, second, third = leases
        region.forward(until=90)
        fail(region, 'one')
        assert region.aggregate_of(first) == used(region, first) == set()
        assert flags(region, first) == flags(region, second) == MISSING
        assert flags(region, third) == WHOLE
        region.forward(until=130)
        assert region.status(second) == 'ACTIVE'
        assert used(region, second) == set()
        recover(region, 'one')
        assert used(region, second) == region.aggregate_of(second) == {'one'}
        assert flags(region, second) == WHOLE
        assert region.told(second)[-1] == 'healed'
        region.forward(until=270)
        assert {region.status(lease) for lease in leases} == {'TERMINATED'}


def test_no_lease_is_placed_on_a_failed_host(region):
    fail(region, 'one')
    assert region.hosts_of(region.lease(start=5)) == {'two'}
    with pytest.raises(exception.NotEnoughResources, match='1 host matches'):
        region.lease(start=5)
    recover(region, 'one')
    assert region.hosts_of(region.lease(start=5)) == {'one'}


@pytest.mark.parametrize('how', ['disabled', 'forced_down'])
def test_a_host_that_is_disabled_or_forced_down_is_not_given(region, how):
    fail(region, 'one', **{how: True})
    with pytest.raises(exception.NotEnoughResources):
        region.lease(minimum=2)


def test_a_host_that_nova_no_longer_knows_has_failed(region):
    del region.cloud.known['one']
    region.look()
    with pytest.raises(exception.NotEnoughResources):
        region.lease(minimum=2)


def test_a_host_that_does_not_work_is_seen_when_it_is_enrolled(region):
    region.add_host('three', enrol=False)
    region.cloud.fail('three', disabled=True)
    region.enrol('three')
    region.work()
    with pytest.raises(exception.NotEnoughResources, match='2 hosts match'):
        region.lease(minimum=3)


def test_while_a_cell_does_not_answer_nothing_is_known_to_have_failed(region):
    def unavailable(now, hosts):
        raise exception.CloudUnavailable(service='Cell one', reason='')

    region.cloud.hosts.compute_services = unavailable
    region.look()
    assert region.lease(minimum=2)


def test_a_booking_that_was_planned_before_the_failure_fails(region):
    """The generation of the host has changed since the plan."""
    with region.database.reader() as session:
        found = candidates.find(
            session,
            search.Wanted('one', booking.wanted(), booking.window(0, 1)),
            search.Search(booking.NOW),
        )
    fail(region, 'one')
    generations = {
        one.resource.id: one.generation
        for one in found
        if one.resource.name == 'one'
    }
    with (
        pytest.raises(exception.Conflict),
        region.database.writer() as session,
    ):
        allocations.advance(session, generations)


def test_changed_resources_are_acknowledged_by_the_owner(region):
    lease = region.active_lease(end=300)
    [host] = region.hosts_of(lease)
    fail(region, host)
    assert flags(region, lease) == CHANGED
    region.acknowledge(lease)
    assert flags(region, lease) == WHOLE
    assert region.told(lease)[-2:] == ['update', 'healed']
    # The owner has acknowledged this host: the return to the old one is a
    # change.
    recover(region, host)
    [other] = region.hosts_of(lease) - {host}
    fail(region, other)
    assert flags(region, lease) == CHANGED


def test_changed_resources_are_of_no_concern_when_the_lease_is_over(region):
    lease = region.active_lease(end=10)
    [host] = region.hosts_of(lease)
    fail(region, host)
    region.forward(until=11)
    assert region.status(lease) == 'TERMINATED'
    assert flags(region, lease) == WHOLE
    assert region.told(lease)[-2:] == ['event.end_lease', 'healed']


def test_a_lease_that_lacks_a_host_gets_the_first_that_comes_free(region):
    other = region.active_lease(end=100)
    lease = region.active_lease(end=300)
    [host] = region.hosts_of(lease)
    fail(region, host)
    assert flags(region, lease) == MISSING
    region.delete(other)
    region.work()
    assert flags(region, lease) == CHANGED
    assert region.aggregate_of(lease) == {'one', 'two'} - {host}
    assert region.told(lease)[-2:] == ['degraded', 'healed']


def test_a_lease_that_has_a_replacement_wants_nothing_that_comes_free(
    region,
):
    def due(session):
        return session.scalar(
            sa.select(models.Task.due_at).where(
                models.Task.name == healing.HEAL
            )
        )

    lease = region.active_lease(end=300)
    [host] = region.hosts_of(lease)
    fail(region, host)
    assert flags(region, lease) == CHANGED
    with region.database.writer() as session:
        before = due(session)
        freed_capacity.freed(session, region.now, [])
        assert due(session) == before


def test_a_refusal_tells_how_many_hosts_are_down(region):
    fail(region, 'one')
    with pytest.raises(
        exception.NotEnoughResources,
        match='1 host matches, 1 more is down, 0 are taken in this window, 2',
    ):
        region.lease(minimum=2)


def test_a_refusal_of_slots_tells_how_many_hosts_are_down(make_region):
    region = make_region('one', 'two', types=test_instances.TYPES)
    fail(region, 'one')
    with pytest.raises(
        exception.NotEnoughResources,
        match='1 host matches, 1 more is down, there is room for 8 servers',
    ):
        region.lease_of(test_instances.slots(9))


def test_a_host_that_is_enrolled_heals_who_lacks_one(region):
    lease = region.active_lease(minimum=2)
    fail(region, 'one')
    assert used(region, lease) == {'two'}
    region.add_host('three')
    region.work()
    assert used(region, lease) == region.aggregate_of(lease)
    assert used(region, lease) == {'two', 'three'}
    assert flags(region, lease) == CHANGED


def test_a_lease_with_several_hosts_keeps_the_others(make_region):
    region = make_region('one', 'two', 'three', 'four')
    lease = region.active_lease(minimum=3)
    failed, *others = sorted(region.hosts_of(lease))
    fail(region, failed)
    [spare] = {'one', 'two', 'three', 'four'} - {failed, *others}
    assert region.aggregate_of(lease) == {spare, *others}


class TestCells:
    FAR = ('far1', 'far2', 'far3', 'far4')

    @pytest.fixture
    def region(self, make_region):
        return make_region('one')

    @pytest.fixture
    def lease(self, region):
        """A lease of the only host; more hosts are added later, in another
        cell."""
        lease = region.active_lease()
        for name in self.FAR:
            region.cloud.cells[name] = 'far'
            region.add_host(name)
        return lease

    def test_a_lease_stays_in_its_cell_if_it_can(self, region, lease):
        region.add_host('near')
        fail(region, 'one')
        assert used(region, lease) == {'near'}

    def test_a_lease_that_can_not_stay_leaves_it(self, region, lease):
        fail(region, 'one')
        [host] = used(region, lease)
        assert host in self.FAR

    def test_a_lease_can_be_kept_to_a_cell(self, region, lease):
        far = region.active_lease(
            hypervisor_properties=['==', '$cell', 'far'], maximum=2
        )
        assert region.hosts_of(far) <= set(self.FAR)
        with pytest.raises(exception.NotEnoughResources):
            region.lease(hypervisor_properties=['==', '$cell', 'a cell'])


def test_hosts_that_were_enrolled_without_a_cell_get_to_know_it(region):
    with region.database.writer() as session:
        session.execute(sa.update(models.Host).values(cell=''))
    region.hosts.refresh(region.now)
    assert {
        host.facts.cell for host in region.hosts.find(objects.HostQuery())
    } == {'a cell'}


def test_a_second_failure_is_seen_by_a_lease_that_lacks_a_host(region):
    lease = region.active_lease(minimum=2)
    fail(region, 'one')
    fail(region, 'two')
    assert region.aggregate_of(lease) == set()
    recover(region, 'one')
    assert region.aggregate_of(lease) == {'one'}
    assert flags(region, lease) == MISSING


def test_reservations_of_a_lease_are_healed_together(make_region):
    region = make_region('one', 'two', 'three', 'four')
    lease = region.lease_of(
        (objects.HOST, {'min': 1, 'max': 1}),
        (objects.HOST, {'min': 1, 'max': 1}),
    )
    region.work()
    failed = region.hosts_of(lease)
    for host in failed:
        region.cloud.fail(host)
    region.look()
    one, other = (
        region.cloud.aggregate_hosts[item.id] for item in lease.reservations
    )
    assert len(one) == len(other) == 1
    assert one | other == {'one', 'two', 'three', 'four'} - failed


class TestHostsThatNoLongerFit:
    @pytest.fixture
    def region(self, region):
        region.cloud.known['one'] = fake_facts('one', vcpus=32)
        region.cloud.known['two'] = fake_facts('two', vcpus=32)
        region.hosts.refresh(region.now)
        return region

    def shrink(self, region, host):
        generation = region.cloud.known[host].provider_generation + 1
        region.cloud.known[host] = fake_facts(host, generation, vcpus=8)
        region.hosts.refresh(region.now)

    def test_are_replaced_by_the_next_check(self, region):
        lease = region.active_lease(
            end=300, hypervisor_properties='[">=", "$vcpus", "32"]'
        )
        [host] = region.hosts_of(lease)
        self.shrink(region, host)
        assert region.hosts_of(lease) == {host}
        assert check(region) == [lease.id]
        assert region.aggregate_of(lease) == {'one', 'two'} - {host}
        assert flags(region, lease) == CHANGED
        assert check(region) == []

    def test_are_better_than_none(self, region):
        lease = region.active_lease(
            minimum=2, hypervisor_properties='[">=", "$vcpus", "32"]'
        )
        self.shrink(region, 'one')
        check(region)
        assert region.aggregate_of(lease) == used(region, lease)
        assert used(region, lease) == {'one', 'two'}
        assert flags(region, lease) == MISSING


def test_a_lease_that_waits_to_be_looked_at_by_its_check(region):
    """The start of the lease is beyond the next check."""
    lease = region.lease(start=90, end=100, **on('one'))
    fail(region, 'one')
    assert flags(region, lease) == WHOLE
    region.forward(until=61)
    assert flags(region, lease) == MISSING


def test_with_no_interval_all_are_healed_at_once(make_region):
    region = make_region('one', 'two', healing_interval=datetime.timedelta(0))
    lease = region.lease(start=6000, end=6010)
    [host] = region.hosts_of(lease)
    fail(region, host)
    assert region.hosts_of(lease) == {'one', 'two'} - {host}


class TestOwnersWhoChangeALease:
    def test_more_time_for_a_lease_that_lacks_a_host_is_planned_anew(
        self, region
    ):
        lease = region.active_lease(end=60)
        [host] = region.hosts_of(lease)
        other = region.lease(start=30, end=90)
        fail(region, host)
        assert flags(region, lease) == MISSING
        with pytest.raises(exception.NotEnoughResources):
            region.change(lease, end=100)
        region.delete(other)
        region.now += minutes(1)
        region.change(lease, end=100)
        region.work()
        assert flags(region, lease) == WHOLE
        assert region.aggregate_of(lease) == {'one', 'two'} - {host}

    def test_less_time_leaves_a_lease_as_it_is(self, region):
        lease = region.active_lease(end=60, minimum=2)
        fail(region, 'one')
        region.change(lease, end=30)
        region.work()
        assert flags(region, lease) == MISSING
        assert used(region, lease) == {'two'}
        region.forward(until=31)
        assert region.status(lease) == 'TERMINATED'

    def test_a_former_host_can_be_had_again(self, region):
        lease = region.active_lease(end=60)
        [host] = region.hosts_of(lease)
        fail(region, host)
        recover(region, host)
        region.change(lease, min=2, max=2)
        region.work()
        assert region.aggregate_of(lease) == {'one', 'two'}
        region.forward(until=61)
        assert region.status(lease) == 'TERMINATED'


def fake_facts(name, generation=2, **changes):
    return fake_cloud.facts(name, provider_generation=generation, **changes)


def test_a_replacement_that_is_back_takes_no_turns_with_another(make_region):
    """The leased host fails, and then its replacement, which comes back."""
    region = make_region(
        'one', 'two', 'three', 'four', healing_interval=datetime.timedelta(0)
    )
    lease = region.active_lease(end=500, **on('one'))
    region.change(lease, resource_properties='')
    region.work()
    fail(region, 'one', forced_down=True)
    [first] = used(region, lease)
    fail(region, first, forced_down=True)
    [second] = used(region, lease)
    assert len({'one', first, second}) == 3
    recover(region, first)
    for _ in range(3):
        region.now += minutes(1)
        region.look()
        assert used(region, lease) == region.aggregate_of(lease) == {second}
    recover(region, 'one')
    region.now += minutes(1)
    region.look()
    assert used(region, lease) == region.aggregate_of(lease) == {'one'}
    assert flags(region, lease) == WHOLE
