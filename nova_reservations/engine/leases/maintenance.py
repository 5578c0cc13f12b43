# SPDX-License-Identifier: Apache-2.0
"""Hosts that operators want without leases: from now on, or for a window.

A cordon is a hold: no new lease gets the host. A window is a lease of the host
in the operator's project. So all code that plans, moves, counts or shows
leases handles it, and no race needs a new solution.

Decision 0041: doc/source/decisions/0041-a-window-is-a-lease
"""

from collections.abc import Collection
from collections.abc import Sequence
import dataclasses
import datetime
import json

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations import ports
from nova_reservations.db.holdings import cordons as cordon_rows
from nova_reservations.db.leases import freed_capacity
from nova_reservations.db.leases import leases as leases_db
from nova_reservations.db.resources import hosts
from nova_reservations.engine import transactions
from nova_reservations.engine.booking import allocations
from nova_reservations.engine.booking import lease_requests
from nova_reservations.engine.booking import means
from nova_reservations.engine.leases import leases
from nova_reservations.engine.pool import cordons
from nova_reservations.objects import interval
from nova_reservations.objects import states

MOST = 1000
"""The most servers that are listed."""


@dataclasses.dataclass(frozen=True, slots=True)
class Affected:
    """A host that operators want, and who is affected by that.

    :ivar occupants: the leases that still have it.
    :ivar window: the lease that is its window of maintenance.
    :ivar servers: UUIDs of servers that Nova has on it, if it is drained.
    """

    host: objects.Host
    occupants: Sequence[objects.Occupant]
    window: objects.Lease | None = None
    servers: Sequence[str] = ()


@dataclasses.dataclass(frozen=True, slots=True)
class Window:
    """A window of maintenance, and who owns its lease."""

    start: datetime.datetime
    end: datetime.datetime
    project_id: str
    user_id: str


@dataclasses.dataclass(eq=False)
class Maintenance(means.UseCase):
    single: leases.Leases
    cordons: cordons.Cordons
    cloud: ports.Cloud

    def cordon(self, host_id: int, now: datetime.datetime) -> Affected:
        """Keep new leases off the host; where possible, move leases that have
        not begun to other hosts.

        :raises: NotFound, Contended
        """
        return self._cordoned(host_id, now, {states.Lease.PENDING})

    def drain(
        self,
        host_id: int,
        now: datetime.datetime,
        moves_servers: bool = False,
    ) -> Affected:
        """Cordon the host, and also give other hosts to leases that have
        begun. Their servers stay where they are until somebody moves them.

        :param moves_servers: whether workers are to move the servers, also
            those that could not be moved when this was asked for before
        :raises: NotFound, Contended
        """
        held = self._cordoned(host_id, now, states.OPEN, moves_servers)
        there = self.cloud.servers.servers_at({held.host.facts.service_host})
        return dataclasses.replace(held, servers=sorted(there)[:MOST])

    def uncordon(self, host_id: int, now: datetime.datetime) -> Affected:
        """Let new leases have the host again.

        :raises: NotFound, Contended
        """
        self._check(host_id)
        self.cordons.lift(host_id, now)
        return self._seen(host_id)

    def _cordoned(
        self,
        host_id: int,
        now: datetime.datetime,
        statuses: Collection[states.Lease],
        empties: bool | None = None,
    ) -> Affected:
        self._check(host_id)
        self.cordons.set(host_id, now, statuses, empties)
        return self._seen(host_id)

    def _check(self, host_id: int) -> None:
        """:raises: NotFound unless it is a host"""
        with self.database.reader() as session:
            hosts.get(session, host_id)

    def _seen(self, host_id: int) -> Affected:
        with self.database.reader() as session:
            return Affected(
                hosts.get(session, host_id), cordon_rows.find(session, host_id)
            )

    def maintain(
        self,
        host_id: int,
        asked: Window,
        now: datetime.datetime,
    ) -> Affected:
        """Keep the host without leases in a window; promises that are in the
        way move to other hosts.

        :raises: NotFound, InvalidInput, Contended
        :raises: HostInUse if a lease that can't be moved has the host then
        """
        with self.database.reader() as session:
            host = hosts.get(session, host_id)
        draft = self.requests.draft(_request(host, asked), now)
        try:
            transactions.retry(
                lambda attempt: self._book(host_id, draft, now, attempt)
            )
        except exception.NotEnoughResources as refusal:
            raise self._in_use(host, asked, refusal) from refusal
        self.single.tell_created(draft)
        return Affected(host, (), draft)

    def _book(
        self,
        host_id: int,
        draft: objects.Lease,
        now: datetime.datetime,
        attempt: transactions.Attempt,
    ) -> None:
        with self.database.writer() as session:
            attempt.begin(session)
            cordoned_at = hosts.get(session, host_id).cordoned_at
            if cordoned_at is not None:
                # The cordon must not keep the operator's own lease off.
                cordon_rows.set_cordoned(session, host_id, None, now)
            leases_db.insert(session, draft)
            left = self.allocations.book(
                session,
                draft,
                now,
                # Only in this transaction the host is not cordoned.
                allocations.Terms(moves_promises=True),
            )
            if cordoned_at is not None:
                cordon_rows.set_cordoned(session, host_id, cordoned_at, now)
            freed_capacity.freed(session, now, set(left) - {host_id})

    def _in_use(
        self,
        host: objects.Host,
        asked: Window,
        refusal: exception.NotEnoughResources,
    ) -> exception.HostInUse:
        with self.database.reader() as session:
            found = cordon_rows.find(
                session, host.id, interval.Interval(asked.start, asked.end)
            )
        named = objects.few(
            [
                f'{each.lease_id} of project {each.project_id} until '
                f'{each.end_date:%Y-%m-%d %H:%M}'
                for each in found
            ]
        )
        return exception.HostInUse(
            host=host.facts.service_host,
            reason='leases that can not be moved have it in this window: '
            f'{named}'
            if found
            else refusal,
        )


def _request(host: objects.Host, asked: Window) -> lease_requests.NewLease:
    facts = host.facts
    this_one = [
        'and',
        ['==', '$service_name', facts.service_host],
        ['==', '$hypervisor_hostname', facts.hypervisor_hostname],
    ]
    return lease_requests.NewLease(
        name=f'maintenance of {facts.service_host}'[:255],
        project_id=asked.project_id,
        user_id=asked.user_id,
        start=asked.start,
        end=asked.end,
        before_end=None,
        reservations=(
            lease_requests.NewReservation(
                objects.HOST,
                {
                    'min': 1,
                    'max': 1,
                    'resource_properties': json.dumps(this_one),
                },
            ),
        ),
        # This exempts the lease from the limits of the operator's project.
        by_default=True,
    )
