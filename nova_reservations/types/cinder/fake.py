# SPDX-License-Identifier: Apache-2.0
"""The volumes of a cloud in memory."""

from collections.abc import Callable
import dataclasses
import datetime
from typing import Any
import uuid

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations import ports
from nova_reservations.testing import fake_state

_BEFORE = datetime.datetime(2000, 1, 1, tzinfo=datetime.UTC)

BUSY = frozenset({'creating', 'deleting'})
"""Statuses that pass by themselves."""


def pool(name: str, total_gb: int | None = 100) -> ports.VolumePool:
    """Return a pool of a backend, which is named like HOST@BACKEND#POOL."""
    backend, _, inner = name.partition('@')[2].partition('#')
    capabilities = {'volume_backend_name': backend, 'pool_name': inner}
    return ports.VolumePool(name, capabilities, total_gb, 0, up=True)


@dataclasses.dataclass(frozen=True, slots=True)
class Made:
    """:ivar type_name: the name of its volume type.

    :ivar pool: the pool in which Cinder has put it.
    """

    volume: ports.Volume
    project_id: str
    type_name: str
    pool: str | None = None


class FakeVolumes:
    """A Cinder in memory, with methods by which tests change it.

    :ivar pools: name -> pool.
    :ivar types: name -> type.
    :ivar access: name of a type -> the projects that may use it.
    :ivar quotas: name of a type -> the quota for its volumes.
    :ivar made: id -> volume, in the order of creation.
    :ivar without_role: projects in which nothing can be created.
    :ivar without_quota: projects without quota for more volumes.
    :ivar backups: ID of a volume -> its backups.
    :ivar has_backup_service: whether backups can be made.
    :ivar groups: ID -> group of volumes.
    :ivar grouped: IDs of groups that have volumes, and are not deleted.
    :ivar undeletable: IDs of groups whose deletion fails in the backend.
    :ivar snapshots: ID of a volume -> its snapshots, with which it can not be
        moved.
    :ivar immovable: IDs of volumes that can not be moved anywhere.
    :ivar copies: whether moved volumes are copied: then the source stays in
        the old pool, in status deleting, until the next finish().
    :ivar clock: returns the time of Cinder.
    :ivar slow: whether creations and deletions last until finish().
    :ivar broken: whether creations fail.
    :ivar is_silent: whether Cinder does not answer.
    """

    def __init__(self, state: fake_state.State) -> None:
        self._state = state
        self.pools: dict[str, ports.VolumePool] = {}
        self.types: dict[str, ports.VolumeType] = {}
        self.access: dict[str, set[str]] = {}
        self.quotas: dict[str, ports.VolumeQuota] = {}
        self.made: dict[str, Made] = {}
        self.without_role: set[str] = set()
        self.without_quota: set[str] = set()
        self.backups: dict[str, list[ports.Backup]] = {}
        self.has_backup_service = True
        self.groups: dict[str, ports.VolumeGroup] = {}
        self.grouped: set[str] = set()
        self.undeletable: set[str] = set()
        self.snapshots: dict[str, list[str]] = {}
        self.immovable: set[str] = set()
        self.copies = False
        self.clock: Callable[[], datetime.datetime] = lambda: _BEFORE
        self.slow = False
        self.broken = False
        self.is_silent = False
        self._number = 0
        self._wanted: dict[str, str] = {}

    def finish(self) -> None:
        """Finish everything that is being created, deleted or retyped."""
        for key, made in list(self.made.items()):
            if made.volume.status == 'creating':
                self.set_status(key, 'available')
            elif made.volume.status == 'deleting':
                del self.made[key]
            elif made.volume.status == 'retyping':
                self._retype(key, self._wanted.pop(key))
            elif made.volume.status == 'backing-up':
                self._finish_backups(key)

    def _retype(self, key: str, type_name: str) -> None:
        self.set_status(key, 'available')
        if key in self.immovable or self.snapshots.get(key):
            return
        before = self.made[key]
        moved = dataclasses.replace(
            before, type_name=type_name, pool=self._where(type_name)
        )
        self.made[key] = moved
        if self.copies and moved.pool != before.pool:
            self._number += 1
            left = f'volume {self._number}'
            volume = dataclasses.replace(
                before.volume, id=left, status='deleting'
            )
            self.made[left] = dataclasses.replace(
                moved, volume=volume, pool=before.pool
            )

    def _where(self, type_name: str) -> str | None:
        """Return a pool to which a volume type leads."""
        wanted = self.types.get(type_name)
        for name, each in self.pools.items():
            if wanted is not None and wanted.may_lead_to(each):
                return name
        return None

    def _finish_backups(self, key: str) -> None:
        self.set_status(key, 'available')
        self.backups[key] = [
            dataclasses.replace(
                each, status='error' if self.broken else 'available'
            )
            for each in self.backups[key]
        ]

    def attach(self, key: str, *servers: str) -> None:
        """Attach a volume to servers; without servers, detach it."""
        self._change(
            key, status='in-use' if servers else 'available', servers=servers
        )

    def add_type(
        self, name: str, is_public: bool = True, **specs: str
    ) -> None:
        """Add or change a volume type that is not ours."""
        self.types[name] = ports.VolumeType(
            f'id of {name}', name, is_public, specs
        )

    def set_status(self, key: str, status: str) -> None:
        self._change(key, status=status)

    def _change(self, key: str, **changes: Any) -> None:
        made = self.made[key]
        volume = dataclasses.replace(
            made.volume, changed_at=self.clock(), **changes
        )
        self.made[key] = dataclasses.replace(made, volume=volume)

    def acts_for(self, project_id: str) -> bool:
        return project_id not in self.without_role

    def acts_everywhere(self) -> bool:
        return not self.without_role

    def find_pools(self) -> dict[str, ports.VolumePool]:
        self._answer()
        return dict(self.pools)

    def find_types(self) -> list[ports.VolumeType]:
        self._answer()
        return list(self.types.values())

    def ensure_type(
        self, promise: ports.PoolPromise, check: ports.Check
    ) -> None:
        name = _name(promise.reservation_id, promise.pool)
        self._answer()
        if name not in self.types:
            pool = self.pools.get(promise.pool.name)
            if pool is None:
                raise exception.CloudUnavailable(
                    service='Cinder', reason='a pool of its is down'
                )
            check()
            self._state.write('create volume type')
            self.types[name] = ports.VolumeType(
                str(uuid.uuid4()),
                name,
                False,
                dict(pool.capabilities),
                promise.reservation_id,
                promise.pool.uuid,
                promise.database,
            )
        if self.types[name].is_public:
            check()
            self._make_private(name)
        check()
        self._state.write('set quota of volumes')
        self.quotas[name] = promise.quota
        check()
        self._state.write('give access to volume type')
        self.access.setdefault(name, set()).add(promise.project_id)

    def find_access(self, volume_type: ports.VolumeType) -> set[str]:
        self._answer()
        return self.access.get(volume_type.name, set())

    def find_volumes(self, project_id: str) -> list[ports.Volume]:
        self._answer()
        return [
            self._shown(made)
            for made in self.made.values()
            if made.project_id == project_id
        ]

    def _shown(self, made: Made) -> ports.Volume:
        """Return a volume with the fields that follow from its type."""
        its = self.types[made.type_name]
        return dataclasses.replace(
            made.volume,
            project_id=made.project_id,
            reservation_id=its.reservation_id,
            pool_uuid=its.pool_uuid,
            pool=made.pool,
            may_get_any_type=made.volume.status == 'retyping',
        )

    def find_volumes_of(
        self, volume_type: ports.VolumeType
    ) -> list[ports.Volume]:
        self._answer()
        return [
            self._shown(made)
            for made in self.made.values()
            if made.type_name == volume_type.name
        ]

    def add_group(
        self, key: str, project_id: str, *type_names: str
    ) -> ports.VolumeGroup:
        """Create a group; Cinder does not check access to its types."""
        ids = frozenset(self.types[name].id for name in type_names)
        self.groups[key] = ports.VolumeGroup(key, project_id, ids, 'available')
        return self.groups[key]

    def find_groups(self) -> list[ports.VolumeGroup]:
        self._answer()
        return list(self.groups.values())

    def delete_group(
        self, group: ports.VolumeGroup, check: ports.Check
    ) -> str | None:
        self._ask('delete group of volumes', check)
        if group.id in self.grouped:
            return 'it still contains volumes'
        if group.id in self.undeletable:
            self.groups[group.id] = dataclasses.replace(group, status='error')
        else:
            self.groups.pop(group.id, None)
        return None

    def find_strangers(self, pool: str) -> list[ports.Volume]:
        self._answer()
        return [
            made.volume
            for made in self.made.values()
            if made.pool == pool
            and made.volume.status != 'deleting'
            and self.types[made.type_name].reservation_id is None
        ]

    def create_volume(
        self, volumes: ports.ReservedVolumes, name: str, check: ports.Check
    ) -> None:
        self._ask('create volume', check)
        self.make(
            volumes.project_id,
            _name(volumes.reservation_id, volumes.pool),
            volumes.size_gb,
            name,
        )

    def make(
        self, project_id: str, type_name: str, size_gb: int, name: str = ''
    ) -> None:
        """Create a volume on a request of the project.

        :raises: CloudRefused
        """
        theirs = [
            made.volume.size_gb
            for made in self.made.values()
            if made.type_name == type_name
        ]
        is_public = type_name in self.types and self.types[type_name].is_public
        if (
            project_id in self.without_role | self.without_quota
            or not (is_public or project_id in self.access.get(type_name, ()))
            or not self._has_room(type_name, [*theirs, size_gb])
        ):
            raise exception.CloudRefused(
                what='A volume', reason='it can not be had'
            )
        self._number += 1
        key = f'volume {self._number}'
        status = 'creating' if self.slow else 'available'
        volume = ports.Volume(
            key,
            name,
            'error' if self.broken else status,
            size_gb,
            self.clock(),
        )
        self.made[key] = Made(
            volume, project_id, type_name, self._where(type_name)
        )

    def _has_room(self, type_name: str, sizes: list[int]) -> bool:
        quota = self.quotas.get(type_name, ports.VolumeQuota(-1, -1, -1))
        return all(
            limit == -1 or wanted <= limit
            for wanted, limit in (
                (len(sizes), quota.volumes),
                (sum(sizes), quota.gigabytes),
            )
        )

    def delete_volume(
        self, volume: ports.Volume, check: ports.Check
    ) -> str | None:
        self._ask('delete volume', check)
        made = self.made.get(volume.id)
        if made is None:
            return None
        if made.volume.servers:
            return 'it is attached'
        if self.slow:
            self.set_status(volume.id, 'deleting')
        else:
            del self.made[volume.id]
        return None

    def retype_volume(
        self, volume: ports.Volume, volume_type: str, check: ports.Check
    ) -> str | None:
        self._ask('retype volume', check)
        if volume.id not in self.made or volume_type not in self.types:
            return 'it could not be found'
        if self.broken:
            return 'no valid host was found'
        self.set_status(volume.id, 'retyping')
        self._wanted[volume.id] = volume_type
        if not self.slow:
            self.finish()
        return None

    def find_snapshots(
        self, volume: ports.Volume, project_id: str
    ) -> list[str]:
        self._answer()
        if self.made[volume.id].project_id != project_id:
            return []
        return list(self.snapshots.get(volume.id, ()))

    def makes_backups(self) -> bool:
        self._answer()
        return self.has_backup_service

    def find_backups(self, volume: ports.Volume) -> list[ports.Backup]:
        self._answer()
        return list(self.backups.get(volume.id, ()))

    def create_backup(
        self,
        volume: ports.Volume,
        project_id: str,
        description: str,
        check: ports.Check,
    ) -> str | None:
        self._ask('back up volume', check)
        if project_id in self.without_role | self.without_quota:
            return 'it can not be had'
        self._number += 1
        made = ports.Backup(f'backup {self._number}', 'creating', description)
        self.backups.setdefault(volume.id, []).append(made)
        self.set_status(volume.id, 'backing-up')
        if not self.slow:
            self.finish()
        return None

    def close_type(
        self,
        volume_type: ports.VolumeType,
        project_id: str,
        check: ports.Check,
    ) -> None:
        self._ask('take access to volume type', check)
        self.access.get(volume_type.name, set()).discard(project_id)
        if volume_type.name in self.types:
            self._make_private(volume_type.name)

    def _make_private(self, name: str) -> None:
        self.types[name] = dataclasses.replace(
            self.types[name], is_public=False
        )

    def delete_type(
        self, volume_type: ports.VolumeType, check: ports.Check
    ) -> bool:
        self._ask('delete volume type', check)
        if any(
            made.type_name == volume_type.name for made in self.made.values()
        ) or any(
            volume_type.id in group.type_ids for group in self.groups.values()
        ):
            return False
        self.types.pop(volume_type.name, None)
        return True

    def _ask(self, step: str, check: ports.Check) -> None:
        check()
        self._state.write(step)
        self._answer()

    def _answer(self) -> None:
        """:raises: CloudUnavailable while nobody answers"""
        if self.is_silent:
            raise exception.CloudUnavailable(
                service='Cinder', reason='it does not answer'
            )


def _name(reservation_id: str, pool: objects.Resource) -> str:
    return f'reservation:{reservation_id}:{pool.uuid}'
