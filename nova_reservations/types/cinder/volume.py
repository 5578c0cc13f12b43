# SPDX-License-Identifier: Apache-2.0
"""Volumes: the resource type ``virtual:volume``."""

from collections.abc import Mapping
from typing import Any

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations import ports
from nova_reservations.objects import demand
from nova_reservations.objects import pool
from nova_reservations.types import base
from nova_reservations.types import schemas
from nova_reservations.types.cinder import pool_type

LARGEST = 1 << 20
"""GiB."""

_PROPERTIES = {
    'size_gb': schemas.whole_number(LARGEST, digits=7),
    **pool_type.PROPERTIES,
}


class Volume(pool_type.Pools):
    """Volumes of one size, which are created for the project at the start.

    The project's quota of the volume types is what it was promised."""

    schema = schemas.closed(_PROPERTIES, 'size_gb')
    update_schema = schemas.closed(_PROPERTIES)

    def validate(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        size = int(asked['size_gb'])
        if not 1 <= size <= LARGEST:
            raise exception.InvalidInput(
                f'size_gb must be between 1 and {LARGEST}'
            )
        return {'size_gb': size, **pool_type.common(asked)}

    def demand(self, params: Mapping[str, Any]) -> demand.Share:
        return demand.Share(
            pool.VOLUME,
            params['amount'],
            {pool.SIZE: params['size_gb']},
            requirements=pool_type.leading(params['volume_type']),
        )

    def start(self, booking: base.Booking) -> base.Waiting | None:
        """Create the missing volumes, and wait until Cinder has made them."""
        making = []
        for volume in self._make(booking):
            if volume.status == 'creating':
                making.append(
                    objects.Reason.plain(f'Volume {volume.name} is being made')
                )
            elif volume.status == 'error':
                raise exception.CloudRefused(
                    what=f'Volume {volume.name}',
                    reason='Cinder could not make it, and says why in '
                    f'its messages of volume {volume.id}',
                )
        return base.Waiting.on(making) if making else None

    def update(self, booking: base.Booking) -> None:
        self._make(booking)

    def _make(self, booking: base.Booking) -> list[ports.Volume]:
        """Create the missing volumes; return all volumes of the
        reservation."""
        params = booking.reservation.params
        known = self.find_volumes(booking)
        for each in booking.resources:
            wanted = ports.ReservedVolumes(
                booking.reservation.id,
                booking.lease.project_id,
                each,
                booking.slots[each.id],
                params['size_gb'],
                booking.database,
            )
            self.cloud.volumes.ensure_type(wanted, booking.check)
            there = pool_type.its(booking, known, each)
            for _ in range(wanted.missing(there)):
                self.cloud.volumes.create_volume(
                    wanted, booking.lease.name, booking.check
                )
        return pool_type.its(
            booking, self.find_volumes(booking), *booking.resources
        )
