# SPDX-License-Identifier: Apache-2.0
"""What operators do with hosts: enrol, describe, plan, remove; and keeping
their facts true."""

from collections import defaultdict
from collections.abc import Mapping
import dataclasses
import datetime

from oslo_log import log

from nova_reservations import exception
from nova_reservations import ports
from nova_reservations import states
from nova_reservations import values
from nova_reservations.db import allocations
from nova_reservations.db import api
from nova_reservations.db import counters
from nova_reservations.db import donors
from nova_reservations.db import healing
from nova_reservations.db import hosts
from nova_reservations.db import leases
from nova_reservations.db import waiters
from nova_reservations.engine import contention
from nova_reservations.engine import settings
from nova_reservations.planner import occupation

LOG = log.getLogger(__name__)

REFRESH = 'refresh'
"""The task that reads the facts of hosts that may have changed."""

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

    def get(self, host_id: int) -> values.Host:
        """:raises: NotFound"""
        with self.database.reader() as session:
            return hosts.get(session, host_id)

    def find(self, query: values.HostQuery) -> list[values.Host]:
        with self.database.reader() as session:
            return hosts.find(session, query)

    def is_enrolled(self, name: str) -> bool:
        """Whether name is an enrolled service host or hypervisor."""
        with self.database.reader() as session:
            return hosts.is_enrolled(session, name)

    def enrol(
        self, name: str, properties: Mapping[str, str], now: datetime.datetime
    ) -> values.Host:
        """Make the host reservable, and closed to all who have no lease.

        First it is marked, so that no new server lands there, then it must
        be found empty. What a crash leaves half-way is finished by doing it
        again.

        :param name: a service host, hypervisor hostname or node UUID
        :raises: NotFound, AmbiguousHost, AlreadyEnrolled, HostInUse,
            Contended, CloudUnavailable
        """
        resource = self._find(name)
        facts = self.cloud.facts([resource])
        if not facts:
            raise exception.NotFound(kind='Host', id=resource.name)
        host = contention.settle(
            lambda _: self._register(facts[0], properties, now)
        )
        self.cloud.ensure_pool()
        self.cloud.mark(resource)
        occupancy = self.cloud.occupancy([resource])[resource.name]
        if not occupancy.empty:
            self._withdraw(host)
            with self.database.writer() as session:
                # It may be a donor.
                counters.hurry(session, donors.TASK, now)
            raise exception.HostInUse(
                host=resource.name, reason=_occupants(occupancy)
            )
        self.cloud.join_pool(resource)
        with self.database.writer() as session:
            hosts.set_reservable(session, host.id, True, now)
            # It may not work, and somebody may lack it.
            counters.hurry(session, healing.MONITOR, now)
            healing.capacity_came_free(session, now)
            waiters.wake(session, now)
            enrolled = hosts.get(session, host.id)
        LOG.info(
            'Host %(name)s is enrolled as host %(id)s',
            {'name': resource.name, 'id': host.id},
        )
        return enrolled

    def _find(self, name: str) -> values.Resource:
        found = self.cloud.find_hosts(name)
        if not found:
            raise exception.NotFound(kind='Host', id=name)
        if len(found) > 1:
            raise exception.AmbiguousHost(name=name, count=len(found))
        return found[0]

    def _register(
        self,
        facts: values.HostFacts,
        properties: Mapping[str, str],
        now: datetime.datetime,
    ) -> values.Host:
        """Write the host, not reservable yet; take up one left half-way."""
        with self.database.writer() as session:
            known = hosts.by_uuid(session, facts.uuid)
            if known is None:
                host_id = hosts.insert(session, facts, properties, now)
                return hosts.get(session, host_id)
            if known.reservable:
                raise exception.AlreadyEnrolled(
                    host=facts.service_host, id=known.id
                )
            if known.fenced_for is not None:
                raise exception.HostInUse(
                    host=facts.service_host,
                    reason=f'lease {known.fenced_for} has it as a donor',
                )
            if known.role == states.Role.DONOR:
                donors.enrol(session, known.id, now)
            hosts.set_facts(session, known.id, facts, now)
            hosts.set_properties(
                session,
                known.id,
                {**dict.fromkeys(known.properties), **properties},
                now,
            )
            return hosts.get(session, known.id)

    def mend(self, host_id: int) -> None:
        """Give an enrolled host back what marks it, where it was lost.

        :raises: NotFound, CloudUnavailable, CloudRefused
        """
        host = self.get(host_id)
        self.cloud.ensure_pool()
        self.cloud.mark(host.resource)
        self.cloud.join_pool(host.resource)

    def remove(self, host_id: int, now: datetime.datetime) -> None:
        """Open the host to everybody again.

        :raises: NotFound, HostInUse, Contended, CloudUnavailable
        """
        host = self.get(host_id)
        if host.role == states.Role.DONOR:
            raise exception.HostInUse(
                host=host.facts.service_host,
                reason='it is a donor: take it out of the aggregate '
                f'{self.options.best_effort_aggregate}',
            )
        contention.settle(lambda _: self._close(host, now))
        try:
            left = self.cloud.occupancy([host.resource])
            if not left[host.facts.service_host].empty:
                raise exception.HostInUse(
                    host=host.facts.service_host,
                    reason=_occupants(left[host.facts.service_host]),
                )
        except exception.ReservationsError:
            with self.database.writer() as session:
                hosts.set_reservable(session, host_id, host.reservable, now)
                waiters.wake(session, now)
            raise
        self._withdraw(host)
        LOG.info(
            'Host %(name)s is no longer enrolled',
            {'name': host.facts.service_host},
        )

    def _close(self, host: values.Host, now: datetime.datetime) -> None:
        """Let no lease take the host any more, if none has."""
        with self.database.writer() as session:
            # First, for its lock: bookings that come now are refused, those
            # that came before are seen.
            hosts.set_reservable(session, host.id, False, now)
            held = [
                allocation
                for allocation in allocations.find(
                    session, values.HOST, resource_id=host.id
                )
                if not allocation.released
            ]
            if held:
                raise exception.HostInUse(
                    host=host.facts.service_host,
                    reason=f'it is allocated to {len(held)} reservations; '
                    '"os-hosts/allocations" lists them',
                )

    def _withdraw(self, host: values.Host) -> None:
        """Undo the enrolment, the row last: what is left is found by it."""
        self.cloud.leave_pool(host.resource)
        self.cloud.unmark(host.resource)
        with self.database.writer() as session:
            hosts.delete(session, host.id)

    def update(
        self,
        host_id: int,
        properties: Mapping[str, str | None],
        now: datetime.datetime,
    ) -> values.Host:
        """Change what the operator says of the host, and read its facts.

        A property that some lease, current or to come, was planned with
        stays.

        :param properties: a value of None takes the property away
        :raises: NotFound, HostInUse, Contended, CloudUnavailable
        """
        host = contention.settle(
            lambda _: self._describe(host_id, properties, now)
        )
        self.refresh_facts({host.facts.uuid: host}, now)
        return self.get(host_id)

    def _describe(
        self,
        host_id: int,
        properties: Mapping[str, str | None],
        now: datetime.datetime,
    ) -> values.Host:
        with self.database.writer() as session:
            # First: no booking comes between what is read and the commit.
            hosts.advance(session, host_id, now)
            host = hosts.get(session, host_id)
            changed = {
                name
                for name, value in properties.items()
                if name in host.properties and host.properties[name] != value
            }
            wanted = changed & hosts.required_properties(session, host_id)
            if wanted:
                raise exception.HostInUse(
                    host=host.facts.service_host,
                    reason='leases were planned with '
                    f'{", ".join(sorted(wanted))}',
                )
            hosts.set_properties(session, host_id, properties, now)
            waiters.wake(session, now)
            return host

    def properties(self, include_private: bool) -> list[values.Property]:
        with self.database.reader() as session:
            return hosts.properties(session, include_private)

    def set_private(
        self, name: str, private: bool, now: datetime.datetime
    ) -> values.Property:
        """:raises: NotFound"""
        with self.database.writer() as session:
            return hosts.set_private(session, name, private, now)

    def allocations(
        self,
        now: datetime.datetime,
        lease_id: str | None = None,
        reservation_id: str | None = None,
    ) -> Mapping[int, list[values.Allocation]]:
        """Return host id -> its allocations, of every host: those that are
        not over, or all of one lease or reservation."""
        selected = lease_id or reservation_id
        with self.database.reader() as session:
            found: dict[int, list[values.Allocation]] = {
                host_id: [] for host_id in hosts.ids(session)
            }
            for allocation in allocations.find(
                session,
                values.HOST,
                ending_after=None if selected else now,
                lease_id=lease_id,
                reservation_id=reservation_id,
            ):
                found.setdefault(allocation.resource_id, []).append(allocation)
        return found

    def host_allocations(
        self,
        host_id: int,
        now: datetime.datetime,
        lease_id: str | None = None,
        reservation_id: str | None = None,
    ) -> list[values.Allocation]:
        """:raises: NotFound"""
        selected = lease_id or reservation_id
        with self.database.reader() as session:
            hosts.get(session, host_id)
            return allocations.find(
                session,
                values.HOST,
                ending_after=None if selected else now,
                lease_id=lease_id,
                reservation_id=reservation_id,
                resource_id=host_id,
            )

    def capacity(
        self,
        start: datetime.datetime,
        end: datetime.datetime,
        step: datetime.timedelta,
    ) -> list[values.CapacityPoint]:
        """Tell, for each step from start to end, how many hosts are held.

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
        return [
            values.CapacityPoint(
                start=start + index * step,
                end=start + min((index + 1) * step, length),
                hosts=total,
                reserved=reserved,
            )
            for index, reserved in enumerate(
                occupation.held(windows, start, end, step)
            )
        ]

    def refresh(self, now: datetime.datetime) -> int:
        """Read the facts of hosts that may have changed; return how many
        had.

        :raises: CloudUnavailable
        """
        sightings = self.cloud.survey()
        with self.database.reader() as session:
            known = hosts.marks(session)
            changed = {
                uuid: hosts.get(session, mark.id)
                for uuid, mark in known.items()
                if uuid in sightings
                and (
                    sightings[uuid].provider_generation
                    != mark.provider_generation
                    or sightings[uuid].availability_zone
                    != mark.availability_zone
                )
            }
        for uuid in sorted(set(known) - set(sightings)):
            LOG.warning(
                'Host %s is enrolled but has lost its trait, or its '
                'provider: remove it, or enrol it anew',
                uuid,
            )
        return self.refresh_facts(changed, now)

    def refresh_facts(
        self, changed: Mapping[str, values.Host], now: datetime.datetime
    ) -> int:
        """Read the facts of these hosts, by UUID; return how many had
        changed.

        :raises: CloudUnavailable
        """
        count = 0
        found = self.cloud.facts([host.resource for host in changed.values()])
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
                waiters.wake(session, now)
            count += 1
            LOG.info(
                'The facts of host %(name)s have changed',
                {'name': facts.service_host},
            )
        return count

    def sweep(self) -> int:
        """Disband aggregates, and clear slots, of reservations that are no
        longer in Nova; return how many aggregates.

        A worker that was stopped in mid-action, and woke after another had
        finished, may leave one.
        """
        gathered = self.cloud.lease_aggregates()
        counted = self.cloud.slot_classes()
        with self.database.reader() as session:
            alive = leases.in_nova(session, {*gathered, *counted})
        left = sorted(set(gathered) - alive)
        for reservation_id in left:
            LOG.warning('Aggregate %s is of no lease any more', reservation_id)
            self.cloud.disband(reservation_id, check=_unchecked)
        for reservation_id in sorted(set(counted) - alive):
            if not self.cloud.owns_slots(reservation_id):
                continue
            LOG.warning('Slots of %s are of no lease any more', reservation_id)
            self.cloud.clear(reservation_id, [], check=_unchecked)
        return len(left)


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


def _unchecked() -> None:
    """Nobody else acts on what belongs to no lease."""


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


def _matter(facts: values.HostFacts) -> values.HostFacts:
    return dataclasses.replace(facts, provider_generation=0)


def _as_if_empty(facts: values.HostFacts) -> values.HostFacts:
    capacity = {
        inventory.resource_class: inventory.capacity
        for inventory in facts.inventories
    }
    return dataclasses.replace(
        facts,
        free_memory_mb=capacity.get('MEMORY_MB', facts.free_memory_mb),
        free_disk_gb=capacity.get('DISK_GB', facts.free_disk_gb),
    )
