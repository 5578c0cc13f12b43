# SPDX-License-Identifier: Apache-2.0
"""Volumes of Cinder.

Volume types and quotas, which decide on pools, are managed as an
administrator. Volumes are created with a token of their project."""

from collections.abc import Collection
from collections.abc import Mapping
import dataclasses
import datetime
from typing import Any

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations import ports
from nova_reservations.cloud import credentials
from nova_reservations.types.cinder import calls as cinder

_DELETE_FORCE = '3.23'
"""The first microversion in which force deletes a volume in any status."""

_GROUPS = '3.58'
"""The first microversion that shows the projects of groups."""

_DELETE_GROUP = '3.13'
"""The first microversion with groups."""

_STUCK = frozenset({'awaiting-transfer', 'error_deleting', 'reserved'})
"""Statuses in which Cinder deletes a volume only by force, though no work on
the volume is under way. Force is not used in other statuses: during such work
it might leave something in the pool."""

_COPY_OF = 'target:'
"""Prefix of a copy's migration status, before the ID of the volume that is
copied."""

_PREFIX = 'reservation'
_DATABASE = 'nova_reservations:database'
"""An extra spec; Cinder's scheduler ignores it, as all with a foreign scope.
"""


class Volumes:
    """Opens nothing until it is used, and so may be made before a fork."""

    def acts_for(self, project_id: str) -> bool:
        return credentials.act_for(project_id)

    def acts_everywhere(self) -> bool:
        return bool(credentials.inherited_roles())

    def find_pools(self) -> Mapping[str, ports.VolumePool]:
        answer = cinder.request(
            'GET', '/scheduler-stats/get_pools', params={'detail': 'true'}
        )
        return {
            each['name']: _pool(each['name'], each['capabilities'])
            for each in answer.json()['pools']
        }

    def find_types(self) -> Collection[ports.VolumeType]:
        return [
            _type(each) for each in cinder.list_all('types', is_public='None')
        ]

    def ensure_type(
        self, promise: ports.PoolPromise, check: ports.Check
    ) -> None:
        name = _name(promise.reservation_id, promise.pool)
        found = _of_name(name) or self._create_type(name, promise, check)
        if found.is_public:
            check()
            _make_private(found)
        check()
        cinder.changed(
            'The quota of its volumes',
            cinder.request(
                'PUT',
                f'/os-quota-sets/{promise.project_id}',
                *cinder.REFUSED,
                body={
                    'quota_set': {
                        f'volumes_{name}': promise.quota.volumes,
                        f'gigabytes_{name}': promise.quota.gigabytes,
                        f'snapshots_{name}': promise.quota.snapshots,
                    }
                },
            ),
        )
        check()
        cinder.request(
            'POST',
            f'/types/{found.id}/action',
            # The project has access already.
            409,
            body={'addProjectAccess': {'project': promise.project_id}},
        )

    def _create_type(
        self, name: str, promise: ports.PoolPromise, check: ports.Check
    ) -> ports.VolumeType:
        pool = self.find_pools().get(promise.pool.name)
        if pool is None:
            raise exception.CloudUnavailable(
                service='Cinder', reason='a pool of its is down'
            )
        backend, inner = pool.key
        check()
        answer = cinder.request(
            'POST',
            '/types',
            *cinder.REFUSED,
            body={
                'volume_type': {
                    'name': name,
                    'description': 'Of a lease: it comes and goes with it.',
                    'os-volume-type-access:is_public': False,
                    'extra_specs': {
                        'volume_backend_name': backend,
                        'pool_name': inner,
                        _DATABASE: promise.database,
                    },
                }
            },
        )
        if answer.status_code == 409:
            # The request of a worker that was killed was carried out only
            # now.
            found = _of_name(name)
            if found is not None:
                return found
        cinder.changed('Its volume type', answer)
        return _type(answer.json()['volume_type'])

    def find_access(self, volume_type: ports.VolumeType) -> Collection[str]:
        answer = cinder.request(
            'GET',
            f'/types/{volume_type.id}/os-volume-type-access',
            cinder.GONE,
        )
        found = answer.json().get('volume_type_access', ())
        return {each['project_id'] for each in found}

    def find_volumes(self, project_id: str) -> list[ports.Volume]:
        found = cinder.list_all(
            'volumes/detail', all_tenants='1', project_id=project_id
        )
        return read(
            sorted(found, key=lambda each: (each['created_at'], each['id']))
        )

    def find_volumes_of(
        self, volume_type: ports.VolumeType
    ) -> Collection[ports.Volume]:
        return [
            _volume(each)
            for each in cinder.list_all(
                'volumes/detail',
                all_tenants='1',
                volume_type_id=volume_type.id,
            )
        ]

    def find_groups(self) -> Collection[ports.VolumeGroup]:
        """Return all groups, by both APIs: groups that were created by the
        older API are shown and deleted only by that. It also shows the
        others."""
        found = {
            each['id']: each
            for each in cinder.list_all(
                'groups/detail', all_tenants='1', microversion=_GROUPS
            )
        }
        return [_group(each, is_older=False) for each in found.values()] + [
            _group(each, is_older=True)
            # The older API is deprecated, and may be gone.
            for each in cinder.list_all(
                'consistencygroups/detail', cinder.GONE, all_tenants='1'
            )
            if each['id'] not in found
        ]

    def delete_group(
        self, group: ports.VolumeGroup, check: ports.Check
    ) -> str | None:
        check()
        answer = (
            cinder.request(
                'POST',
                f'/consistencygroups/{group.id}/delete',
                *cinder.REFUSED,
                body={'consistencygroup': {'force': False}},
            )
            if group.is_older
            else cinder.request(
                'POST',
                f'/groups/{group.id}/action',
                *cinder.REFUSED,
                body={'delete': {'delete-volumes': False}},
                microversion=_DELETE_GROUP,
            )
        )
        return cinder.refusal(answer, cinder.GONE)

    def find_strangers(self, pool: str) -> Collection[ports.Volume]:
        return [
            _volume(each)
            for each in cinder.list_all(
                'volumes/detail', all_tenants='1', host=pool
            )
            if each['status'] != 'deleting'
            and _reserved_for(each['volume_type']) == (None, None)
        ]

    def create_volume(
        self, volumes: ports.ReservedVolumes, name: str, check: ports.Check
    ) -> None:
        check()
        cinder.changed(
            'A volume',
            cinder.request(
                'POST',
                '/volumes',
                *cinder.REFUSED,
                project_id=volumes.project_id,
                body={
                    'volume': {
                        'name': name,
                        'size': volumes.size_gb,
                        'volume_type': _name(
                            volumes.reservation_id, volumes.pool
                        ),
                    }
                },
            ),
        )

    def delete_volume(
        self, volume: ports.Volume, check: ports.Check
    ) -> str | None:
        check()
        answer = cinder.request(
            'DELETE',
            f'/volumes/{volume.id}',
            *cinder.REFUSED,
            params={
                'cascade': 'true',
                'force': str(volume.status in _STUCK).lower(),
            },
            microversion=_DELETE_FORCE,
        )
        return cinder.refusal(answer, cinder.GONE)

    def retype_volume(
        self, volume: ports.Volume, volume_type: str, check: ports.Check
    ) -> str | None:
        check()
        answer = cinder.request(
            'POST',
            f'/volumes/{volume.id}/action',
            *cinder.REFUSED,
            body={
                'os-retype': {
                    'new_type': volume_type,
                    'migration_policy': 'on-demand',
                }
            },
        )
        return cinder.refusal(answer)

    def find_snapshots(
        self, volume: ports.Volume, project_id: str
    ) -> list[str]:
        return [
            each['id']
            for each in cinder.list_all(
                'snapshots/detail',
                all_tenants='1',
                volume_id=volume.id,
                project_id=project_id,
            )
        ]

    def makes_backups(self) -> bool:
        answer = cinder.request(
            'GET', '/os-services', params={'binary': 'cinder-backup'}
        )
        return any(
            (each['state'], each['status']) == ('up', 'enabled')
            for each in answer.json()['services']
        )

    def find_backups(self, volume: ports.Volume) -> list[ports.Backup]:
        return [
            ports.Backup(each['id'], each['status'], each['description'] or '')
            for each in cinder.list_all(
                'backups/detail', all_tenants='1', volume_id=volume.id
            )
        ]

    def create_backup(
        self,
        volume: ports.Volume,
        project_id: str,
        description: str,
        check: ports.Check,
    ) -> str | None:
        check()
        try:
            answer = cinder.request(
                'POST',
                '/backups',
                *cinder.REFUSED,
                project_id=project_id,
                body={
                    'backup': {
                        'volume_id': volume.id,
                        'name': volume.name,
                        'description': description,
                    }
                },
            )
        except exception.CloudRefused as error:
            return str(error)
        return cinder.refusal(answer)

    def close_type(
        self,
        volume_type: ports.VolumeType,
        project_id: str,
        check: ports.Check,
    ) -> None:
        check()
        if volume_type.is_public:
            _make_private(volume_type)
        cinder.request(
            'POST',
            f'/types/{volume_type.id}/action',
            cinder.GONE,
            body={'removeProjectAccess': {'project': project_id}},
        )

    def delete_type(
        self, volume_type: ports.VolumeType, check: ports.Check
    ) -> bool:
        check()
        answer = cinder.request(
            'DELETE', f'/types/{volume_type.id}', 400, cinder.GONE
        )
        return answer.status_code != 400


def _make_private(volume_type: ports.VolumeType) -> None:
    cinder.request(
        'PUT',
        f'/types/{volume_type.id}',
        cinder.GONE,
        body={'volume_type': {'is_public': False}},
    )


def _name(reservation_id: str, pool: objects.Resource) -> str:
    return f'{_PREFIX}:{reservation_id}:{pool.uuid}'


def _of_name(name: str) -> ports.VolumeType | None:
    for each in cinder.list_all('types', is_public='None'):
        if each['name'] == name:
            return _type(each)
    return None


def _reserved_for(type_name: str | None) -> tuple[str | None, str | None]:
    """Return the reservation and the pool of a volume type; None twice if it
    is not one of ours."""
    match (type_name or '').split(':'):
        case [prefix, reservation_id, pool_uuid] if prefix == _PREFIX:
            return reservation_id, pool_uuid
    return None, None


def _type(found: Mapping[str, Any]) -> ports.VolumeType:
    specs = found.get('extra_specs') or {}
    reservation_id, pool_uuid = _reserved_for(found['name'])
    return ports.VolumeType(
        found['id'],
        found['name'],
        found['is_public'],
        specs,
        reservation_id,
        pool_uuid,
        specs.get(_DATABASE),
    )


def read(found: Collection[Mapping[str, Any]]) -> list[ports.Volume]:
    """Return the volumes in an answer of Cinder.

    The answer must have all volumes of a project: while Cinder copies a
    volume, the copy is there, too, with the new volume type. Only without a
    copy the new type of a volume that is being retyped is unknown."""
    copied = {
        (each.get('migration_status') or '').removeprefix(_COPY_OF)
        for each in found
    }
    return [
        dataclasses.replace(
            _volume(each),
            may_get_any_type=each['status'] == 'retyping'
            and each['id'] not in copied,
        )
        for each in found
    ]


def _volume(found: Mapping[str, Any]) -> ports.Volume:
    reservation_id, pool_uuid = _reserved_for(found['volume_type'])
    return ports.Volume(
        found['id'],
        found['name'] or found['id'],
        found['status'],
        found['size'],
        datetime.datetime.fromisoformat(
            found['updated_at'] or found['created_at']
        ).replace(tzinfo=datetime.UTC),
        tuple(
            attached['server_id']
            for attached in found['attachments']
            if attached.get('server_id')
        ),
        found.get('os-vol-tenant-attr:tenant_id'),
        reservation_id,
        pool_uuid,
        pool=found.get('os-vol-host-attr:host'),
    )


def _group(found: Mapping[str, Any], is_older: bool) -> ports.VolumeGroup:
    return ports.VolumeGroup(
        found['id'],
        found.get('project_id'),
        frozenset(found['volume_types']),
        found['status'],
        is_older,
    )


def _pool(name: str, found: Mapping[str, Any]) -> ports.VolumePool:
    return ports.VolumePool(
        name,
        found,
        _whole(found.get('total_capacity_gb')),
        _whole(found.get('allocated_capacity_gb')) or 0,
        found.get('backend_state', 'up') == 'up',
    )


def _whole(size: object) -> int | None:
    """Return whole GiB; None for ``infinite`` and ``unknown``."""
    return int(size) if isinstance(size, int | float) else None
