# SPDX-License-Identifier: Apache-2.0
"""A host that came back soon had lost its leases for good, and their servers
stayed behind on it. Issue 13, item 10.
"""

import pytest

from nova_reservations.testing.region import minutes
from nova_reservations.tests.regressions.failing_hosts import CHANGED
from nova_reservations.tests.regressions.failing_hosts import DISABLED
from nova_reservations.tests.regressions.failing_hosts import flags
from nova_reservations.tests.regressions.failing_hosts import holds_of
from nova_reservations.tests.regressions.failing_hosts import HOUR
from nova_reservations.tests.regressions.failing_hosts import see
from nova_reservations.tests.regressions.failing_hosts import SILENT
from nova_reservations.tests.regressions.failing_hosts import SLOT
from nova_reservations.tests.regressions.failing_hosts import used
from nova_reservations.tests.regressions.failing_hosts import WHOLE
from nova_reservations.types.servers import instance


@pytest.fixture
def region(make_region):
    """Two hosts; leases are healed if they need the host within the hour."""
    return make_region('one', 'two', healing_interval=HOUR)


class TestTheOldHostIsBack:
    @pytest.fixture
    def lease(self, region):
        lease = region.active_lease(end=300)
        region.cloud.boot(holds_of(region, lease), 'lessee', 'stays')
        return lease

    @pytest.fixture
    def old(self, region, lease):
        name = holds_of(region, lease)
        see(region, SILENT, name)
        region.now += minutes(5)
        region.look()
        return name

    def test_the_old_host_is_had_and_the_new_one_is_given_back(
        self, region, lease, old
    ):
        [new] = used(region, lease)
        assert new != old
        see(region, None, old)
        assert used(region, lease) == {old}
        assert flags(region, lease) == WHOLE
        assert region.told(lease)[-1] == 'healed'
        region.now += minutes(1)
        region.look()
        assert region.hosts_of(lease) == {old}
        assert region.hosts_of(region.lease(end=30)) == {new}
        region.work()
        # A second look finds nothing to do.
        before = region.picture()
        region.look()
        assert region.picture() == before

    def test_the_new_host_stays_while_it_is_used(self, region, lease, old):
        [new] = used(region, lease)
        region.cloud.boot(new, 'lessee', 'new')
        see(region, None, old)
        assert used(region, lease) == {new}
        assert flags(region, lease) == CHANGED
        # The old host is given back when the owner's server has left the new
        # one.
        del region.cloud.instances['new']
        region.look()
        assert used(region, lease) == {old}

    def test_the_new_host_stays_where_the_owner_has_taken_note(
        self, region, lease, old
    ):
        [new] = used(region, lease)
        region.acknowledge(lease)
        see(region, None, old)
        assert used(region, lease) == {new}

    def test_the_new_host_stays_while_others_have_the_old_one(
        self, region, lease, old
    ):
        [new] = used(region, lease)
        region.cloud.boot(new, 'lessee', 'new')
        del region.cloud.instances['stays']
        see(region, None, old)
        other = region.lease(start=60, end=120)
        assert region.hosts_of(other) == {old}
        del region.cloud.instances['new']
        region.look()
        assert used(region, lease) == {new}
        region.delete(other)
        region.look()
        assert used(region, lease) == {old}

    def test_the_new_host_stays_where_the_old_one_is_disabled(
        self, region, lease, old
    ):
        [new] = used(region, lease)
        see(region, DISABLED, old)
        assert used(region, lease) == {new}

    def test_slots_go_back_too(self, make_region):
        region = make_region(
            'one',
            'two',
            types={'virtual:instance': instance.VirtualInstance},
        )
        lease = region.lease_of(SLOT, end=300)
        region.work()
        old = holds_of(region, lease)
        see(region, SILENT, old)
        assert flags(region, lease) == CHANGED
        see(region, None, old)
        assert used(region, lease) == {old}
        assert flags(region, lease) == WHOLE
        region.now += minutes(1)
        region.look()
        assert region.hosts_of(lease) == {old}

    def test_the_new_host_stays_where_the_owner_takes_note_at_that_moment(
        self, region, lease, old
    ):
        """The owner acknowledges after the look at Nova, and before the
        transaction."""
        [new] = used(region, lease)
        region.cloud.recover(old)
        region.monitoring.poll(region.now)

        def meanwhile(step):
            region.database.before = lambda step: None
            region.acknowledge(lease)

        region.database.before = meanwhile
        region.look()
        assert used(region, lease) == {new}
