# SPDX-License-Identifier: Apache-2.0
"""Groups of volumes that name a volume type of a reservation.

Cinder looks up the types of a new group as an administrator, whoever creates
the group, and does not delete a type before its groups. It checks access
before it creates a volume of the type, though. So a group can hold up the
deletion of the type, but does not keep others out of the pool.

Decision 0054: doc/source/decisions/0054-volumes
"""

import datetime

from oslo_log import log

from nova_reservations import objects
from nova_reservations import ports
from nova_reservations.types import base

LOG = log.getLogger(__name__)

PATIENCE = datetime.timedelta(minutes=2)
"""The time that an end waits for groups to go. It is limited because anybody
can create another group each time, and no group keeps others out of the
pool."""

_DELETING = 'deleting'
_FAILED = 'error'
"""The status of a group that could not be created or deleted. Many backends
can not delete groups that were created by the older API."""


def remove(
    volume_type: ports.VolumeType, booking: base.Booking, cloud: ports.Cloud
) -> list[objects.Reason]:
    """Delete the empty groups, of any project, that name a volume type which
    no volume has; return reasons for those that will be gone in a moment.

    A group that also has volume types of others is left, because it may be of
    use to its project.
    """
    its = {
        each.id
        for each in cloud.volumes.find_types()
        if each.reservation_id == booking.reservation.id
    }
    waits = []
    for group in cloud.volumes.find_groups():
        if volume_type.id not in group.type_ids:
            continue
        why = None
        if not its.issuperset(group.type_ids):
            why = 'it has other volume types, too'
        elif group.status != _DELETING:
            why = cloud.volumes.delete_group(group, booking.check)
        told = f'Group {group.id} of project {group.project_id or "unknown"}'
        if (
            why is None
            and group.status != _FAILED
            and booking.ending < PATIENCE
        ):
            waits.append(
                objects.Reason(
                    'A group of volumes that has its volume type is being '
                    'deleted',
                    f'{told}, which has volume type {volume_type.name} and no '
                    'volumes, is being deleted',
                )
            )
            continue
        LOG.warning(
            '%(told)s keeps volume type %(name)s of reservation %(id)s: '
            '%(why)s',
            {
                'told': told,
                'name': volume_type.name,
                'id': booking.reservation.id,
                'why': why or f'its status is {group.status}',
            },
        )
    return waits
