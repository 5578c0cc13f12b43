# SPDX-License-Identifier: Apache-2.0
"""Servers that carry their own lease: ``virtual:server``.

Nova is asked for them, with a hint that says for when: POST /servers is all
that a user does. To clients of leases theirs is a reservation of type
``virtual:instance``, of the first server.
"""

from collections.abc import Mapping
import datetime
from typing import Any
from typing import ClassVar

from nova_reservations import exception
from nova_reservations import values
from nova_reservations.plugins import base
from nova_reservations.plugins import lifespan

SHOWN_AS = 'virtual:instance'

_ON_END: Mapping[str, Any] = {
    'oneOf': [
        {'type': 'string', 'maxLength': 64},
        {
            'type': 'array',
            'items': {'enum': list(lifespan.ENDINGS)},
            'minItems': 1,
            'uniqueItems': True,
        },
        {'type': 'null'},
    ],
}


class Server(base.ResourceType):
    schema: ClassVar[Mapping[str, Any]] = {
        'type': 'object',
        'properties': {'on_end': _ON_END, 'guaranteed': {'type': 'boolean'}},
        'additionalProperties': False,
    }
    update_schema: ClassVar[Mapping[str, Any]] = {
        'type': 'object',
        'properties': {'on_end': _ON_END},
        'additionalProperties': False,
    }
    comes_alone: ClassVar[bool] = True

    def validate(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        if asked.get('guaranteed'):
            raise exception.InvalidInput(
                'No place can be guaranteed to a server with a lease of its '
                'own; lease slots, of type flavor:instance or '
                'virtual:instance, and create the server in these'
            )
        return {'on_end': self._on_end(asked), 'guaranteed': False}

    def _on_end(self, asked: Mapping[str, Any]) -> list[str]:
        """:raises: InvalidInput"""
        wanted = asked.get('on_end')
        if wanted is None:
            wanted = self.conf.reservations.instance_on_end
        elif isinstance(wanted, str):
            wanted = [one.strip() for one in wanted.split(',')]
        unknown = sorted(set(wanted) - set(lifespan.ENDINGS))
        if unknown or not wanted:
            raise exception.InvalidInput(
                f'on_end {", ".join(unknown)!r} is not known; choose of: '
                f'{", ".join(lifespan.ENDINGS)}'
            )
        if (
            lifespan.CREATE_IMAGE in wanted
            and not self.cloud.acts_for_projects()
        ):
            raise exception.InvalidInput(
                f'on_end {lifespan.CREATE_IMAGE} can not be offered: this '
                'Nova has no [service_user]; ask the operator'
            )
        return [one for one in lifespan.ENDINGS if one in wanted]

    def demand(self, params: Mapping[str, Any]) -> None:
        """It runs where there is room, as any server: nothing is planned."""
        return None

    def exists(self, booking: base.Booking) -> bool:
        made = [one.uuid for one in booking.reservation.servers]
        return bool(self.cloud.find_servers(made))

    def prepare(self, booking: base.Booking) -> base.Waiting | None:
        return lifespan.lay_by(booking, self.cloud)

    def start(self, booking: base.Booking) -> base.Waiting | None:
        timeout = self.conf.reservations.unshelve_timeout
        return lifespan.bring_back(
            booking, self.cloud, datetime.timedelta(seconds=timeout)
        )

    def update(self, booking: base.Booking) -> None:
        """Nothing of it changes while it lasts but its end."""

    def end(self, booking: base.Booking) -> base.Waiting | None:
        return lifespan.end(booking, self.cloud)

    def show(self, reservation: values.Reservation) -> Mapping[str, Any]:
        servers = [one.uuid for one in reservation.servers]
        return {
            **reservation.params,
            'resource_type': SHOWN_AS,
            'resource_id': servers[0] if servers else reservation.id,
            'servers': servers,
        }
