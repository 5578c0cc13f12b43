# SPDX-License-Identifier: Apache-2.0
"""Volumes are leased, alone and with hosts."""

import dataclasses

import pytest

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations import ports
from nova_reservations.objects import pool as pools
from nova_reservations.testing.pools import asked
from nova_reservations.testing.pools import enrol
from nova_reservations.testing.pools import FAST
from nova_reservations.testing.pools import MONITORS
from nova_reservations.testing.pools import SLOW
from nova_reservations.testing.pools import there
from nova_reservations.testing.pools import TYPES
from nova_reservations.testing.region import minutes
from nova_reservations.types.cinder import fake as fake_volumes

pytestmark = pytest.mark.usefixtures('long_waits')

HOST = objects.HOST, {'min': 1, 'max': 1}


@pytest.fixture
def region(make_region):
    """A host, and two pools of 100 GiB."""
    region = make_region('one', types=TYPES, monitors=MONITORS)
    enrol(region, FAST, SLOW)
    return region


def of(project, size, count, status='available'):
    return [(project, size, status)] * count


def test_the_project_has_them_from_the_start_to_the_end(region):
    lease = region.lease_of(asked(10, 3), start=5)
    region.forward(until=4)
    assert there(region) == []
    region.forward(until=5)
    assert region.status(lease) == 'ACTIVE'
    assert there(region) == of('lessee', 10, 3)
    region.forward(until=61)
    assert region.status(lease) == 'TERMINATED'
    assert there(region) == []
    assert region.cloud.volumes.types == {}


def test_an_active_lease_shows_which_they_are(region):
    lease = region.lease_of(asked(10, 2))
    region.work()
    lease = region.see(lease)
    shown = region.lease_lists.usage(lease, lease.reservations[0])
    assert shown['volumes'] == sorted(region.cloud.volumes.made)


def test_a_pool_promises_no_more_than_it_has_at_any_instant(region):
    region.lease_of(asked(60, 2))
    with pytest.raises(exception.NotEnoughResources):
        region.lease_of(asked(41))
    region.lease_of(asked(40, 2))
    region.lease_of(asked(100, 2), start=60, end=90)


def test_no_volume_type_is_any(region):
    for nothing in None, '':
        lease = region.lease_of(asked(10, volume_type=nothing))
        assert region.hosts_of(lease)


def test_the_volume_type_says_which_pools_they_may_be_in(region):
    lease = region.lease_of(asked(10, 2, volume_type='slow'))
    assert region.hosts_of(lease) == {SLOW}
    with pytest.raises(exception.NotEnoughResources):
        region.lease_of(asked(90, 1, volume_type='slow'))
    with pytest.raises(exception.NotEnoughResources, match='0 storage pools'):
        region.lease_of(asked(1, volume_type='golden'))


def test_nobody_else_can_use_its_type_and_it_nothing_beyond_its_quota(region):
    lease = region.lease_of(asked(10, 2, volume_type='fast'))
    region.work()
    (made,) = region.cloud.volumes.types.values()
    assert not made.is_public
    assert made.reservation_id == lease.reservations[0].id
    assert region.cloud.volumes.access[made.name] == {'lessee'}
    assert region.cloud.volumes.quotas[made.name] == ports.VolumeQuota(
        volumes=2, gigabytes=20, snapshots=0
    )


def test_a_lease_of_hosts_and_volumes_starts_as_a_whole(region):
    region.cloud.volumes.without_quota.add('lessee')
    lease = region.lease_of(HOST, asked(10))
    region.work()
    assert region.status(lease) == 'ERROR'
    region.forward(until=2)
    assert region.aggregate_of(lease) is None
    assert region.cloud.volumes.types == {}


def test_a_start_waits_until_cinder_has_made_them(region):
    region.cloud.volumes.slow = True
    lease = region.lease_of(asked(10))
    region.work()
    assert region.status(lease) == 'STARTING'
    assert 'is being made' in region.see(lease).status_reason
    region.cloud.volumes.finish()
    region.forward(until=1)
    assert region.status(lease) == 'ACTIVE'
    assert there(region) == of('lessee', 10, 1)


def test_a_deletion_that_has_failed_is_told_of_and_repeated(region):
    lease = region.lease_of(asked(10))
    region.work()
    volumes = region.cloud.volumes
    volumes.slow = True
    region.forward(until=61)
    (volume,) = volumes.made
    volumes.set_status(volume, 'error_deleting')
    region.now += minutes(0.1)
    region.work()
    assert (
        'failed at it, and is asked again' in region.see(lease).status_reason
    )
    volumes.slow = False
    volumes.set_status(volume, 'error_deleting')
    region.forward(until=62)
    assert region.status(lease) == 'TERMINATED'


def test_a_volume_that_cinder_can_not_make_fails_the_lease(region):
    region.cloud.volumes.broken = True
    lease = region.lease_of(asked(10))
    region.work()
    region.forward(until=3)
    assert region.status(lease) == 'ERROR'
    assert there(region) == []


def test_volumes_are_refused_without_a_role_in_the_project(region):
    region.cloud.volumes.without_role.add('lessee')
    with pytest.raises(exception.InvalidInput, match='no role in it'):
        region.lease_of(asked(10))
    region.lease_of(asked(10), project='other')
    region.lease_of(HOST)


def test_a_role_that_is_lost_before_the_start_fails_that_lease_alone(region):
    lease = region.lease_of(asked(10), start=5)
    other = region.lease_of(asked(10), start=5, project='other')
    region.cloud.volumes.without_role.add('lessee')
    region.forward(until=8)
    assert region.status(lease) == 'ERROR'
    assert region.status(other) == 'ACTIVE'
    assert there(region) == of('other', 10, 1)


def test_while_cinder_is_silent_only_these_leases_wait_and_say_so(region):
    lease = region.lease_of(asked(10), start=5)
    other = region.lease_of(HOST, start=5)
    region.cloud.volumes.is_silent = True
    region.forward(until=6)
    assert region.status(other) == 'ACTIVE'
    assert region.status(lease) == 'STARTING'
    assert 'Cinder' in region.see(lease).status_reason
    with pytest.raises(exception.CloudUnavailable):
        region.lease_of(asked(10, end_action='backup'))
    region.cloud.volumes.is_silent = False
    region.forward(until=8)
    assert region.status(lease) == 'ACTIVE'


def test_the_end_waits_for_what_is_attached_and_says_where(region):
    lease = region.lease_of(asked(10, 2))
    region.work()
    attached, _ = region.cloud.volumes.made
    region.cloud.volumes.attach(attached, 'a server')
    region.forward(until=62)
    assert region.status(lease) == 'TERMINATING'
    assert 'attached to server a server' in region.see(lease).status_reason
    assert there(region) == of('lessee', 10, 1, 'in-use')
    with pytest.raises(exception.NotEnoughResources):
        region.lease_of(asked(100, 2))
    region.cloud.volumes.attach(attached)
    region.forward(until=64)
    assert region.status(lease) == 'TERMINATED'
    assert there(region) == []


def test_from_the_end_on_the_project_can_make_no_more(region):
    region.lease_of(asked(10))
    region.work()
    (made,) = region.cloud.volumes.types
    (volume,) = region.cloud.volumes.made
    region.cloud.volumes.attach(volume, 'a server')
    region.forward(until=61)
    assert region.cloud.volumes.access[made] == set()


def test_an_active_lease_gets_more_of_them_and_never_fewer(region):
    lease = region.lease_of(asked(10, 1))
    region.work()
    lease = region.change(lease, amount=3)
    region.work()
    assert there(region) == of('lessee', 10, 3)
    for change in {'amount': 1}, {'size_gb': 20}, {'volume_type': 'slow'}:
        with pytest.raises(exception.InvalidState):
            region.change(lease, **change)


def test_a_pool_that_goes_down_flags_its_lease_and_its_data_stays(region):
    lease = region.lease_of(asked(100, volume_type='fast'))
    region.work()
    down = dataclasses.replace(fake_volumes.pool(FAST), up=False)
    region.cloud.volumes.pools[FAST] = down
    region.look()
    region.work()
    assert region.see(lease).reservations[0].missing_resources
    assert there(region) == of('lessee', 100, 1)
    (name,) = region.cloud.volumes.types
    assert region.cloud.volumes.access[name] == set()
    region.cloud.volumes.pools[FAST] = fake_volumes.pool(FAST)
    region.look()
    region.work()
    assert not region.see(lease).reservations[0].missing_resources
    assert region.cloud.volumes.access[name] == {'lessee'}
    region.forward(until=61)
    assert there(region) == []


def test_a_lease_gets_a_volume_elsewhere_where_there_is_room(region):
    lease = region.lease_of(asked(10))
    region.work()
    (first,) = region.hosts_of(lease)
    (old,) = region.cloud.volumes.made
    del region.cloud.volumes.pools[first]
    region.look()
    region.work()
    assert region.see(lease).reservations[0].resources_changed
    assert old in region.cloud.volumes.made
    assert there(region) == of('lessee', 10, 2)
    region.forward(until=63)
    assert there(region) == []


def test_a_pool_that_it_had_to_leave_is_others_when_it_can_make_nothing_there(
    region,
):
    volumes = region.cloud.volumes
    lease = region.lease_of(asked(10))
    region.work()
    (first,) = region.hosts_of(lease)
    (old,), (name,) = volumes.made, volumes.types
    down = volumes.pools.pop(first)
    region.look()
    region.work()
    assert volumes.access[name] == set()
    volumes.pools[first] = down
    region.look()
    with pytest.raises(exception.NotEnoughResources):
        region.lease_of(asked(91, 2))
    del volumes.made[old]
    region.look()
    region.work()
    assert name not in volumes.types
    region.look()
    region.lease_of(asked(100, volume_type=first.partition('#')[2]))
    assert there(region) == of('lessee', 10, 1)


@pytest.mark.parametrize(
    ('more', 'said'),
    [
        ({'size_gb': '0'}, 'size_gb must be'),
        ({'amount': '101'}, 'amount must be'),
    ],
)
def test_a_request_for_volumes_that_makes_no_sense_is_refused(
    region, more, said
):
    kind, params = asked(10)
    with pytest.raises(exception.InvalidInput, match=said):
        region.lease_of((kind, {**params, **more}))


def add(region, name, **inventories):
    return region.resources.add(pools.VOLUME, name, region.now, inventories)


def test_a_pool_that_others_reach_is_not_enrolled(make_region):
    region = make_region(types=TYPES)
    volumes = region.cloud.volumes
    with pytest.raises(exception.InvalidInput, match='no pool'):
        add(region, FAST)
    volumes.pools[FAST] = fake_volumes.pool(FAST)
    volumes.add_type('__DEFAULT__')
    with pytest.raises(exception.InvalidInput, match='type __DEFAULT__ lead'):
        add(region, FAST)
    volumes.add_type('__DEFAULT__', pool_name='open')
    volumes.add_type('private', is_public=False, pool_name='fast')
    with pytest.raises(exception.InvalidInput, match='type private lead'):
        add(region, FAST)
    volumes.add_type('private', is_public=False, pool_name='<or> slow')
    with pytest.raises(exception.InvalidInput, match='type private lead'):
        add(region, FAST)
    volumes.add_type('private', is_public=False, pool_name='slow')
    volumes.add_type('scoped', **{'scope:any': 'x', 'capabilities:gold': 'y'})
    with pytest.raises(exception.InvalidInput, match='101 are more'):
        add(region, FAST, VOLUME_GB=101)
    with pytest.raises(exception.InvalidInput, match='no other'):
        add(region, FAST, SEATS=1)
    assert add(region, FAST, VOLUME_GB=90).inventories == {'VOLUME_GB': 90}


def test_a_pool_becomes_no_larger_than_it_is(region):
    volumes = region.cloud.volumes
    (fast,) = region.resources.find(objects.ResourceQuery(pools.VOLUME, FAST))

    def change(**inventories):
        changed = region.resources.update(fast.id, region.now, inventories)
        return changed.inventories

    with pytest.raises(exception.InvalidInput, match='101 are more'):
        change(VOLUME_GB=101)
    with pytest.raises(exception.InvalidInput, match='no other'):
        change(SEATS=1)
    volumes.is_silent = True
    assert change(VOLUME_GB=60) == {'VOLUME_GB': 60}
    with pytest.raises(exception.CloudUnavailable):
        change(VOLUME_GB=61)
    volumes.is_silent = False
    region.lease_of(asked(60, volume_type='fast'))
    region.work()
    assert change(VOLUME_GB=100) == {'VOLUME_GB': 100}
    del volumes.pools[FAST]
    with pytest.raises(exception.InvalidInput, match='that is up'):
        change(VOLUME_GB=110)


@pytest.mark.parametrize(
    ('pool', 'said'),
    [
        ({'name': 'b@files#fast'}, 'same volume_ba'),
        ({'used_gb': 5}, 'has volumes of 5'),
        ({'total_gb': None}, 'how large'),
    ],
)
def test_a_pool_of_which_cinder_says_no_good_is_not_enrolled(
    make_region, pool, said
):
    region = make_region(types=TYPES)
    plain = fake_volumes.pool(FAST)
    told = dataclasses.replace(plain, **pool)
    region.cloud.volumes.pools = {FAST: plain, told.name: told}
    with pytest.raises(exception.InvalidInput, match=said):
        add(region, FAST)


def test_cinder_is_asked_once_however_many_a_request_has(region, monkeypatch):
    questions = []
    answer = region.cloud.volumes.makes_backups
    monkeypatch.setattr(
        region.cloud.volumes,
        'makes_backups',
        lambda: questions.append('backups') or answer(),
    )
    region.lease_of(*[asked(1, end_action='backup')] * 20)
    assert questions == ['backups']
