# SPDX-License-Identifier: Apache-2.0
"""A host that was disabled for a reboot lost its active leases, and their
servers stayed behind.

Issue 13, item 10.
"""

import pytest

from nova_reservations import exception
from nova_reservations.db.holdings import allocations
from nova_reservations.db.holdings import candidates
from nova_reservations.objects import search
from nova_reservations.testing.region import minutes
from nova_reservations.tests import booking
from nova_reservations.tests.regressions.failing_hosts import DISABLED
from nova_reservations.tests.regressions.failing_hosts import flags
from nova_reservations.tests.regressions.failing_hosts import FORCED_DOWN
from nova_reservations.tests.regressions.failing_hosts import healed_by
from nova_reservations.tests.regressions.failing_hosts import holds_of
from nova_reservations.tests.regressions.failing_hosts import HOUR
from nova_reservations.tests.regressions.failing_hosts import MISSING
from nova_reservations.tests.regressions.failing_hosts import on
from nova_reservations.tests.regressions.failing_hosts import REBOOTING
from nova_reservations.tests.regressions.failing_hosts import see
from nova_reservations.tests.regressions.failing_hosts import SILENT
from nova_reservations.tests.regressions.failing_hosts import SLOT
from nova_reservations.tests.regressions.failing_hosts import TWO_MINUTES
from nova_reservations.tests.regressions.failing_hosts import used
from nova_reservations.tests.regressions.failing_hosts import WHOLE
from nova_reservations.types.servers import instance


@pytest.fixture
def region(make_region):
    """Two hosts; leases are healed if they need the host within the hour."""
    return make_region('one', 'two', healing_interval=HOUR)


@pytest.fixture
def repair(make_region):
    """Two hosts, which may be down for two minutes."""
    return make_region(
        'one', 'two', healing_interval=HOUR, down_after=TWO_MINUTES
    )


class TestDisabled:
    @pytest.mark.parametrize('service', [DISABLED, REBOOTING])
    def test_active_leases_keep_the_host_and_are_whole(self, region, service):
        lease = region.active_lease(end=300)
        name = holds_of(region, lease)
        see(region, service, name)
        region.now += minutes(60)
        see(region, service, name)
        assert used(region, lease) == {name}
        assert flags(region, lease) == WHOLE

    def test_no_new_lease_gets_it(self, region):
        see(region, DISABLED, 'one')
        with pytest.raises(exception.NotEnoughResources):
            region.lease(minimum=2)
        see(region, None, 'one')
        assert region.lease(minimum=2)

    @pytest.mark.parametrize('service', [DISABLED, SILENT, FORCED_DOWN])
    def test_a_disabled_host_is_not_free(self, repair, service):
        repair.lease(end=300, **on('one'))
        see(repair, service, 'one')
        [point] = repair.hosts.capacity(
            repair.now,
            repair.now + minutes(60),
            minutes(60),
            repair.now,
        )
        assert point.free == 1

    def test_a_lease_that_was_planned_before_fails(self, region):
        """The generation of the host has changed since the plan."""
        with region.database.reader() as session:
            found = candidates.find(
                session,
                search.Wanted('one', booking.wanted(), booking.window(0, 1)),
                search.Search(booking.NOW),
            )
        see(region, DISABLED, 'one')
        planned = {
            one.resource.id: one.generation
            for one in found
            if one.resource.name == 'one'
        }
        with (
            pytest.raises(exception.Conflict),
            region.database.writer() as session,
        ):
            allocations.advance(session, planned)

    def test_an_active_lease_there_can_be_extended(self, region):
        lease = region.active_lease(end=60)
        name = holds_of(region, lease)
        see(region, DISABLED, name)
        region.change(lease, end=120)
        region.work()
        assert used(region, lease) == {name}

    def test_slots_there_can_be_extended(self, make_region):
        region = make_region(
            'one', types={'virtual:instance': instance.VirtualInstance}
        )
        lease = region.lease_of(SLOT)
        region.work()
        see(region, DISABLED, 'one')
        region.change(lease, end=120)
        region.work()
        assert region.hosts_of(lease) == {'one'}
        with pytest.raises(exception.NotEnoughResources):
            region.lease_of(SLOT)

    def test_a_coming_lease_is_moved_when_it_is_prepared(self, region):
        """The lease is prepared before the next check."""
        lease = region.lease(start=69, end=200)
        name = holds_of(region, lease)
        see(region, DISABLED, name)
        assert holds_of(region, lease) != name
        assert flags(region, lease) == WHOLE

    def test_a_lease_that_comes_later_keeps_a_disabled_host_for_now(
        self, region
    ):
        lease = region.lease(start=71, end=200)
        name = holds_of(region, lease)
        see(region, DISABLED, name)
        assert holds_of(region, lease) == name
        region.now += minutes(2)
        healed_by(region)
        assert holds_of(region, lease) != name

    def test_a_coming_lease_that_can_not_be_moved_is_flagged(self, region):
        lease = region.lease(start=30, end=200, minimum=2)
        see(region, DISABLED, 'one')
        assert flags(region, lease) == MISSING
        see(region, None, 'one')
        assert flags(region, lease) == WHOLE

    def test_a_lease_that_lacks_a_disabled_host_stays_so_when_it_has_begun(
        self, region
    ):
        lease = region.lease(start=30, end=200, minimum=2)
        see(region, DISABLED, 'one')
        region.forward(until=31)
        healed_by(region)
        assert region.status(lease) == 'ACTIVE'
        assert flags(region, lease) == MISSING
        region.add_host('three')
        region.work()
        assert used(region, lease) == {'two', 'three'}
