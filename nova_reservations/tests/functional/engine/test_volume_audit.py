# SPDX-License-Identifier: Apache-2.0
"""An audit of what Cinder has for leases."""

import dataclasses

import pytest

from nova_reservations.testing.pools import asked
from nova_reservations.testing.pools import enrol
from nova_reservations.testing.pools import FAST
from nova_reservations.testing.pools import MONITORS
from nova_reservations.testing.pools import SLOW
from nova_reservations.testing.pools import there
from nova_reservations.testing.pools import TYPES
from nova_reservations.types.cinder import fake as fake_volumes


@pytest.fixture
def region(make_region):
    """A host, and two pools of 100 GiB."""
    region = make_region('one', types=TYPES, monitors=MONITORS)
    enrol(region, FAST, SLOW)
    return region


def of(project, size, count, status='available'):
    return [(project, size, status)] * count


def findings(region):
    found = region.services.audit
    return [*found.of_types(region.now)]


def test_the_audit_names_types_that_let_others_in(region):
    region.lease_of(asked(10, volume_type='fast'))
    region.work()
    assert findings(region) == []
    volumes = region.cloud.volumes
    (name,) = volumes.types
    volumes.types[name] = dataclasses.replace(
        volumes.types[name], is_public=True
    )
    volumes.add_type('gold', pool_name='slow')
    public, gold = sorted(
        findings(region), key=lambda each: each.repair is None
    )
    assert f'volume type {name} is public' in public.problem
    assert f'type gold leads to pool {SLOW}' in gold.problem
    public.repair()
    region.work()
    assert not volumes.types[name].is_public
    assert findings(region) == [gold]


def test_the_audit_names_what_others_have_in_a_pool(region):
    lease = region.lease_of(asked(10))
    region.work()
    volumes = region.cloud.volumes
    volumes.add_type('gold', pool_name='slow')
    volumes.make('stranger', 'gold', 5)
    volumes.add_type('gold', pool_name='open')
    (found,) = findings(region)
    assert f'which is of no lease, is in pool {SLOW}' in found.problem
    region.forward(until=62)
    assert region.status(lease) == 'TERMINATED'
    assert there(region) == of('stranger', 5, 1)
    assert findings(region) == [found]


def test_the_audit_gives_back_access_and_volumes(region):
    region.lease_of(asked(10, 3))
    region.work()
    volumes = region.cloud.volumes
    (name,) = volumes.types
    volumes.access[name].clear()
    del volumes.made[min(volumes.made)]
    access, gone = findings(region)
    assert 'project lessee has no access' in access.problem
    assert '1 of its 3 volumes' in gone.problem
    access.repair()
    region.work()
    assert volumes.access[name] == {'lessee'}
    assert there(region) == of('lessee', 10, 3)
    assert findings(region) == []


def test_a_volume_that_the_project_made_in_place_of_another_is_fine(region):
    lease = region.lease_of(asked(10, 2))
    region.work()
    volumes = region.cloud.volumes
    key = min(volumes.made)
    smaller = dataclasses.replace(volumes.made[key].volume, size_gb=4)
    volumes.made[key] = dataclasses.replace(volumes.made[key], volume=smaller)
    assert findings(region) == []
    region.change(lease, amount=3)
    region.work()
    assert [size for _, size, _ in there(region)] == [4, 10, 10]


def test_the_audit_leaves_what_comes_while_it_looks_to_the_next(
    region, monkeypatch
):
    answer = region.cloud.volumes.find_pools

    def find_pools():
        monkeypatch.undo()
        enrol(region, 'storage@files#new')
        region.lease_of(asked(10, 1, volume_type='new'))
        region.work()
        return answer()

    monkeypatch.setattr(region.cloud.volumes, 'find_pools', find_pools)
    assert findings(region) == []
    assert there(region) == of('lessee', 10, 1)
    assert findings(region) == []


def test_the_audit_names_pools_that_are_not_what_they_were(region):
    volumes = region.cloud.volumes
    volumes.pools[FAST] = fake_volumes.pool(FAST, 80)
    del volumes.pools[SLOW]
    first, second = sorted(each.problem for each in findings(region))
    assert 'has 80 GiB in Cinder' in first
    assert 'is not in Cinder' in second


def test_the_audit_brings_back_and_deletes_what_is_ours(region):
    lease = region.lease_of(asked(10))
    region.work()
    volumes = region.cloud.volumes
    (name,) = volumes.types
    kept = volumes.types.pop(name)
    volumes.made.clear()
    missing, volume = findings(region)
    assert 'has no volume type' in missing.problem
    assert '1 of its 1 volumes' in volume.problem
    missing.repair()
    region.work()
    assert there(region) == of('lessee', 10, 1)
    region.forward(until=62)
    assert region.status(lease) == 'TERMINATED'
    volumes.types[name] = kept
    (left,) = findings(region)
    assert 'of no lease any more' in left.problem
    left.repair()
    assert volumes.types == {}


def test_where_no_pool_can_be_leased_cinder_is_not_asked(make_region):
    region = make_region(types=TYPES)
    region.cloud.volumes.is_silent = True
    assert findings(region) == []
