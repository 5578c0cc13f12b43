# SPDX-License-Identifier: Apache-2.0
"""Leases end while a nova-compute is silent: its guests may still run."""

import contextlib
import dataclasses

import pytest
import sqlalchemy as sa

from nova_reservations.db import models
from nova_reservations.db.upkeep import audit
from nova_reservations.testing.region import minutes
from nova_reservations.testing.region import NOON
from nova_reservations.testing.steps import Killed
from nova_reservations.testing.steps import Steps
from nova_reservations.tests import profile
from nova_reservations.tests.functional.engine import recorded
from nova_reservations.tests.functional.engine import test_crashes
from nova_reservations.tests.functional.engine import test_instances

pytestmark = pytest.mark.usefixtures('long_waits')


def guest_of(region, lease):
    """Return a server on the only host of the lease."""
    (host,) = region.hosts_of(lease)
    return region.cloud.boot(host, lease.project_id)


@pytest.fixture
def one(make_region):
    return make_region('one')


def test_the_next_lease_gets_no_host_on_which_a_guest_may_run(one):
    lease = one.active_lease()
    late = one.lease(start=60, end=120, project='another')
    server = guest_of(one, lease)
    one.cloud.fail('one')
    one.forward(until=62)
    assert server in one.cloud.instances
    assert one.see(lease).status_reason == (
        f'server {server} (active) on host one can not be deleted: its host '
        'is down'
    )
    assert one.hosts_of(lease) == {'one'}
    assert one.status(late) == 'PENDING'
    one.cloud.recover('one')
    one.forward(until=63)
    assert one.status(lease) == 'TERMINATED'
    assert one.status(late) == 'ACTIVE'
    assert one.cloud.instances == {}


def test_a_host_that_is_fenced_is_free_at_once(one):
    lease = one.active_lease()
    guest_of(one, lease)
    one.cloud.fail('one', forced_down=True)
    one.forward(until=61)
    assert one.status(lease) == 'TERMINATED'
    assert one.cloud.instances == {}


def test_an_end_that_waits_for_a_host_goes_on_when_it_is_fenced(one):
    lease = one.active_lease()
    guest_of(one, lease)
    one.cloud.fail('one')
    one.forward(until=80)
    assert one.status(lease) == 'ERROR'
    one.cloud.fail('one', forced_down=True)
    one.forward(until=82)
    assert one.status(lease) == 'TERMINATED'


def test_a_server_being_deleted_when_its_host_fell_silent_is_waited_for(one):
    lease = one.active_lease()
    server = guest_of(one, lease)
    one.cloud.slow_servers.add(server)
    one.forward(until=60.1)
    one.cloud.fail('one')
    one.forward(until=61)
    assert 'its host is down' in one.see(lease).status_reason
    one.cloud.recover('one')
    one.cloud.finish_tasks()
    one.forward(until=62)
    assert one.status(lease) == 'TERMINATED'


def test_slots_of_a_host_that_is_not_heard_are_not_free(make_region):
    region = make_region('one', types=test_instances.TYPES)
    lease = test_instances.active(region, *test_instances.slots(4))
    late = region.lease(start=60, end=120, project='another')
    server = test_instances.boot(region, lease)
    region.cloud.fail('one')
    region.forward(until=62)
    assert server in region.cloud.instances
    assert 'its host is down' in region.see(lease).status_reason
    assert region.status(late) == 'PENDING'
    region.cloud.recover('one')
    region.forward(until=63)
    assert region.status(late) == 'ACTIVE'


def test_a_server_that_nova_fails_to_delete_is_tried_again_in_a_minute(one):
    one.apart = None
    lease = one.active_lease()
    server = guest_of(one, lease)
    one.cloud.undeletable.add(server)
    one.forward(until=60.5)
    assert one.cloud.writes.count('delete server') == 1
    assert one.see(lease).status_reason == (
        f'server {server} (error) on host one can not be deleted: Nova has '
        'failed at it, and is asked again within a minute'
    )
    one.cloud.undeletable.clear()
    one.forward(until=61.2)
    assert one.status(lease) == 'TERMINATED'
    assert one.now - lease.end_date < minutes(2)


NAMES = ('one', 'two', 'three')
BUT_ONE = '["!=", "$service_name", "one"]'


def over_but_for_one(region, project='another'):
    """Return a lease of three hosts that is at its end, and a lease that is to
    have two of them next. The third host is silent, and has a server."""
    lease = region.active_lease(minimum=3)
    late = region.lease(
        start=60,
        end=120,
        minimum=2,
        project=project,
        resource_properties=BUT_ONE,
    )
    for host in NAMES:
        region.cloud.boot(host, lease.project_id, f'on {host}')
    region.cloud.fail('one')
    return lease, late


def windows(region, lease):
    """Return host -> the end of its allocation, and whether that is
    released."""
    with region.database.reader() as session:
        rows = session.execute(
            sa.select(
                models.Resource.name,
                models.Allocation.end_date,
                models.Allocation.released,
            )
            .join(
                models.Allocation,
                models.Allocation.resource_id == models.Resource.id,
            )
            .where(
                models.Allocation.reservation_id == lease.reservations[0].id
            )
        )
        return {row.name: (row.end_date, row.released) for row in rows}


class TestOthersOfItsLease:
    @pytest.fixture
    def region(self, make_region):
        return make_region(*NAMES)

    def test_other_hosts_of_the_lease_are_free_at_the_end(self, region):
        lease, late = over_but_for_one(region)
        region.forward(until=61)
        assert region.status(late) == 'ACTIVE'
        assert region.hosts_of(late) == region.aggregate_of(late)
        assert region.hosts_of(late) == {'two', 'three'}
        assert region.hosts_of(lease) == region.aggregate_of(lease) == {'one'}
        assert 'its host is down' in region.see(lease).status_reason
        assert set(region.cloud.instances) == {'on one'}
        with region.database.reader() as session:
            assert audit.doubled(session) == []

    def test_a_lease_had_its_other_hosts_up_to_its_end(self, region):
        lease, _ = over_but_for_one(region)
        region.forward(until=75)
        assert region.status(lease) == 'ERROR'
        assert windows(region, lease) == {
            'one': (lease.end_date, False),
            'two': (lease.end_date, True),
            'three': (lease.end_date, True),
        }
        assert recorded.going_on(region) == recorded.held(region)

    def test_a_lease_deleted_before_its_end_has_its_other_hosts_no_longer(
        self, region
    ):
        lease, _ = over_but_for_one(region)
        region.now += minutes(10)
        region.delete(lease)
        region.forward(until=11)
        assert region.hosts_of(lease) == {'one'}
        end, released = windows(region, lease)['two']
        assert released
        assert NOON + minutes(10) <= end < NOON + minutes(11)
        sooner = region.active_lease(minimum=2, end=30)
        assert region.hosts_of(sooner) == {'two', 'three'}

    def test_a_lease_that_waits_for_capacity_gets_the_other_hosts(
        self, region
    ):
        lease = region.active_lease(minimum=3)
        region.cloud.boot('one', lease.project_id)
        waiting = region.retry(start=0, end=100, minimum=2)
        region.cloud.fail('one')
        region.forward(until=60.2)
        assert region.status(waiting) == 'ACTIVE'
        assert region.hosts_of(waiting) == {'two', 'three'}

    def test_a_lease_ends_when_the_silent_host_is_heard(self, region):
        lease, late = over_but_for_one(region)
        region.forward(until=65)
        region.cloud.recover('one')
        region.forward(until=66)
        assert region.status(lease) == 'TERMINATED'
        assert region.aggregate_of(lease) is None
        assert region.status(late) == 'ACTIVE'
        assert region.aggregate_of(late) == {'two', 'three'}

    def test_a_host_that_was_replaced_is_free_too(self, region):
        lease = region.active_lease(minimum=2)
        silent, replaced = sorted(region.hosts_of(lease))
        for host in silent, replaced:
            region.cloud.boot(host, lease.project_id)
        region.cloud.fail(replaced)
        region.look()
        assert region.hosts_of(lease) == set(NAMES)
        assert region.aggregate_of(lease) == set(NAMES) - {replaced}
        region.cloud.recover(replaced)
        region.cloud.fail(silent)
        region.forward(until=61)
        assert region.hosts_of(lease) == {silent}

    def test_a_server_that_may_come_to_any_of_them_keeps_them(self, region):
        lease, late = over_but_for_one(region)
        region.cloud.undeletable.add('coming')
        region.cloud.build('coming', lease.project_id, 'building')
        region.cloud.hints['coming'] = lease.reservations[0].id
        building = region.cloud.unbuilt
        region.forward(until=62)
        assert 'coming' in building
        assert region.hosts_of(lease) == set(NAMES)
        building.clear()
        region.forward(until=70)
        assert region.status(late) == 'ACTIVE'

    @pytest.mark.parametrize(
        'change', [{'state': 'building'}, {'task': 'resize_prep'}]
    )
    def test_a_server_with_alternates_keeps_them(self, region, change):
        lease, late = over_but_for_one(region)
        servers = region.cloud.instances
        servers['on one'] = dataclasses.replace(servers['on one'], **change)
        region.forward(until=62)
        assert region.hosts_of(lease) == set(NAMES)
        assert region.status(late) == 'PENDING'
        servers['on one'] = dataclasses.replace(
            servers['on one'], state='active', task=None
        )
        region.forward(until=63)
        assert region.hosts_of(lease) == {'one'}
        assert region.status(late) == 'ACTIVE'

    def test_a_server_deleted_in_its_migration_keeps_hosts_until_it_is_gone(
        self, region
    ):
        lease, late = over_but_for_one(region)
        region.cloud.recover('one')
        region.cloud.slow_servers.add('on one')
        region.cloud.preparing.add('on one')
        region.forward(until=62)
        assert region.cloud.instances['on one'].task == 'deleting'
        assert region.hosts_of(lease) == set(NAMES)
        assert region.status(late) == 'PENDING'
        region.cloud.preparing.clear()
        region.forward(until=63)
        assert region.hosts_of(lease) == {'one'}
        assert region.status(late) == 'ACTIVE'

    def test_a_cell_that_is_silent_keeps_no_host_of_others(self, region):
        lease, late = over_but_for_one(region)
        region.cloud.recover('one')
        region.cloud.cells['one'] = 'far'
        region.cloud.silent.add('far')
        region.forward(until=61)
        assert region.status(late) == 'ACTIVE'
        assert region.hosts_of(lease) == {'one'}
        region.cloud.silent.clear()
        region.forward(until=70)
        assert region.status(lease) == 'TERMINATED'

    def test_nothing_is_free_before_it_has_settled(self, make_region):
        region = make_region(*NAMES, settle=minutes(0.1))
        lease, late = over_but_for_one(region)
        region.forward(until=60.05)
        assert region.hosts_of(lease) == set(NAMES)
        region.cloud.boot('two', lease.project_id, 'let in before')
        region.cloud.slow_servers.add('let in before')
        region.forward(until=60.5)
        assert region.hosts_of(lease) == {'one', 'two'}
        assert region.status(late) == 'PENDING'
        region.cloud.finish_tasks()
        region.forward(until=61)
        assert region.hosts_of(lease) == {'one'}
        assert region.status(late) == 'ACTIVE'

    def test_a_server_that_comes_as_one_leaves_the_aggregate_keeps_it(
        self, region
    ):
        lease, _ = over_but_for_one(region)

        def claim(step):
            if step == 'remove host':
                region.cloud.before = lambda step: None
                region.cloud.boot('two', lease.project_id, 'late')
                region.cloud.slow_servers.add('late')
                region.cloud.hints['late'] = lease.reservations[0].id

        region.cloud.before = claim
        region.forward(until=61)
        assert region.hosts_of(lease) == {'one', 'two'}
        assert region.aggregate_of(lease) == {'one'}


def test_a_reservation_that_is_over_keeps_nothing_for_another(make_region):
    region = make_region(*NAMES)
    lease = region.lease_of(
        *(
            (
                'physical:host',
                {
                    'min': 1,
                    'max': 1,
                    'resource_properties': f'["==","$service_name","{name}"]',
                },
            )
            for name in NAMES
        )
    )
    region.work()
    region.cloud.boot('one', lease.project_id)
    region.cloud.fail('one')
    region.forward(until=61)
    assert region.hosts_of(lease) == {'one'}
    assert region.status(lease) == 'TERMINATING'


def test_slots_on_other_hosts_are_free_at_the_end(make_region):
    region = make_region('one', 'two', types=test_instances.TYPES)
    lease = test_instances.active(region, *test_instances.slots(9))
    assert region.hosts_of(lease) == {'one', 'two'}
    for host in ('one', 'two'):
        test_instances.boot(region, lease, host)
    region.cloud.fail('one')
    late = region.lease(
        start=60, end=120, project='another', resource_properties=BUT_ONE
    )
    region.forward(until=61)
    assert region.status(late) == 'ACTIVE'
    assert region.hosts_of(lease) == region.aggregate_of(lease) == {'one'}
    assert set(region.cloud.classes[lease.reservations[0].id]) == {'one'}
    region.cloud.recover('one')
    region.forward(until=62)
    assert region.status(lease) == 'TERMINATED'


@pytest.mark.fuzz
def test_another_worker_frees_what_a_killed_one_began_to(make_region):
    for number in profile.steps():
        region = make_region(*NAMES)
        lease, late = over_but_for_one(region)
        region.now += minutes(60)
        with Steps(region, number, test_crashes.kill) as steps:
            victim = region.worker('victim')
            for _ in range(3):
                with contextlib.suppress(Killed):
                    victim.tick(region.now)
                victim.drain()
                region.now += minutes(0.02)
        region.forward(until=62, by=region.worker('other'))
        assert region.status(late) == 'ACTIVE'
        assert region.hosts_of(late) == region.aggregate_of(late)
        assert region.hosts_of(lease) == region.aggregate_of(lease) == {'one'}
        assert set(region.cloud.instances) == {'on one'}
        assert recorded.going_on(region) == recorded.held(region)
        region.cloud.recover('one')
        region.forward(until=64)
        assert region.status(lease) == 'TERMINATED'
        assert region.aggregate_of(lease) is None
        if not steps.reached:
            break
    assert number > 5
