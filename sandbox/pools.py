# SPDX-License-Identifier: Apache-2.0
"""A backend of Cinder without any storage: its volumes are sparse files.

A pool is a folder. The pool is down while its folder is missing: stories move
the folder away and back.
"""

import pathlib
from typing import Any

from cinder.volume import driver
from cinder.volume import volume_utils
from oslo_config import cfg

from sandbox import layout as lo

_GIB = 1 << 30


class Driver(driver.VolumeDriver):
    """The backend; it does not overcommit its pools."""

    VERSION = '1'

    def do_setup(self, context: object) -> None:
        """Create the pools at the first start."""
        if not _folder().exists():
            for name in lo.POOLS:
                (_folder() / name).mkdir(parents=True)

    def check_for_setup_error(self) -> None:
        """Do nothing: a pool whose folder is missing is reported as down."""

    def create_volume(self, volume: Any) -> None:
        self.extend_volume(volume, volume.size)

    def extend_volume(self, volume: Any, new_size: int) -> None:
        with _file(volume).open('ab') as file:
            file.truncate(new_size * _GIB)

    def create_snapshot(self, snapshot: Any) -> None:
        """Do nothing: nobody reads the content of snapshots."""

    def delete_snapshot(self, snapshot: Any) -> None:
        """Do nothing: a snapshot has no file."""

    def delete_consistencygroup(
        self, context: object, group: object, volumes: object
    ) -> tuple[dict[str, str], list[object]]:
        """Delete a group of the older API. It has no volumes, because this
        backend can not create such groups with volumes."""
        return {'status': 'deleted'}, []

    def delete_volume(self, volume: Any) -> None:
        _file(volume).unlink(missing_ok=True)

    def retype(
        self,
        context: object,
        volume: Any,
        new_type: object,
        diff: object,
        host: dict[str, Any],
    ) -> bool:
        """Move a volume to the pool of its new type. Like many backends,
        refuse to move a volume with snapshots."""
        if volume.snapshots:
            return False
        there = volume_utils.extract_host(host['host'], 'pool')
        _file(volume).rename(_folder() / there / volume.name)
        return True

    def ensure_export(
        self, context: object, volume: Any, connector: object = None
    ) -> None:
        """Do nothing: volumes are not read over a network."""

    create_export = remove_export = ensure_export

    def initialize_connection(
        self, volume: Any, connector: object
    ) -> dict[str, Any]:
        return {
            'driver_volume_type': 'local',
            'data': {'device_path': str(_file(volume))},
        }

    def terminate_connection(
        self, volume: Any, connector: object, **kwargs: object
    ) -> None:
        """Do nothing: a connection holds no resources."""

    def _update_volume_stats(self) -> None:
        name = self.configuration.volume_backend_name
        self._stats = {
            'volume_backend_name': name,
            'vendor_name': 'sandbox',
            'driver_version': self.VERSION,
            'storage_protocol': 'file',
            'pools': [
                _stats(_folder() / pool, size)
                for pool, size in lo.POOLS.items()
            ],
        }


def _folder() -> pathlib.Path:
    return lo.folder_of_pools(cfg.CONF.state_path)


def _file(volume: Any) -> pathlib.Path:
    pool = volume_utils.extract_host(volume.host, 'pool')
    return _folder() / pool / volume.name


def _stats(pool: pathlib.Path, size: int) -> dict[str, Any]:
    there = pool.exists()
    used = sum(file.stat().st_size for file in pool.iterdir()) if there else 0
    return {
        'pool_name': pool.name,
        'total_capacity_gb': size,
        'free_capacity_gb': size - used / _GIB,
        'allocated_capacity_gb': used / _GIB,
        'thick_provisioning_support': True,
        'backend_state': 'up' if there else 'down',
    }
