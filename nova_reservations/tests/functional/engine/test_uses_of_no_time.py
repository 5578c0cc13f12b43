# SPDX-License-Identifier: Apache-2.0
"""A host that fails in the second in which a lease has got slots on it: the
use of it is over when it begins, and yet it is not released."""

import datetime

import pytest

from nova_reservations.testing.region import minutes
from nova_reservations.tests.functional.engine import test_instances
from nova_reservations.tests.functional.engine import test_limits
from nova_reservations.tests.functional.engine.test_instances import slots

SECOND = datetime.timedelta(seconds=1)


@pytest.fixture
def region(make_region):
    region = make_region('one', 'two', 'three', types=test_instances.TYPES)
    lease = test_instances.active(region, *slots(8))
    [first] = region.hosts_of(lease)
    region.now += minutes(1)
    region.change(lease, amount=9)
    [new] = region.hosts_of(lease) - {first}
    region.cloud.fail(new, forced_down=True)
    region.monitoring.poll(region.now)
    region.healing.heal(region.now)
    region.cloud.recover(new)
    region.monitoring.poll(region.now)
    assert new in region.hosts_of(lease)
    return region


@pytest.fixture(params=[-1, 0, 1], ids=['before', 'then', 'after'])
def seen_at(region, request):
    """Clocks of processes differ by a second."""
    region.now += request.param * SECOND


@pytest.mark.usefixtures('seen_at')
class TestWhileItIsNotReleased:
    def test_slots_are_promised(self, region):
        assert region.hosts_of(region.lease_of(slots(1), end=90))

    def test_a_host_is_promised_for_later(self, region):
        lease = region.lease(minimum=3, start=120, end=180)
        assert len(region.hosts_of(lease)) == 3

    def test_a_use_of_no_time_counts_against_limits(self, region):
        test_limits.limit(region, slots=10, host_hours=100)
        with test_limits.refused('slots'):
            region.lease_of(slots(9), end=90)
        assert region.hosts_of(region.lease_of(slots(1), end=90))

    def test_an_audit_finds_nothing_wrong_with_it(self, region):
        assert [
            finding.problem
            for finding in region.services.audit.findings(region.now)
        ] == []

    def test_capacity_is_told(self, region):
        [point, *_] = region.hosts.capacity(
            region.now, region.now + minutes(60), minutes(20), region.now, None
        )
        assert point
