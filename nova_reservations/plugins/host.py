# SPDX-License-Identifier: Apache-2.0
"""Whole compute hosts: the resource type ``physical:host``."""

from collections.abc import Mapping
import datetime
import functools
from typing import Any
from typing import ClassVar

from oslo_config import cfg

from nova_reservations import demand
from nova_reservations import exception
from nova_reservations import ports
from nova_reservations import requirements
from nova_reservations import states
from nova_reservations import values
from nova_reservations.plugins import base
from nova_reservations.plugins import before_end
from nova_reservations.plugins import endings
from nova_reservations.plugins import evacuation

MAX_HOSTS = 10_000

_COUNT = {
    'oneOf': [
        {'type': 'integer', 'minimum': 1, 'maximum': MAX_HOSTS},
        {
            'type': 'string',
            'pattern': '^[1-9][0-9]{0,4}$',
            'description': 'a whole number from 1 on',
        },
    ]
}

_EXPRESSION = {
    'type': ['string', 'array', 'object', 'null'],
    'maxLength': 16384,
}

_PROPERTIES = {
    'min': _COUNT,
    'max': _COUNT,
    'hypervisor_properties': _EXPRESSION,
    'resource_properties': _EXPRESSION,
    **before_end.PROPERTIES,
    **endings.PROPERTIES,
}


class PhysicalHost(base.ResourceType):
    """Hosts that only the lessee's servers land on while the lease lasts.

    In Nova a reservation is an aggregate named by its id. Who may use it is
    decided by the lease's state in our database, not by the aggregate: so
    it can be prepared ahead, also while an earlier lease still has a host.
    """

    schema: ClassVar[Mapping[str, Any]] = {
        'type': 'object',
        'properties': _PROPERTIES,
        'required': ['min', 'max'],
        'additionalProperties': False,
    }
    update_schema: ClassVar[Mapping[str, Any]] = {
        'type': 'object',
        'properties': _PROPERTIES,
        'additionalProperties': False,
    }

    def __init__(self, cloud: ports.Cloud, conf: cfg.ConfigOpts) -> None:
        super().__init__(cloud, conf)
        self._actions = before_end.Actions(cloud, conf)

    def validate(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        minimum, maximum = int(asked['min']), int(asked['max'])
        if not 1 <= minimum <= maximum <= MAX_HOSTS:
            raise exception.InvalidInput(
                'Invalid values for min/max of hosts. Max must be equal to '
                f'or larger than min, both between 1 and {MAX_HOSTS}.'
            )
        params = {
            'min': minimum,
            'max': maximum,
            'hypervisor_properties': asked.get('hypervisor_properties') or '',
            'resource_properties': asked.get('resource_properties') or '',
            **self._actions.validate(asked),
            **endings.validate(asked, self.cloud, self.conf),
        }
        self._requirements(params)
        return params

    def demand(self, params: Mapping[str, Any]) -> demand.Demand:
        return demand.Demand(
            values.HOST,
            params['min'],
            params['max'],
            self._requirements(params),
        )

    def _requirements(
        self, params: Mapping[str, Any]
    ) -> requirements.Expression | None:
        """:raises: InvalidInput"""
        return requirements.parse(
            params['hypervisor_properties'],
            params['resource_properties'],
            constants={'region': self.conf.reservations.region_name},
        )

    def aftermath(self, params: Mapping[str, Any]) -> datetime.timedelta:
        return endings.grace(params)

    def prepare(self, booking: base.Booking) -> None:
        self.cloud.gather(
            booking.reservation.id,
            booking.lease.project_id,
            booking.resources,
            booking.check,
        )

    def is_ready(self, booking: base.Booking) -> bool:
        return self.cloud.is_gathered(
            booking.reservation.id, booking.resources
        )

    def start(self, booking: base.Booking) -> None:
        if not (booking.prepared and self.is_ready(booking)):
            self.prepare(booking)

    def heal(self, booking: base.Booking) -> None:
        self.prepare(booking)
        servers = _mine(self.cloud.occupancy(booking.left), booking)
        evacuation.evacuate(booking, servers, self.cloud, self.conf)

    def remains(self, booking: base.Booking) -> base.Remains:
        occupancies = self.cloud.occupancy(booking.left)
        servers = _mine(occupancies, booking)
        return base.Remains(
            tuple(
                host for host in booking.left if occupancies[host.name].empty
            ),
            movable=self.cloud.acts_for_projects()
            and bool(
                evacuation.stranded(booking, servers, self.cloud, self.conf)
            ),
        )

    def before_end(self, booking: base.Booking) -> base.Waiting | None:
        return self._actions.run(
            booking, functools.partial(self._servers, booking)
        )

    def announce_end(self, booking: base.Booking) -> None:
        self._actions.tell(booking, functools.partial(self._servers, booking))

    def _servers(self, booking: base.Booking) -> list[ports.Server]:
        return _mine(self.cloud.occupancy(booking.resources), booking)

    def end(self, booking: base.Booking) -> base.Waiting | None:
        """Have the project's servers leave; a host is free when it is empty.

        Servers of others, which only an administrator can have put there,
        are told of, and left. Those of the same project on hosts of a
        reservation that nobody could use yet are of an earlier lease.
        """
        if booking.reservation.status == states.Reservation.ACTIVE:
            waiting = self._empty(booking)
            if waiting is not None:
                return waiting
        self.cloud.disband(booking.reservation.id, booking.check)
        return None

    def _empty(self, booking: base.Booking) -> base.Waiting | None:
        occupancies = self.cloud.occupancy(booking.resources)
        told = endings.leave(_mine(occupancies, booking), booking, self.cloud)
        waiting = _reason(occupancies, told)
        if waiting is None and not booking.settled:
            return base.Waiting('Waiting for servers that are on their way')
        return waiting


def _mine(
    occupancies: Mapping[str, ports.Occupancy], booking: base.Booking
) -> list[ports.Server]:
    """Return the servers of the lessee; one that is moved is on two hosts."""
    return [
        server
        for occupancy in occupancies.values()
        for server in occupancy.servers
        if server.project_id == booking.lease.project_id
    ]


def _reason(
    occupancies: Mapping[str, ports.Occupancy], told: Mapping[str, str]
) -> base.Waiting | None:
    """Say what keeps the hosts from being free; None: nothing.

    :param told: server UUID -> what becomes of it; of the lessee's servers
    """
    reasons = []
    for host, occupancy in sorted(occupancies.items()):
        for server in occupancy.servers:
            if server.uuid in told:
                reasons.append(
                    f'server {server.uuid} ({server.condition}) on host '
                    f'{host} {told[server.uuid]}'
                )
            else:
                reasons.append(
                    f'server {server.uuid} of project {server.project_id} '
                    f'is on host {host}: move or delete it'
                )
        for consumer in occupancy.leftovers:
            reasons.append(
                f'placement holds an allocation of {consumer} on host {host}'
            )
    return (
        base.Waiting('; '.join(reasons[:20]), len(reasons))
        if reasons
        else None
    )
