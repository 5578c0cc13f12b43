# SPDX-License-Identifier: Apache-2.0
"""Emptying hosts for a lease of type best_effort, while it is IN_PROGRESS.

A worker looks, does the next step, and gives the lease back; no worker waits.
A host is fenced in the database before anything is done with it. Nova's own
records tell what was begun with a server, so the next worker goes on there.

1. Choose: the cheapest hosts that, with the free ones of the pool, suffice,
   and whose servers have somewhere to go.
2. Fence: take them all, or none, and keep new servers out.
3. Drain: move their servers, a few at a time.
4. Book: once the hosts are empty, the lease is booked as any lease is. It is
   then PENDING, and starts.

A host that could not be emptied is given up, and another chosen in its place.
``drainable_hosts.py`` gives back fenced hosts that are not needed; it finds
them by their rows.

Decision 0015: doc/source/decisions/0015-hosts-are-emptied-by-looking
"""

from collections.abc import Collection
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import datetime

from oslo_log import log

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations import ports
from nova_reservations.db import api
from nova_reservations.db.resources import closings
from nova_reservations.db.resources import drainable_hosts
from nova_reservations.engine import builds
from nova_reservations.engine import claimed_leases
from nova_reservations.engine import notifications
from nova_reservations.engine import steps
from nova_reservations.engine import transactions
from nova_reservations.engine.booking import allocations
from nova_reservations.engine.booking import means
from nova_reservations.engine.booking import queue
from nova_reservations.engine.emptying import drain_candidates
from nova_reservations.engine.emptying import drainable_hosts as drainables
from nova_reservations.engine.waiting import retry
from nova_reservations.objects import states
from nova_reservations.plugins.drain_strategies import base

LOG = log.getLogger(__name__)

SOON = datetime.timedelta(seconds=1)
LATER = datetime.timedelta(seconds=5)

AT_ONCE = 8
"""The most servers that are moved for a lease at the same time."""

TOO_FEW = 'Not enough hosts can be emptied'


@dataclasses.dataclass(eq=False)
class BestEffort(means.UseCase):
    cloud: ports.Cloud
    strategy: base.DrainStrategy

    def __post_init__(self, means: means.Means) -> None:
        super().__post_init__(means)
        self.candidates = drain_candidates.DrainCandidates(
            self.cloud, self.strategy
        )
        self.builds = builds.Builds(self.cloud, self.options)

    def advance(self, held: claimed_leases.ClaimedLease) -> steps.Next:
        """Do the next thing for a lease that a worker holds.

        :raises: ClaimLost, CloudUnavailable
        """
        try:
            return self._advance(held)
        except exception.InvalidInput as error:
            # The lease was valid when it was asked for, but now never will be.
            why = objects.Reason.of(error)
            return self._end(held, states.Lease.ERROR, why)
        except exception.CloudRefused as error:
            # Wait: an operator may mend the cause, or the lease times out at
            # last. The error may name hosts of others, so only operators see
            # it.
            return steps.Wait(
                objects.Reason(
                    'The hosts that could be emptied can not be used at this '
                    'moment: an administrator can see why',
                    str(error),
                ),
                LATER,
            )

    def _advance(self, held: claimed_leases.ClaimedLease) -> steps.Next:
        if late := self._too_late(held.lease, held.now):
            return self._end(held, states.Lease.TIMEDOUT, late)
        with self.database.reader() as session:
            prospect = drain_candidates.find(
                session, held.lease, held.now, self.types, self.options
            )
        taken = {
            drainable.resource.id: drainable for drainable in prospect.taken
        }
        chosen = prospect.choose(list(taken))
        if chosen is None:
            return self._take(held, prospect)
        needed = [taken[key] for key in sorted(chosen & taken.keys())]
        return self._drain(held, needed)

    def _too_late(
        self, lease: objects.Lease, now: datetime.datetime
    ) -> objects.Reason | None:
        """Return why no hosts are emptied any more; None: they are."""
        try:
            queue.window(lease, now)
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
        self,
        held: claimed_leases.ClaimedLease,
        prospect: drain_candidates.Prospect,
    ) -> steps.Next:
        if not prospect.suffices():
            with self.database.reader() as session:
                reasons = drainable_hosts.unfit(session, held.lease.id)
            if not reasons:
                # Other leases have the hosts, and may give them back.
                return steps.Wait.plain(TOO_FEW, LATER)
            # Only operators read the reasons, because others still have the
            # hosts.
            why = objects.Reason(
                f'{TOO_FEW}; {len(reasons)} could not be',
                '; '.join([TOO_FEW, *reasons]),
            )
            return self._end(held, states.Lease.ERROR, why)
        chosen = self.candidates.choose(prospect, held.now)
        if not chosen:
            return steps.Wait.plain(
                'No hosts can be emptied now: their servers can not be moved '
                'in the state that they are in, or have nowhere to go',
                LATER,
            )

        def take(session: api.Session) -> None:
            drainable_hosts.fence(session, chosen, held.lease.id, held.now)

        # If another lease was first to take a host, the claim counts as lost,
        # and this lease is looked at anew.
        held.record(then=take)
        LOG.info(
            'Hosts %(hosts)s are emptied for lease %(lease)s',
            {
                'hosts': ', '.join(
                    drainable.resource.name for drainable in chosen
                ),
                'lease': held.lease.id,
            },
        )
        return steps.Again()

    # Drain

    def _drain(
        self,
        held: claimed_leases.ClaimedLease,
        needed: Sequence[drainable_hosts.DrainableHost],
    ) -> steps.Next:
        hosts = [drainable.resource for drainable in needed]
        for host in hosts:
            held.check()
            self.cloud.aggregates.mark(host)
        if any(
            drainable.fenced_at is not None
            and held.now < drainable.fenced_at + self.options.settle
            for drainable in needed
        ):
            return steps.Wait.plain(
                'Waiting for servers that are on their way', SOON
            )
        closed = self._closings(held, hosts)
        if overdue := self._overdue(closed, held.now):
            return self._give_up(held, overdue)
        left = self.builds.left(
            frozenset[str]().union(*(closing.servers for closing in closed))
        )
        if left:
            in_flight = objects.plural(
                len(left), 'server that was', 'servers that were'
            )
            return steps.Wait.plain(
                f'Waiting for {in_flight} being built or moved when the '
                'hosts were taken',
                SOON,
            )
        occupancies = self.cloud.servers.occupancy(hosts)
        full = {
            name: occupancy
            for name, occupancy in occupancies.items()
            if not occupancy.empty
        }
        if not full:
            return self._grant(held, [host.id for host in hosts])
        failed = self._move(held, hosts, full)
        if failed:
            ids = {host.name: host.id for host in hosts}
            return self._give_up(
                held, {ids[name]: reason for name, reason in failed.items()}
            )
        return steps.Wait(_full(full), SOON)

    def _give_up(
        self, held: claimed_leases.ClaimedLease, reasons: Mapping[int, str]
    ) -> steps.Next:
        def give_up(session: api.Session) -> None:
            drainable_hosts.set_unfit(
                session, held.lease.id, reasons, held.now
            )

        # Must be written before anything is undone.
        held.record(then=give_up)
        return steps.Again()

    def _closings(
        self,
        held: claimed_leases.ClaimedLease,
        hosts: Sequence[objects.Resource],
    ) -> list[closings.Closing]:
        """Return the servers that were in flight when the hosts were closed;
        make these lists if that was not done yet."""
        with self.database.reader() as session:
            known = [closings.get(session, host.id) for host in hosts]
        lease_id = held.lease.id
        if all(closing and closing.attempt == lease_id for closing in known):
            return [closing for closing in known if closing is not None]
        servers = self.builds.listed(hosts)
        begun: list[closings.Closing] = []

        def begin(session: api.Session) -> None:
            begun.clear()
            for host in hosts:
                closing = closings.begin(session, host.id, lease_id)
                closings.set_list(
                    session, closing, servers[host.name], held.now
                )
                begun.append(
                    dataclasses.replace(
                        closing,
                        listed_at=held.now,
                        servers=frozenset(servers[host.name]),
                    )
                )

        held.record(then=begin)
        return begun

    def _overdue(
        self, closed: Collection[closings.Closing], now: datetime.datetime
    ) -> dict[int, str]:
        """Return resource id -> reason, of hosts for which servers in flight
        were waited for too long."""
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
        held: claimed_leases.ClaimedLease,
        hosts: Collection[objects.Resource],
        full: Mapping[str, ports.Occupancy],
    ) -> dict[str, str]:
        """Begin to move some more servers; return service host -> reason, of
        hosts that can't be emptied."""
        servers = [
            server
            for _, occupancy in sorted(full.items())
            for server in occupancy.servers
        ]
        idle = [
            server for server in servers if drain_candidates.is_movable(server)
        ]
        stranded = self.candidates.stranded(idle, held.now)
        if stranded:
            return stranded
        # Moves that were begun come first, and count against AT_ONCE.
        begun = [
            server
            for server in servers
            if not drain_candidates.is_movable(server)
        ]
        batch = [*begun, *idle[: max(0, AT_ONCE - len(begun))]]
        failed: dict[str, str] = {}
        for host in hosts:
            outcome = self.cloud.servers.drain_servers(
                [server for server in batch if server.host == host.name],
                ports.Order(
                    drainables.key(held.lease.id, host), held.check, held.now
                ),
            )
            for uuid, reason in outcome.failed.items():
                failed[host.name] = (
                    f'server {uuid} stays on host {host.name}: {reason.whole}'
                )
        return failed

    # Book

    def _grant(
        self, held: claimed_leases.ClaimedLease, empty: Collection[int]
    ) -> steps.Next:
        """Give the lease the emptied hosts, and free hosts of the pool."""
        lease, now = held.lease, held.now
        ids = [item.id for item in lease.reservations]
        guard = self.limits.guard(lease)

        def grant(attempt: transactions.Attempt) -> objects.Lease:
            with self.database.writer() as session:
                guard.begin(session)
                attempt.begin(session)
                granted, _ = retry.grant(
                    session,
                    lease,
                    now,
                    self.allocations,
                    allocations.Terms(
                        held=dict.fromkeys(ids, empty),
                        recheck=ids,
                        best_fit=attempt.number == 1,
                    ),
                )
                drainable_hosts.came_free(session, lease.id, now)
                guard.check(session, granted, now)
                return granted

        try:
            granted = transactions.retry(grant)
        except exception.NotEnoughResources as refusal:
            # Hosts of the pool that were free are taken by now.
            return steps.Wait(objects.Reason.of(refusal), SOON)
        except exception.OverLimit as refusal:
            why = objects.Reason.of(refusal)
            if refusal.values.get('leaving'):
                # Another lease of the project is giving something back, as a
                # rule within seconds.
                return steps.Wait(why, LATER)
            # The lease was within the limits when emptying began.
            return self._end(held, states.Lease.ERROR, why)
        except exception.Contended as error:
            return steps.Wait(objects.Reason.of(error), SOON)
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
        return steps.Again()

    # The end without enough hosts

    def _end(
        self,
        held: claimed_leases.ClaimedLease,
        status: states.Lease,
        reason: objects.Reason,
    ) -> steps.Next:
        """Record that the search has ended, before anything is undone."""

        def end(session: api.Session) -> None:
            drainable_hosts.came_free(session, held.lease.id, held.now)

        held.record(
            then=end,
            status=status,
            status_reason=reason,
            reservations=states.Reservation.ERROR,
            events={states.EventType.START: states.Event.ERROR},
        )
        self.notify(
            notifications.TIMEDOUT
            if status == states.Lease.TIMEDOUT
            else notifications.failed(states.EventType.START),
            notifications.payload(held.lease),
        )
        return steps.Again()


def _full(hosts: Mapping[str, ports.Occupancy]) -> objects.Reason:
    number = sum(len(occupancy.servers) for occupancy in hosts.values())
    waits = (
        f'Waiting for {objects.plural(number, "server", "servers")} to leave'
    )
    return objects.Reason(
        f'{waits} {objects.plural(len(hosts), "host", "hosts")}',
        f'{waits} {", ".join(sorted(hosts))}',
    )
