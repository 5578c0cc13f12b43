# SPDX-License-Identifier: Apache-2.0
"""Servers with a lease of their own on hosts that fail.

These servers run where there is room, on hosts that need not be enrolled.
Nothing is planned for them, so all that can be done is to tell their owner,
and to ask Nova to evacuate them.
"""

from collections import defaultdict
from collections.abc import Collection
from collections.abc import Mapping
import dataclasses
import datetime

from oslo_log import log

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations import ports
from nova_reservations.db import api
from nova_reservations.db import tasks
from nova_reservations.db.holdings import healing
from nova_reservations.db.leases import leased_servers
from nova_reservations.db.leases import leases
from nova_reservations.db.leases import server_failures as rows
from nova_reservations.engine import notifications
from nova_reservations.engine import settings
from nova_reservations.engine import transactions
from nova_reservations.objects import states
from nova_reservations.planner import failures

LOG = log.getLogger(__name__)

Services = Mapping[str, Mapping[str, ports.ComputeService]]
"""Cell -> service host -> its nova-compute, of the cells that have
answered."""

Sightings = Mapping[str, failures.Sighting]
"""Server UUID -> what is seen of its host; servers are left out if that is not
known."""


@dataclasses.dataclass(eq=False)
class ServerFailures:
    database: api.Database
    cloud: ports.Cloud
    options: settings.Settings
    notify: ports.Notifier

    def look(self, now: datetime.datetime) -> None:
        """Flag the leases of servers whose hosts have failed, and evacuate
        these servers where that is allowed.

        :raises: CloudUnavailable
        """
        with self.database.reader() as session:
            suspects = rows.suspects(session, now)
            if not suspects and not leased_servers.watched(session, '', 1):
                return
        services = self.cloud.hosts.services_by_cell(now)
        failing = {
            host: service
            for cell in services.values()
            for host, service in cell.items()
            if _fails(service)
        }
        there = self.cloud.servers.servers_at(failing)
        with self.database.reader() as session:
            carriers = rows.active(session, there)
        sightings = {
            carrier.server: _sighting(failing[there[carrier.server].host])
            for carrier in carriers
        }
        sightings |= self._recovered(
            [one for one in suspects if one.server not in sightings], services
        )
        for lease_id in sorted(
            {carrier.lease_id for carrier in (*suspects, *carriers)}
        ):
            changed = transactions.write(
                self.database, self._record, lease_id, sightings, now
            )
            if changed is not None:
                self._tell(changed)
        if self.options.heal_evacuate:
            self._evacuate(carriers, there, services, now)
        if not self.options.enable_polling_monitor:
            # No notification tells that a host is down for too long, or that
            # a server has left it.
            with self.database.writer() as session:
                if rows.suspects(session, now):
                    again = now + self.options.polling_interval
                    tasks.hurry(session, rows.TASK, again)

    def _recovered(
        self, suspects: Collection[rows.Carrier], services: Services
    ) -> Sightings:
        """Return what is seen of servers that are on no failing host, as far
        as cells have answered."""
        works = failures.Sighting()
        found = self.cloud.servers.heard_servers(
            [one.server for one in suspects if not one.released]
        )
        working = {
            host
            for cell in services.values()
            for host, service in cell.items()
            if not _fails(service)
        }
        return {
            one.server: works
            for one in suspects
            if one.released
            or (
                one.server in found
                # A shelved server is on no host.
                and found[one.server].host in working | {''}
            )
        }

    def _record(
        self,
        session: api.Session,
        lease_id: str,
        sightings: Sightings,
        now: datetime.datetime,
    ) -> objects.Lease | None:
        """Write the conditions of the lease's servers, and its flags; return
        the lease if its flag has changed.

        :raises: Conflict
        """
        try:
            seen = leases.get(session, lease_id)
        except exception.NotFound:
            return None
        is_active = seen.status == states.Lease.ACTIVE
        any_failed = False
        for carrier in rows.of_lease(session, lease_id):
            condition = objects.Condition()
            if is_active and not carrier.released:
                condition = self._condition(carrier, sightings, now)
            if _differs(condition, carrier.condition):
                rows.set_condition(session, carrier.server, condition, now)
            any_failed |= condition.failed
        reservation = seen.server_reservation
        if (
            not is_active
            or reservation is None
            or reservation.missing_resources == any_failed
        ):
            return None
        flags = healing.Flags(missing=any_failed)
        healing.set_flags(session, reservation.id, flags, now)
        leases.change(session, seen, now, degraded=any_failed)
        return leases.get(session, lease_id)

    def _condition(
        self,
        carrier: rows.Carrier,
        sightings: Sightings,
        now: datetime.datetime,
    ) -> objects.Condition:
        sighting = sightings.get(carrier.server)
        if sighting is None:
            if carrier.condition.hold != states.Hold.DOWN:
                return carrier.condition
            # Nobody can tell whether the host is still down: wait anew.
            return dataclasses.replace(carrier.condition, held_since=now)
        return failures.condition(
            carrier.condition, sighting, now, self.options.down_after
        )

    def _tell(self, lease: objects.Lease) -> None:
        LOG.warning(
            'Servers of lease %s have failed with their hosts'
            if lease.degraded
            else 'All servers of lease %s are on hosts that work',
            lease.id,
        )
        self.notify(
            notifications.DEGRADED if lease.degraded else notifications.HEALED,
            notifications.payload(lease),
        )

    def _evacuate(
        self,
        carriers: Collection[rows.Carrier],
        there: Mapping[str, ports.Server],
        services: Services,
        now: datetime.datetime,
    ) -> None:
        """Evacuate servers from hosts that are forced down, except from hosts
        that fail with many others."""
        braked = self._brake(
            {there[carrier.server].host for carrier in carriers}, services
        )
        with self.database.writer() as session:
            rows.set_braked(
                session,
                [
                    carrier.server
                    for carrier in carriers
                    if there[carrier.server].host in braked
                ],
                now,
            )
        trusted = {
            host
            for known in services.values()
            for host, service in known.items()
            if service.forced_down and host not in braked
        }
        by_lease: dict[str, list[ports.Server]] = defaultdict(list)
        for carrier in carriers:
            server = there[carrier.server]
            if server.host in trusted and self._is_calm(carrier, now):
                by_lease[carrier.lease_id].append(server)
        for lease_id, servers in sorted(by_lease.items()):
            self._evacuate_of(lease_id, servers)

    def _brake(
        self, concerned: Collection[str], services: Services
    ) -> Collection[str]:
        """Return those of the hosts that fail with so many others of their
        cells that probably something else has failed."""
        braked: set[str] = set()
        for cell, known in sorted(services.items()):
            found = {host for host in concerned if host in known}
            failing = [host for host in known if _counts(known[host])]
            if found and failures.are_many(
                len(failing), len(known), self.options.heal_limit
            ):
                braked |= found
                LOG.error(
                    'Servers with a lease of their own on %(names)s are not '
                    'evacuated: %(failing)d of %(known)d hosts of cell '
                    '%(cell)s fail, more than [reservations] heal_limit',
                    {
                        'failing': len(failing),
                        'known': len(known),
                        'cell': cell,
                        'names': ', '.join(sorted(found)),
                    },
                )
        return braked

    def _is_calm(self, carrier: rows.Carrier, now: datetime.datetime) -> bool:
        """Return whether the server's host has had time to come back since it
        failed with many others."""
        return (
            carrier.braked_at is None
            or now - carrier.braked_at >= self.options.down_after
        )

    def _evacuate_of(
        self, lease_id: str, servers: Collection[ports.Server]
    ) -> None:
        def check() -> None:
            with self.database.reader() as session:
                lease = leases.get(session, lease_id)
            if lease.status != states.Lease.ACTIVE:
                raise exception.Conflict(kind='Lease', id=lease_id)

        try:
            refused = self.cloud.servers.evacuate(servers, check)
        except (exception.Conflict, exception.NotFound):
            LOG.info('Lease %s ends: no server is evacuated', lease_id)
            return
        for server, reason in refused.items():
            LOG.warning(
                'Server %(server)s is not evacuated: %(reason)s',
                {'server': server, 'reason': reason},
            )


def _fails(service: ports.ComputeService) -> bool:
    return service.forced_down or service.is_down


def _sighting(service: ports.ComputeService) -> failures.Sighting:
    return failures.Sighting(
        failed=service.forced_down,
        down=service.is_down,
        disabled=service.disabled and not service.gave_up,
    )


def _counts(service: ports.ComputeService) -> bool:
    """Return whether a host counts towards a mass failure. A disabled host
    that is silent does not: an administrator knows of it."""
    seen = _sighting(service)
    return seen.failed or (seen.down and not seen.disabled)


def _differs(one: objects.Condition, other: objects.Condition) -> bool:
    """Return whether they differ in what is stored for a server."""
    return dataclasses.replace(one, forced_down=False) != dataclasses.replace(
        other, forced_down=False
    )
