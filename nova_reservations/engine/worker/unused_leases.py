# SPDX-License-Identifier: Apache-2.0
"""Leases that nobody uses: their owners are told, or the leases end.

The first use of a lease is written before Nova relies on it
(``scheduler/request_filter.py``), and an end is written only if no use is. So
one of the two comes first, and the other one sees it. A lease is also left
alone if anything else looks like use.

Decision 0043: doc/source/decisions/0043-what-operators-watch
"""

from collections.abc import Collection
from collections.abc import Mapping
import dataclasses
import datetime
import random

from oslo_log import log

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations import ports
from nova_reservations.db import api
from nova_reservations.db.holdings import allocations
from nova_reservations.db.holdings import slot_servers
from nova_reservations.db.leases import access
from nova_reservations.db.leases import leases
from nova_reservations.db.leases import unused as rows
from nova_reservations.db.record import usage
from nova_reservations.engine import identity
from nova_reservations.engine import notifications
from nova_reservations.engine import resource_types
from nova_reservations.engine import settings
from nova_reservations.objects import states
from nova_reservations.types import base
from nova_reservations.types import with_slots

LOG = log.getLogger(__name__)

AT_ONCE = 10
"""The most leases that are ended at one look."""

LOOKS = 100
"""The most leases that are checked for that: for some it may be impossible to
tell now whether they are used."""

SILENT = 3
"""The number of leases without an answer of Nova after which a look stops:
probably all of Nova is silent then, not just a cell."""

MANY = 20
"""If more leases than this, and more than half of all, are unused, most likely
nova-scheduler lets no server in."""

PAGE = 1000
"""The most leases that are found at one look."""


@dataclasses.dataclass(frozen=True, slots=True)
class _Marks:
    """:ivar name: the name of this database.

    :ivar origins: reservation id -> the database that its aggregate bears.
    """

    name: str
    origins: Mapping[str, str | None]

    def is_ours(self, kind: base.ResourceType, booking: base.Booking) -> bool:
        """Return whether Nova has the reservation, and it is of this
        database. Without an aggregate, slots of its own class tell so."""
        reservation_id = booking.reservation.id
        if reservation_id in self.origins:
            return self.origins[reservation_id] == self.name
        return isinstance(kind, with_slots.WithSlots) and bool(
            kind.slots_offered(booking)
        )


@dataclasses.dataclass(eq=False)
class UnusedLeases:
    database: api.Database
    cloud: ports.Cloud
    types: resource_types.Types
    options: settings.Settings
    notify: ports.Notifier

    def look(self, now: datetime.datetime) -> None:
        """Find leases that nobody has used for too long since their start.

        :raises: CloudUnavailable
        """
        timeout = self.options.unused_lease_timeout
        if not timeout:
            return
        ends = self.options.unused_lease_action == states.UnusedAction.END
        with self.database.reader() as session:
            found = rows.find(session, now - timeout, not ends, PAGE)
            active = rows.active(session) if ends else 0
        if ends:
            if len(found) > MANY and 2 * len(found) > active:
                LOG.error(
                    '%(found)d of %(active)d active leases have had no '
                    'server: none is ended for that. See whether servers can '
                    'be created in leases at all; set [reservations] '
                    'unused_lease_action to notify if they can',
                    {'found': len(found), 'active': active},
                )
                return
            # At random, so that leases of which nobody can tell do not keep
            # all others from being looked at.
            found = random.sample(found, min(len(found), LOOKS))
        if found:
            self._look_at_all(found, AT_ONCE if ends else len(found), now)

    def _look_at_all(
        self, found: Collection[str], most: int, now: datetime.datetime
    ) -> None:
        """:param most: the most leases that are told of, or ended
        :raises: CloudUnavailable
        """
        marks = _Marks(
            identity.of(self.database), self.cloud.aggregates.origins()
        )
        told = silent = 0
        for lease_id in found:
            try:
                told += self._look_at(lease_id, marks, now)
            except exception.CloudUnavailable as error:
                silent += 1
                if silent == SILENT:
                    raise
                LOG.warning(
                    'Whether lease %(lease)s is used is not known: %(reason)s',
                    {'lease': lease_id, 'reason': error},
                )
            if told == most:
                return

    def _look_at(
        self,
        lease_id: str,
        marks: _Marks,
        now: datetime.datetime,
    ) -> bool:
        """Return whether the lease is unused, and that was written.

        :raises: CloudUnavailable
        """
        try:
            with self.database.reader() as session:
                lease = leases.get(session, lease_id)
                bookings = self._bookings(session, lease, now)
        except exception.NotFound:
            return False
        if bookings is None:
            return False
        if not all(marks.is_ours(*each) for each in bookings):
            LOG.error(
                'Lease %s is not ended as unused: what Nova has of it is not '
                'of this database',
                lease_id,
            )
            return False
        try:
            if any(_is_used(*each) for each in bookings):
                # It did not come by nova-scheduler, which would have written
                # that: some moves by force go past it.
                with self.database.writer() as session:
                    access.use(session, lease_id, now)
                return False
            told = self._write(lease, now)
        except exception.Conflict:
            LOG.debug('Lease %s was changed meanwhile', lease_id)
            return False
        if told is None:
            return False
        LOG.warning(
            'Lease %(lease)s of project %(project)s has had no server '
            'since its start; it is %(status)s',
            {
                'lease': lease_id,
                'project': told.project_id,
                'status': told.status,
            },
        )
        self.notify(notifications.UNUSED, notifications.payload(told))
        return True

    def _bookings(
        self,
        session: api.Session,
        lease: objects.Lease,
        now: datetime.datetime,
    ) -> Collection[tuple[base.ResourceType, base.Booking]] | None:
        """Return the reservations of a lease; None if it can not be used, or
        has a type that this process does not know."""
        ids = [item.id for item in lease.reservations]
        held = allocations.holdings(session, ids)
        servers = slot_servers.of(session, ids)
        bookings = []
        for item in lease.reservations:
            if item.id in lease.wholes:
                # Its parts tell whether it is used.
                continue
            holdings = held[item.id]
            if item.resource_type not in self.types or not all(
                holding.usable for holding in holdings
            ):
                return None
            resources = tuple(holding.resource for holding in holdings)
            booking = dataclasses.replace(
                base.Booking.looked_at(lease, item, resources, now),
                servers=servers[item.id].servers,
                chosen=servers[item.id].chosen,
            )
            bookings.append((self.types[item.resource_type], booking))
        return bookings

    def _write(
        self, seen: objects.Lease, now: datetime.datetime
    ) -> objects.Lease | None:
        """Write that nobody uses the lease, and end it if so configured;
        return the changed lease, or None if somebody uses it after all.

        :raises: Conflict
        """
        ends = self.options.unused_lease_action == states.UnusedAction.END
        if ends and seen.claimed_by is not None:
            # A worker is acting on the lease: the next look finds it again.
            return None
        with self.database.writer() as session:
            if not rows.mark(session, seen.id, now):
                return None
            if ends:
                leases.change(
                    session,
                    seen,
                    now,
                    status=states.Lease.TERMINATING,
                    status_reason=reason(seen, now),
                    events={states.EventType.END: states.Event.IN_PROGRESS},
                    due_at=now,
                )
            lease = leases.get(session, seen.id)
            if ends:
                usage.settle(session, [lease], now)
            return lease


def reason(
    lease: objects.Lease, ended_at: datetime.datetime
) -> objects.Reason:
    """Return why a lease that never had a server has ended."""
    start = lease.event(states.EventType.START)
    started_at = (start and start.updated_at) or lease.start_date
    count = int((ended_at - started_at).total_seconds()) // 60
    return objects.Reason.plain(
        'It was not used: no server was in it for '
        f'{objects.plural(count, "minute", "minutes")} from its start on'
    )


def _is_used(kind: base.ResourceType, booking: base.Booking) -> bool:
    """Return whether anything is on the resources, no matter whose.

    :raises: CloudUnavailable
    """
    return bool(booking.servers) or set(kind.unused(booking)) != set(
        booking.resources
    )
