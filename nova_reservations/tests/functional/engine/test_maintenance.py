# SPDX-License-Identifier: Apache-2.0
"""Operators keep leases off hosts: from now on, or for a window."""

import pytest

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations.db.upkeep import audit
from nova_reservations.engine.leases import maintenance
from nova_reservations.objects import holds
from nova_reservations.testing.region import minutes


def host(region, name='one'):
    [found] = region.hosts.find(objects.HostQuery(name=name))
    return found


def act(region, action, name='one'):
    service = region.services.maintenance
    return getattr(service, action)(host(region, name).id, region.now)


def maintain(region, start, end, name='one'):
    return region.services.maintenance.maintain(
        host(region, name).id,
        maintenance.Window(
            region.now + minutes(start),
            region.now + minutes(end),
            'operators',
            'operator',
        ),
        region.now,
    )


def left(held):
    return {each.lease_id for each in held.occupants}


class TestCordons:
    def test_no_new_lease_gets_the_host_now_or_later(self, region):
        act(region, 'cordon')
        [hold] = holds.of(host(region))
        assert (hold.reason, hold.since) == ('cordoned', region.now)
        for start in 0, 600:
            with pytest.raises(exception.NotEnoughResources):
                region.lease(start=start, end=900, minimum=3)
        assert region.hosts_of(region.lease(minimum=2)) == {'two', 'three'}

    def test_an_uncordoned_host_is_had_by_a_lease_that_waits(self, region):
        act(region, 'cordon')
        waiting = region.retry(minimum=3)
        region.work()
        assert region.status(waiting) == 'CREATING'
        act(region, 'uncordon')
        region.work()
        assert region.status(waiting) == 'ACTIVE'

    def test_a_running_lease_goes_on_and_may_be_prolonged(self, region):
        lease = region.active_lease(minimum=3)
        assert left(act(region, 'cordon')) == {lease.id}
        region.healing.heal(region.now)
        region.work()
        assert region.aggregate_of(lease) == {'one', 'two', 'three'}
        assert not region.see(lease).degraded
        region.change(lease, end=90)

    def test_a_lease_that_has_not_begun_gets_another_host(self, region):
        lease = region.lease(start=600, end=660, minimum=2)
        [name, *_] = sorted(region.hosts_of(lease))
        assert left(act(region, 'cordon', name)) == set()
        assert region.hosts_of(lease) == {'one', 'two', 'three'} - {name}
        assert not region.see(lease).degraded

    def test_a_lease_that_can_not_have_another_host_is_told_of_and_starts(
        self, region
    ):
        lease = region.lease(start=60, end=120, minimum=3)
        assert left(act(region, 'cordon')) == {lease.id}
        region.healing.heal(region.now)
        # The owner is told nothing: the lease will have what it was promised.
        assert not region.see(lease).degraded
        region.forward(until=61)
        assert region.status(lease) == 'ACTIVE'
        assert region.aggregate_of(lease) == {'one', 'two', 'three'}

    def test_a_lease_gets_another_host_as_soon_as_there_is_one(self, region):
        lease = region.lease(start=60, end=120, minimum=2)
        other = region.lease(start=60, end=120)
        name = min(region.hosts_of(lease))
        assert left(act(region, 'cordon', name)) == {lease.id}
        region.delete(other)
        region.healing.heal(region.now)
        assert name not in region.hosts_of(lease)

    def test_a_host_that_is_back_stays_cordoned(self, region):
        act(region, 'cordon')
        region.cloud.fail('one')
        region.look()
        region.cloud.recover('one')
        region.look()
        assert [hold.reason for hold in holds.of(host(region))] == ['cordoned']

    def test_a_second_cordon_changes_nothing(self, region):
        act(region, 'cordon')
        since = host(region).cordoned_at
        region.now += minutes(1)
        act(region, 'cordon')
        assert host(region).cordoned_at == since
        for _ in range(2):
            act(region, 'uncordon')
        assert host(region).bookable

    def test_a_host_that_is_not_enrolled_is_not_found(self, region):
        for action in 'cordon', 'uncordon', 'drain':
            with pytest.raises(exception.NotFound):
                getattr(region.services.maintenance, action)(999, region.now)


class TestDrains:
    def test_a_running_lease_gets_another_host(self, region):
        lease = region.active_lease()
        [name] = region.hosts_of(lease)
        held = act(region, 'drain', name)
        assert [each.is_leaving for each in held.occupants] == [True]
        region.work()
        assert name not in region.aggregate_of(lease)
        region.look()
        assert name not in region.hosts_of(lease)
        assert len(region.hosts_of(lease)) == 1
        assert left(act(region, 'drain', name)) == set()

    def test_servers_of_a_drained_host_stay_until_somebody_moves_them(
        self, region
    ):
        lease = region.active_lease()
        [name] = region.hosts_of(lease)
        server = region.cloud.boot(name, 'lessee')
        act(region, 'drain', name)
        region.look()
        assert region.cloud.instances[server].host == name
        assert name in region.hosts_of(lease)
        assert name not in region.aggregate_of(lease)
        del region.cloud.instances[server]
        region.look()
        assert name not in region.hosts_of(lease)

    def test_a_lease_that_can_not_have_another_host_goes_on_as_it_is(
        self, region
    ):
        lease = region.active_lease(minimum=3)
        held = act(region, 'drain')
        assert [each.is_leaving for each in held.occupants] == [False]
        region.work()
        assert region.aggregate_of(lease) == {'one', 'two', 'three'}
        assert not region.see(lease).degraded

    def test_a_drained_host_does_not_come_back_before_it_is_uncordoned(
        self, region
    ):
        lease = region.active_lease()
        [name] = region.hosts_of(lease)
        act(region, 'drain', name)
        region.work()
        region.healing.check_replaced(region.now)
        region.healing.heal(region.now)
        region.work()
        assert name not in region.hosts_of(lease)


class TestWindows:
    def test_no_lease_has_the_host_in_it(self, region):
        held = maintain(region, 60, 120)
        with pytest.raises(exception.NotEnoughResources):
            region.lease(start=0, end=90, minimum=3)
        before = region.lease(start=0, end=60, minimum=3)
        region.lease(start=120, end=180, minimum=3)
        with pytest.raises(exception.NotEnoughResources):
            region.change(before, end=61)
        assert region.hosts_of(held.window) == {'one'}

    def test_promises_that_are_in_the_way_move(self, region):
        lease = region.lease(start=60, end=120, minimum=2)
        name = min(region.hosts_of(lease))
        maintain(region, 70, 80, name)
        assert name not in region.hosts_of(lease)
        with region.database.reader() as session:
            assert audit.doubled(session) == []

    def test_a_window_does_not_move_itself(self, region):
        maintain(region, 60, 120)
        region.lease(start=60, end=120, minimum=2)
        with pytest.raises(exception.NotEnoughResources):
            region.lease(start=60, end=120)

    def test_leases_in_the_way_of_a_window_are_told(self, region):
        lease = region.active_lease(minimum=3)
        with pytest.raises(exception.HostInUse, match=lease.id):
            maintain(region, 30, 40)
        maintain(region, 60, 90)

    def test_a_cordoned_host_has_one_and_stays_cordoned(self, region):
        act(region, 'cordon')
        maintain(region, 60, 120)
        assert host(region).cordoned_at == region.now

    @pytest.mark.parametrize('why', ['cordon', 'disable'])
    def test_a_window_of_a_host_that_is_withheld_lacks_nothing(
        self, region, why
    ):
        window = maintain(region, 60, 120).window
        if why == 'cordon':
            act(region, 'cordon')
        else:
            region.cloud.fail('one', disabled=True)
            region.look()
        region.healing.heal(region.now)
        assert not region.see(window).degraded
        assert region.hosts_of(window) == {'one'}

    def test_a_window_begins_and_ends_as_any_lease(self, region):
        window = maintain(region, 0, 30).window
        region.work()
        assert region.status(window) == 'ACTIVE'
        region.change(window, end=10)
        region.forward(until=11)
        assert region.status(window) == 'TERMINATED'
        assert region.hosts_of(region.lease(minimum=3)) >= {'one'}

    def test_a_reboot_in_it_takes_nothing_from_others(self, region):
        held = maintain(region, 0, 30)
        other = region.lease(minimum=2)
        region.work()
        region.cloud.fail('one')
        region.look()
        region.healing.heal(region.now)
        region.cloud.recover('one')
        region.look()
        assert region.hosts_of(held.window) == {'one'}
        assert region.hosts_of(other) == {'two', 'three'}

    def test_a_window_in_the_past_is_refused(self, region):
        with pytest.raises(exception.InvalidInput):
            maintain(region, -60, -30)
