# SPDX-License-Identifier: Apache-2.0
"""Volumes: the fake behaves as a real Cinder does."""

from collections.abc import Iterator
import contextlib
from typing import Any
import uuid

from keystoneauth1 import token_endpoint
import nova.conf
import pytest

from nova_reservations import exception
from nova_reservations import ports
from nova_reservations.cloud import credentials
from nova_reservations.tests.contract import services
from nova_reservations.tests.contract import worlds
from nova_reservations.tests.contract.volume_worlds import CinderWorld
from nova_reservations.tests.contract.volume_worlds import FakeWorld
from nova_reservations.tests.contract.volume_worlds import FAST
from nova_reservations.tests.contract.volume_worlds import found
from nova_reservations.tests.contract.volume_worlds import group_of
from nova_reservations.tests.contract.volume_worlds import leads_to
from nova_reservations.tests.contract.volume_worlds import MINE
from nova_reservations.tests.contract.volume_worlds import OTHERS
from nova_reservations.tests.contract.volume_worlds import reserved
from nova_reservations.tests.contract.volume_worlds import reserved_whole
from nova_reservations.tests.contract.volume_worlds import SLOW
from nova_reservations.tests.contract.volume_worlds import type_of
from nova_reservations.tests.contract.volume_worlds import until
from nova_reservations.tests.contract.volume_worlds import World
from nova_reservations.types.cinder import calls as cinder_requests


@pytest.fixture(scope='module')
def cinder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Return the URL of a Cinder that all tests share."""
    folder = tmp_path_factory.mktemp('cinder')
    with services.running('cinder', folder) as url:
        yield f'{url}/v3'


@pytest.fixture
def asked(
    cinder: str, monkeypatch: pytest.MonkeyPatch
) -> Iterator[CinderWorld]:
    """Let the product send its requests to the Cinder."""

    def plugin(project_id: str = OTHERS) -> Any:
        return token_endpoint.Token(cinder, f'nova:{project_id}')

    monkeypatch.setattr(credentials, 'plugin', plugin)
    monkeypatch.setattr(credentials, 'plugin_for', plugin)
    with contextlib.ExitStack() as stack:
        for name, value in {
            'endpoint_template': f'{cinder}/%(project_id)s',
            'timeout': 100,
        }.items():
            nova.conf.CONF.set_override(name, value, group='cinder')
            stack.callback(nova.conf.CONF.clear_override, name, group='cinder')
        cinder_requests.client.cache_clear()
        stack.callback(cinder_requests.client.cache_clear)
        yield CinderWorld(cinder)


@pytest.fixture(
    params=['fake', pytest.param('cinder', marks=pytest.mark.functional)]
)
def world(request: pytest.FixtureRequest) -> World:
    """The fake and Cinder in turn. All tests share one Cinder, and leave it
    empty."""
    if request.param == 'fake':
        return FakeWorld()
    found: CinderWorld = request.getfixturevalue('asked')
    return found


def test_pools_have_names_and_sizes(world: World) -> None:
    pool = world.volumes.find_pools()[FAST]
    assert pool.key == ('files', 'fast')
    assert pool.total_gb == 100
    assert pool.up


def test_a_type_leads_to_its_pool_alone_and_is_made_once(
    world: World,
) -> None:
    wanted = reserved(SLOW)
    world.volumes.ensure_type(wanted, worlds.go_on)
    world.volumes.ensure_type(wanted, worlds.go_on)
    made = type_of(world, wanted)
    assert not made.is_public
    assert made.pool_uuid == wanted.pool.uuid
    assert made.database == worlds.DATABASE
    assert leads_to(world, made) == {SLOW}
    assert world.volumes.delete_type(made, worlds.go_on)
    assert world.volumes.delete_type(made, worlds.go_on)


def test_a_type_of_somebody_else_is_none_of_ours(
    world: World,
) -> None:
    name = f'gold {uuid.uuid4()}'
    world.add_type(name, 'slow')
    (made,) = (
        each for each in world.volumes.find_types() if each.name == name
    )
    assert made.is_public
    assert made.reservation_id is None
    assert made.database is None
    assert leads_to(world, made) == {SLOW}
    world.volumes.delete_type(made, worlds.go_on)


def test_as_many_volumes_as_were_promised_are_made_and_no_more(
    world: World,
) -> None:
    wanted = reserved(count=2)
    world.volumes.ensure_type(wanted, worlds.go_on)
    for _ in range(2):
        world.volumes.create_volume(wanted, 'mine', worlds.go_on)
    with pytest.raises(exception.CloudRefused):
        world.volumes.create_volume(wanted, 'mine', worlds.go_on)
    there = until(
        lambda: found(world, wanted),
        lambda seen: {each.status for each in seen} == {'available'},
    )
    assert [(each.name, each.size_gb) for each in there] == [('mine', 3)] * 2
    assert found(world, wanted, OTHERS) == []

    made = type_of(world, wanted)
    world.volumes.close_type(made, MINE, worlds.go_on)
    assert not world.volumes.delete_type(made, worlds.go_on)
    for each in there:
        assert world.volumes.delete_volume(each, worlds.go_on) is None
    until(lambda: found(world, wanted), lambda seen: seen == [])
    assert world.volumes.delete_volume(there[0], worlds.go_on) is None
    assert world.volumes.delete_type(made, worlds.go_on)


def test_a_whole_pool_has_what_its_project_makes_there(
    world: World,
) -> None:
    wanted = reserved_whole(SLOW)
    world.volumes.ensure_type(wanted, worlds.go_on)
    world.volumes.ensure_type(wanted, worlds.go_on)
    made = type_of(world, wanted)
    assert not made.is_public
    assert set(world.volumes.find_access(made)) == {MINE}
    assert leads_to(world, made) == {SLOW}
    for size_gb in 60, 30, 1:
        world.make(made, size_gb)
    there = until(
        lambda: found(world, wanted),
        lambda seen: [each.status for each in seen] == ['available'] * 3,
    )
    assert sorted(each.size_gb for each in there) == [1, 30, 60]

    world.volumes.close_type(made, MINE, worlds.go_on)
    assert set(world.volumes.find_access(made)) == set()
    assert not world.volumes.delete_type(made, worlds.go_on)
    for each in there:
        assert world.volumes.delete_volume(each, worlds.go_on) is None
    until(lambda: found(world, wanted), lambda seen: seen == [])
    assert world.volumes.delete_type(made, worlds.go_on)


def test_a_pool_that_is_down_has_no_type(
    world: World,
) -> None:
    with pytest.raises(exception.CloudUnavailable):
        world.volumes.ensure_type(reserved('storage@files#gone'), worlds.go_on)


@pytest.fixture
def one(
    world: World,
) -> Iterator[tuple[ports.ReservedVolumes, ports.Volume]]:
    """A volume and its reservation; both are removed afterwards."""
    wanted = reserved(count=1, size_gb=1)
    world.volumes.ensure_type(wanted, worlds.go_on)
    world.volumes.create_volume(wanted, 'mine', worlds.go_on)
    made = type_of(world, wanted)
    until(
        lambda: found(world, wanted),
        lambda seen: [each.status for each in seen] == ['available'],
    )
    yield wanted, found(world, wanted)[0]
    for each in found(world, wanted):
        world.volumes.delete_volume(each, worlds.go_on)
    until(
        lambda: world.volumes.delete_type(made, worlds.go_on),
        lambda is_gone: is_gone,
    )


def test_volumes_that_others_have_in_a_pool_are_found(
    world: World,
    one: tuple[ports.ReservedVolumes, ports.Volume],
) -> None:
    assert list(world.volumes.find_strangers(FAST)) == []
    name = f'gold {uuid.uuid4()}'
    world.add_type(name, 'fast')
    (gold,) = (
        each for each in world.volumes.find_types() if each.name == name
    )
    world.make(gold, 1)
    (found_there,) = until(
        lambda: world.volumes.find_strangers(FAST),
        lambda seen: [each.status for each in seen] == ['available'],
    )
    assert list(world.volumes.find_strangers(SLOW)) == []
    assert world.volumes.delete_volume(found_there, worlds.go_on) is None
    until(
        lambda: world.volumes.delete_type(gold, worlds.go_on),
        lambda is_gone: is_gone,
    )


def test_a_volume_that_could_not_be_deleted_once_is_deleted(
    world: World,
    one: tuple[ports.ReservedVolumes, ports.Volume],
) -> None:
    wanted, volume = one
    for status in 'awaiting-transfer', 'error_deleting':
        world.set_status(volume, status)
        (there,) = found(world, wanted)
        assert there.status == status
    assert world.volumes.delete_volume(there, worlds.go_on) is None
    until(lambda: found(world, wanted), lambda seen: seen == [])


def test_a_volume_moves_to_where_its_new_type_leads(
    world: World,
    one: tuple[ports.ReservedVolumes, ports.Volume],
) -> None:
    wanted, volume = one
    name = f'kept {uuid.uuid4()}'
    assert world.volumes.retype_volume(volume, 'none such', worlds.go_on)
    world.add_type(name, 'slow')
    assert world.volumes.retype_volume(volume, name, worlds.go_on) is None
    until(lambda: found(world, wanted), lambda seen: seen == [])
    assert world.volumes.delete_volume(volume, worlds.go_on) is None
    (kept,) = (
        each for each in world.volumes.find_types() if each.name == name
    )
    until(
        lambda: world.volumes.delete_type(kept, worlds.go_on),
        lambda is_gone: is_gone,
    )


def test_a_volume_with_snapshots_may_stay_where_it_is_but_has_changed(
    world: World,
    one: tuple[ports.ReservedVolumes, ports.Volume],
) -> None:
    wanted, volume = one
    world.add_type(name := f'kept {uuid.uuid4()}', 'slow')
    assert world.volumes.find_snapshots(volume, MINE) == []
    world.add_snapshot(volume)
    assert len(world.volumes.find_snapshots(volume, MINE)) == 1
    assert world.volumes.find_snapshots(volume, OTHERS) == []
    assert world.volumes.retype_volume(volume, name, worlds.go_on) is None
    (there,) = until(
        lambda: found(world, wanted),
        lambda seen: [each.status for each in seen] == ['available'],
    )
    assert there.changed_at > volume.changed_at
    world.delete_snapshots(volume)
    until(
        lambda: world.volumes.find_snapshots(volume, MINE),
        lambda seen: seen == [],
    )
    (kept,) = (
        each for each in world.volumes.find_types() if each.name == name
    )
    assert world.volumes.delete_type(kept, worlds.go_on)


def test_a_volume_that_gets_another_type_may_get_any(
    world: World,
    one: tuple[ports.ReservedVolumes, ports.Volume],
) -> None:
    wanted, volume = one
    assert not volume.may_get_any_type
    world.set_status(volume, 'retyping')
    (there,) = found(world, wanted)
    assert there.may_get_any_type
    world.set_status(volume, 'available')


@pytest.mark.parametrize('is_older', [False, True])
def test_a_group_of_whoever_keeps_a_type_until_it_is_deleted(
    world: World, is_older: bool
) -> None:
    wanted = reserved(count=1, size_gb=1)
    world.volumes.ensure_type(wanted, worlds.go_on)
    made = type_of(world, wanted)
    key = world.add_group(made, OTHERS, is_older)
    group = until(
        lambda: group_of(world, key),
        lambda seen: seen.status in ('available', 'error'),
    )
    assert group.project_id == (None if is_older else OTHERS)
    assert group.type_ids == {made.id}
    assert not world.volumes.delete_type(made, worlds.go_on)
    assert world.volumes.delete_group(group, worlds.go_on) is None
    until(lambda: group_of(world, key), lambda seen: seen is None)
    assert world.volumes.delete_group(group, worlds.go_on) is None
    assert world.volumes.delete_type(made, worlds.go_on)


def test_a_group_is_not_deleted_while_it_has_volumes(
    world: World,
    one: tuple[ports.ReservedVolumes, ports.Volume],
) -> None:
    wanted, volume = one
    made = type_of(world, wanted)
    (there,) = world.volumes.find_volumes_of(made)
    assert (there.id, there.project_id) == (volume.id, MINE)
    key = world.add_group(made, MINE)
    group = group_of(world, key)
    assert group is not None
    world.group(volume, key)
    assert world.volumes.delete_group(group, worlds.go_on) is not None
    assert len(found(world, wanted)) == 1
    world.ungroup(volume, key)
    assert world.volumes.delete_group(group, worlds.go_on) is None
    until(lambda: group_of(world, key), lambda seen: seen is None)


def test_a_backup_bears_what_it_was_given(
    world: World,
    one: tuple[ports.ReservedVolumes, ports.Volume],
) -> None:
    wanted, volume = one
    until(world.volumes.makes_backups, lambda is_up: is_up)
    assert world.volumes.find_backups(volume) == []
    assert (
        world.volumes.create_backup(volume, MINE, 'at the end', worlds.go_on)
        is None
    )
    made = until(
        lambda: world.volumes.find_backups(volume),
        lambda seen: [each.status for each in seen] == ['available'],
    )
    assert [each.description for each in made] == ['at the end']
    until(
        lambda: found(world, wanted),
        lambda seen: [each.status for each in seen] == ['available'],
    )


def test_access_that_was_taken_and_a_type_that_was_made_public_are_mended(
    world: World,
    one: tuple[ports.ReservedVolumes, ports.Volume],
) -> None:
    wanted, _ = one
    made = type_of(world, wanted)
    assert set(world.volumes.find_access(made)) == {MINE}
    world.volumes.close_type(made, MINE, worlds.go_on)
    assert set(world.volumes.find_access(made)) == set()
    world.publish(made)
    assert type_of(world, wanted).is_public
    world.volumes.ensure_type(wanted, worlds.go_on)
    assert not type_of(world, wanted).is_public
    assert set(world.volumes.find_access(made)) == {MINE}
