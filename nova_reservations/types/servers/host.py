# SPDX-License-Identifier: Apache-2.0
"""Whole compute hosts: the resource type ``physical:host``."""

from collections.abc import Collection
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import datetime
from typing import Any

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations import ports
from nova_reservations.objects import demand
from nova_reservations.objects import host_specs
from nova_reservations.objects import requirements
from nova_reservations.objects import states
from nova_reservations.plugins.event_actions import offered
from nova_reservations.types import base
from nova_reservations.types import schemas
from nova_reservations.types import shrinks
from nova_reservations.types.servers import consume
from nova_reservations.types.servers import end_actions
from nova_reservations.types.servers import evacuation
from nova_reservations.types.servers import moves
from nova_reservations.types.servers import occupants

MAX_HOSTS = 10_000

MOST_LOOKED_AT = 1_000
"""The API looks for servers on at most so many hosts of a reservation."""

MOST_NAMED = 1_000
"""The API names at most so many servers of a reservation."""

_LOOKED_AT_ONCE = 100

_COUNT = schemas.whole_number(MAX_HOSTS, digits=5)

_RELEASED = {
    'type': 'array',
    'items': {'type': 'string', 'minLength': 1, 'maxLength': 255},
    'maxItems': MAX_HOSTS,
    'uniqueItems': True,
    'description': 'hosts of an active lease that it gives back, by name, ID '
    'or UUID: nothing of it is on them. Where min and max are not given, they '
    'go down to what is left',
}

_PROPERTIES = {
    'min': _COUNT,
    'max': _COUNT,
    'hypervisor_properties': base.EXPRESSION,
    'resource_properties': base.EXPRESSION,
    **consume.PROPERTIES,
    **offered.PROPERTIES,
    **end_actions.PROPERTIES,
}


class PhysicalHost(shrinks.Shrinks, offered.WithServers):
    """Hosts on which only the lessee's servers land while the lease lasts.

    In Nova a reservation is an aggregate that is named by the reservation's
    id. The state of the lease in our database decides who may use the hosts;
    the aggregate does not. So the aggregate can be prepared ahead, even while
    an earlier lease still has one of the hosts.
    """

    shareable = True
    schema = schemas.closed(_PROPERTIES, 'min', 'max')
    update_schema = schemas.closed({**_PROPERTIES, 'release_hosts': _RELEASED})

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
            **consume.validate(asked),
            **self.actions.validate(asked),
            **end_actions.validate(asked, self.cloud, self.conf),
        }
        self._requirements(params)
        return params

    def check_active_change(
        self, reservation: objects.Reservation, params: Mapping[str, Any]
    ) -> None:
        # The next move of a server that came without asking would take it off
        # these hosts, because it would be scheduled as of no reservation.
        if consume.of(params) != consume.of(reservation.params):
            raise base.refused_change(
                reservation, 'consume cannot be updated any more'
            )

    def show(self, reservation: objects.Reservation) -> Mapping[str, Any]:
        params = reservation.params
        return {**params, **consume.of(params)}

    def demand(self, params: Mapping[str, Any]) -> demand.Demand:
        return demand.Demand(
            objects.HOST,
            params['min'],
            params['max'],
            self._requirements(params),
        )

    def released(self, asked: Mapping[str, Any]) -> Collection[str]:
        return tuple(asked.get('release_hosts', ()))

    def ranged(
        self, params: Mapping[str, Any], minimum: int, maximum: int
    ) -> dict[str, Any]:
        return {**params, 'min': minimum, 'max': maximum}

    def _requirements(
        self, params: Mapping[str, Any]
    ) -> requirements.Expression | None:
        """:raises: InvalidInput"""
        return requirements.parse(
            params['hypervisor_properties'],
            params['resource_properties'],
            constants={'region': self.conf.reservations.region_name},
            nova=host_specs.Words(self.cloud.hosts.passes),
        )

    def aftermath(self, params: Mapping[str, Any]) -> datetime.timedelta:
        return end_actions.grace(params)

    def prepare(self, booking: base.Booking) -> None:
        booking.provider_changes.append(
            self.cloud.aggregates.set_aggregate_hosts(
                booking.reservation.id,
                booking.lease.project_id,
                booking.resources,
                booking.check,
                booking.database,
            )
        )

    def is_ready(self, booking: base.Booking) -> bool:
        return self.cloud.aggregates.has_aggregate_hosts(
            booking.reservation.id, booking.resources
        )

    def start(self, booking: base.Booking) -> None:
        if not (booking.prepared and self.is_ready(booking)):
            self.prepare(booking)

    def lacking(self, booking: base.Booking) -> Sequence[str]:
        return self.cloud.aggregates.lacking(
            booking.reservation.id, booking.lease.project_id
        )

    def heal(self, booking: base.Booking) -> None:
        self.prepare(booking)
        servers = self._let_in(
            booking, self.cloud.servers.occupancy(booking.left)
        )
        evacuation.evacuate(booking, servers, self.cloud, self.conf)

    def move_servers(self, booking: base.Booking) -> Mapping[int, str]:
        servers = self._let_in(
            booking, self.cloud.servers.occupancy(booking.left)
        )
        return moves.move(booking, servers, self.cloud)

    def unused(self, booking: base.Booking) -> base.Resources:
        occupancies = self.cloud.servers.occupancy(booking.resources)
        return tuple(
            host for host in booking.resources if occupancies[host.name].empty
        )

    def coming(self, booking: base.Booking) -> frozenset[str]:
        return frozenset(
            server.uuid
            for server in self._with_alternates(booking, booking.left)
        )

    def _with_alternates(
        self, booking: base.Booking, hosts: base.Resources
    ) -> Sequence[ports.Server]:
        """Return the reservation's servers that may still land on any of the
        hosts.

        Call it before the hosts are inspected: a server that is built in
        between is then seen on its host.
        """
        return self.cloud.servers.servers_with_alternates(
            booking.reservation.id, booking.projects, hosts, booking.servers
        )

    def remains(self, booking: base.Booking) -> base.Remains:
        coming = self.coming(booking)
        occupancies = self.cloud.servers.occupancy(booking.left)
        servers = self._let_in(booking, occupancies)
        return base.Remains(
            tuple(
                host
                for host in booking.left
                if not coming and occupancies[host.name].empty
            ),
            movable=self.cloud.servers.acts_for_projects()
            and bool(
                evacuation.stranded(booking, servers, self.cloud, self.conf)
            ),
        )

    def find_servers(self, booking: base.Booking) -> list[ports.Server]:
        servers = self._let_in(
            booking, self.cloud.servers.occupancy(booking.resources)
        )
        return [
            server
            for server in servers
            if not end_actions.is_between(server, booking.now)
        ]

    def _let_in(
        self,
        booking: base.Booking,
        occupancies: Mapping[str, ports.Occupancy],
    ) -> list[ports.Server]:
        """Return those of the occupants that belong to the reservation; a
        server that is being moved is on two hosts.

        Nova's request specs have a hint for servers that asked for the
        reservation. Those that came without asking are in booking.servers.
        """
        servers = [
            server
            for occupancy in occupancies.values()
            for server in occupancy.servers
            if server.project_id in booking.projects
        ]
        hinted = self.cloud.servers.let_in(
            booking.reservation.id, {server.uuid for server in servers}
        )
        ours = booking.servers.union(hinted)
        return [server for server in servers if server.uuid in ours]

    def usage(
        self,
        lease: objects.Lease,
        reservation: objects.Reservation,
        resources: Collection[objects.Resource],
        servers: Collection[str],
    ) -> Mapping[str, Any]:
        """Return the servers of the lease's project that the reservation has
        let in and that are on its hosts, as far as their cells answer; of very
        many, only some."""
        names = [host.name for host in resources][:MOST_LOOKED_AT]
        let_in: set[str] = set()
        for first in range(0, len(names), _LOOKED_AT_ONCE):
            if len(let_in) >= MOST_NAMED:
                break
            some = frozenset(names[first : first + _LOOKED_AT_ONCE])
            there = self.cloud.servers.servers_at(some)
            ours = {
                uuid
                for uuid, server in there.items()
                if server.project_id == lease.project_id
            }
            let_in.update(self.cloud.servers.let_in(reservation.id, ours))
            let_in.update(ours.intersection(servers))
        return {'servers': sorted(let_in)[:MOST_NAMED]}

    def end(self, booking: base.Booking) -> base.Waiting | None:
        """Make the reservation's servers leave; a host is free when it is
        empty.

        A server that the reservation has not let in is reported, and left
        alone, whoever owns it. A reservation that never became active has let
        in none, so only its aggregate is deleted.

        Decision 0018: doc/source/decisions/0018-an-end-takes-what-it-let-in
        """
        if booking.reservation.status != states.Reservation.ACTIVE:
            self._delete_aggregate(booking)
            return None
        look = self._empty(booking)
        if look.is_over:
            left_now = self._delete_aggregate(booking)
            if not booking.settled:
                return base.Waiting(
                    'Waiting for servers that are on their way'
                )
            # nova-scheduler checks after each claim that the host is still in
            # the aggregate. So a claim that passed the check before the
            # aggregate was deleted is seen by a look from now on.
            look = self._empty(booking) if left_now else look
        elif booking.settled:
            self._vacate(look.empty, booking)
        return look.waiting()

    def _vacate(self, hosts: base.Resources, booking: base.Booking) -> None:
        """Give back the hosts that are empty, while others are not.

        Each host is inspected once more after it was removed from the
        aggregate, because a claim may have been made meanwhile.
        """
        if not hosts:
            return
        booking.provider_changes.append(
            self.cloud.aggregates.remove_aggregate_hosts(
                booking.reservation.id, hosts, booking.check
            )
        )
        occupancies = self.cloud.servers.occupancy(hosts)
        booking.vacated.extend(
            host for host in hosts if occupancies[host.name].empty
        )

    def _delete_aggregate(self, booking: base.Booking) -> bool:
        """Delete the aggregate; return False if it was gone already."""
        changes = self.cloud.aggregates.delete_aggregate(
            booking.reservation.id, booking.check
        )
        booking.provider_changes.append(changes or {})
        return changes is not None

    def _empty(self, booking: base.Booking) -> '_Look':
        """Have the reservation's servers leave its hosts in all cells that
        answer."""
        look = _Look(frozenset(host.uuid for host in booking.resources))
        for hosts in self._by_cell(booking.resources):
            try:
                self._empty_cell(
                    dataclasses.replace(booking, resources=hosts), look
                )
            except exception.CloudUnavailable as error:
                look.silent = error
        return look

    def _by_cell(self, hosts: base.Resources) -> list[base.Resources]:
        """Return the hosts, grouped by cell. Without hosts there is one empty
        group, because servers that have no host yet are looked for, too."""
        if len(hosts) < 2:
            return [hosts]
        cells = self.cloud.hosts.cells_of({host.name for host in hosts})
        groups: dict[str | None, base.Resources] = {}
        for host in hosts:
            cell = cells.get(host.name)
            groups[cell] = (*groups.get(cell, ()), host)
        return list(groups.values())

    def _empty_cell(self, booking: base.Booking, look: '_Look') -> None:
        coming = self._with_alternates(booking, booking.resources)
        hosts = self._to_inspect(booking, coming)
        occupancies = self._occupancies(hosts, booking.check)
        guests = [
            # It is moved within the reservation, possibly to another cell.
            dataclasses.replace(server, moved_to=frozenset())
            if server.moved_to & look.hosts
            else server
            for server in self._let_in(booking, occupancies)
        ]
        there = {server.uuid for server in guests}
        rescheduled = [
            server
            for server in coming
            if server.state == ports.ServerState.BUILDING
            and server.uuid not in there
        ]
        # Rescheduled servers are deleted whatever the end action is: they
        # were never built, so they have nothing to keep.
        told = {
            **end_actions.leave(guests, booking, self.cloud),
            **end_actions.delete(rescheduled, booking, self.cloud),
        }
        if rescheduled:
            occupancies = {
                **occupancies,
                '': ports.Occupancy(tuple(rescheduled)),
            }
        look.reasons += occupants.reasons(occupancies, told, booking)
        if not coming:
            look.empty += tuple(
                host for host in hosts if occupancies[host.name].empty
            )

    def _to_inspect(
        self, booking: base.Booking, coming: Collection[ports.Server]
    ) -> base.Resources:
        """Return the hosts of which placement has to be asked, too: two
        requests for each.

        No host is given back before the end has settled. Until then a host on
        which Nova has no server is inspected only if one may be on its way
        from an alternate. What else placement knows of it is seen by the look
        that follows when the end has settled, after the aggregate was deleted.
        """
        if booking.settled or coming:
            return booking.resources
        inhabited = self.cloud.servers.inhabited(
            {host.name for host in booking.resources}
        )
        return tuple(
            host for host in booking.resources if host.name in inhabited
        )

    def _occupancies(
        self, hosts: base.Resources, check: ports.Check
    ) -> Mapping[str, ports.Occupancy]:
        """Return the occupants of the hosts, after releasing the claims of
        servers that Nova could not even begin to build.

        Such a server would hold its allocation until its user deletes it, and
        Nova no longer knows for which reservation it was claimed.
        """
        occupancies = self.cloud.servers.occupancy(hosts)
        unbuilt = [
            server
            for occupancy in occupancies.values()
            for server in occupancy.servers
            if server.unbuilt
        ]
        if not unbuilt:
            return occupancies
        self.cloud.servers.release_claims(unbuilt, check)
        return self.cloud.servers.occupancy(hosts)


@dataclasses.dataclass(slots=True)
class _Look:
    """The result of inspecting hosts that are to be given back.

    :ivar hosts: the UUIDs of all of them.
    :ivar reasons: what is still on some of the hosts, or may still land there.
    :ivar empty: hosts that were inspected, have nothing on them and can get
        nothing.
    :ivar silent: the error of a cell that does not answer; its hosts are not
        known.
    """

    hosts: frozenset[str]
    reasons: list[objects.Reason] = dataclasses.field(default_factory=list)
    empty: base.Resources = ()
    silent: exception.CloudUnavailable | None = None

    @property
    def is_over(self) -> bool:
        return not self.reasons and self.silent is None

    def waiting(self) -> base.Waiting | None:
        """:raises: CloudUnavailable"""
        if self.silent is not None:
            raise self.silent
        return base.Waiting.on(self.reasons) if self.reasons else None
