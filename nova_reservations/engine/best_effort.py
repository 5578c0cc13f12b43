# SPDX-License-Identifier: Apache-2.0
"""Hosts are emptied for a lease: of type best_effort, while IN_PROGRESS.

A worker looks, does what is to be done next, and gives the lease back; none
waits. What was taken is in the database before anything is done with it, and
what was begun with a server is in Nova's own records: so whoever comes next
goes on from there.

1. Choose: the cheapest donors that, with what is free in the pool, suffice,
   and whose servers have somewhere to go.
2. Fence: take them all, or none, and keep new servers out.
3. Drain: have their servers moved, a few at a time.
4. Book: as any lease is, once they are empty. It is PENDING then, and starts.

What could not be emptied is given up, and another chosen in its place. What
was taken and is not needed is given back by ``engine/drainable_hosts.py``,
which needs only to see that it is so.
"""

from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import datetime
from typing import Any

from oslo_log import log

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations import ports
from nova_reservations.db import api
from nova_reservations.db import closings
from nova_reservations.db import counters
from nova_reservations.db import drainable_hosts
from nova_reservations.db import leases
from nova_reservations.engine import builds
from nova_reservations.engine import drainable_hosts as donors_engine
from nova_reservations.engine import notifications
from nova_reservations.engine import retry
from nova_reservations.engine import settings
from nova_reservations.engine import transactions
from nova_reservations.objects import states
from nova_reservations.planner import draining
from nova_reservations.plugins.drain_strategies import base

LOG = log.getLogger(__name__)

SOON = datetime.timedelta(seconds=1)
LATER = datetime.timedelta(seconds=5)

PAGE = 128
"""Donors beyond those wanted that are compared with each other."""

AT_ONCE = 8
"""Servers that are moved for a lease at the same time."""

TOO_FEW = 'Not enough hosts can be emptied'

MOVABLE = frozenset({'active', 'paused', 'stopped'})
"""The states of servers that Nova can move: live, or cold."""


@dataclasses.dataclass(frozen=True, slots=True)
class Prospect:
    """What a lease could have now.

    :ivar wants: of each of its reservations.
    :ivar pool: ids of hosts that are free; nobody holds them for it.
    :ivar taken: donors that are fenced for it.
    :ivar others: donors that nobody has.
    """

    wants: tuple[draining.Want, ...]
    pool: tuple[int, ...]
    taken: tuple[drainable_hosts.DrainableHost, ...]
    others: tuple[drainable_hosts.DrainableHost, ...]

    def suffices(self) -> bool:
        """Whether there would be enough, were all of them empty."""
        ids = [one.resource.id for one in (*self.taken, *self.others)]
        return self.choose(ids) is not None

    def choose(self, donor_ids: Sequence[int]) -> set[int] | None:
        """Return the cheapest that suffice; what is empty costs nothing.

        :param donor_ids: those that may be used, the cheapest first
        """
        return draining.cheapest(self.wants, [*self.pool, *donor_ids])


Look = Callable[[Any, objects.Lease, datetime.datetime], Prospect]


@dataclasses.dataclass(frozen=True, slots=True)
class Pause:
    """:ivar reason: what the lease waits for."""

    reason: objects.Reason
    length: datetime.timedelta = SOON


def begin(
    lease: objects.Lease,
    prospect: Prospect,
    refusal: exception.NotEnoughResources,
    now: datetime.datetime,
) -> objects.Lease:
    """Return the lease, that was refused, as its hunt begins.

    :raises: NotEnoughResources if there are too few hosts to empty
    """
    retry.window(lease, now)
    if not prospect.suffices():
        raise exception.NotEnoughResources(
            f'{refusal}; {len(prospect.others)} others could be emptied, '
            'which is too few'
        )
    return dataclasses.replace(
        lease,
        status=states.Lease.IN_PROGRESS,
        status_reason='Looking for hosts to be emptied',
        due_at=now,
    )


class BestEffort:
    """:param look: of the use cases of leases, as book.

    :param book: plans a lease, and writes what it gets, in the caller's
        transaction.
    """

    def __init__(
        self,
        database: api.Database,
        cloud: ports.Cloud,
        look: Look,
        book: retry.Book,
        strategy: base.DrainStrategy,
        options: settings.Settings,
        notify: ports.Notifier,
    ) -> None:
        self.database = database
        self.cloud = cloud
        self.look = look
        self.book = book
        self.strategy = strategy
        self.options = options
        self.notify = notify
        self.builds = builds.Builds(cloud, options)

    def go_on(
        self, lease: objects.Lease, now: datetime.datetime, check: ports.Check
    ) -> Pause | None:
        """Do what comes next for a lease that a worker holds.

        :returns: what it waits for; None: look at it anew
        :raises: ClaimLost, CloudUnavailable
        """
        try:
            return self._go_on(lease, now, check)
        except exception.InvalidInput as error:
            # It was valid when it was asked for, and will not be again.
            why = objects.Reason.of(error)
            self._end(lease, states.Lease.ERROR, why, now)
            return None
        except exception.CloudRefused as error:
            # An operator may mend it, or it is too late at last. It may name
            # hosts of others, who are still there.
            return Pause(
                objects.Reason(
                    'The hosts that could be emptied can not be used at this '
                    'moment: an administrator can see why',
                    str(error),
                ),
                LATER,
            )

    def _go_on(
        self, lease: objects.Lease, now: datetime.datetime, check: ports.Check
    ) -> Pause | None:
        if late := self._too_late(lease, now):
            self._end(lease, states.Lease.TIMEDOUT, late, now)
            return None
        with self.database.reader() as session:
            prospect = self.look(session, lease, now)
        taken = {one.resource.id: one for one in prospect.taken}
        chosen = prospect.choose(list(taken))
        if chosen is None:
            return self._take(lease, prospect, now)
        needed = [taken[key] for key in sorted(chosen & taken.keys())]
        return self._drain(lease, needed, now, check)

    def _too_late(
        self, lease: objects.Lease, now: datetime.datetime
    ) -> objects.Reason | None:
        """Return why the hunt is over; None: it is not."""
        try:
            retry.window(lease, now)
        except exception.NotEnoughResources as error:
            return objects.Reason.of(error)
        timeout = self.options.best_effort_timeout
        if now < lease.created_at + timeout:
            return None
        last = lease.why or objects.Reason.plain('nothing')
        return last.after(
            f'No hosts could be emptied within {timeout.total_seconds():.0f} '
            'seconds. The last was: '
        )

    # Choose, and fence

    def _take(
        self, lease: objects.Lease, prospect: Prospect, now: datetime.datetime
    ) -> Pause | None:
        if not prospect.suffices():
            with self.database.reader() as session:
                reasons = drainable_hosts.unfit(session, lease.id)
            if not reasons:
                # Others have them, and may not need them in the end.
                return Pause(objects.Reason.plain(TOO_FEW), LATER)
            why = _too_few(reasons)
            self._end(lease, states.Lease.ERROR, why, now)
            return None
        chosen = self._choose(prospect, now)
        if not chosen:
            return Pause(
                objects.Reason.plain(
                    'No hosts can be emptied now: their servers can not be '
                    'moved in the state that they are in, or have nowhere to '
                    'go'
                ),
                LATER,
            )

        def take(session: Any) -> None:
            drainable_hosts.fence(session, chosen, lease.id, now)

        self._write(lease, now, take)
        LOG.info(
            'Hosts %(hosts)s are emptied for lease %(lease)s',
            {
                'hosts': ', '.join(
                    drainable.resource.name for drainable in chosen
                ),
                'lease': lease.id,
            },
        )
        return None

    def _choose(
        self, prospect: Prospect, now: datetime.datetime
    ) -> list[drainable_hosts.DrainableHost]:
        """Return donors to be taken, that suffice beside what there is; none
        if there are none."""
        tenants = self.cloud.servers_on(
            [one.resource for one in prospect.others]
        )
        costs = {}
        for drainable in prospect.others:
            cost = self._cost(
                drainable, tenants.get(drainable.resource.name, ())
            )
            if cost is not None:
                costs[drainable.resource.id] = cost
        known = {one.resource.id: one for one in prospect.others}
        taken = [one.resource.id for one in prospect.taken]
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

    def _cost(
        self,
        drainable: drainable_hosts.DrainableHost,
        tenants: Sequence[ports.PlacedServer],
    ) -> base.Cost | None:
        if not all(_is_movable(tenant.server) for tenant in tenants):
            return None
        return self.strategy.cost(
            base.DrainableHost(drainable.resource, tuple(tenants))
        )

    def _hopeless(
        self, hosts: Collection[objects.Resource], now: datetime.datetime
    ) -> Mapping[str, str]:
        """Return service host -> why it can't be emptied now."""
        occupancies = self.cloud.occupancy(hosts)
        reasons = {
            name: 'something holds it that is no server'
            for name, occupancy in occupancies.items()
            if occupancy.leftovers
        }
        servers = [
            server
            for occupancy in occupancies.values()
            for server in occupancy.servers
        ]
        # Also one that is to come back, or has left half-way.
        reasons |= {
            server.host: f'server {server.uuid} is {server.condition}'
            for server in servers
            if not _is_movable(server)
        }
        return reasons | self._stranded(servers, now)

    def _stranded(
        self, servers: Collection[ports.Server], now: datetime.datetime
    ) -> dict[str, str]:
        """Return service host -> which of its servers has nowhere to go, if
        all of these leave."""
        if not servers:
            return {}
        leaving = {server.host for server in servers}
        room = self.cloud.find_room(servers, now)
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

    # Drain

    def _drain(
        self,
        lease: objects.Lease,
        needed: Sequence[drainable_hosts.DrainableHost],
        now: datetime.datetime,
        check: ports.Check,
    ) -> Pause | None:
        hosts = [drainable.resource for drainable in needed]
        for host in hosts:
            check()
            self.cloud.mark(host)
        if any(
            drainable.fenced_at is not None
            and now < drainable.fenced_at + self.options.settle
            for drainable in needed
        ):
            return Pause(
                objects.Reason.plain(
                    'Waiting for servers that are on their way'
                )
            )
        closed = self._closings(lease, hosts, now)
        if overdue := self._overdue(closed, now):
            self._give_up(lease, overdue, now)
            return None
        left = self.builds.left(
            frozenset[str]().union(*(each.servers for each in closed))
        )
        if left:
            return Pause(
                objects.Reason.plain(
                    f'Waiting for {len(left)} servers that were being built '
                    'or moved when the hosts were taken'
                )
            )
        occupancies = self.cloud.occupancy(hosts)
        full = {
            name: occupancy
            for name, occupancy in occupancies.items()
            if not occupancy.empty
        }
        if not full:
            return self._grant(lease, [host.id for host in hosts], now)
        failed = self._move(lease, hosts, full, now, check)
        if failed:
            ids = {host.name: host.id for host in hosts}
            self._give_up(
                lease,
                {ids[name]: reason for name, reason in failed.items()},
                now,
            )
            return None
        return Pause(_full(full))

    def _give_up(
        self,
        lease: objects.Lease,
        reasons: Mapping[int, str],
        now: datetime.datetime,
    ) -> None:
        def give_up(session: Any) -> None:
            drainable_hosts.set_unfit(session, lease.id, reasons, now)

        # Before anything is undone.
        self._write(lease, now, give_up)

    def _closings(
        self,
        lease: objects.Lease,
        hosts: Sequence[objects.Resource],
        now: datetime.datetime,
    ) -> list[closings.Closing]:
        """Return what was in flight when the hosts, which are marked, were;
        list it where that was not done yet."""
        with self.database.reader() as session:
            known = [closings.get(session, host.id) for host in hosts]
        if all(each and each.attempt == lease.id for each in known):
            return [each for each in known if each is not None]
        servers = self.builds.listed(hosts)
        begun: list[closings.Closing] = []

        def begin(session: Any) -> None:
            begun.clear()
            for host in hosts:
                closing = closings.begin(session, host.id, lease.id)
                closings.set_list(session, closing, servers[host.name], now)
                begun.append(
                    dataclasses.replace(
                        closing,
                        listed_at=now,
                        servers=frozenset(servers[host.name]),
                    )
                )

        self._write(lease, now, begin)
        return begun

    def _overdue(
        self, closed: Collection[closings.Closing], now: datetime.datetime
    ) -> dict[int, str]:
        """Return those of the hosts that have waited for too long."""
        found = {}
        for closing in closed:
            if not self.builds.is_overdue(closing, now):
                continue
            left = self.builds.left(closing.servers)
            if left:
                LOG.warning(
                    'Host %(id)s is given up: these servers were being built '
                    'or moved when it was closed, and still are: %(servers)s',
                    {
                        'id': closing.resource_id,
                        'servers': builds.named(left),
                    },
                )
                found[closing.resource_id] = (
                    'servers that were being built or moved when it was '
                    'taken still are'
                )
        return found

    def _move(
        self,
        lease: objects.Lease,
        hosts: Collection[objects.Resource],
        full: Mapping[str, ports.Occupancy],
        now: datetime.datetime,
        check: ports.Check,
    ) -> dict[str, str]:
        """Have some more servers moved; return service host -> why it can't
        be emptied."""
        servers = [
            server
            for _, occupancy in sorted(full.items())
            for server in occupancy.servers
        ]
        idle = [server for server in servers if _is_movable(server)]
        stranded = self._stranded(idle, now)
        if stranded:
            return stranded
        # What was begun first, until it is over.
        begun = [server for server in servers if not _is_movable(server)]
        batch = [*begun, *idle[: max(0, AT_ONCE - len(begun))]]
        failed: dict[str, str] = {}
        for host in hosts:
            outcome = self.cloud.drain_servers(
                [server for server in batch if server.host == host.name],
                donors_engine.order(lease.id, host),
                now,
                check,
            )
            for uuid, reason in outcome.failed.items():
                failed[host.name] = (
                    f'server {uuid} stays on host {host.name}: {reason}'
                )
        return failed

    # Book

    def _grant(
        self,
        lease: objects.Lease,
        empty: Collection[int],
        now: datetime.datetime,
    ) -> Pause | None:
        """Give the lease the donors that are empty, and hosts of the pool."""

        def grant(attempt: int) -> objects.Lease:
            with self.database.writer() as session:
                if attempt > transactions.SERIALIZE_FROM:
                    counters.increment(session, 'booking')
                granted = retry.grant(
                    session,
                    lease,
                    now,
                    self.book,
                    empty,
                    best_fit=attempt == 1,
                )
                drainable_hosts.came_free(session, lease.id, now)
                return granted

        try:
            granted = transactions.retry(grant)
        except exception.NotEnoughResources as refusal:
            # What was free in the pool is not any more.
            return Pause(objects.Reason.of(refusal))
        except exception.Contended as error:
            return Pause(objects.Reason.of(error))
        LOG.info(
            'Hosts were emptied for lease %(lease)s of project %(project)s, '
            'which is promised from %(start)s to %(end)s',
            {
                'lease': granted.id,
                'project': granted.project_id,
                'start': granted.start_date,
                'end': granted.end_date,
            },
        )
        return None

    # The end of a hunt that was in vain

    def _end(
        self,
        lease: objects.Lease,
        status: states.Lease,
        reason: objects.Reason,
        now: datetime.datetime,
    ) -> None:
        """Record that it is over, before anything is undone."""

        def end(session: Any) -> None:
            leases.set_reservations(
                session, lease.id, now, status=states.Reservation.ERROR
            )
            leases.set_event(
                session,
                lease.id,
                states.EventType.START,
                now,
                status=states.Event.ERROR,
            )
            drainable_hosts.came_free(session, lease.id, now)

        self._write(lease, now, end, status=status, status_reason=reason)
        with self.database.reader() as session:
            ended = leases.get(session, lease.id)
        self.notify(
            notifications.TIMEDOUT
            if status == states.Lease.TIMEDOUT
            else notifications.failed(states.EventType.START),
            notifications.payload(ended),
        )
        LOG.info(
            'Lease %(lease)s of project %(project)s is %(status)s: %(reason)s',
            {
                'lease': lease.id,
                'project': lease.project_id,
                'status': status,
                'reason': reason,
            },
        )

    def _write(
        self,
        lease: objects.Lease,
        now: datetime.datetime,
        change: Callable[[Any], None],
        **columns: Any,
    ) -> None:
        """Write a change if the worker still holds the lease, as seen.

        :raises: ClaimLost also if somebody else was first with a donor: then
            the lease is looked at anew
        """
        try:
            with self.database.writer() as session:
                leases.change(session, lease, now, **columns)
                change(session)
        except exception.Conflict as error:
            raise exception.ClaimLost(
                id=lease.id, worker=lease.claimed_by
            ) from error


def _too_few(reasons: Collection[str]) -> objects.Reason:
    """:param reasons: why hosts could not be emptied; of others, still."""
    return objects.Reason(
        f'{TOO_FEW}; {len(reasons)} could not be',
        '; '.join([TOO_FEW, *reasons]),
    )


def _full(hosts: Mapping[str, ports.Occupancy]) -> objects.Reason:
    servers = sum(len(occupancy.servers) for occupancy in hosts.values())
    waits = f'Waiting for {servers} servers to leave'
    return objects.Reason(
        f'{waits} {len(hosts)} hosts', f'{waits} {", ".join(sorted(hosts))}'
    )


def _is_movable(server: ports.Server) -> bool:
    """Whether Nova could begin to move it now."""
    return server.state in MOVABLE and server.task is None
