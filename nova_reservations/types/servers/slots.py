# SPDX-License-Identifier: Apache-2.0
"""Slots for servers: the common part of both types of instance reservation.

A reservation has a private flavor, which asks for one unit of the
reservation's own resource class. Each host has as many units as slots. So
Nova's scheduling counts the slots, and places the servers only there.

Decision 0010: doc/source/decisions/0010-slots-in-placement
"""

import abc
from collections.abc import Collection
from collections.abc import Mapping
from collections.abc import Sequence
import datetime
from typing import Any

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations import ports
from nova_reservations.objects import states
from nova_reservations.plugins.event_actions import offered
from nova_reservations.types import at_once
from nova_reservations.types import base
from nova_reservations.types import schemas
from nova_reservations.types import with_slots
from nova_reservations.types.servers import consume
from nova_reservations.types.servers import end_actions
from nova_reservations.types.servers import evacuation
from nova_reservations.types.servers import moves

MAX_SLOTS = 10_000

MAX_SHOWN = 1_000
"""The API names at most so many servers of a reservation."""

CHANGEABLE = frozenset({'amount', 'before_end', 'end_action', 'end_grace'})
"""Params that may change while servers are there."""

COUNT = schemas.whole_number(0x7FFFFFFF, digits=9)

_AFFINITY: Mapping[Any, bool | None] = {
    None: None,
    'none': None,
    '': None,
    True: True,
    'true': True,
    False: False,
    'false': False,
}

AFFINITY: Mapping[str, Any] = {
    'oneOf': [
        {'type': ['boolean', 'null']},
        {
            'type': 'string',
            'pattern': '^(|[Nn]one|[Tt]rue|[Ff]alse)$',
            'description': 'true, false or none',
        },
    ]
}


PROPERTIES: Mapping[str, Any] = {
    'amount': COUNT,
    'affinity': AFFINITY,
    # Clients of Blazar send them when they ask for nothing by them.
    'ephemeral_gb': {'enum': [0, None]},
    'extra_specs': {'type': ['object', 'null'], 'maxProperties': 0},
    **consume.PROPERTIES,
    **offered.PROPERTIES,
    **end_actions.PROPERTIES,
}
"""The part of a reservation's schema that both types understand."""


class Slots(at_once.MadeAtOnce, with_slots.WithSlots, offered.WithServers):
    shareable = True

    @abc.abstractmethod
    def flavor(self, params: Mapping[str, Any]) -> ports.Flavor:
        """Return the flavor that servers of the reservation have."""

    def common(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        """Return the params that both types have.

        :raises: InvalidInput
        """
        return {
            'amount': amount(asked),
            'affinity': affinity(asked),
            **consume.validate(asked),
            **self.actions.validate(asked),
            **end_actions.validate(asked, self.cloud, self.conf),
        }

    def check_active_change(
        self, reservation: objects.Reservation, params: Mapping[str, Any]
    ) -> None:
        was = {**reservation.params, **consume.of(reservation.params)}
        fixed = [
            name
            for name, value in sorted(params.items())
            if name not in CHANGEABLE and value != was.get(name)
        ]
        if fixed:
            raise base.refused_change(
                reservation, f'{", ".join(fixed)} cannot be updated any more'
            )

    def aftermath(self, params: Mapping[str, Any]) -> datetime.timedelta:
        return end_actions.grace(params)

    def make_at_once(self, booking: base.Booking) -> None:
        slots = self._slots(booking)
        try:
            self.cloud.slots.ensure_flavor(slots, booking.check)
            self.cloud.slots.allow_flavor(slots, booking.check)
        finally:
            try:
                booking.check()
            except exception.ClaimLost:
                # If the lease has ended, the last write may have come later.
                self.cloud.slots.ensure_class(slots)
                raise

    def prepare(self, booking: base.Booking) -> None:
        self.cloud.slots.ensure_slots(self._slots(booking), booking.check)
        booking.provider_changes.append(
            self.cloud.aggregates.set_aggregate_hosts(
                booking.reservation.id,
                booking.lease.project_id,
                booking.resources,
                booking.check,
                booking.database,
            )
        )

    def start(self, booking: base.Booking) -> None:
        if not (booking.prepared and self.has_slots(booking)):
            self.prepare(booking)
        self.cloud.slots.allow_flavor(self._slots(booking), booking.check)

    def has_slots(self, booking: base.Booking) -> bool:
        """Return whether Nova has everything that prepare() makes, as far as
        reading it can tell."""
        return self.cloud.slots.has_slots(
            self._slots(booking)
        ) and self.cloud.aggregates.has_aggregate_hosts(
            booking.reservation.id, booking.resources
        )

    def lacking(self, booking: base.Booking) -> Sequence[str]:
        return (
            *self.cloud.slots.lacking(self._slots(booking)),
            *self.cloud.aggregates.lacking(
                booking.reservation.id, booking.lease.project_id
            ),
        )

    def heal(self, booking: base.Booking) -> None:
        self.start(booking)
        occupancy = self._servers_on(booking, booking.left)
        evacuation.evacuate(booking, occupancy.servers, self.cloud, self.conf)

    def move_servers(self, booking: base.Booking) -> Mapping[int, str]:
        occupancy = self._servers_on(booking, booking.left)
        return moves.move(booking, occupancy.servers, self.cloud)

    def unused(self, booking: base.Booking) -> base.Resources:
        occupancy = self._servers_on(booking, booking.resources)
        if occupancy.leftovers:
            # An occupancy does not tell on which hosts its leftover
            # allocations are, so any host may have one.
            return ()
        taken = {server.host for server in occupancy.servers}
        return tuple(
            host for host in booking.resources if host.name not in taken
        )

    def ranged(
        self, params: Mapping[str, Any], minimum: int, maximum: int
    ) -> dict[str, Any]:
        return {**params, 'amount': maximum}

    def slots_held(self, booking: base.Booking) -> Mapping[int, int]:
        hosts = (*booking.resources, *booking.left)
        held = self.cloud.slots.slots_held(booking.reservation.id, hosts)
        return {host.id: held[host.name] for host in hosts}

    def slots_offered(self, booking: base.Booking) -> Collection[int]:
        hosts = (*booking.resources, *booking.left)
        offered = self.cloud.slots.offered_slots(hosts)
        names = offered.get(booking.reservation.id, {})
        return [host.id for host in hosts if host.name in names]

    def remains(self, booking: base.Booking) -> base.Remains:
        occupancy = self._servers_on(booking, booking.left)
        taken = {server.host for server in occupancy.servers}
        stranded = evacuation.stranded(
            booking, occupancy.servers, self.cloud, self.conf
        )
        if occupancy.leftovers:
            # Any of the hosts may have one.
            vacated: tuple[objects.Resource, ...] = ()
        else:
            vacated = tuple(
                host for host in booking.left if host.name not in taken
            )
        return base.Remains(
            vacated,
            # While servers held slots, their inventory could not be removed;
            # heal() can remove that of vacated hosts now.
            movable=bool(vacated)
            or (self.cloud.servers.acts_for_projects() and bool(stranded)),
        )

    def _servers_on(
        self, booking: base.Booking, hosts: base.Resources
    ) -> ports.Occupancy:
        return self.cloud.slots.servers_in_slots(
            booking.reservation.id, hosts, booking.servers, booking.chosen
        )

    def find_servers(self, booking: base.Booking) -> list[ports.Server]:
        """Return the servers that the end would have leave, without those of
        projects that may not use the reservation."""
        return [
            server
            for server in _to_leave(booking, self._servers_in(booking))
            if server.project_id in booking.projects
            and not end_actions.is_between(server, booking.now)
        ]

    def _servers_in(self, booking: base.Booking) -> ports.Occupancy:
        """Return the servers that belong to the reservation, wherever they
        are, and those that have not quite left it yet."""
        return self._servers_on(booking, (*booking.resources, *booking.left))

    def end(self, booking: base.Booking) -> base.Waiting | None:
        """End the servers of the reservation, wherever they are by now."""
        if booking.reservation.status == states.Reservation.ACTIVE:
            waiting = self._empty(booking)
            if waiting is not None:
                self.vacate(booking)
                return waiting
        return self.give_back(booking)

    def vacate(self, booking: base.Booking) -> None:
        """Give back the slots on hosts that the servers have left, while
        other hosts still have servers.

        Placement counts slots: on a host without inventory of the class none
        can be claimed any more.
        """
        if not booking.settled:
            return
        reservation_id, hosts = booking.reservation.id, self.unused(booking)
        held = self.cloud.slots.withdraw_slots(
            reservation_id, hosts, booking.check
        )
        vacated = [host for host in hosts if host.name not in held]
        if vacated:
            booking.provider_changes.append(
                self.cloud.aggregates.remove_aggregate_hosts(
                    reservation_id, vacated, booking.check
                )
            )
            booking.vacated.extend(vacated)

    def give_back(self, booking: base.Booking) -> base.Waiting | None:
        """Delete everything that prepare() and start() have made, once no
        server holds a slot any more."""
        left = self.cloud.slots.delete_slots(
            booking.reservation.id,
            (*booking.resources, *booking.left),
            booking.check,
        )
        if left:
            return base.Waiting.on(
                [_held(consumer) for consumer in sorted(left)]
            )
        changes = self.cloud.aggregates.delete_aggregate(
            booking.reservation.id, booking.check
        )
        booking.provider_changes.append(changes or {})
        return None

    def _empty(self, booking: base.Booking) -> base.Waiting | None:
        occupancy = self._servers_in(booking)
        if not _are_deleted(booking.reservation):
            # Servers that are kept outlive the reservation's resource class.
            # So their flavor must not ask for it any more: neither when they
            # are used later, nor when they are migrated now.
            self.cloud.slots.forget_slots(
                booking.reservation.id,
                [each for each in occupancy.servers if not each.moved_to],
                booking.check,
            )
        here = _to_leave(booking, occupancy)
        told = end_actions.leave(here, booking, self.cloud)
        reasons = [
            _is_leaving(server, told[server.uuid], booking.lease.project_id)
            for server in here
        ]
        reasons += [_held(consumer) for consumer in occupancy.leftovers]
        if reasons:
            return base.Waiting.on(reasons)
        if not booking.settled:
            return base.Waiting('Waiting for servers that are on their way')
        return None

    def usage(
        self,
        lease: objects.Lease,
        reservation: objects.Reservation,
        resources: Collection[objects.Resource],
        servers: Collection[str],
    ) -> Mapping[str, Any]:
        """Return the servers that use slots of the reservation now: not those
        that were resized to another flavor, or are shelved."""
        occupancy = self.cloud.slots.servers_in_slots(
            reservation.id, (), servers, servers
        )
        hosts = {host.name for host in resources}
        using = sorted(
            server.uuid
            for server in occupancy.servers
            # An administrator can give another project a flavor that takes
            # slots. A server that came without asking may be on another host
            # by now.
            if server.project_id == lease.project_id
            and server.host
            and (server.host in hosts or server.uuid not in servers)
        )
        return {
            'used': self.cloud.slots.slots_taken(
                reservation.id, lease.project_id
            ),
            'servers': using[:MAX_SHOWN],
        }

    def _slots(self, booking: base.Booking) -> ports.ReservedSlots:
        return ports.ReservedSlots(
            reservation_id=booking.reservation.id,
            project_id=booking.lease.project_id,
            user_id=booking.lease.user_id,
            flavor=self.flavor(booking.reservation.params),
            affinity=booking.reservation.params['affinity'],
            sharers=booking.sharers,
            hosts=tuple(
                (host, booking.slots[host.id]) for host in booking.resources
            ),
        )


def _is_leaving(
    server: ports.Server, what: objects.Reason, project_id: str
) -> objects.Reason:
    named = what.after(f'server {server.uuid} ({server.condition}) ')
    if server.project_id == project_id:
        return named
    # An administrator can give another project a flavor that takes slots.
    return objects.Reason(f'a server of others {what.told}', named.whole)


def _held(consumer: str) -> objects.Reason:
    return objects.Reason(
        'placement holds a slot for a consumer that is no server: an '
        'administrator has to look at it',
        f'placement holds a slot for {consumer}',
    )


def _are_deleted(reservation: objects.Reservation) -> bool:
    return bool(reservation.params['end_action'] == end_actions.DELETE)


def _to_leave(
    booking: base.Booking, occupancy: ports.Occupancy
) -> tuple[ports.Server, ...]:
    """Return the servers on which the end action still has to act."""
    if _are_deleted(booking.reservation):
        return occupancy.servers
    hosts = {host.name for host in (*booking.resources, *booking.left)}
    return tuple(
        server for server in occupancy.servers if not _has_left(server, hosts)
    )


def _has_left(server: ports.Server, hosts: Collection[str]) -> bool:
    """Return whether a server that is kept is outside of the reserved
    hosts."""
    if server.task:
        return False
    if server.host:
        return server.host not in hosts
    return server.state == ports.ServerState.SHELVED_OFFLOADED


def amount(asked: Mapping[str, Any]) -> int:
    """:raises: InvalidInput"""
    slots = int(asked['amount'])
    if not 1 <= slots <= MAX_SLOTS:
        raise exception.InvalidInput(
            f'Malformed parameter amount: between 1 and {MAX_SLOTS}'
        )
    return slots


def affinity(asked: Mapping[str, Any]) -> bool | None:
    wanted = asked['affinity']
    return _AFFINITY[wanted.lower() if isinstance(wanted, str) else wanted]


def shown(
    reservation: objects.Reservation, flavor: ports.Flavor
) -> dict[str, Any]:
    """Return the params of a reservation of slots that clients see."""
    params = reservation.params
    return {
        'vcpus': flavor.vcpus,
        'memory_mb': flavor.memory_mb,
        'disk_gb': flavor.root_gb,
        'amount': params['amount'],
        'affinity': params['affinity'],
        **consume.of(params),
        'before_end': offered.chosen(reservation),
        'end_action': params['end_action'],
        'end_grace': params['end_grace'],
        'flavor_id': reservation.id,
        # Clients can do nothing with Nova's own id of the aggregate.
        'aggregate_id': None,
        'server_group_id': None
        if params['affinity'] is None
        else objects.group_id(reservation.id),
    }
