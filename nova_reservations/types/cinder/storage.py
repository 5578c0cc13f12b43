# SPDX-License-Identifier: Apache-2.0
"""Whole storage pools: the resource type ``physical:storage``."""

from collections.abc import Collection
from collections.abc import Mapping
from typing import Any

from nova_reservations import objects
from nova_reservations import ports
from nova_reservations.objects import demand
from nova_reservations.objects import pool
from nova_reservations.types import base
from nova_reservations.types import schemas
from nova_reservations.types.cinder import pool_type


class Storage(pool_type.Pools):
    """Whole pools: the project creates volumes in them itself, as many as
    there is room for."""

    schema = schemas.closed(pool_type.PROPERTIES)
    update_schema = schema

    def validate(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        return pool_type.common(asked)

    def demand(self, params: Mapping[str, Any]) -> demand.Demand:
        return demand.Demand(
            pool.VOLUME,
            params['amount'],
            params['amount'],
            pool_type.leading(params['volume_type']),
        )

    def start(self, booking: base.Booking) -> None:
        for each in booking.resources:
            self.cloud.volumes.ensure_type(
                ports.ReservedPool(
                    booking.reservation.id,
                    booking.lease.project_id,
                    each,
                    booking.database,
                ),
                booking.check,
            )

    def usage(
        self,
        lease: objects.Lease,
        reservation: objects.Reservation,
        resources: Collection[objects.Resource],
        servers: Collection[str],
    ) -> Mapping[str, Any]:
        """Return in addition the volume types with which the project can
        create volumes, without those of pools that have failed."""
        return {
            **super().usage(lease, reservation, resources, servers),
            'volume_types': sorted(
                each.name
                for each, _ in self.find_types(reservation, resources)
                if lease.project_id in self.cloud.volumes.find_access(each)
            ),
        }
