# SPDX-License-Identifier: Apache-2.0
"""The capacity that is told, compared with leases of exactly one step.

Decision 0037: doc/source/decisions/0037-free-is-the-most-that-is-granted
"""

import contextlib

import hypothesis
from hypothesis import strategies as st
import pytest

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations.db.holdings import commitments
from nova_reservations.engine.booking import lease_requests
from nova_reservations.engine.outlook import capacity
from nova_reservations.objects import holds
from nova_reservations.testing import region as regions
from nova_reservations.testing.region import minutes
from nova_reservations.tests import profile
from nova_reservations.tests.functional.engine import test_shares
from nova_reservations.types.servers import host

HOSTS = ('one', 'two', 'three', 'four')
GPU = {'resource_properties': '["==", "$gpu", "yes"]'}
STEP = 20
STEPS = 6
SHARE = test_shares.SHARE

quick = hypothesis.settings(
    max_examples=profile.examples(40),
    deadline=None,
    suppress_health_check=[
        hypothesis.HealthCheck.too_slow,
        hypothesis.HealthCheck.function_scoped_fixture,
    ],
)
windows = st.tuples(
    st.integers(0, 130),
    st.integers(10, 60),
    st.integers(1, 2),
    st.sampled_from([{}, {}, GPU]),
)
conditions = st.sampled_from(
    [None, None, None, {}, {'disabled': True}, {'forced_down': True}]
)


def told(region, start=0, steps=STEPS, **asked):
    begin = region.now + minutes(start)
    return region.hosts.capacity(
        begin,
        begin + minutes(steps * STEP),
        minutes(STEP),
        region.now,
        capacity.Asked('lessee', 'user', **asked) if asked else None,
    )


def is_granted(region, kind, params, start, end):
    """Return whether a lease would be granted, by a dry run."""
    item = lease_requests.NewReservation(kind, params)
    asked = lease_requests.NewLease(
        'a lease', 'lessee', 'user', start, end, None, (item,)
    )
    try:
        region.leases.create(asked, region.now, dry_run=True)
    except exception.NotEnoughResources:
        return False
    return True


def granted(region, point, **required):
    """Return the largest number of hosts that a lease of the step is
    granted."""
    for count in range(len(HOSTS), 0, -1):
        params = {'min': count, 'max': count, **required}
        if is_granted(region, objects.HOST, params, point.start, point.end):
            return count
    return 0


@contextlib.contextmanager
def a_cloud(tmp_path_factory, leases, failures, later, cleaning, gpus=0):
    factory = regions.Factory(tmp_path_factory.mktemp('region'))
    with contextlib.closing(factory):
        region = factory(*HOSTS, cleaning_time=minutes(cleaning))
        for each in region.hosts.find(objects.HostQuery())[:gpus]:
            region.hosts.update(each.id, {'gpu': 'yes'}, region.now)
        for begin, length, count, asked in leases:
            with contextlib.suppress(exception.NotEnoughResources):
                region.lease(
                    begin, begin + length, count, **(asked if gpus else {})
                )
        region.work()
        for name, how in zip(HOSTS, failures, strict=True):
            if how is not None:
                region.cloud.fail(name, **how)
        region.look()
        # No worker runs meanwhile: leases that are past their end still hold
        # hosts.
        region.now += minutes(later)
        region.monitoring.poll(region.now)
        yield region


cloud = {
    'leases': st.lists(windows, max_size=8),
    'failures': st.lists(conditions, min_size=4, max_size=4),
    'later': st.integers(0, 90),
    'cleaning': st.sampled_from([0, 0, 5, 25]),
    'start': st.sampled_from([0, 1, 30]),
}


@quick
@hypothesis.given(**cloud)
def test_of_equal_hosts_just_as_many_are_granted_as_are_told_to_be_free(
    tmp_path_factory, leases, failures, later, cleaning, start
):
    with a_cloud(
        tmp_path_factory, leases, failures, later, cleaning
    ) as region:
        points = told(region, start)
        assert [point.free for point in points] == [
            granted(region, point) for point in points
        ]


@quick
@hypothesis.given(gpus=st.integers(1, 3), **cloud)
def test_of_any_hosts_no_more_are_granted_and_no_fewer_than_without_moves(
    tmp_path_factory, gpus, leases, failures, later, cleaning, start
):
    with a_cloud(
        tmp_path_factory, leases, failures, later, cleaning, gpus
    ) as region:
        item = lease_requests.NewReservation(
            objects.HOST, {'min': 1, 'max': 1, **GPU}
        )
        for points, required in (
            (told(region, start), {}),
            (told(region, start, reservation=item), GPU),
        ):
            for point in points:
                count = granted(region, point, **required)
                assert point.unmoved <= count <= point.free
                assert point.free <= point.hosts


shares = st.tuples(
    st.integers(0, 130),
    st.integers(10, 60),
    st.integers(1, 3),
    st.integers(1, 2),
    st.booleans(),
)


@quick
@hypothesis.given(
    leases=st.lists(shares, max_size=6),
    failures=st.lists(conditions, min_size=2, max_size=2),
    later=st.integers(0, 90),
    cleaning=st.sampled_from([0, 0, 25]),
    start=st.sampled_from([0, 1, 30]),
)
def test_just_as_many_slots_are_granted_as_are_told(
    tmp_path_factory, leases, failures, later, cleaning, start
):
    factory = regions.Factory(tmp_path_factory.mktemp('region'))
    with contextlib.closing(factory):
        region = factory(
            'one',
            'two',
            types={objects.HOST: host.PhysicalHost, SHARE: test_shares.Shares},
            cleaning_time=minutes(cleaning),
        )
        for begin, length, count, size, whole in leases:
            with contextlib.suppress(exception.NotEnoughResources):
                region.lease_of(
                    test_shares.whole()
                    if whole
                    else test_shares.share(count, size, 1000 * size),
                    start=begin,
                    end=begin + length,
                )
        region.work()
        for name, how in zip(('one', 'two'), failures, strict=True):
            if how is not None:
                region.cloud.fail(name, **how)
        region.look()
        region.now += minutes(later)
        region.monitoring.poll(region.now)
        kind, slot = test_shares.share(1, 2, 1500)
        points = told(
            region,
            start,
            reservation=lease_requests.NewReservation(kind, slot),
        )
        for point in points:
            for count in {point.slots, point.slots + 1} - {0}:
                assert is_granted(
                    region,
                    kind,
                    {**slot, 'slots': count},
                    point.start,
                    point.end,
                ) == (count <= point.slots)


@pytest.fixture
def region(make_region):
    return make_region(*HOSTS)


def test_a_promise_that_would_move_does_not_keep_a_host(region):
    region.lease(0, 10, 2)
    region.lease(10, 20, 2)
    [point] = told(region, steps=1)
    assert (point.reserved, point.free) == (4 - point.unmoved, 2)


def test_holds_of_hosts_are_counted_by_their_reasons(region):
    region.cloud.fail('one', disabled=True)
    region.look()
    [point] = told(region, steps=1)
    assert (point.hosts, point.free) == (4, 3)
    assert point.holds == {'disabled': 1}


def test_a_hold_of_some_time_keeps_a_host_for_just_that_time(
    region, monkeypatch
):
    hold = holds.Hold(
        'cordoned',
        region.now + minutes(STEP),
        region.now + minutes(2 * STEP),
        'operator',
        frozenset({holds.Use.PROMISE}),
        'cordoned',
    )
    real = commitments.members

    def members(*asked):
        first, *others = real(*asked)
        return {first: (hold,), **dict.fromkeys(others, ())}

    monkeypatch.setattr(commitments, 'members', members)
    points = told(region, steps=3)
    assert [point.free for point in points] == [4, 3, 4]
    assert [point.holds for point in points] == [{}, {'cordoned': 1}, {}]
    assert [point.unmoved for point in points] == [
        point.free for point in points
    ]


def test_hosts_are_counted_by_the_projects_that_hold_them(region):
    region.lease(0, 10, 2, project='ours')
    region.lease(30, 40, 1, project='theirs')
    first, second, third = told(
        region, steps=3, reservation=None, by_project=True
    )
    assert first.projects == {'ours': 2}
    assert second.projects == {'theirs': 1}
    assert third.projects == {}


def test_only_hosts_of_the_zone_are_counted(region):
    [here] = told(region, steps=1, reservation=None, availability_zone='nova')
    [there] = told(region, steps=1, reservation=None, availability_zone='x')
    assert (here.hosts, there.hosts, there.free) == (4, 0, 0)


def test_more_than_is_read_for_one_answer_is_refused(region, monkeypatch):
    monkeypatch.setattr(capacity, 'MAX_ROWS', 1)
    region.lease(0, 10, 2)
    with pytest.raises(exception.InvalidInput, match='shorter time'):
        told(region, steps=1)
    assert told(region, start=10, steps=1)[0].free == 4


def test_more_numbers_of_projects_than_one_answer_has_are_refused(
    region, monkeypatch
):
    monkeypatch.setattr(capacity, 'MAX_SHARES', 1)
    region.lease(0, 10, 2)
    with pytest.raises(exception.InvalidInput, match='longer step'):
        told(region, steps=2, reservation=None, by_project=True)


def test_a_property_that_no_host_has_is_told(region):
    item = lease_requests.NewReservation(
        objects.HOST, {'min': 1, 'max': 1, **GPU}
    )
    with pytest.raises(exception.InvalidInput, match='no host has a property'):
        told(region, reservation=item)


def test_slots_are_told_for_fewer_steps_than_hosts(make_region):
    region = make_region('one', types=test_shares.TYPES)
    item = lease_requests.NewReservation(*test_shares.share())
    told(region, steps=1001)
    with pytest.raises(exception.InvalidInput, match='1000 steps'):
        told(region, steps=1001, reservation=item)
    with pytest.raises(exception.InvalidInput, match='10000 steps'):
        told(region, steps=10001)
