# SPDX-License-Identifier: Apache-2.0
"""Pools that a lease gives back, or had to leave, and when others may have
them."""

import dataclasses
import datetime

import pytest

from nova_reservations.testing.pools import asked
from nova_reservations.testing.pools import enrol
from nova_reservations.testing.pools import FAST
from nova_reservations.testing.pools import MONITORS
from nova_reservations.testing.pools import SLOW
from nova_reservations.testing.pools import there
from nova_reservations.testing.pools import TYPES
from nova_reservations.testing.pools import whole
from nova_reservations.testing.region import minutes
from nova_reservations.types.cinder import fake as fake_volumes


@pytest.fixture
def region(make_region):
    """A host, and two pools of 100 GiB."""
    region = make_region('one', types=TYPES, monitors=MONITORS)
    enrol(region, FAST, SLOW)
    return region


@pytest.fixture
def one_left(make_region):
    """Makes a region with an active lease of a pool; returns the region, the
    lease, and the name of its volume type."""

    def make(**more):
        region = make_region('one', types=TYPES, monitors=MONITORS, **more)
        enrol(region, FAST, SLOW)
        region.cloud.volumes.add_type('open', pool_name='open')
        lease = region.lease_of(whole(volume_type='fast'))
        region.work()
        (name,) = region.cloud.volumes.access
        return region, lease, name

    return make


def test_a_volume_that_was_let_in_just_before_the_end_is_seen(one_left):
    region, lease, name = one_left(settle=datetime.timedelta(seconds=30))
    volumes = region.cloud.volumes
    region.forward(until=60.3)
    assert region.status(lease) == 'TERMINATING'
    assert 'on their way' in region.see(lease).status_reason
    volumes.access[name].add('lessee')
    volumes.make('lessee', name, 30)
    volumes.access[name].clear()
    region.forward(until=62)
    assert region.status(lease) == 'TERMINATED'
    assert there(region) == []


def test_a_pool_settles_from_when_access_could_be_taken(
    one_left,
):
    region, lease, name = one_left()
    volumes = region.cloud.volumes
    volumes.is_silent = True
    region.forward(until=62)
    volumes.is_silent = False
    region.now = region.next_due()
    region.work()
    assert volumes.access[name] == set()
    assert region.status(lease) == 'TERMINATING'
    assert 'on their way' in region.see(lease).status_reason
    region.forward(until=63)
    assert region.status(lease) == 'TERMINATED'


def test_no_pool_is_left_to_which_a_volume_may_still_come(one_left):
    region, lease, name = one_left()
    volumes = region.cloud.volumes
    volumes.make('lessee', 'open', 30, 'late')
    (late,) = volumes.find_volumes('lessee')
    volumes.slow = True
    assert volumes.retype_volume(late, name, lambda: None) is None
    region.forward(until=62)
    assert region.status(lease) == 'TERMINATING'
    assert 'Volume late is being given' in region.see(lease).status_reason
    volumes.finish()
    volumes.slow = False
    region.forward(until=64)
    assert region.status(lease) == 'TERMINATED'
    assert there(region) == []


def test_a_pool_that_has_failed_is_kept_while_a_volume_may_come_to_it(
    one_left,
):
    region, _, name = one_left()
    volumes = region.cloud.volumes
    volumes.make('lessee', 'open', 30, 'late')
    (late,) = volumes.find_volumes('lessee')
    volumes.slow = True
    volumes.retype_volume(late, name, lambda: None)
    volumes.pools[FAST] = dataclasses.replace(volumes.pools[FAST], up=False)
    for _ in range(3):
        region.look()
    assert name in volumes.types
    volumes.finish()
    for _ in range(3):
        region.look()
    assert name in volumes.types
    assert volumes.made[late.id].pool == FAST


def test_a_pool_that_has_failed_is_kept_while_a_copied_volume_is_deleted_there(
    one_left,
):
    region, _, name = one_left()
    volumes = region.cloud.volumes
    volumes.make('lessee', name, 30)
    (gone,) = volumes.find_volumes('lessee')
    volumes.copies = True
    volumes.retype_volume(gone, 'open', lambda: None)
    volumes.pools[FAST] = dataclasses.replace(volumes.pools[FAST], up=False)
    for _ in range(3):
        region.look()
    assert name in volumes.types
    volumes.finish()
    for _ in range(3):
        region.look()
    assert name not in volumes.types


def test_empty_groups_that_name_its_type_do_not_keep_a_pool(region):
    volumes = region.cloud.volumes
    lease = region.lease_of(whole())
    region.work()
    (name,) = volumes.types
    volumes.add_type('open', pool_name='open')
    volumes.add_group('its own', 'lessee', name)
    volumes.add_group("a stranger's", 'other', name)
    volumes.add_group('of something else', 'other', 'open')
    region.forward(until=62)
    assert region.status(lease) == 'TERMINATED'
    assert volumes.groups.keys() == {'of something else'}


def test_a_group_of_other_volume_types_is_left_and_keeps_no_pool(region):
    volumes = region.cloud.volumes
    lease = region.lease_of(whole())
    region.work()
    (name,) = volumes.types
    volumes.add_type('open', pool_name='open')
    volumes.add_group("a stranger's", 'other', name, 'open')
    region.forward(until=62)
    assert region.status(lease) == 'TERMINATED'
    assert volumes.groups.keys() == {"a stranger's"}


def test_groups_that_somebody_makes_again_and_again_keep_no_pool(region):
    volumes = region.cloud.volumes
    lease = region.lease_of(whole())
    region.forward(until=60)
    (name,) = volumes.types
    for number in range(4):
        assert region.status(lease) != 'TERMINATED'
        volumes.add_group(f'group {number}', 'other', name)
        region.now += minutes(0.5)
        region.work()
    assert region.status(lease) == 'TERMINATED'


@pytest.mark.parametrize('why', ['grouped', 'undeletable'])
def test_groups_that_can_not_be_deleted_keep_its_type_and_not_the_pool(
    region, why, caplog
):
    volumes = region.cloud.volumes
    lease = region.lease_of(whole(volume_type='fast'))
    region.work()
    (name,) = volumes.types
    volumes.add_group('theirs', 'other', name)
    getattr(volumes, why).add('theirs')
    region.forward(until=63)
    assert region.status(lease) == 'TERMINATED'
    assert volumes.types.keys() == {name}
    assert volumes.access[name] == set()
    assert f'Group theirs of project other keeps volume type {name}' in (
        caplog.text
    )
    region.lease_of(whole(volume_type='fast'), end=90)
    found = region.services.audit
    (left,) = found.of_types(region.now)
    assert 'first delete group theirs of project other' in left.problem
    volumes.groups.clear()
    (left,) = found.of_types(region.now)
    left.repair()
    assert volumes.types == {}


def test_nobody_has_access_after_the_end_whom_else_it_was_given_to(region):
    volumes = region.cloud.volumes
    region.lease_of(whole())
    region.work()
    (name,) = volumes.types
    volumes.access[name].add('other')
    volumes.add_group('theirs', 'other', name)
    volumes.grouped.add('theirs')
    region.forward(until=62)
    assert volumes.access[name] == set()


def failed(region, kind):
    """Return a lease of which one pool has failed and is empty, the name of
    that pool, and the lease's volume type."""
    lease = region.lease_of(kind)
    region.work()
    (first,) = region.hosts_of(lease)
    (name,) = region.cloud.volumes.types
    region.cloud.volumes.made.clear()
    del region.cloud.volumes.pools[first]
    return lease, first, name


@pytest.mark.parametrize('kind', [asked(10), whole()])
def test_a_failed_pool_whose_type_others_have_disturbs_nobody(
    region, kind, caplog
):
    lease, first, name = failed(region, kind)
    volumes = region.cloud.volumes
    volumes.access[name].add('other')
    volumes.make('other', name, 1)
    (theirs,) = volumes.made
    for _ in range(3):
        region.look()
    caplog.clear()
    seen = region.see(lease)
    region.now += minutes(1)
    region.look()
    assert region.see(lease) == seen
    assert seen.prepared
    assert name in volumes.types
    assert f'can not leave pool {first}' in caplog.text
    assert f'volume {theirs} of project other' in caplog.text
    del volumes.made[theirs]
    for _ in range(3):
        region.look()
    assert name not in volumes.types


@pytest.mark.parametrize('kind', [asked(10), whole()])
def test_a_failed_pool_whose_type_a_group_has_is_free(region, kind):
    lease, first, name = failed(region, kind)
    volumes = region.cloud.volumes
    volumes.add_group('theirs', 'other', name)
    volumes.grouped.add('theirs')
    for _ in range(3):
        region.look()
    seen = region.see(lease)
    region.now += minutes(1)
    region.look()
    assert region.see(lease) == seen
    volumes.pools[first] = fake_volumes.pool(first)
    region.look()
    then = region.lease_of(whole(), project='other')
    assert region.hosts_of(then) == {first}
