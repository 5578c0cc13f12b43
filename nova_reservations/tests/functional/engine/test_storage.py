# SPDX-License-Identifier: Apache-2.0
"""Whole pools are leased, and volumes in pools beside them."""

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
from nova_reservations.testing.pools import STORAGE
from nova_reservations.testing.pools import there
from nova_reservations.testing.pools import TYPES
from nova_reservations.testing.pools import whole
from nova_reservations.tests.functional.engine import recorded
from nova_reservations.tests.functional.engine import test_limits

pytestmark = pytest.mark.usefixtures('long_waits')

HOST = objects.HOST, {'min': 1, 'max': 1}


@pytest.fixture
def region(make_region):
    """A host, and two pools of 100 GiB."""
    region = make_region('one', types=TYPES, monitors=MONITORS)
    enrol(region, FAST, SLOW)
    return region


def make(region, *sizes, project='lessee'):
    """Make volumes as a project that has access to a volume type."""
    volumes = region.cloud.volumes
    (name,) = (
        name
        for name, projects in volumes.access.items()
        if project in projects
    )
    for size in sizes:
        volumes.make(project, name, size)


def test_the_project_makes_what_it_wants_from_the_start_to_the_end(region):
    lease = region.lease_of(whole(volume_type='fast'), start=5)
    region.forward(until=4)
    assert region.cloud.volumes.types == {}
    region.forward(until=5)
    assert region.status(lease) == 'ACTIVE'
    assert region.hosts_of(lease) == {FAST}
    assert there(region) == []
    make(region, 70, 20, 1)
    region.forward(until=61)
    assert region.status(lease) == 'TERMINATED'
    assert there(region) == []
    assert region.cloud.volumes.types == {}


def test_only_the_project_has_its_type_and_as_much_as_there_is_room_for(
    region,
):
    lease = region.lease_of(whole())
    region.work()
    volumes = region.cloud.volumes
    (made,) = volumes.types.values()
    assert not made.is_public
    assert made.reservation_id == lease.reservations[0].id
    assert volumes.access[made.name] == {'lessee'}
    assert volumes.quotas[made.name] == ports.VolumeQuota(
        volumes=-1, gigabytes=-1, snapshots=-1
    )


def test_an_active_lease_shows_by_which_types_and_what_was_made(region):
    lease = region.lease_of(whole(2))
    region.work()
    volumes = region.cloud.volumes
    for name in volumes.types:
        volumes.make('lessee', name, 10)
    lease = region.see(lease)
    shown = region.lease_lists.usage(lease, lease.reservations[0])
    assert shown == {
        'volumes': sorted(volumes.made),
        'volume_types': sorted(volumes.types),
    }


@pytest.mark.parametrize(
    ('first', 'then'),
    [
        (whole(volume_type='fast'), asked(1, volume_type='fast')),
        (asked(1, volume_type='fast'), whole(volume_type='fast')),
        (whole(volume_type='fast'), whole(volume_type='fast')),
    ],
    ids=['share of whole', 'whole of shared', 'whole of whole'],
)
def test_a_pool_that_one_has_as_a_whole_nobody_else_has_any_of(
    region, first, then
):
    region.lease_of(first, start=10, end=20)
    for start, end in (5, 11), (12, 15), (19, 30), (0, 60):
        with pytest.raises(exception.NotEnoughResources):
            region.lease_of(then, start=start, end=end)
    region.lease_of(then, start=0, end=10)
    region.lease_of(then, start=20, end=30)


def test_a_lease_has_a_whole_pool_and_volumes_in_another(region):
    lease = region.lease_of(whole(), asked(100), HOST)
    region.work()
    assert region.status(lease) == 'ACTIVE'
    assert len(region.hosts_of(lease)) == 3
    with pytest.raises(exception.NotEnoughResources):
        region.lease_of(asked(1))
    with pytest.raises(exception.NotEnoughResources, match='storage pools'):
        region.lease_of(whole(), start=30, end=90)


def test_a_lease_has_as_many_pools_as_it_asks_for_or_none(region):
    with pytest.raises(exception.NotEnoughResources, match='2 storage pools'):
        region.lease_of(whole(3))
    assert region.hosts_of(region.lease_of(whole('2'))) == {FAST, SLOW}


def test_the_next_has_it_when_all_that_was_made_is_gone(region):
    first = region.lease_of(whole(volume_type='fast'))
    then = region.lease_of(
        whole(volume_type='fast'), start=60, end=120, project='other'
    )
    region.work()
    make(region, 30, 40)
    kept, _ = region.cloud.volumes.made
    region.cloud.volumes.attach(kept, 'a server')
    region.forward(until=62)
    assert region.status(first) == 'TERMINATING'
    assert 'attached to server a server' in region.see(first).status_reason
    assert region.status(then) == 'PENDING'
    assert set().union(*region.cloud.volumes.access.values()) == set()
    region.cloud.volumes.attach(kept)
    region.forward(until=65)
    assert region.status(first) == 'TERMINATED'
    assert region.status(then) == 'ACTIVE'
    assert there(region) == []
    make(region, 100, project='other')


def test_a_pool_that_is_empty_is_others_while_another_is_waited_for(region):
    volumes = region.cloud.volumes
    first = region.lease_of(whole(2))
    region.work()
    for name in volumes.types:
        volumes.make('lessee', name, 30)
    attached, gone = volumes.made
    left = volumes.made[gone].pool
    volumes.attach(attached, 'a server')
    region.forward(until=62)
    assert region.status(first) == 'TERMINATING'
    then = region.lease_of(whole(), end=90, project='other')
    region.work()
    assert region.status(then) == 'ACTIVE'
    assert region.hosts_of(then) == {left}
    assert there(region) == [('lessee', 30, 'in-use')]


def test_volumes_of_the_project_are_kept_where_it_asked_for_that(region):
    volumes = region.cloud.volumes
    with pytest.raises(exception.InvalidInput, match='keep is not offered'):
        region.lease_of(whole(end_action='keep'))
    region.opts.set_override('kept_volume_type', 'open', 'reservations')
    volumes.add_type('open', pool_name='open')
    lease = region.lease_of(whole(end_action='keep'))
    region.work()
    make(region, 30, 40)
    region.forward(until=62)
    assert region.status(lease) == 'TERMINATED'
    assert {made.type_name for made in volumes.made.values()} == {'open'}
    assert len(volumes.made) == 2
    assert volumes.types.keys() == {'open'}


def test_volumes_of_the_project_are_backed_up_where_it_asked_for_that(
    region,
):
    volumes = region.cloud.volumes
    lease = region.lease_of(whole())
    region.work()
    region.change(lease, end_action='backup')
    make(region, 30, 40)
    keys = set(volumes.made)
    region.forward(until=63)
    assert region.status(lease) == 'TERMINATED'
    assert there(region) == []
    assert {
        key for key, (backup,) in volumes.backups.items() if backup.status
    } == keys


def test_another_project_that_was_given_a_volume_is_told_of(region):
    volumes = region.cloud.volumes
    lease = region.lease_of(whole())
    region.work()
    make(region, 30)
    (key,) = volumes.made
    volumes.made[key] = dataclasses.replace(
        volumes.made[key], project_id='other'
    )
    region.forward(until=62)
    assert region.status(lease) == 'TERMINATING'
    assert 'Another project' in region.see(lease).status_reason
    assert f'{key} of project other' in region.see(lease).status_detail
    assert there(region) == [('other', 30, 'available')]
    del volumes.made[key]
    region.forward(until=65)
    assert region.status(lease) == 'TERMINATED'


def test_a_lease_that_is_prolonged_keeps_what_is_there(region):
    lease = region.lease_of(whole())
    region.work()
    make(region, 30)
    region.lease_of(asked(1, volume_type='fast'), start=90, end=95)
    region.change(lease, end=80)
    region.forward(until=61)
    assert region.status(lease) == 'ACTIVE'
    assert there(region) == [('lessee', 30, 'available')]
    region.forward(until=82)
    assert region.status(lease) == 'TERMINATED'
    assert there(region) == []


def test_a_lease_is_not_prolonged_into_shares_of_its_pool(region):
    lease = region.lease_of(whole(2))
    region.work()
    region.lease_of(asked(1), start=70, end=80)
    with pytest.raises(exception.NotEnoughResources):
        region.change(lease, end=75)
    region.change(lease, end=70)


def test_an_active_lease_gets_more_pools_and_never_fewer(region):
    lease = region.lease_of(whole())
    region.work()
    make(region, 30)
    lease = region.change(lease, amount=2)
    region.work()
    assert region.hosts_of(lease) == {FAST, SLOW}
    assert len(region.cloud.volumes.types) == 2
    assert there(region) == [('lessee', 30, 'available')]
    for change in {'amount': 1}, {'volume_type': 'slow'}:
        with pytest.raises(exception.InvalidState):
            region.change(lease, **change)
    with pytest.raises(exception.NotEnoughResources):
        region.change(lease, amount=3)


def test_a_lease_that_has_not_begun_is_changed_freely(region):
    lease = region.lease_of(whole(2), start=10)
    region.change(lease, amount=1, volume_type='slow')
    assert region.hosts_of(lease) == {SLOW}


@pytest.mark.parametrize('amount', ['0', '101'])
def test_a_number_that_makes_no_sense_is_refused(region, amount):
    with pytest.raises(exception.InvalidInput, match='amount must be'):
        region.lease_of(whole(amount))


def test_a_start_that_fails_gives_nobody_the_pool(region):
    region.fails(
        'give access to volume type',
        exception.CloudRefused(what='It', reason='no'),
    )
    lease = region.lease_of(HOST, whole())
    region.work()
    region.forward(until=2)
    assert region.status(lease) == 'ERROR'
    assert region.aggregate_of(lease) is None
    assert region.cloud.volumes.types == {}


def test_a_pool_that_fails_is_replaced_by_another_whole_one(region):
    volumes = region.cloud.volumes
    lease = region.lease_of(whole())
    region.work()
    (first,) = region.hosts_of(lease)
    make(region, 30)
    down = volumes.pools.pop(first)
    region.look()
    region.work()
    lease = region.see(lease)
    assert lease.reservations[0].resources_changed
    shown = region.lease_lists.usage(lease, lease.reservations[0])
    assert len(volumes.types) == 2
    assert len(shown['volumes']) == 1
    assert len(shown['volume_types']) == 1
    make(region, 20)
    assert there(region) == [
        ('lessee', 20, 'available'),
        ('lessee', 30, 'available'),
    ]
    volumes.pools[first] = down
    region.look()
    with pytest.raises(exception.NotEnoughResources):
        region.lease_of(asked(1))
    region.forward(until=63)
    assert region.status(lease) == 'TERMINATED'
    assert there(region) == []
    assert volumes.types == {}


def test_a_pool_that_fails_with_nothing_in_it_is_free_when_it_is_back(region):
    volumes = region.cloud.volumes
    lease = region.lease_of(whole())
    region.work()
    (first,) = region.hosts_of(lease)
    down = volumes.pools.pop(first)
    region.look()
    region.work()
    region.look()
    region.work()
    volumes.pools[first] = down
    region.look()
    then = region.lease_of(whole(), project='other')
    region.work()
    assert region.hosts_of(then) == {first}
    assert sorted(map(sorted, volumes.access.values())) == [
        [],
        ['lessee'],
        ['other'],
    ]


def test_a_pool_that_has_no_other_in_its_place_is_its_own_again_when_back(
    region,
):
    volumes = region.cloud.volumes
    lease = region.lease_of(whole(2))
    region.work()
    down = volumes.pools.pop(FAST)
    region.look()
    region.work()
    region.look()
    region.work()
    assert region.see(lease).reservations[0].missing_resources
    volumes.pools[FAST] = down
    region.look()
    region.work()
    assert not region.see(lease).reservations[0].missing_resources
    for name in volumes.types:
        volumes.make('lessee', name, 100)
    assert len(there(region)) == 2


def test_the_audit_finds_and_mends_what_was_changed(region):
    lease = region.lease_of(whole(volume_type='fast'))
    region.work()
    make(region, 30)
    volumes = region.cloud.volumes
    found = region.services.audit
    assert [*found.of_types(region.now)] == []
    (name,) = volumes.types
    volumes.access[name].clear()
    (taken,) = found.of_types(region.now)
    assert 'project lessee has no access' in taken.problem
    taken.repair()
    region.work()
    assert volumes.access[name] == {'lessee'}
    volumes.types[name] = dataclasses.replace(
        volumes.types[name], is_public=True
    )
    (public,) = found.of_types(region.now)
    assert f'volume type {name} is public' in public.problem
    public.repair()
    region.work()
    volumes.made.clear()
    kept = volumes.types.pop(name)
    (gone,) = found.of_types(region.now)
    assert 'it has no volume type in pool' in gone.problem
    gone.repair()
    region.work()
    assert [*found.of_types(region.now)] == []
    region.forward(until=62)
    assert region.status(lease) == 'TERMINATED'
    volumes.types[name] = kept
    (left,) = found.of_types(region.now)
    assert 'of no lease any more' in left.problem
    left.repair()
    assert volumes.types == {}


def test_the_audit_says_of_a_pool_that_has_failed_that_alone(region):
    volumes = region.cloud.volumes
    lease = region.lease_of(whole(2))
    region.work()
    volumes.pools[FAST] = dataclasses.replace(volumes.pools[FAST], up=False)
    region.look()
    region.work()
    assert region.see(lease).reservations[0].missing_resources
    found = region.services.audit
    (down,) = found.of_types(region.now)
    assert f'Pool {FAST} is not in Cinder' in down.problem


def test_a_pool_without_an_inventory_is_leased_as_a_whole_alone(region):
    query = objects.ResourceQuery(pools.VOLUME, FAST)
    (fast,) = region.resources.find(query)
    region.resources.update(fast.id, region.now, {pools.SIZE: None})
    with pytest.raises(exception.NotEnoughResources):
        region.lease_of(asked(1, volume_type='fast'))
    region.lease_of(whole(volume_type='fast'))


def test_pools_can_be_leased_as_wholes_alone(make_region):
    region = make_region(types={STORAGE: TYPES[STORAGE]}, monitors=[])
    region.cloud.volumes.add_type('__DEFAULT__')
    with pytest.raises(exception.InvalidInput, match='type __DEFAULT__ lead'):
        enrol(region, FAST)
    region.cloud.volumes.types.clear()
    enrol(region, FAST)
    lease = region.lease_of(whole())
    region.work()
    assert region.status(lease) == 'ACTIVE'
    with pytest.raises(exception.InvalidInput, match='not supported'):
        region.lease_of(asked(1))


def test_a_whole_pool_counts_with_its_gib_in_limits_and_in_the_record(region):
    name = f'{pools.VOLUME}/{pools.SIZE}'
    test_limits.limit(region, resources={name: 150})
    lease = region.lease_of(whole(), asked(50))
    region.work()
    with test_limits.refused('151 VOLUME_GB of storage pools at .*, 150 al'):
        region.lease_of(asked(1))
    _, used = region.leases.limits.used('lessee', region.now)
    assert used.resources == {pools.VOLUME: 1, name: 150}
    region.forward(until=61)
    of_pool, of_volume = (item.id for item in lease.reservations)
    assert {
        (row.reservation_id, row.resource_class, row.amount)
        for row in recorded.rows(region)
    } == {
        (of_pool, pools.VOLUME, 1),
        (of_pool, pools.SIZE, 100),
        (of_volume, 'slots', 1),
        (of_volume, pools.SIZE, 50),
    }
