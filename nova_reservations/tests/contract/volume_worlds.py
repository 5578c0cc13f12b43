# SPDX-License-Identifier: Apache-2.0
"""A Cinder in memory, and a real one, with the same actions for tests."""

from collections.abc import Callable
from collections.abc import Mapping
import dataclasses
import datetime
import time
from typing import Any
import uuid

import requests

from nova_reservations import objects
from nova_reservations import ports
from nova_reservations.testing import fake_cloud
from nova_reservations.tests.contract import worlds
from nova_reservations.types.cinder import client as volumes
from nova_reservations.types.cinder import fake as fake_volumes

MINE = 'b0b0b0b0000040008000000000000001'
OTHERS = 'b0b0b0b0000040008000000000000002'

_SECONDS = 60
_LATER = datetime.timedelta(seconds=1)


FAST, SLOW = 'storage@files#fast', 'storage@files#slow'


def reserved(
    pool: str = FAST, count: int = 2, size_gb: int = 3
) -> ports.ReservedVolumes:
    """Return volumes of a new reservation."""
    return ports.ReservedVolumes(
        str(uuid.uuid4()),
        MINE,
        objects.Resource(1, 'virtual:volume', pool, str(uuid.uuid4())),
        count,
        size_gb,
        worlds.DATABASE,
    )


def reserved_whole(pool: str) -> ports.ReservedPool:
    """Return the pool of a new reservation."""
    return ports.ReservedPool(
        str(uuid.uuid4()),
        MINE,
        objects.Resource(1, 'virtual:volume', pool, str(uuid.uuid4())),
        worlds.DATABASE,
    )


class FakeWorld:
    def __init__(self) -> None:
        self._cloud = fake_cloud.FakeCloud()
        self.volumes = self._cloud.volumes
        for name in FAST, SLOW:
            self.volumes.pools[name] = fake_volumes.pool(name)

    def add_type(self, name: str, pool: str) -> None:
        self.volumes.add_type(name, pool_name=pool)

    def publish(self, made: ports.VolumeType) -> None:
        self.volumes.types[made.name] = dataclasses.replace(
            made, is_public=True
        )

    def make(self, made: ports.VolumeType, size_gb: int) -> None:
        self.volumes.make(MINE, made.name, size_gb)

    def set_status(self, volume: ports.Volume, status: str) -> None:
        self.volumes.set_status(volume.id, status)

    def add_group(
        self, made: ports.VolumeType, project_id: str, is_older: bool = False
    ) -> str:
        group = self.volumes.add_group('a group', project_id, made.name)
        if is_older:
            self.volumes.groups[group.id] = dataclasses.replace(
                group, project_id=None, is_older=True
            )
        return group.id

    def group(self, volume: ports.Volume, group: str) -> None:
        self.volumes.grouped.add(group)

    def ungroup(self, volume: ports.Volume, group: str) -> None:
        self.volumes.grouped.discard(group)

    def add_snapshot(self, volume: ports.Volume) -> None:
        self.volumes.snapshots[volume.id] = ['a snapshot']
        self.volumes.clock = lambda: volume.changed_at + _LATER

    def delete_snapshots(self, volume: ports.Volume) -> None:
        self.volumes.snapshots.clear()


class CinderWorld:
    def __init__(self, url: str) -> None:
        self._url = url
        self.volumes = volumes.Volumes()

    def add_type(self, name: str, pool: str) -> None:
        specs = {'volume_backend_name': 'files', 'pool_name': pool}
        fields = {'name': name, 'extra_specs': specs}
        self._ask('POST', '/types', {'volume_type': fields})

    def publish(self, made: ports.VolumeType) -> None:
        fields = {'is_public': True}
        self._ask('PUT', f'/types/{made.id}', {'volume_type': fields})

    def make(self, made: ports.VolumeType, size_gb: int) -> None:
        fields = {'size': size_gb, 'volume_type': made.name}
        self._ask('POST', '/volumes', {'volume': fields}, MINE)

    def set_status(self, volume: ports.Volume, status: str) -> None:
        action = {'os-reset_status': {'status': status}}
        self._ask('POST', f'/volumes/{volume.id}/action', action)

    def add_group(
        self, made: ports.VolumeType, project_id: str, is_older: bool = False
    ) -> str:
        """Make a group as the project, which may lack access to the volume
        type."""
        if is_older:
            older = {'consistencygroup': {'volume_types': made.id}}
            group = self._ask('POST', '/consistencygroups', older, project_id)
            return str(group['consistencygroup']['id'])
        kind = {'name': str(uuid.uuid4())}
        self._ask('POST', '/group_types', {'group_type': kind}, mv='3.11')
        wanted = {'group_type': kind['name'], 'volume_types': [made.id]}
        group = self._ask(
            'POST', '/groups', {'group': wanted}, project_id, mv='3.13'
        )
        return str(group['group']['id'])

    def group(self, volume: ports.Volume, group: str) -> None:
        self._regroup(group, {'add_volumes': volume.id})

    def ungroup(self, volume: ports.Volume, group: str) -> None:
        self._regroup(group, {'remove_volumes': volume.id})

    def _regroup(self, group: str, change: Mapping[str, str]) -> None:
        def status() -> object:
            shown = self._ask('GET', f'/groups/{group}', None, mv='3.13')
            return shown['group']['status']

        until(status, lambda seen: seen == 'available')
        self._ask('PUT', f'/groups/{group}', {'group': change}, mv='3.13')
        until(status, lambda seen: seen == 'available')

    def add_snapshot(self, volume: ports.Volume) -> None:
        fields = {'volume_id': volume.id}
        name = f'reservation:{volume.reservation_id}:{volume.pool_uuid}'
        quota = {f'snapshots_{name}': -1, f'gigabytes_{name}': -1}
        self._ask('PUT', f'/os-quota-sets/{MINE}', {'quota_set': quota})
        self._ask('POST', '/snapshots', {'snapshot': fields}, MINE)

    def delete_snapshots(self, volume: ports.Volume) -> None:
        for each in self.volumes.find_snapshots(volume, MINE):
            self._ask('DELETE', f'/snapshots/{each}', None)

    def _ask(
        self,
        method: str,
        path: str,
        wanted: Any,
        project_id: str = OTHERS,
        mv: str = '3.0',
    ) -> Any:
        answer = requests.request(
            method,
            f'{self._url}{path}',
            json=wanted,
            headers={
                'X-Auth-Token': f'user:{project_id}',
                'OpenStack-API-Version': f'volume {mv}',
            },
            timeout=_SECONDS,
        )
        assert answer.status_code in (200, 202), answer.text
        return answer.json() if answer.content else None


World = FakeWorld | CinderWorld


def until(seen: Callable[[], Any], wanted: Callable[[Any], bool]) -> Any:
    deadline = time.monotonic() + _SECONDS
    while not wanted(found := seen()):
        assert time.monotonic() < deadline, found
        time.sleep(0.1)
    return found


def found(
    world: World,
    wanted: ports.PoolPromise,
    project_id: str = MINE,
) -> list[ports.Volume]:
    return [
        volume
        for volume in world.volumes.find_volumes(project_id)
        if volume.is_of(wanted.reservation_id, wanted.pool)
    ]


def type_of(world: World, wanted: ports.PoolPromise) -> ports.VolumeType:
    (one,) = (
        each
        for each in world.volumes.find_types()
        if each.reservation_id == wanted.reservation_id
    )
    return one


def leads_to(world: World, volume_type: ports.VolumeType) -> set[str]:
    return {
        name
        for name, pool in world.volumes.find_pools().items()
        if volume_type.may_lead_to(pool)
    }


def group_of(world: World, key: str) -> ports.VolumeGroup | None:
    return next(
        (each for each in world.volumes.find_groups() if each.id == key), None
    )
