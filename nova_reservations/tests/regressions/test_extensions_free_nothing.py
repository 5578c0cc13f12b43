# SPDX-License-Identifier: Apache-2.0
"""Each change of a lease told all waiting and all degraded leases that
capacity had come free. A member who extended a lease again and again had
workers walk through the whole queue each time.

Issue 13, item 6, seen from a member.
"""

import pytest

from nova_reservations.tests.regressions import test_capacity_came_free as came

MANY = came.MANY


@pytest.fixture
def region(make_region):
    region = make_region('one', 'two', 'three')
    region.active_lease(end=600)
    region.retry(minimum=MANY, end=600, retries=50)
    region.work()
    assert not came.told(region)
    return region


@pytest.mark.parametrize('change', [{'end': 70}, {'start': 20}, {'end': 60}])
def test_a_lease_that_keeps_all_that_it_has_frees_nothing(region, change):
    lease = region.lease(start=30, end=60)
    region.change(lease, **change)
    assert not came.told(region)


@pytest.mark.parametrize('change', [{'end': 50}, {'start': 40, 'end': 70}])
def test_time_that_is_given_back_is_told(region, change):
    lease = region.lease(start=30, end=60)
    region.change(lease, **change)
    assert came.told(region) == {'waiting'}


def test_a_host_that_is_given_back_for_another_is_told(region):
    first = region.lease(start=30, end=60)
    # The second lease has the same host right after the first one, which must
    # therefore move to stay longer.
    second = region.lease(start=60, end=90)
    assert region.hosts_of(first) == region.hosts_of(second)
    assert not came.told(region)
    region.change(first, end=70)
    assert region.hosts_of(first) != region.hosts_of(second)
    assert came.told(region) == {'waiting'}
