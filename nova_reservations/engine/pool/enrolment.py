# SPDX-License-Identifier: Apache-2.0
"""Enrolment of hosts: closing them to servers without a lease, and opening
them again.

A machine that has the name of an enrolled one, whose provider is gone, takes
its place, with the leases that have it: see ``lost_hosts.py``.

Where nova-conductors are not guarded, an enrolment waits for servers that Nova
was building or moving when the host was closed: see
``db/resources/closings.py``.
"""

from collections import defaultdict
from collections.abc import Collection
from collections.abc import Mapping
import dataclasses
import datetime

from oslo_log import log
from oslo_utils import uuidutils

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations import ports
from nova_reservations.db import api
from nova_reservations.db import tasks
from nova_reservations.db.holdings import allocations
from nova_reservations.db.holdings import healing
from nova_reservations.db.holdings import withdrawals
from nova_reservations.db.leases import freed_capacity
from nova_reservations.db.resources import closings
from nova_reservations.db.resources import conditions
from nova_reservations.db.resources import drainable_hosts
from nova_reservations.db.resources import hosts
from nova_reservations.db.resources import properties as properties_db
from nova_reservations.engine import builds
from nova_reservations.engine import settings
from nova_reservations.engine import transactions
from nova_reservations.objects import states

LOG = log.getLogger(__name__)

LOOK = datetime.timedelta(seconds=5)
"""The time between two looks at servers that an enrolment waits for."""


@dataclasses.dataclass(eq=False)
class Enrolment:
    database: api.Database
    cloud: ports.Cloud
    options: settings.Settings

    def __post_init__(self) -> None:
        self.builds = builds.Builds(self.cloud, self.options)

    def enrol(
        self, name: str, properties: Mapping[str, str], now: datetime.datetime
    ) -> objects.Host:
        """Close the host to servers without a lease, and make it reservable.

        First the host is marked, so that no request that begins from now on
        finds it; then it must be empty. If nova-conductors are not guarded,
        and Nova was building or moving servers at that moment, the returned
        host is not reservable yet, and ``complete_all`` completes it later.
        After a crash, another call finishes the enrolment. A call after
        ``build_wait`` no longer waits for the servers that are left.

        :param name: a service host, hypervisor hostname or node UUID
        :raises: NotFound, AmbiguousHost, AlreadyEnrolled, HostInUse,
            Contended, CloudUnavailable
        """
        resource = self._find(name)
        facts = self.cloud.hosts.facts([resource])
        if not facts:
            raise exception.NotFound(kind='Host', id=resource.name)
        former = self._replaceable(facts[0])
        host, closing = transactions.write(
            self.database, self._register, facts[0], former, properties, now
        )
        self.cloud.aggregates.ensure_pool()
        self.cloud.aggregates.mark(resource)
        if closing.listed_at is not None:
            return self._complete(host, closing, now)
        closing = self._list(host, closing, now)
        # Where leases have it, it is closed to others, and waited for.
        if not closing.servers and not self._is_held(host):
            occupancy = self.cloud.servers.occupancy([resource])[resource.name]
            if not occupancy.empty:
                self._withdraw(host, closing)
                with self.database.writer() as session:
                    # The host may now have to become drainable again.
                    tasks.hurry(session, drainable_hosts.TASK, now)
                raise exception.HostInUse(
                    host=resource.name, reason=_occupants(occupancy)
                )
        return self._complete(host, closing, now)

    def complete_all(self, now: datetime.datetime) -> None:
        """Complete the waiting enrolments that can be completed by now."""
        with self.database.reader() as session:
            waiting = [
                (hosts.get(session, host_id), closings.get(session, host_id))
                for host_id in closings.listed(session)
            ]
        for host, closing in waiting:
            if closing is None:
                continue
            try:
                self._complete(host, closing, now)
            except exception.ReservationsError as error:
                LOG.warning(
                    'Host %(name)s is not reservable yet: %(reason)s',
                    {'name': host.facts.service_host, 'reason': error},
                )
                with self.database.writer() as session:
                    tasks.hurry(session, closings.TASK, now + LOOK)

    def _list(
        self,
        host: objects.Host,
        closing: closings.Closing,
        now: datetime.datetime,
    ) -> closings.Closing:
        servers = frozenset(
            self.builds.listed([host.resource])[host.facts.service_host]
        )
        with self.database.writer() as session:
            if not closings.set_list(session, closing, servers, now):
                raise _overtaken(host)
        return dataclasses.replace(closing, listed_at=now, servers=servers)

    def _complete(
        self,
        host: objects.Host,
        closing: closings.Closing,
        now: datetime.datetime,
    ) -> objects.Host:
        """Make a host reservable if it is empty and no server can land on it
        any more; otherwise record what the enrolment waits for.

        :raises: HostInUse if somebody else is enrolling or removing it;
            AlreadyEnrolled, with other properties
        """
        left = self.builds.left(closing.servers)
        if left:
            reason = self._told(closing, left, now)
            return self._wait(host, closing, left, reason, now)
        # Only now: all servers that were in flight have landed somewhere.
        occupancy = self.cloud.servers.occupancy([host.resource])
        there = occupancy[host.facts.service_host]
        if not there.empty:
            reason = f'{_occupants(there)}: move them away, or remove the host'
            return self._wait(host, closing, left, reason, now)
        self.cloud.aggregates.join_pool(host.resource)
        with self.database.writer() as session:
            done = closings.end(session, closing)
            if done:
                hosts.set_reservable(session, host.id, True, now)
                if host.lost is not None:
                    # Leases can use it again.
                    conditions.set_condition(
                        session, host.id, objects.Condition(), now
                    )
                    healing.mark_unprepared(session, [host.id], now)
                    tasks.hurry(session, healing.HEAL, now)
                # The host may have failed, and a lease may need a new host.
                tasks.hurry(session, healing.MONITOR, now)
                enrolled = hosts.get(session, host.id)
                freed_capacity.freed(session, now, [host.id])
        if not done:
            return self._as_others_left_it(host)
        LOG.info(
            'Host %(name)s is enrolled as host %(id)s',
            {'name': host.facts.service_host, 'id': host.id},
        )
        return enrolled

    def _told(
        self,
        closing: closings.Closing,
        left: Collection[str],
        now: datetime.datetime,
    ) -> str:
        if not self.builds.is_overdue(closing, now):
            return (
                'Waiting for servers that were being built or moved when the '
                f'host was closed: {builds.named(left)}'
            )
        wait = self.options.build_wait.total_seconds()
        return (
            'Servers that were being built or moved when the host was closed '
            f'still are after {wait:.0f} seconds: {builds.named(left)}. '
            'Delete those that are stuck; or add the host again, to go on '
            'without all of them'
        )

    def _wait(
        self,
        host: objects.Host,
        closing: closings.Closing,
        left: Collection[str],
        reason: str,
        now: datetime.datetime,
    ) -> objects.Host:
        with self.database.writer() as session:
            if not closings.set_reason(session, closing, reason):
                raise _overtaken(host)
            closings.forget(session, closing, closing.servers - set(left))
            tasks.hurry(session, closings.TASK, now + LOOK)
            waiting = hosts.get(session, host.id)
        if reason != host.status_reason:
            LOG.warning(
                'Host %(name)s is not reservable yet. %(reason)s',
                {'name': host.facts.service_host, 'reason': reason},
            )
        return waiting

    def _as_others_left_it(self, host: objects.Host) -> objects.Host:
        """Return a host that somebody else has made reservable meanwhile with
        the same properties: the task that completes enrolments may do so as
        soon as the servers are listed. If the host was removed meanwhile, take
        it out of the pool again.

        :raises: AlreadyEnrolled, HostInUse
        """
        with self.database.reader() as session:
            known = hosts.by_uuid(session, host.facts.uuid)
        if known is None:
            self.cloud.aggregates.leave_pool(host.resource)
        elif known.reservable:
            if known.properties == host.properties:
                return known
            raise exception.AlreadyEnrolled(
                host=host.facts.service_host, id=known.id
            )
        raise _overtaken(host)

    def _find(self, name: str) -> objects.Resource:
        found = self.cloud.hosts.find_hosts(name)
        if not found:
            raise exception.NotFound(kind='Host', id=name)
        if len(found) > 1:
            raise exception.AmbiguousHost(name=name, count=len(found))
        return found[0]

    def _replaceable(self, facts: objects.HostFacts) -> objects.Host | None:
        """Return the host whose name a machine has, if there is another one;
        the machine takes its place.

        :raises: HostInUse if placement still has that other one
        """
        with self.database.reader() as session:
            former = hosts.by_name(session, facts.service_host)
        if former is None or former.facts.uuid == facts.uuid:
            return None
        if not self.cloud.hosts.without_provider([former.resource]):
            raise exception.HostInUse(
                host=facts.service_host,
                reason=f'host {former.id} has this name, and placement still '
                f'has its provider {former.facts.uuid}. If its machine is '
                'gone for ever, delete the provider ("openstack resource '
                f'provider delete {former.facts.uuid}"), and add the host '
                f'again; or remove host {former.id} first',
            )
        return former

    def _is_held(self, host: objects.Host) -> bool:
        with self.database.reader() as session:
            return bool(allocations.of_resource(session, host.id))

    def _register(
        self,
        session: api.Session,
        facts: objects.HostFacts,
        former: objects.Host | None,
        properties: Mapping[str, str],
        now: datetime.datetime,
    ) -> tuple[objects.Host, closings.Closing]:
        """Write the host, not reservable yet; take over an enrolment that was
        left half-way."""
        known = hosts.by_uuid(session, facts.uuid)
        if known is None and former is not None:
            known = _replaced(session, facts, former, now)
        if known is None:
            host_id = hosts.insert(session, facts, properties, now)
            closing = closings.begin(
                session, host_id, uuidutils.generate_uuid()
            )
            return hosts.get(session, host_id), closing
        if known.reservable:
            raise exception.AlreadyEnrolled(
                host=facts.service_host, id=known.id
            )
        if known.fenced_for is not None:
            raise exception.HostInUse(
                host=facts.service_host,
                reason=f'it is emptied, or was, for lease {known.fenced_for}',
            )
        if known.role == states.Role.DRAINABLE:
            drainable_hosts.enrol(session, known.id, now)
        hosts.set_facts(session, known.id, facts, now)
        properties_db.assign(
            session,
            known.id,
            {**dict.fromkeys(known.properties), **properties},
            now,
        )
        closing = self._take_up(session, known, now)
        return hosts.get(session, known.id), closing

    def _take_up(
        self, session: api.Session, host: objects.Host, now: datetime.datetime
    ) -> closings.Closing:
        """Go on with an enrolment that waits; begin any other anew."""
        closing = closings.get(session, host.id)
        if (
            closing is None
            or closing.listed_at is None
            or host.role == states.Role.DRAINABLE
        ):
            return closings.begin(session, host.id, uuidutils.generate_uuid())
        if self.builds.is_overdue(closing, now):
            # An administrator has added the host again, to wait no longer.
            closings.forget(session, closing, closing.servers)
            return dataclasses.replace(closing, servers=frozenset())
        return closing

    def restore_marks(self, host_id: int) -> None:
        """Set the trait and the aggregate of an enrolled host again, if they
        were lost.

        :raises: NotFound, CloudUnavailable, CloudRefused
        """
        host = self._get(host_id)
        self.cloud.aggregates.ensure_pool()
        self.cloud.aggregates.mark(host.resource)
        self.cloud.aggregates.join_pool(host.resource)

    def remove(self, host_id: int, now: datetime.datetime) -> None:
        """Open the host to everybody again.

        :raises: NotFound, HostInUse, Contended, CloudUnavailable
        """
        host = self._get(host_id)
        if host.role == states.Role.DRAINABLE:
            raise exception.HostInUse(
                host=host.facts.service_host,
                reason='it is drainable: take it out of the aggregate '
                f'{self.options.best_effort_aggregate}',
            )
        is_marked = host.facts.uuid in self.cloud.hosts.pool_generations()
        closing = transactions.write(self.database, _close, host, now)
        # Servers on a host that was never reservable are ordinary servers. So
        # are those on a host without the trait: it was removed after the
        # backup that this database was restored from.
        if host.reservable and is_marked:
            self._check_empty(host, closing, now)
        self._withdraw(host, closing)
        LOG.info(
            'Host %(name)s is no longer enrolled',
            {'name': host.facts.service_host},
        )

    def _check_empty(
        self,
        host: objects.Host,
        closing: closings.Closing,
        now: datetime.datetime,
    ) -> None:
        """Check that the host is empty; if not, let leases take it again.

        :raises: HostInUse, CloudUnavailable
        """
        name = host.facts.service_host
        try:
            left = self.cloud.servers.occupancy([host.resource])[name]
            if not left.empty:
                raise exception.HostInUse(host=name, reason=_occupants(left))
        except exception.ReservationsError:
            with self.database.writer() as session:
                if closings.end(session, closing):
                    hosts.set_reservable(session, host.id, True, now)
                    freed_capacity.freed(session, now, [host.id])
            raise

    def _withdraw(self, host: objects.Host, closing: closings.Closing) -> None:
        """Undo the enrolment. The row is deleted last, because leftovers are
        found by it.

        Nothing is undone if another request has taken the enrolment over: that
        request relies on the marks of the host.

        :raises: HostInUse
        """
        mine = dataclasses.replace(closing, attempt=uuidutils.generate_uuid())
        with self.database.writer() as session:
            # First of all: an attempt that has looked at the host before this
            # can no longer complete the enrolment.
            if not closings.take(session, closing, mine.attempt):
                raise _overtaken(host)
        self.cloud.aggregates.leave_pool(host.resource)
        self.cloud.aggregates.unmark(host.resource)
        with self.database.writer() as session:
            done = closings.end(session, mine)
            if done:
                withdrawals.remove_host(session, host.id)
        if not done:
            # Somebody has begun to enrol the host meanwhile.
            self.cloud.aggregates.mark(host.resource)
            raise _overtaken(host)

    def _get(self, host_id: int) -> objects.Host:
        """:raises: NotFound"""
        with self.database.reader() as session:
            return hosts.get(session, host_id)


def _replaced(
    session: api.Session,
    facts: objects.HostFacts,
    former: objects.Host,
    now: datetime.datetime,
) -> objects.Host | None:
    """Have a machine take the place of the one that had its name; return the
    host, None if it was removed meanwhile."""
    if former.fenced_for is not None:
        return former
    if not hosts.replace(session, former.resource, facts, now):
        return None
    closings.delete(session, former.id)
    LOG.warning(
        'Another machine takes the place of host %(name)s (host %(id)d): '
        'provider %(new)s in place of %(old)s',
        {
            'name': facts.service_host,
            'id': former.id,
            'new': facts.uuid,
            'old': former.facts.uuid,
        },
    )
    return hosts.get(session, former.id)


def _overtaken(host: objects.Host) -> exception.HostInUse:
    return exception.HostInUse(
        host=host.facts.service_host,
        reason='another request is enrolling or removing it at this moment; '
        'see "os-hosts"',
    )


def _close(
    session: api.Session, host: objects.Host, now: datetime.datetime
) -> closings.Closing:
    """Keep leases from taking the host, if none has it, and enrolments from
    going on with it."""
    # First, because this locks the row: later bookings are refused, and
    # earlier ones are seen by the query below.
    hosts.set_reservable(session, host.id, False, now)
    held = allocations.of_resource(session, host.id)
    if held:
        holders = objects.plural(held, 'reservation', 'reservations')
        raise exception.HostInUse(
            host=host.facts.service_host,
            reason=f'it is allocated to {holders}; '
            '"os-hosts/allocations" lists what is allocated',
        )
    return closings.begin(session, host.id, uuidutils.generate_uuid())


def _occupants(occupancy: ports.Occupancy) -> str:
    """Name the occupants of a host, a few of each kind."""
    kinds: dict[str, list[str]] = defaultdict(list)
    kinds['servers'] = [server.uuid for server in occupancy.servers]
    kinds['placement allocations of'] = list(occupancy.leftovers)
    return ', '.join(
        f'{kind} {objects.few(names)}'
        for kind, names in kinds.items()
        if names
    )
