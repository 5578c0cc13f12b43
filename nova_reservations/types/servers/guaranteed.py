# SPDX-License-Identifier: Apache-2.0
"""Guaranteed slots of servers that carry their own lease.

The slots are planned and offered like those of flavor:instance, but have no
private flavor: the servers keep the flavor of their request, and the
scheduler recognises them by their lease.

Decision 0016: doc/source/decisions/0016-a-place-of-its-own
"""

from collections.abc import Mapping
import dataclasses
from typing import Any

from nova_reservations import ports
from nova_reservations.objects import demand
from nova_reservations.objects import requirements
from nova_reservations.types import base
from nova_reservations.types.servers import flavor
from nova_reservations.types.servers import slots

ZONE = 'availability_zone'


class Place(flavor.FlavorInstance):
    def validate(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        """:param asked: the flavor, the amount and, if the servers must be in
        one, the availability zone.
        """
        return {
            'flavor_id': asked['flavor_id'],
            'amount': slots.amount(asked),
            'affinity': None,
            ZONE: asked.get(ZONE),
            **{name: asked[name] for name in flavor.FOUND},
        }

    def demand(self, params: Mapping[str, Any]) -> demand.Share:
        share = super().demand(params)
        zone = params[ZONE]
        if zone is None:
            return share
        there = requirements.Comparison('==', ZONE, zone)
        traits = (share.requirements,) if share.requirements else ()
        return dataclasses.replace(
            share, requirements=requirements.AllOf((there, *traits))
        )

    def occupants(self, booking: base.Booking) -> frozenset[str]:
        """Return the UUIDs of the servers that hold slots of the
        reservation."""
        occupancy = self.cloud.slots.servers_in_slots(
            booking.reservation.id, (*booking.resources, *booking.left), ()
        )
        return frozenset(server.uuid for server in occupancy.servers)

    def _slots(self, booking: base.Booking) -> ports.ReservedSlots:
        return dataclasses.replace(super()._slots(booking), flavor=None)
