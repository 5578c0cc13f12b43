# SPDX-License-Identifier: Apache-2.0
"""Servers that carry their own lease: ``virtual:server``.

The user only sends POST /servers, with a scheduler hint that has the window
of the lease. The lease API shows a reservation of type ``virtual:instance``,
whose ``resource_id`` is the first server.

Such servers run wherever there is room, like any others. Servers with a
guaranteed place run in slots on hosts of the pool.
"""

from collections.abc import Collection
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import datetime
from typing import Any

from oslo_config import cfg

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations import ports
from nova_reservations.objects import demand
from nova_reservations.objects import states
from nova_reservations.plugins.event_actions import offered
from nova_reservations.types import base
from nova_reservations.types import schemas
from nova_reservations.types.servers import guaranteed
from nova_reservations.types.servers import shelving

SHOWN_AS = 'virtual:instance'

_ON_END: Mapping[str, Any] = {
    'oneOf': [
        {'type': 'string', 'maxLength': 64},
        {
            'type': 'array',
            'items': {'enum': list(shelving.ENDINGS)},
            'minItems': 1,
            'uniqueItems': True,
        },
        {'type': 'null'},
    ],
}


_PROPERTIES = {'on_end': _ON_END, **offered.PROPERTIES}


class Server(offered.WithServers):
    """Servers that carry their own lease.

    :ivar place: handles the slots of servers with a guaranteed place.
    """

    schema = schemas.closed({**_PROPERTIES, 'guaranteed': {'type': 'boolean'}})
    update_schema = schemas.closed(_PROPERTIES)
    comes_alone = True

    def __init__(self, cloud: ports.Cloud, conf: cfg.ConfigOpts) -> None:
        super().__init__(cloud, conf)
        self.place = guaranteed.Place(cloud, conf)

    def look_up(
        self, asked: Mapping[str, Any], project_id: str
    ) -> Mapping[str, Any]:
        if not asked.get('guaranteed'):
            return asked
        return self.place.look_up(asked, project_id)

    def validate(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        """:param asked: the hint of the user and, from the request to Nova,
        the flavor and so on, which only a guaranteed place needs.
        """
        on_end = self._on_end(asked)
        params = {'on_end': on_end, **self.actions.validate(asked)}
        if not asked.get('guaranteed'):
            return {**params, 'guaranteed': False}
        if shelving.DELETE not in on_end:
            raise exception.InvalidInput(
                'A server must leave its guaranteed place at the end, and '
                f'after on_end {", ".join(on_end)} it would not: add '
                f'{shelving.DELETE} to on_end; if it is not given, the '
                'operator can add it to [reservations] instance_on_end'
            )
        return {**params, 'guaranteed': True, **self.place.validate(asked)}

    def _on_end(self, asked: Mapping[str, Any]) -> list[str]:
        """:raises: InvalidInput"""
        wanted = asked.get('on_end')
        if wanted is None:
            wanted = self.conf.reservations.instance_on_end
        elif isinstance(wanted, str):
            wanted = [name.strip() for name in wanted.split(',')]
        unknown = sorted(set(wanted) - set(shelving.ENDINGS))
        if unknown or not wanted:
            raise exception.InvalidInput(
                f'on_end takes {", ".join(shelving.ENDINGS)}, and not '
                f'"{", ".join(unknown)}"'
            )
        if (
            shelving.CREATE_IMAGE in wanted
            and not self.cloud.servers.acts_for_projects()
        ):
            raise exception.InvalidInput(
                f'on_end {shelving.CREATE_IMAGE} can not be offered: this '
                'Nova has no [service_user]; ask the operator'
            )
        return [action for action in shelving.ENDINGS if action in wanted]

    def demand(self, params: Mapping[str, Any]) -> demand.Share | None:
        return self.place.demand(params) if params['guaranteed'] else None

    def receive(self, booking: base.Booking) -> None:
        if _is_guaranteed(booking.reservation):
            self.place.prepare(booking)

    def exists(self, booking: base.Booking) -> bool:
        made = [server.uuid for server in booking.reservation.servers]
        return bool(self.cloud.servers.find_servers(made))

    def prepare(self, booking: base.Booking) -> base.Waiting | None:
        return shelving.shelve(booking, self.cloud)

    def start(self, booking: base.Booking) -> base.Waiting | None:
        seconds = self.conf.reservations.unshelve_timeout
        timeout = datetime.timedelta(seconds=seconds)
        if not _is_guaranteed(booking.reservation):
            return shelving.unshelve(booking, self.cloud, timeout)
        if not self.place.has_slots(booking):
            self.place.prepare(booking)
        return shelving.unshelve(
            booking,
            self.cloud,
            timeout,
            hosts={
                resource.name
                for resource in (*booking.resources, *booking.left)
            },
        )

    def update(self, booking: base.Booking) -> None:
        """Change the guaranteed place: nothing else in Nova depends on what
        may change while the lease lasts."""
        if _is_guaranteed(booking.reservation):
            self.place.prepare(booking)

    def lacking(self, booking: base.Booking) -> Sequence[str]:
        if _is_guaranteed(booking.reservation):
            return self.place.lacking(booking)
        return ()

    def heal(self, booking: base.Booking) -> None:
        if _is_guaranteed(booking.reservation):
            self.place.heal(_with_servers(booking))

    def remains(self, booking: base.Booking) -> base.Remains:
        if not _is_guaranteed(booking.reservation):
            return super().remains(booking)
        return self.place.remains(_with_servers(booking))

    def find_servers(self, booking: base.Booking) -> list[ports.Server]:
        found = self.cloud.servers.find_servers(booking.reservation.living)
        return list(found.values())

    def ending(self, reservation: objects.Reservation) -> str:
        return ', '.join(reservation.params['on_end'])

    def end(self, booking: base.Booking) -> base.Waiting | None:
        if not _is_guaranteed(booking.reservation):
            return shelving.end(booking, self.cloud)
        waiting = shelving.end(
            booking,
            self.cloud,
            # Servers of a lease in ERROR are kept, except in slots: nothing
            # may stay on hosts of the pool.
            self.place.occupants(booking)
            if booking.reservation.status == states.Reservation.ERROR
            else (),
        )
        if waiting is None:
            return self.place.give_back(booking)
        self.place.vacate(_with_servers(booking))
        return waiting

    def usage(
        self,
        lease: objects.Lease,
        reservation: objects.Reservation,
        resources: Collection[objects.Resource],
        servers: Collection[str],
    ) -> Mapping[str, Any]:
        if not _is_guaranteed(reservation):
            return {}
        return {
            'used': self.cloud.slots.slots_taken(
                reservation.id, lease.project_id
            )
        }

    def show(self, reservation: objects.Reservation) -> Mapping[str, Any]:
        params = reservation.params
        servers = [server.uuid for server in reservation.servers]
        shown = {
            'on_end': params['on_end'],
            'before_end': offered.chosen(reservation),
            'guaranteed': params['guaranteed'],
            'resource_type': SHOWN_AS,
            'resource_id': servers[0] if servers else reservation.id,
            'servers': servers,
        }
        if _is_guaranteed(reservation):
            shown |= {
                'amount': params['amount'],
                'vcpus': params['flavor']['vcpus'],
                'memory_mb': params['flavor']['memory_mb'],
                'disk_gb': params['flavor']['root_gb'],
            }
        return shown


def _is_guaranteed(reservation: objects.Reservation) -> bool:
    return bool(reservation.params['guaranteed'])


def _with_servers(booking: base.Booking) -> base.Booking:
    """Return the booking as that of a reservation of slots, which has its
    servers in ``servers``."""
    living = frozenset(booking.reservation.living)
    return dataclasses.replace(booking, servers=living, chosen=living)
