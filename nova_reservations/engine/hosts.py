# SPDX-License-Identifier: Apache-2.0
"""What operators do with hosts: enrol, describe, plan, remove; and keeping
their facts true."""

from collections import defaultdict
from collections.abc import Collection
from collections.abc import Iterator
from collections.abc import Mapping
import dataclasses
import datetime
from typing import Any

from oslo_log import log
from oslo_utils import uuidutils

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations import ports
from nova_reservations.db import allocations
from nova_reservations.db import api
from nova_reservations.db import candidates
from nova_reservations.db import capacity
from nova_reservations.db import closings
from nova_reservations.db import drainable_hosts
from nova_reservations.db import healing
from nova_reservations.db import hosts
from nova_reservations.db import properties as properties_db
from nova_reservations.db import tasks
from nova_reservations.engine import builds
from nova_reservations.engine import settings
from nova_reservations.engine import transactions
from nova_reservations.objects import interval
from nova_reservations.objects import states
from nova_reservations.planner import usage

LOG = log.getLogger(__name__)

REFRESH = 'refresh'
"""The task that reads the facts of hosts that may have changed."""

LOOK = datetime.timedelta(seconds=5)
"""Between two looks at servers that an enrolment waits for."""

PAGE = 100
"""The allocations of so many hosts are in memory at once."""

MAX_POINTS = 10_000
"""As many steps of capacity are told at once: a week of minutes."""


class Hosts:
    def __init__(
        self,
        database: api.Database,
        cloud: ports.Cloud,
        options: settings.Settings,
    ) -> None:
        self.database = database
        self.cloud = cloud
        self.options = options
        self.builds = builds.Builds(cloud, options)

    def get(self, host_id: int) -> objects.Host:
        """:raises: NotFound"""
        with self.database.reader() as session:
            return hosts.get(session, host_id)

    def find(self, query: objects.HostQuery) -> list[objects.Host]:
        with self.database.reader() as session:
            return hosts.find(session, query)

    def is_enrolled(self, name: str) -> bool:
        """Whether name is an enrolled service host or hypervisor."""
        with self.database.reader() as session:
            return hosts.is_enrolled(session, name)

    def enrol(
        self, name: str, properties: Mapping[str, str], now: datetime.datetime
    ) -> objects.Host:
        """Close the host to all who have no lease, and make it reservable.

        First it is marked, so that no request that begins now finds it; then
        it must be found empty. Where nova-conductors are not guarded, and
        Nova was building or moving servers at that moment, the host is
        returned not reservable yet, and ``go_on`` completes it. What a crash
        leaves half-way is finished by doing it again. Done again after
        ``build_wait``, it goes on without those that are not over.

        :param name: a service host, hypervisor hostname or node UUID
        :raises: NotFound, AmbiguousHost, AlreadyEnrolled, HostInUse,
            Contended, CloudUnavailable
        """
        resource = self._find(name)
        facts = self.cloud.hosts.facts([resource])
        if not facts:
            raise exception.NotFound(kind='Host', id=resource.name)
        host, closing = transactions.retry(
            lambda _: self._register(facts[0], properties, now)
        )
        self.cloud.aggregates.ensure_pool()
        self.cloud.aggregates.mark(resource)
        if closing.listed_at is not None:
            return self._complete(host, closing, now)
        closing = self._list(host, closing, now)
        if not closing.servers:
            occupancy = self.cloud.servers.occupancy([resource])[resource.name]
            if not occupancy.empty:
                self._withdraw(host, closing)
                with self.database.writer() as session:
                    # It may be a donor.
                    tasks.hurry(session, drainable_hosts.TASK, now)
                raise exception.HostInUse(
                    host=resource.name, reason=_occupants(occupancy)
                )
        return self._complete(host, closing, now)

    def go_on(self, now: datetime.datetime) -> None:
        """Complete the enrolments that wait, as far as it is time."""
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
        """Make a host reservable that nothing can land on any more, and that
        is empty; else say what it waits for.

        :raises: HostInUse if somebody else is enrolling or removing it
        """
        left = self.builds.left(closing.servers)
        if left:
            return self._wait(
                host, closing, left, self._told(closing, left, now), now
            )
        # After what was in flight has landed, wherever it did.
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
                # It may not work, and somebody may lack it.
                tasks.hurry(session, healing.MONITOR, now)
                enrolled = hosts.get(session, host.id)
                capacity.freed(session, now, [host.id])
        if not done:
            self._leave_to_others(host)
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

    def _leave_to_others(self, host: objects.Host) -> None:
        """Take back what was done to a host that somebody else has enrolled,
        or removed.

        :raises: AlreadyEnrolled, HostInUse
        """
        with self.database.reader() as session:
            known = hosts.by_uuid(session, host.facts.uuid)
        if known is None:
            self.cloud.aggregates.leave_pool(host.resource)
        elif known.reservable:
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

    def _register(
        self,
        facts: objects.HostFacts,
        properties: Mapping[str, str],
        now: datetime.datetime,
    ) -> tuple[objects.Host, closings.Closing]:
        """Write the host, not reservable yet; take up one left half-way."""
        with self.database.writer() as session:
            known = hosts.by_uuid(session, facts.uuid)
            if known is None:
                host_id = hosts.insert(session, facts, properties, now)
                closing = closings.begin(session, host_id, _attempt())
                return hosts.get(session, host_id), closing
            if known.reservable:
                raise exception.AlreadyEnrolled(
                    host=facts.service_host, id=known.id
                )
            if known.fenced_for is not None:
                raise exception.HostInUse(
                    host=facts.service_host,
                    reason=f'lease {known.fenced_for} has it as a donor',
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
        self, session: Any, host: objects.Host, now: datetime.datetime
    ) -> closings.Closing:
        """Go on with an enrolment that waits; begin any other anew."""
        closing = closings.get(session, host.id)
        if (
            closing is None
            or closing.listed_at is None
            or host.role == states.Role.DRAINABLE
        ):
            return closings.begin(session, host.id, _attempt())
        if self.builds.is_overdue(closing, now):
            # An administrator has decided.
            closings.forget(session, closing, closing.servers)
            return dataclasses.replace(closing, servers=frozenset())
        return closing

    def mend(self, host_id: int) -> None:
        """Give an enrolled host back what marks it, where it was lost.

        :raises: NotFound, CloudUnavailable, CloudRefused
        """
        host = self.get(host_id)
        self.cloud.aggregates.ensure_pool()
        self.cloud.aggregates.mark(host.resource)
        self.cloud.aggregates.join_pool(host.resource)

    def remove(self, host_id: int, now: datetime.datetime) -> None:
        """Open the host to everybody again.

        :raises: NotFound, HostInUse, Contended, CloudUnavailable
        """
        host = self.get(host_id)
        if host.role == states.Role.DRAINABLE:
            raise exception.HostInUse(
                host=host.facts.service_host,
                reason='it is a donor: take it out of the aggregate '
                f'{self.options.best_effort_aggregate}',
            )
        closing = transactions.retry(lambda _: self._close(host, now))
        # What is on a host that was never reservable is ordinary servers.
        if host.reservable:
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
        """Let leases take the host again if it is not empty.

        :raises: HostInUse, CloudUnavailable
        """
        try:
            left = self.cloud.servers.occupancy([host.resource])
            if not left[host.facts.service_host].empty:
                raise exception.HostInUse(
                    host=host.facts.service_host,
                    reason=_occupants(left[host.facts.service_host]),
                )
        except exception.ReservationsError:
            with self.database.writer() as session:
                if closings.end(session, closing):
                    hosts.set_reservable(session, host.id, True, now)
                    capacity.freed(session, now, [host.id])
            raise

    def _close(
        self, host: objects.Host, now: datetime.datetime
    ) -> closings.Closing:
        """Let no lease take the host any more, if none has; and no enrolment
        go on with it."""
        with self.database.writer() as session:
            # First, for its lock: bookings that come now are refused, those
            # that came before are seen.
            hosts.set_reservable(session, host.id, False, now)
            held = [
                allocation
                for allocation in allocations.find(
                    session, objects.HOST, resource_ids=[host.id]
                )
                if not allocation.released
            ]
            if held:
                raise exception.HostInUse(
                    host=host.facts.service_host,
                    reason=f'it is allocated to {len(held)} reservations; '
                    '"os-hosts/allocations" lists them',
                )
            return closings.begin(session, host.id, _attempt())

    def _withdraw(self, host: objects.Host, closing: closings.Closing) -> None:
        """Undo the enrolment, the row last: what is left is found by it.

        Not one that another request has made its own: what that relies on
        stays.

        :raises: HostInUse
        """
        mine = dataclasses.replace(closing, attempt=_attempt())
        with self.database.writer() as session:
            # Before anything is undone: whoever looked before is too late.
            if not closings.take(session, closing, mine.attempt):
                raise _overtaken(host)
        self.cloud.aggregates.leave_pool(host.resource)
        self.cloud.aggregates.unmark(host.resource)
        with self.database.writer() as session:
            done = closings.end(session, mine)
            if done:
                hosts.delete(session, host.id)
        if not done:
            # Somebody has begun to enrol it meanwhile.
            self.cloud.aggregates.mark(host.resource)
            raise _overtaken(host)

    def update(
        self,
        host_id: int,
        properties: Mapping[str, str | None],
        now: datetime.datetime,
    ) -> objects.Host:
        """Change what the operator says of the host, and read its facts.

        A property that some lease, current or to come, was planned with
        stays.

        :param properties: a value of None takes the property away
        :raises: NotFound, HostInUse, Contended, CloudUnavailable
        """
        host = transactions.retry(
            lambda _: self._describe(host_id, properties, now)
        )
        self.refresh_facts({host.facts.uuid: host}, now)
        return self.get(host_id)

    def _describe(
        self,
        host_id: int,
        properties: Mapping[str, str | None],
        now: datetime.datetime,
    ) -> objects.Host:
        with self.database.writer() as session:
            # First: no booking comes between what is read and the commit.
            hosts.advance(session, host_id, now)
            host = hosts.get(session, host_id)
            changed = {
                name
                for name, value in properties.items()
                if name in host.properties and host.properties[name] != value
            }
            wanted = changed & properties_db.required_properties(
                session, host_id
            )
            if wanted:
                raise exception.HostInUse(
                    host=host.facts.service_host,
                    reason='leases were planned with '
                    f'{", ".join(sorted(wanted))}',
                )
            properties_db.assign(session, host_id, properties, now)
            capacity.freed(session, now, [host_id])
            return host

    def properties(self, include_private: bool) -> list[objects.Property]:
        with self.database.reader() as session:
            return properties_db.find(session, include_private)

    def set_private(
        self, name: str, private: bool, now: datetime.datetime
    ) -> objects.Property:
        """:raises: NotFound"""
        with self.database.writer() as session:
            return properties_db.set_private(session, name, private, now)

    def allocations(
        self,
        now: datetime.datetime,
        lease_id: str | None = None,
        reservation_id: str | None = None,
    ) -> Iterator[Mapping[int, list[objects.Allocation]]]:
        """Yield host id -> its allocations, of every host: those that are
        not over, or all of one lease or reservation.

        Some hosts at a time, as they are wanted, each time in a transaction
        of its own.
        """
        selected = lease_id or reservation_id
        after: int | None = 0
        while after is not None:
            with self.database.reader() as session:
                ids = hosts.ids(session, after, PAGE)
                found: dict[int, list[objects.Allocation]] = {
                    host_id: [] for host_id in ids
                }
                for allocation in allocations.find(
                    session,
                    objects.HOST,
                    ending_after=None if selected else now,
                    lease_id=lease_id,
                    reservation_id=reservation_id,
                    resource_ids=ids,
                ):
                    found[allocation.resource_id].append(allocation)
            yield found
            after = ids[-1] if len(ids) == PAGE else None

    def host_allocations(
        self,
        host_id: int,
        now: datetime.datetime,
        lease_id: str | None = None,
        reservation_id: str | None = None,
    ) -> list[objects.Allocation]:
        """:raises: NotFound"""
        selected = lease_id or reservation_id
        with self.database.reader() as session:
            hosts.get(session, host_id)
            return allocations.find(
                session,
                objects.HOST,
                ending_after=None if selected else now,
                lease_id=lease_id,
                reservation_id=reservation_id,
                resource_ids=[host_id],
            )

    def capacity(
        self,
        start: datetime.datetime,
        end: datetime.datetime,
        step: datetime.timedelta,
        now: datetime.datetime,
    ) -> list[objects.CapacityPoint]:
        """Tell, for each step from start to end, how many hosts are held,
        and how many a lease of just that step would be granted.

        :raises: InvalidInput
        """
        if end <= start:
            raise exception.InvalidInput('end must be later than start')
        length = end - start
        if length / step > MAX_POINTS:
            raise exception.InvalidInput(
                f'More than {MAX_POINTS} steps between start and end: ask '
                'for a longer step, or a shorter time'
            )
        # Added to a date, a longer one may be past all dates that there are.
        step = min(step, length)
        with self.database.reader() as session:
            total = hosts.count_reservable(session)
            windows = hosts.held_windows(session, start, end)
            bookable = candidates.count(session, objects.HOST)
            taken = candidates.taken(
                session,
                objects.HOST,
                interval.Interval(start, end),
                now,
                self.options.cleaning_time,
            )
        return [
            objects.CapacityPoint(
                start=start + index * step,
                end=start + min((index + 1) * step, length),
                hosts=total,
                reserved=reserved,
                free=bookable - unavailable,
            )
            for index, (reserved, unavailable) in enumerate(
                zip(
                    usage.held(windows, start, end, step),
                    usage.held(taken, start, end, step),
                    strict=True,
                )
            )
        ]

    def refresh(self, now: datetime.datetime) -> int:
        """Read the facts of hosts that may have changed; return how many
        had.

        :raises: CloudUnavailable
        """
        versions = self.cloud.hosts.pool_generations()
        with self.database.reader() as session:
            known = hosts.marks(session)
            changed = {
                uuid: hosts.get(session, mark.id)
                for uuid, mark in known.items()
                if uuid in versions
                and (
                    versions[uuid].provider_generation
                    != mark.provider_generation
                    or versions[uuid].availability_zone
                    != mark.availability_zone
                )
            }
        for uuid in sorted(set(known) - set(versions)):
            LOG.warning(
                'Host %s is enrolled but has lost its trait, or its '
                'provider: remove it, or enrol it anew',
                uuid,
            )
        return self.refresh_facts(changed, now)

    def refresh_facts(
        self, changed: Mapping[str, objects.Host], now: datetime.datetime
    ) -> int:
        """Read the facts of these hosts, by UUID; return how many had
        changed.

        :raises: CloudUnavailable
        """
        count = 0
        found = self.cloud.hosts.facts(
            [host.resource for host in changed.values()]
        )
        for facts in found:
            host = changed[facts.uuid]
            with self.database.writer() as session:
                if allocations.is_held(session, host.id):
                    # Its servers are of a lease, and gone with it.
                    facts = _as_if_empty(facts)
                if _matter(facts) == _matter(host.facts):
                    hosts.set_provider_generation(
                        session, host.id, facts.provider_generation
                    )
                    continue
                hosts.set_facts(session, host.id, facts, now)
                capacity.freed(session, now, [host.id])
            count += 1
            LOG.info(
                'The facts of host %(name)s have changed',
                {'name': facts.service_host},
            )
        return count


def remember(database: api.Database, moves: Mapping[str, ports.Move]) -> None:
    """Have hosts not looked at again for what we have changed ourselves.

    Where somebody else has changed the provider too, they are.
    """
    if not moves:
        return
    try:
        with database.writer() as session:
            hosts.move_provider_generations(session, moves)
    except exception.Conflict as error:
        LOG.debug('Hosts will be looked at again: %s', error)


def _attempt() -> str:
    return uuidutils.generate_uuid()


def _overtaken(host: objects.Host) -> exception.HostInUse:
    return exception.HostInUse(
        host=host.facts.service_host,
        reason='another request is enrolling or removing it at this moment; '
        'see "os-hosts"',
    )


def _occupants(occupancy: ports.Occupancy) -> str:
    """Name what is on a host, a few of each kind."""
    kinds: dict[str, list[str]] = defaultdict(list)
    kinds['servers'] = [server.uuid for server in occupancy.servers]
    kinds['placement allocations of'] = list(occupancy.leftovers)
    return ', '.join(
        f'{kind} {", ".join(names[:5])}'
        + (f' and {len(names) - 5} more' if len(names) > 5 else '')
        for kind, names in kinds.items()
        if names
    )


def _matter(facts: objects.HostFacts) -> objects.HostFacts:
    return dataclasses.replace(facts, provider_generation=0)


def _as_if_empty(facts: objects.HostFacts) -> objects.HostFacts:
    capacity = {
        inventory.resource_class: inventory.capacity
        for inventory in facts.inventories
    }
    return dataclasses.replace(
        facts,
        free_memory_mb=capacity.get('MEMORY_MB', facts.free_memory_mb),
        free_disk_gb=capacity.get('DISK_GB', facts.free_disk_gb),
    )
