# SPDX-License-Identifier: Apache-2.0
"""A host that was silent for a minute lost its active leases, and no option
could prevent that. Issue 13, item 10.
"""

import datetime

import pytest

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations import ports
from nova_reservations.objects import states
from nova_reservations.testing.region import minutes
from nova_reservations.tests.regressions.failing_hosts import CHANGED
from nova_reservations.tests.regressions.failing_hosts import flags
from nova_reservations.tests.regressions.failing_hosts import FORCED_DOWN
from nova_reservations.tests.regressions.failing_hosts import holds_of
from nova_reservations.tests.regressions.failing_hosts import HOUR
from nova_reservations.tests.regressions.failing_hosts import MISSING
from nova_reservations.tests.regressions.failing_hosts import REBOOTING
from nova_reservations.tests.regressions.failing_hosts import see
from nova_reservations.tests.regressions.failing_hosts import SILENT
from nova_reservations.tests.regressions.failing_hosts import TWO_MINUTES
from nova_reservations.tests.regressions.failing_hosts import used
from nova_reservations.tests.regressions.failing_hosts import WHOLE


@pytest.fixture
def repair(make_region):
    """Two hosts, which may be down for two minutes."""
    return make_region(
        'one', 'two', healing_interval=HOUR, down_after=TWO_MINUTES
    )


class TestDown:
    def test_fails_if_it_lasts(self, repair):
        lease = repair.active_lease(end=300)
        name = holds_of(repair, lease)
        see(repair, SILENT, name)
        repair.now += TWO_MINUTES - datetime.timedelta(seconds=1)
        repair.look()
        assert used(repair, lease) == {name}
        assert flags(repair, lease) == WHOLE
        repair.now += datetime.timedelta(seconds=1)
        repair.look()
        assert name not in used(repair, lease)
        assert flags(repair, lease) == CHANGED

    def test_begins_anew_when_it_was_back(self, repair):
        lease = repair.active_lease(end=300)
        name = holds_of(repair, lease)
        for service in (SILENT, None, SILENT):
            see(repair, service, name)
            repair.now += minutes(1.5)
        assert used(repair, lease) == {name}

    def test_begins_anew_when_nobody_could_tell(self, repair):
        lease = repair.active_lease(end=300)
        name = holds_of(repair, lease)
        see(repair, SILENT, name)
        repair.cloud.silent.add(repair.cloud.cell_of(name))
        for _ in range(3):
            repair.now += minutes(1)
            repair.look()
        repair.cloud.silent.clear()
        repair.look()
        assert used(repair, lease) == {name}
        repair.now += TWO_MINUTES
        repair.look()
        assert name not in used(repair, lease)

    def test_no_new_lease_gets_it_at_once(self, repair):
        see(repair, SILENT, 'one')
        with pytest.raises(exception.NotEnoughResources):
            repair.lease(minimum=2)

    def test_nova_that_gives_up_on_a_host_by_itself_is_down(self, repair):
        """Libvirt fails, and nova-compute therefore disables its own
        service."""
        lease = repair.active_lease(end=300)
        name = holds_of(repair, lease)
        gave_up = ports.ComputeService(True, True, False, gave_up=True)
        see(repair, gave_up, name)
        repair.now += TWO_MINUTES
        repair.look()
        assert name not in used(repair, lease)

    def test_a_failed_host_is_not_mended_by_disabling_it(self, repair):
        lease = repair.active_lease(end=300)
        name = holds_of(repair, lease)
        repair.add_host('three')
        see(repair, FORCED_DOWN, name)
        see(repair, REBOOTING, name)
        assert name not in used(repair, lease)
        [failed] = repair.hosts.find(objects.HostQuery(name=name))
        assert failed.down_since

    def test_forced_down_is_failed_at_once(self, repair):
        lease = repair.active_lease(end=300)
        name = holds_of(repair, lease)
        see(repair, FORCED_DOWN, name)
        assert name not in used(repair, lease)


@pytest.mark.parametrize(
    'heal_active, service, moved',
    [
        ('failed', SILENT, True),
        ('failed', FORCED_DOWN, True),
        ('forced_down', SILENT, False),
        ('forced_down', FORCED_DOWN, True),
        ('never', SILENT, False),
        ('never', FORCED_DOWN, False),
    ],
)
class TestHealActive:
    @pytest.fixture
    def region(self, make_region, heal_active):
        return make_region(
            'one', 'two', heal_active=states.HealActive(heal_active)
        )

    def test_says_what_active_leases_get(self, region, service, moved):
        lease = region.active_lease(end=300)
        name = holds_of(region, lease)
        see(region, service, name)
        assert flags(region, lease) == (CHANGED if moved else MISSING)
        assert len(used(region, lease)) == moved
        assert region.see(lease).degraded

    def test_says_nothing_of_those_that_come(self, region, service, moved):
        lease = region.lease(start=30, end=200)
        name = holds_of(region, lease)
        see(region, service, name)
        assert holds_of(region, lease) != name

    def test_is_not_asked_where_the_owner_asks(self, region, service, moved):
        lease = region.active_lease(end=300)
        name = holds_of(region, lease)
        see(region, service, name)
        if moved:
            with pytest.raises(exception.InvalidState, match='has failed'):
                region.healing.replace_failed(lease.id, region.now)
            return
        shown = region.healing.replace_failed(lease.id, region.now)
        region.work()
        assert shown.reservations[0].resources_changed
        assert used(region, lease) == {'one', 'two'} - {name}
        assert flags(region, lease) == CHANGED
        assert region.told(lease)[-2:] == ['degraded', 'healed']


def test_a_host_that_is_fenced_later_is_replaced_then(make_region):
    region = make_region(
        'one', 'two', heal_active=states.HealActive.FORCED_DOWN
    )
    lease = region.active_lease(end=300)
    name = holds_of(region, lease)
    see(region, SILENT, name)
    assert flags(region, lease) == MISSING
    see(region, FORCED_DOWN, name)
    assert flags(region, lease) == CHANGED


class TestReplaceFailed:
    @pytest.fixture
    def region(self, make_region):
        return make_region('one', 'two', heal_active=states.HealActive.NEVER)

    def test_is_refused_where_nothing_is_free(self, region):
        lease = region.active_lease(end=300, minimum=2)
        see(region, SILENT, 'one')
        with pytest.raises(exception.NotEnoughResources, match='is free'):
            region.healing.replace_failed(lease.id, region.now)
        assert used(region, lease) == {'two'}

    def test_is_refused_when_the_lease_is_over(self, region):
        lease = region.active_lease(end=10)
        region.forward(until=11)
        with pytest.raises(exception.InvalidState, match='PENDING or ACTIVE'):
            region.healing.replace_failed(lease.id, region.now)

    def test_of_nothing_that_there_is(self, region):
        with pytest.raises(exception.NotFound):
            region.healing.replace_failed('none', region.now)
