# SPDX-License-Identifier: Apache-2.0
"""Audit: finds differences between the database, Nova and placement, and
repairs those that can be repaired."""

from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Iterator
from collections.abc import Mapping
import dataclasses
import datetime
import functools

from nova_reservations import objects
from nova_reservations import ports
from nova_reservations.db import api
from nova_reservations.db import pages
from nova_reservations.db import tasks
from nova_reservations.db.holdings import allocations
from nova_reservations.db.holdings import windows
from nova_reservations.db.leases import freed_capacity
from nova_reservations.db.leases import leases
from nova_reservations.db.resources import drainable_hosts
from nova_reservations.db.resources import hosts
from nova_reservations.db.upkeep import audit
from nova_reservations.db.upkeep import records
from nova_reservations.engine import identity
from nova_reservations.engine import resource_types
from nova_reservations.engine.worker import bookings
from nova_reservations.engine.worker import leftovers
from nova_reservations.objects import states
from nova_reservations.types import audited
from nova_reservations.types.audited import Finding

PATIENCE = datetime.timedelta(seconds=60)
"""The time that a lease may wait past its due date: two claims of dead
workers."""


@dataclasses.dataclass(eq=False)
class Audit:
    database: api.Database
    cloud: ports.Cloud
    bookings: bookings.Bookings
    types: resource_types.Types

    def findings(self, now: datetime.datetime) -> list[Finding]:
        """Return all that is not as it must be; nothing is changed.

        Changes that are under way during the audit may be found, too.

        :raises: CloudUnavailable
        """
        return [
            *self.of_leases(now),
            *self.of_pool(),
            *self.of_idle_hosts(),
            *self.of_drainable_hosts(now),
            *self.of_aggregates(now),
            *self.of_slots(now),
            *self.of_starts(now),
            *self.of_types(now),
            *self.of_leftovers(),
        ]

    def lasting(self, pause: Callable[[], None]) -> list[Finding]:
        """Return the findings that two looks have in common: a finding of only
        one look was a change under way.

        :param pause: waits between the two looks
        :raises: CloudUnavailable
        """
        first = {
            finding.problem for finding in self.findings(self.database.now())
        }
        if not first:
            return []
        pause()
        return [
            finding
            for finding in self.findings(self.database.now())
            if finding.problem in first
        ]

    def of_leases(self, now: datetime.datetime) -> Iterator[Finding]:
        """Yield errors of leases, in the database alone."""
        with self.database.reader() as session:
            overdue = audit.overdue(session, now - PATIENCE)
            forgotten = audit.forgotten(session, now + PATIENCE)
            doubled = audit.doubled(session)
            kept = audit.held_by_the_dead(session)
        for lease_id in overdue:
            yield Finding(
                f'Lease {lease_id} waits past its time: see that a '
                'nova-scheduler with [reservations] enable_engine runs'
            )
        for lease_id in forgotten:
            yield Finding(
                f'Lease {lease_id} has work left that no worker will find in '
                'time',
                written(self.database, audit.wake, lease_id, now),
            )
        for name, first, second in doubled:
            yield Finding(
                f'Host {name} is given to reservations {first} and {second} '
                'at the same time: shorten or delete one of their leases'
            )
        for reservation_id in kept:
            yield Finding(
                f'Reservation {reservation_id} holds resources though its '
                'lease is over',
                written(self.database, _release, reservation_id, now),
            )

    def of_pool(self) -> Iterator[Finding]:
        """Yield errors of the hosts that are enrolled.

        :raises: CloudUnavailable
        """
        with self.database.reader() as session:
            known = hosts.find(session, objects.HostQuery())
        marked = self.cloud.hosts.pool_generations()
        yield from self._of_enrolled(known, marked)
        for half in known:
            if (
                half.role == states.Role.POOL
                and not half.reservable
                # A host that waits for something goes on by itself.
                and half.status_reason is None
            ):
                yield Finding(
                    f'Host {half.facts.service_host} is enrolled half-way: '
                    'add it again, or remove it'
                )
        for uuid in sorted(set(marked) - {host.facts.uuid for host in known}):
            # No repair: the host may be enrolled in another database, and
            # without the trait it would be open to everybody.
            yield Finding(
                f'Provider {uuid} has the trait of the pool, but is not '
                'enrolled in this database, so no server can land on it. If '
                'this is the database that is in use, add it, and remove it '
                'if you do not want it'
            )

    def _of_enrolled(
        self, known: Collection[objects.Host], marked: Collection[str]
    ) -> Iterator[Finding]:
        """Yield what the hosts of the pool lack in Nova and placement.

        :param marked: UUIDs of the providers that have the trait of the pool
        :raises: CloudUnavailable
        """
        enrolled = [host.resource for host in known if host.reservable]
        pool = self.cloud.aggregates.find_pool()
        in_placement = self.cloud.aggregates.provider_aggregates(enrolled)
        outside = {
            host.name
            for host in enrolled
            if pool is None
            or host.name not in pool.hosts
            or pool.uuid not in in_placement[host.name]
        }
        lost = self.cloud.hosts.unusable(
            [
                host
                for host in enrolled
                if host.uuid not in marked or host.name in outside
            ]
        )
        if pool is not None and pool.availability_zone:
            yield Finding(
                'Aggregate freepool has an availability zone, which its '
                "hosts get by it. Nova can't unset it: delete the aggregate "
                'and add each enrolled host again'
            )
        for host in enrolled:
            if host.name in lost:
                # No repair: another machine may have this name, with servers
                # of anybody.
                yield Finding(
                    f'Host {host.name} (host {host.id}) is lost: '
                    f'{lost[host.name]}'
                )
                continue
            if host.uuid not in marked:
                yield Finding(
                    f'Host {host.name} lacks the trait of the pool, so '
                    'ordinary servers may land on it: add it again',
                    functools.partial(self.cloud.aggregates.mark, host),
                )
            if host.name in outside:
                yield Finding(
                    f'Host {host.name} is not in the aggregate freepool, in '
                    'Nova and in placement: add it again',
                    functools.partial(self.cloud.aggregates.join_pool, host),
                )

    def of_idle_hosts(self) -> Iterator[Finding]:
        """Yield servers on hosts that no lease has now.

        Either the database was restored and lacks their lease, or they came to
        the host without the scheduler.
        """
        with self.database.reader() as session:
            idle = audit.idle(session)
        there = self.cloud.servers.servers_at(
            [host.name for host in idle.values()]
        )
        with self.database.reader() as session:
            # A lease may have begun before Nova was asked for servers.
            idle = {
                name: idle[name]
                for name in idle.keys() & audit.idle(session).keys()
            }
        used = {server.host for server in there.values()}
        # On another machine of that name servers are where they should be.
        lost = self.cloud.hosts.unusable(
            [host for name, host in idle.items() if name in used]
        )
        idle = {name: idle[name] for name in idle.keys() - lost.keys()}
        for uuid, server in sorted(there.items()):
            if server.host in idle:
                yield Finding(
                    f'Server {uuid} of project {server.project_id} is on host '
                    f'{server.host}, which no lease has now: move or delete '
                    'it, or the next lease there finds it'
                )

    def of_drainable_hosts(self, now: datetime.datetime) -> Iterator[Finding]:
        """Yield errors of hosts that may be emptied for leases.

        :raises: CloudUnavailable
        """
        with self.database.reader() as session:
            known = drainable_hosts.find(session)
            unneeded = drainable_hosts.unneeded(session)
        marked = self.cloud.hosts.pool_generations() if known else {}
        in_use = set().union(
            *self.cloud.aggregates.lease_aggregates().values()
        )
        for drainable in known:
            host = drainable.resource
            if drainable.fenced_for and host.uuid not in marked:
                yield Finding(
                    f'Host {host.name} is fenced for lease '
                    f'{drainable.fenced_for}, but ordinary servers may land '
                    'on it',
                    functools.partial(self.cloud.aggregates.mark, host),
                )
            if (
                not drainable.fenced_for
                and host.uuid in marked
                # If a reservation has it in Nova, another finding tells so.
                and host.name not in in_use
            ):
                yield Finding(
                    f'Host {host.name} has the trait of the pool, though it '
                    'is fenced for no lease, so no server can land on it',
                    functools.partial(self.cloud.aggregates.unmark, host),
                )
        for drainable in unneeded:
            yield Finding(
                f'Host {drainable.resource.name} is not given back yet by '
                f'lease {drainable.fenced_for}, which does not need it: see '
                'whether a server is still leaving it, and that a '
                'nova-scheduler with [reservations] enable_engine runs',
                written(self.database, tasks.hurry, drainable_hosts.TASK, now),
            )

    def of_aggregates(self, now: datetime.datetime) -> Iterator[Finding]:
        """Yield errors of the aggregates of reservations.

        :raises: CloudUnavailable
        """
        in_nova = self.cloud.aggregates.lease_aggregates()
        with self.database.reader() as session:
            wanted = audit.gathered(session)
            enrolled = _enrolled(session)
        in_placement = self.cloud.aggregates.provider_aggregates(enrolled)
        with self.database.reader() as session:
            # Placement may also have aggregates of others.
            known = audit.reservations(
                session, set().union(*in_placement.values())
            )
            alive = leases.in_nova(session, known)
        for reservation_id, (lease_id, names) in wanted.items():
            if set(in_nova.get(reservation_id, ())) != names:
                where = 'Nova'
            elif _members(in_placement, reservation_id) != names:
                where = 'placement'
            else:
                continue
            yield Finding(
                f'Reservation {reservation_id} has other hosts in {where} '
                'than were given to it',
                written(self.database, audit.regather, lease_id, now),
            )
        for reservation_id in sorted(known - alive - in_nova.keys()):
            yield Finding(
                f'Aggregate {reservation_id} is of no lease any more, and '
                'still in placement',
                functools.partial(
                    self.cloud.aggregates.delete_aggregate,
                    reservation_id,
                    check=lambda: None,
                ),
            )

    def of_slots(self, now: datetime.datetime) -> Iterator[Finding]:
        """Yield errors of slots: slots that are promised but not offered, and
        more promised slots than there is room for.

        :raises: CloudUnavailable
        """
        with self.database.reader() as session:
            wanted = audit.slotted(session)
            enrolled = _enrolled(session)
        offered = self.cloud.slots.offered_slots(enrolled)
        for reservation_id, (lease_id, slots) in wanted.items():
            if offered.get(reservation_id, {}) != slots:
                yield Finding(
                    f'Reservation {reservation_id} has other slots in '
                    'placement than were given to it',
                    written(self.database, audit.regather, lease_id, now),
                )
        with self.database.reader() as session:
            overbooked = audit.overbooked(session)
        for name, resource_class, most, there_are in overbooked:
            yield Finding(
                f'Host {name} has {there_are} {resource_class}, of which '
                f'leases were promised {most} at the same time: shorten or '
                'delete one of them, or give the host more'
            )

    def of_starts(self, now: datetime.datetime) -> Iterator[Finding]:
        """Yield what starts have made that was deleted or changed since.

        :raises: CloudUnavailable
        """
        with self.database.reader() as session:
            ids = audit.settled(session)
        for page in pages.of(ids):
            with self.database.reader() as session:
                known = leases.get_all(session, page)
            for kind, booking in self.bookings.looked_at(known, now):
                if booking.reservation.status != states.Reservation.ACTIVE:
                    continue
                for what in kind.lacking(booking):
                    yield Finding(
                        f'Reservation {booking.reservation.id}: {what}',
                        written(
                            self.database,
                            audit.regather,
                            booking.lease.id,
                            now,
                        ),
                    )

    def of_types(self, now: datetime.datetime) -> Iterator[Finding]:
        """Yield what resource types find in their services.

        :raises: CloudUnavailable
        """
        known = records.Records(self.database, identity.of(self.database), now)
        for kind in self.types.able(
            audited.Audited  # type: ignore[type-abstract]
        ):
            yield from kind.audit(known)

    def of_leftovers(self) -> Iterator[Finding]:
        """Yield leftovers in Nova that belong to no lease.

        Leftovers of another database are not repaired: this command may have
        been given the wrong database.

        :raises: CloudUnavailable
        """
        for leftover in leftovers.find(self.database, self.cloud).leftovers:
            what = 'Aggregate' if leftover.gathered else 'Slots of'
            problem = f'{what} {leftover.reservation_id} is of no lease'
            repair = functools.partial(
                leftovers.take_away, leftover, self.cloud
            )
            if leftover.ours:
                yield Finding(f'{problem} any more', repair)
            elif leftover.origin is None:
                yield Finding(
                    f'{problem} that this database knows, and does not name '
                    'its database: see that no other one is in use before '
                    'you repair it',
                    repair,
                )
            else:
                yield Finding(
                    f'{problem} of this database, but of database '
                    f'{leftover.origin}: see which of both is in use. If that '
                    'one is gone for ever, delete it in Nova'
                )


def _enrolled(session: api.Session) -> list[objects.Resource]:
    known = hosts.find(session, objects.HostQuery())
    return [host.resource for host in known]


def written(
    database: api.Database, function: Callable[..., None], *args: object
) -> Callable[[], None]:
    """Return a repair that is one transaction."""

    def repair() -> None:
        with database.writer() as session:
            function(session, *args)

    return repair


def _release(
    session: api.Session, reservation_id: str, now: datetime.datetime
) -> None:
    """Release the resources of a reservation."""
    held = allocations.holdings(session, [reservation_id])[reservation_id]
    windows.release(session, [reservation_id], now)
    freed_capacity.freed(
        session, now, [holding.resource.id for holding in held]
    )


def _members(
    in_placement: Mapping[str, Collection[str]], aggregate: str
) -> set[str]:
    return {
        name
        for name, aggregates in in_placement.items()
        if aggregate in aggregates
    }
