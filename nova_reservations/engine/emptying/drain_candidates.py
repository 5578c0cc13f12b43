# SPDX-License-Identifier: Apache-2.0
"""Hosts that could be emptied for a best-effort lease. The cheapest ones that
suffice, and whose servers have somewhere to go, are chosen."""

from collections.abc import Collection
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import datetime

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations import ports
from nova_reservations.db import api
from nova_reservations.db.holdings import candidates
from nova_reservations.db.resources import drainable_hosts
from nova_reservations.engine import resource_types
from nova_reservations.engine import settings
from nova_reservations.engine.booking import allocations
from nova_reservations.engine.booking import queue
from nova_reservations.objects import search
from nova_reservations.objects import states
from nova_reservations.planner import draining
from nova_reservations.plugins.drain_strategies import base

PAGE = 128
"""The number of drainable hosts, beyond those wanted, that are compared."""


@dataclasses.dataclass(frozen=True, slots=True)
class Prospect:
    """The resources that a lease could have now.

    :ivar wants: what each of its reservations wants.
    :ivar pool: ids of hosts that are free, but not held for the lease.
    :ivar taken: drainable hosts that are fenced for the lease.
    :ivar others: drainable hosts that no lease has.
    """

    wants: tuple[draining.Want, ...]
    pool: tuple[int, ...]
    taken: tuple[drainable_hosts.DrainableHost, ...]
    others: tuple[drainable_hosts.DrainableHost, ...]

    def suffices(self) -> bool:
        """Return whether there would be enough if all hosts were empty."""
        ids = [
            drainable.resource.id for drainable in (*self.taken, *self.others)
        ]
        return self.choose(ids) is not None

    def choose(self, drainable_ids: Sequence[int]) -> set[int] | None:
        """Return the cheapest hosts that suffice; an empty host costs nothing.

        :param drainable_ids: those that may be used, the cheapest first
        """
        return draining.cheapest(self.wants, [*self.pool, *drainable_ids])


def find(
    session: api.Session,
    lease: objects.Lease,
    now: datetime.datetime,
    types: resource_types.Types,
    options: settings.Settings,
) -> Prospect:
    """Return the resources that a lease could have if hosts were emptied for
    it. The number of each kind is bounded."""
    time = queue.window(lease, now)
    granted = dataclasses.replace(
        lease, start_date=time.start, end_date=time.end
    )
    terms = search.Search(
        now, options.cleaning_time, allocations.start_at(lease)
    )
    demanded = [
        (reservation, demand)
        for reservation in lease.reservations
        if (demand := types.demand(reservation)) is not None
        and demand.exclusive
    ]
    total = sum(demand.maximum for _, demand in demanded)
    wants = []
    pool: dict[int, None] = {}
    known: dict[int, drainable_hosts.DrainableHost] = {}
    for reservation, demand in demanded:
        wanted = search.Wanted(
            reservation.id,
            demand,
            types.window(granted, reservation),
            siblings=total,
        )
        free = [
            candidate.resource.id
            for candidate in candidates.find(session, wanted, terms)
        ]
        offered = drainable_hosts.offers(
            session,
            lease.id,
            demand.requirements,
            wanted.window.padded(options.cleaning_time),
            limit=PAGE + total,
        )
        others = {offer.resource.id: offer for offer in offered}
        wants.append(draining.Want(demand.minimum, {*free, *others}))
        pool |= dict.fromkeys(free)
        known |= others
    return Prospect(
        wants=tuple(wants),
        pool=tuple(pool),
        taken=tuple(host for host in known.values() if host.fenced_for),
        others=tuple(host for host in known.values() if not host.fenced_for),
    )


def begin(
    lease: objects.Lease,
    prospect: Prospect,
    refusal: exception.NotEnoughResources,
    now: datetime.datetime,
) -> objects.Lease:
    """Return the refused lease in the state in which hosts are emptied for it.

    :raises: NotEnoughResources if there are too few hosts to empty
    """
    if not prospect.suffices():
        others = objects.plural(len(prospect.others), 'other', 'others')
        raise exception.NotEnoughResources(
            f'{refusal}; {others} could be emptied, which is too few'
        )
    return dataclasses.replace(
        lease,
        status=states.Lease.IN_PROGRESS,
        status_reason='Looking for hosts to be emptied',
        due_at=now,
    )


@dataclasses.dataclass(eq=False)
class DrainCandidates:
    cloud: ports.Cloud
    strategy: base.DrainStrategy

    def choose(
        self, prospect: Prospect, now: datetime.datetime
    ) -> list[drainable_hosts.DrainableHost]:
        """Return the hosts to empty so that the lease has enough, together
        with those that it can have already; an empty list if none suffice."""
        placed = self.cloud.servers.servers_on(
            [drainable.resource for drainable in prospect.others]
        )
        costs = {}
        for drainable in prospect.others:
            servers = placed.get(drainable.resource.name)
            if servers is None:
                # The cell of the host does not answer.
                continue
            if not all(is_movable(each.server) for each in servers):
                continue
            cost = self.strategy.cost(
                base.DrainableHost(drainable.resource, tuple(servers))
            )
            if cost is not None:
                costs[drainable.resource.id] = cost
        known = {
            drainable.resource.id: drainable for drainable in prospect.others
        }
        taken = [drainable.resource.id for drainable in prospect.taken]
        options = sorted(costs, key=lambda key: (costs[key], key))
        while True:
            chosen = prospect.choose([*taken, *options])
            if chosen is None:
                return []
            new = [known[key] for key in sorted(chosen & set(options))]
            hopeless = self._hopeless(
                [drainable.resource for drainable in new], now
            )
            if not hopeless:
                return new
            options = [
                key
                for key in options
                if known[key].resource.name not in hopeless
            ]

    def _hopeless(
        self, hosts: Collection[objects.Resource], now: datetime.datetime
    ) -> Mapping[str, str]:
        """Return service host -> why it can't be emptied now."""
        occupancies = self.cloud.servers.occupancy(hosts)
        reasons = {
            name: 'a consumer holds it that is no server'
            for name, occupancy in occupancies.items()
            if occupancy.leftovers
        }
        servers = [
            server
            for occupancy in occupancies.values()
            for server in occupancy.servers
        ]
        # These include servers that may come back, or have only half left.
        reasons |= {
            server.host: f'server {server.uuid} is {server.condition}'
            for server in servers
            if not is_movable(server)
        }
        return reasons | self.stranded(servers, now)

    def stranded(
        self, servers: Collection[ports.Server], now: datetime.datetime
    ) -> dict[str, str]:
        """Return service host -> which of its servers has nowhere to go, if
        all of the given servers leave."""
        if not servers:
            return {}
        leaving = {server.host for server in servers}
        room = self.cloud.servers.find_room(servers, now)
        placed = draining.places(
            room.needs,
            {
                uuid: [host for host in hosts if host not in leaving]
                for uuid, hosts in room.fits.items()
            },
            room.free,
        )
        return {
            server.host: f'server {server.uuid} on host {server.host} has '
            'nowhere to go'
            for server in servers
            if server.uuid not in placed
        }


def is_movable(server: ports.Server) -> bool:
    """Return whether Nova could begin to move it now."""
    return server.state in ports.MOVABLE and server.task is None
