# SPDX-License-Identifier: Apache-2.0
"""A lease was refused although os-hosts/capacity told that hosts were free. It
counted hosts that had failed, and hosts that a lease has left and that are not
empty yet. Issue 13, item 15.
"""

import contextlib
import datetime

import hypothesis
from hypothesis import strategies as st

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations.objects import holds
from nova_reservations.testing import region as regions
from nova_reservations.tests import profile

HOSTS = ('one', 'two', 'three', 'four')
STEP = 20
STEPS = 6
"""The tests ask about this many steps of STEP minutes."""


def free(region, start=0, step=STEP, steps=1):
    """Return how many hosts are told to be free in each step from this minute
    on."""
    begin = region.now + regions.minutes(start)
    points = region.hosts.capacity(
        begin,
        begin + regions.minutes(steps * step),
        regions.minutes(step),
        region.now,
    )
    return [point.free for point in points]


def granted(region, start, end):
    """Return how many hosts a lease of this window is granted, and delete the
    lease."""
    try:
        lease = region.lease(start, end, 1, len(HOSTS))
    except exception.NotEnoughResources:
        return 0
    count = len(region.hosts_of(lease))
    region.delete(lease)
    return count


def test_a_host_that_has_failed_is_not_free(region):
    region.cloud.fail('one')
    region.look()
    region.now += regions.minutes(10)
    region.look()
    assert free(region, steps=3) == [2, 2, 2]


def test_a_host_that_is_disabled_is_not_free(region):
    region.cloud.fail('one', disabled=True)
    region.look()
    assert free(region, steps=3) == [2, 2, 2]


def test_a_host_that_its_lease_has_not_left_is_not_free_now(region):
    lease = region.active_lease()
    [host] = region.hosts_of(lease)
    region.cloud.boot(host, 'somebody else')
    region.forward(until=61)
    assert free(region, steps=3) == [2, 3, 3]


def test_a_host_is_not_free_while_it_is_cleaned(make_region):
    region = make_region(
        'one', 'two', cleaning_time=datetime.timedelta(minutes=STEP)
    )
    region.lease(2 * STEP, 3 * STEP)
    assert free(region, steps=5) == [2, 1, 1, 1, 2]


windows = st.tuples(
    st.integers(0, 130), st.integers(10, 60), st.integers(1, 2)
)
conditions = st.sampled_from(
    [None, None, {}, {'disabled': True}, {'forced_down': True}]
)


@hypothesis.settings(
    profile.guard(40),
    deadline=None,
    suppress_health_check=[
        hypothesis.HealthCheck.too_slow,
        hypothesis.HealthCheck.function_scoped_fixture,
    ],
)
@hypothesis.given(
    leases=st.lists(windows, max_size=6),
    failures=st.lists(conditions, min_size=4, max_size=4),
    later=st.integers(0, 90),
    looked=st.booleans(),
    cleaning=st.sampled_from([0, 0, 5, 25]),
    start=st.sampled_from([0, 1, 30]),
)
def test_free_is_what_a_lease_of_just_that_step_is_granted(
    tmp_path_factory, leases, failures, later, looked, cleaning, start
):
    factory = regions.Factory(tmp_path_factory.mktemp('region'))
    with contextlib.closing(factory):
        region = factory(
            *HOSTS,
            cleaning_time=regions.minutes(cleaning),
            # More may be granted when promises of other leases move.
            replan_limit=0,
        )
        for begin, length, count in leases:
            with contextlib.suppress(exception.NotEnoughResources):
                region.lease(begin, begin + length, count)
        region.work()
        for host, how in zip(HOSTS, failures, strict=True):
            if how is not None:
                region.cloud.fail(host, **how)
        if looked:
            region.look()
        # No worker runs meanwhile: leases that are past their end still hold
        # hosts.
        region.now += regions.minutes(later)
        if looked:
            region.monitoring.poll(region.now)
        told = free(region, start, STEP, STEPS)
        assert told == [
            granted(region, start + n * STEP, start + (n + 1) * STEP)
            for n in range(STEPS)
        ]
        # No lease has a host then: only a hold on a host forbids its use.
        assert granted(region, 10_000, 10_060) == sum(
            not holds.forbidding(host, holds.Use.PROMISE)
            for host in region.hosts.find(objects.HostQuery())
        )
