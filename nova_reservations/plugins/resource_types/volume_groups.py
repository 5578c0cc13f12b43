# SPDX-License-Identifier: Apache-2.0
"""Groups of volumes that name a volume type of a reservation.

Cinder looks a type up as an administrator for whoever makes a group, and keeps
the type as long as the group. It looks at access again before a volume of the
type is made: so a group keeps the type, and not the pool.

Decision 0054: doc/source/decisions/0054-volumes
"""

import datetime

from oslo_log import log

from nova_reservations import objects
from nova_reservations import ports
from nova_reservations.plugins.resource_types import base

LOG = log.getLogger(__name__)

PATIENCE = datetime.timedelta(minutes=2)
"""For so long an end waits for groups to go. Anybody can make another one each
time, and none keeps anybody out of the pool."""

_DELETING = 'deleting'
_FAILED = 'error'
"""The status of a group that could not be made, or deleted; many backends can
delete none that the older API has made."""


def remove(
    volume_type: ports.VolumeType, booking: base.Booking, cloud: ports.Cloud
) -> list[objects.Reason]:
    """Delete those that are empty, whoever has them, of a type that no volume
    has; return those that will be gone in a moment.

    One that has other volume types than the reservation's is left: it may be
    of use to its project.
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
