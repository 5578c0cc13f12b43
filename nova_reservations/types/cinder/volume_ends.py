# SPDX-License-Identifier: Apache-2.0
"""End actions on the volumes of a reservation."""

from collections.abc import Callable
from collections.abc import Mapping
import datetime

from oslo_config import cfg

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations import ports
from nova_reservations.types import base

DELETE = 'delete'
KEEP = 'keep'
BACKUP = 'backup'

_BUSY = {
    'deleting': 'deleted',
    'retyping': 'moved out of the pool of leases',
    'backing-up': 'backed up',
}
"""Volume status that passes by itself -> what Cinder is doing."""

_AT_REST = frozenset({'available', 'in-use'})
"""Volume statuses in which Cinder accepts a retype, and to which a volume
returns if the retype has failed."""

RETRY = datetime.timedelta(minutes=1)
"""The time between two requests to retype a volume; each failed request is an
error in Cinder's logs."""

_DESCRIPTION = 'At the end of reservation '


def check(
    action: str | None, cloud: ports.Cloud, conf: cfg.ConfigOpts
) -> None:
    """Check that an end action can be offered.

    :raises: InvalidInput, CloudUnavailable
    """
    if action == KEEP:
        wanted = conf.reservations.kept_volume_type
        if not wanted:
            raise exception.InvalidInput(
                'end_action keep is not offered here: the operator has named '
                'no volume type of volumes that are kept'
            )
        if wanted not in {each.name for each in cloud.volumes.find_types()}:
            raise exception.InvalidInput(
                f'end_action keep can not be offered: Cinder has no volume '
                f'type {wanted}; ask the operator'
            )
    elif action == BACKUP and not cloud.volumes.makes_backups():
        raise exception.InvalidInput(
            'end_action backup can not be offered: no cinder-backup is up; '
            'ask the operator'
        )


def leave(
    volume: ports.Volume,
    action: str,
    booking: base.Booking,
    cloud: ports.Cloud,
    conf: cfg.ConfigOpts,
) -> objects.Reason:
    """Do the next step of an end action on a volume; return why the volume is
    still there. A volume that is attached is waited for.

    Call it again after a crash, and as long as the volume is there.
    """
    if volume.servers:
        return objects.Reason.plain(
            f'Volume {volume.name} is attached to server '
            f'{", ".join(volume.servers)}: detach it'
        )
    if volume.status in _BUSY:
        return _being(volume, _BUSY[volume.status])
    return _ACTIONS[action](volume, booking, cloud, conf)


def _delete(
    volume: ports.Volume,
    booking: base.Booking,
    cloud: ports.Cloud,
    conf: cfg.ConfigOpts,
) -> objects.Reason:
    why = cloud.volumes.delete_volume(volume, booking.check)
    if why is None and volume.status == 'error_deleting':
        why = 'Cinder has failed at it, and is asked again'
    return _being(volume, _BUSY['deleting'], why)


def _keep(
    volume: ports.Volume,
    booking: base.Booking,
    cloud: ports.Cloud,
    conf: cfg.ConfigOpts,
) -> objects.Reason:
    """Retype a volume to the type of kept volumes, which moves it to another
    pool.

    Cinder accepts retypes that then fail, after which the volume is as it was.
    So if a volume has changed since the end began, its retype may have
    failed, and this is reported. Cinder is asked again when the volume has
    not changed for a while.
    """
    has_changed = (
        volume.status in _AT_REST
        and volume.changed_at >= booking.now - booking.ending
    )
    if has_changed and booking.now - volume.changed_at < RETRY:
        return _not_moved(volume, booking, cloud)
    why = cloud.volumes.retype_volume(
        volume, conf.reservations.kept_volume_type or '', booking.check
    )
    if why is None and has_changed:
        return _not_moved(volume, booking, cloud)
    return _being(volume, _BUSY['retyping'], why)


def _not_moved(
    volume: ports.Volume, booking: base.Booking, cloud: ports.Cloud
) -> objects.Reason:
    snapshots = cloud.volumes.find_snapshots(volume, booking.lease.project_id)
    what = (
        f'Volume {volume.name} is still in the pool of leases: Cinder is '
        'asked to move it a minute after each change of it. If it stays: '
    )
    if snapshots:
        return objects.Reason.plain(
            f'{what}many backends can not move a volume that has snapshots; '
            f'delete {", ".join(snapshots[: base.MAX_TOLD])}'
        )
    return objects.Reason(
        f'{what}there may be no room for it elsewhere; ask the operator, or '
        'delete it',
        f'{what}there may be no room for it where kept_volume_type leads, or '
        'its backend can not move it; the logs of cinder-scheduler and '
        f'cinder-volume tell of volume {volume.id}',
    )


def _back_up(
    volume: ports.Volume,
    booking: base.Booking,
    cloud: ports.Cloud,
    conf: cfg.ConfigOpts,
) -> objects.Reason:
    """Delete a volume once it has a backup. If the backup has failed, both
    are left for somebody to look at."""
    mark = f'{_DESCRIPTION}{booking.reservation.id}'
    made = [
        each
        for each in cloud.volumes.find_backups(volume)
        if each.description == mark
    ]
    if any(each.status == 'available' for each in made):
        return _delete(volume, booking, cloud, conf)
    for each in made:
        if each.status != 'creating':
            return objects.Reason.plain(
                f'Backup {each.id} of volume {volume.name} is in state '
                f'{each.status}: delete it, and another one is made'
            )
    why = None
    if not made:
        why = cloud.volumes.create_backup(
            volume, booking.lease.project_id, mark, booking.check
        )
    return _being(volume, _BUSY['backing-up'], why)


_ACTIONS: Mapping[
    str,
    Callable[
        [ports.Volume, base.Booking, ports.Cloud, cfg.ConfigOpts],
        objects.Reason,
    ],
] = {DELETE: _delete, KEEP: _keep, BACKUP: _back_up}

NAMES = (*_ACTIONS, None)


def _being(
    volume: ports.Volume, done: str, refused: str | None = None
) -> objects.Reason:
    if refused is None:
        return objects.Reason.plain(f'Volume {volume.name} is being {done}')
    return objects.Reason.plain(
        f'Volume {volume.name} can not be {done}: {refused}'
    )
