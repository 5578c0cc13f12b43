# SPDX-License-Identifier: Apache-2.0
"""Helpers for tests that lease storage pools and volumes in a region."""

from nova_reservations import objects
from nova_reservations.objects import pool as pools
from nova_reservations.testing import region as regions
from nova_reservations.types.cinder import fake as fake_volumes
from nova_reservations.types.cinder import monitor
from nova_reservations.types.cinder import storage
from nova_reservations.types.cinder import volume
from nova_reservations.types.servers import host
from nova_reservations.types.servers import monitor as compute

STORAGE = 'physical:storage'

TYPES = {
    objects.HOST: host.PhysicalHost,
    pools.VOLUME: volume.Volume,
    STORAGE: storage.Storage,
}
MONITORS = [compute.ComputeMonitor, monitor.VolumeMonitor]

FAST, SLOW = 'storage@files#fast', 'storage@files#slow'


def enrol(region: regions.Region, *names: str) -> None:
    """Add pools of 100 GiB; the property volume_type of each is the part of
    its name after the #."""
    for name in names:
        region.cloud.volumes.pools[name] = fake_volumes.pool(name)
        region.resources.add(
            pools.VOLUME,
            name,
            region.now,
            properties={pools.VOLUME_TYPE: name.partition('#')[2]},
        )


def asked(
    size_gb: int, amount: int = 1, **more: object
) -> tuple[str, dict[str, object]]:
    """Return the type and params of a reservation of volumes."""
    return pools.VOLUME, {'size_gb': size_gb, 'amount': amount, **more}


def whole(amount: int = 1, **more: object) -> tuple[str, dict[str, object]]:
    """Return the type and params of a reservation of whole pools."""
    return STORAGE, {'amount': amount, **more}


def there(region: regions.Region) -> list[tuple[str, int, str]]:
    """Return the project, the size and the status of all volumes."""
    return sorted(
        (made.project_id, made.volume.size_gb, made.volume.status)
        for made in region.cloud.volumes.made.values()
    )
