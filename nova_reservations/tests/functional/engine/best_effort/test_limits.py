# SPDX-License-Identifier: Apache-2.0
"""Hosts are not emptied for a project that its limits keep from having
them.
"""

import pytest

from nova_reservations import exception
from nova_reservations.objects import states
from nova_reservations.testing.region import minutes
from nova_reservations.tests.functional.engine import test_end
from nova_reservations.tests.functional.engine import test_limit_order
from nova_reservations.tests.functional.engine import test_limits
from nova_reservations.tests.functional.engine.best_effort import draining


def test_no_host_is_emptied_for_more_than_may_be_had(region):
    test_limits.limit(region, hosts=1)
    with pytest.raises(exception.OverLimit, match='2 hosts'):
        region.best_effort(minimum=2)


def test_a_booking_of_emptied_hosts_waits_for_others_before_all_else(region):
    test_limits.limit(region, hosts=2)
    lease = region.best_effort(minimum=2)
    with test_limit_order.transactions(region) as found:
        region.forward(until=0.4)
    assert region.status(lease) == states.Lease.ACTIVE
    test_limit_order.check_that_others_are_waited_for(found)


def test_emptied_hosts_are_left_where_they_have_become_too_many(region):
    test_limits.limit(region, hosts=2)
    lease = region.best_effort(minimum=2)
    assert lease.status == states.Lease.IN_PROGRESS
    test_limits.limit(region, hosts=1)
    region.forward(until=0.4)
    assert region.status(lease) == states.Lease.ERROR
    assert 'Over the limit: 2 hosts' in region.see(lease).status_reason
    assert region.hosts_of(lease) == set()


def test_hosts_that_its_project_has_not_given_back_yet_are_waited_for(
    make_clouds,
):
    region = make_clouds('green', best_effort_timeout=minutes(5))
    test_limits.limit(region, hosts=2)
    _, leaving = test_end.with_slow_server(region, end=0.5)
    region.lease(start=0.5)
    lease = draining.begun(region, minimum=1)
    region.forward(until=0.5)
    region.cloud.instances.pop('0 of green')
    region.forward(until=0.7)
    assert region.status(lease) == states.Lease.IN_PROGRESS
    assert 'Over the limit: 3 hosts' in region.see(lease).status_reason
    region.cloud.instances.pop(leaving)
    region.forward(until=1)
    assert region.status(lease) == states.Lease.ACTIVE
