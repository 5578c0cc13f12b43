# SPDX-License-Identifier: Apache-2.0
"""Leases that come with servers: one request to Nova makes both, or neither.

The lease is written first, and is CREATING while Nova handles the request.
Each server is recorded before Nova creates it, in a transaction that also
finds the lease still CREATING. So there is no server that we do not know, and
none is created for a lease that was given up meanwhile. If the process that
handles the request dies, a worker can tell how far the request has come.

Decision 0013: doc/source/decisions/0013-both-or-neither
"""

import dataclasses
import datetime

from oslo_log import log

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations import ports
from nova_reservations.db import api
from nova_reservations.db.holdings import allocations
from nova_reservations.db.leases import leased_servers
from nova_reservations.db.leases import leases as rows
from nova_reservations.engine import claimed_leases
from nova_reservations.engine import identity
from nova_reservations.engine import notifications
from nova_reservations.engine import steps
from nova_reservations.engine import transactions
from nova_reservations.engine.booking import lease_requests
from nova_reservations.engine.booking import means
from nova_reservations.engine.leases import access
from nova_reservations.engine.leases import enforcement
from nova_reservations.engine.leases import leases
from nova_reservations.engine.leases import refusal_counts
from nova_reservations.objects import amounts
from nova_reservations.objects import states
from nova_reservations.types import base

LOG = log.getLogger(__name__)

CARRYING = states.OPEN | {states.Lease.CREATING}
"""The states of leases that servers carry."""


@dataclasses.dataclass(eq=False)
class ServerLeases(means.UseCase):
    leases: leases.Leases
    enforcement: enforcement.Enforcement
    access: access.Access
    cloud: ports.Cloud

    @refusal_counts.counted
    def request(
        self, asked: lease_requests.NewLease, now: datetime.datetime
    ) -> objects.Lease:
        """Write the lease of servers; Nova is asked for the servers next.

        :raises: InvalidInput, NotEnoughResources, OverLimit,
            CloudUnavailable, Contended
        """
        if asked.start > now:
            self._check_shelving()
        draft = dataclasses.replace(
            self.requests.draft(asked, now),
            status=states.Lease.CREATING,
            # From here on Nova may have something of the lease.
            in_nova=True,
        )
        lease = dataclasses.replace(
            draft, due_at=steps.due_at(draft, now, self.options)
        )
        self.enforcement.check_new(lease, now)
        self.leases.promise(
            lease, now, leases.Writing(self.limits.guard(lease))
        )
        return lease

    def _check_shelving(self) -> None:
        """Check that the servers can be shelved until the lease starts.

        :raises: InvalidInput, CloudUnavailable
        """
        try:
            self.cloud.servers.check_acting()
        except exception.CloudRefused as error:
            raise exception.InvalidInput(
                'A server with a lease that starts later is shelved until '
                f'then, which can not be done here: {error}; ask the operator'
            ) from error

    def receive(self, lease: objects.Lease, now: datetime.datetime) -> None:
        """Make the place that the lease's servers land on ready in Nova, if
        they were guaranteed a place from now on.

        :raises: InvalidState, NotFound if the lease was given up meanwhile
        :raises: CloudRefused, CloudUnavailable
        """
        if not self._has_place(lease):
            return
        reservation = _reservation(lease)
        with self.database.reader() as session:
            held = allocations.holdings(session, [reservation.id])
            slots = allocations.slots(session, [reservation.id])
        resources, left = base.parts(held[reservation.id])

        def check() -> None:
            seen = self.leases.get(lease.id)
            if seen.status != states.Lease.CREATING:
                raise _given_up(seen)

        booking = base.Booking(
            lease=lease,
            reservation=reservation,
            resources=resources,
            slots=slots.get(reservation.id, {}),
            servers=frozenset(),
            now=now,
            prepared=False,
            settled=False,
            check=check,
            left=left,
            database=identity.of(self.database),
        )
        self.types[reservation.resource_type].receive(booking)
        claimed_leases.keep_provider_changes(
            self.database, booking.provider_changes
        )

    def _has_place(self, lease: objects.Lease) -> bool:
        """Return whether Nova may have slots for the lease's servers before it
        has the servers."""
        reservation = _reservation(lease)
        kind = self.types[reservation.resource_type]
        return lease.is_used and kind.demand(reservation.params) is not None

    def check_resize(self, server_uuid: str, flavor_id: str) -> None:
        """Check that a server with a lease of its own joins no other, and
        still fits into its guaranteed place, if it has one.

        :raises: InvalidState if it does not
        """
        with self.database.reader() as session:
            carried = leased_servers.reservation_of(session, server_uuid)
        found = self.access.find(carried) if carried else None
        if found is None or found.status not in CARRYING:
            return
        slot = self.access.slot(found)
        if objects.is_id(flavor_id) and self.access.find(flavor_id):
            reason = 'a server can be in one reservation only'
        elif slot is None:
            return
        else:
            try:
                known = self.cloud.slots.find_flavor(
                    flavor_id, found.project_id
                )
            except exception.CloudRefused:
                # Nova refuses the flavor itself, or the scheduler does, which
                # also knows the server.
                return
            if amounts.Amounts(known.amounts).fits(slot):
                return
            reason = f'flavor {flavor_id} asks for more than it was guaranteed'
        raise exception.InvalidState(
            kind='Server',
            id=server_uuid,
            status=f'in lease {found.lease_id}, of its own',
            reason=reason,
        )

    def record(
        self, lease_id: str, server_uuid: str, now: datetime.datetime
    ) -> None:
        """Write that Nova creates the server next, with this lease.

        :raises: NotFound, InvalidState if the lease was given up meanwhile
        :raises: Contended
        """

        def write(session: api.Session) -> None:
            seen = rows.get(session, lease_id)
            if seen.status != states.Lease.CREATING:
                raise _given_up(seen)
            reservation = _reservation(seen)
            leased_servers.record(session, server_uuid, reservation.id, now)
            # The new version makes a worker that is giving the lease up
            # look again.
            rows.change(session, seen, now)

        transactions.write(self.database, write)

    def accept(self, lease_id: str, now: datetime.datetime) -> None:
        """Write that Nova has accepted the request.

        :raises: NotFound, InvalidState if the lease was given up meanwhile
        :raises: Contended
        """

        def write(session: api.Session) -> objects.Lease:
            seen = rows.get(session, lease_id)
            if seen.status != states.Lease.CREATING:
                return seen
            lease = dataclasses.replace(seen, status=states.Lease.PENDING)
            rows.change(
                session,
                seen,
                now,
                status=lease.status,
                due_at=steps.due_after_change(lease, now, self.options),
            )
            return rows.get(session, lease_id)

        lease = transactions.write(self.database, write)
        # A worker may have resolved the request first, and act on the lease.
        if lease.status in (states.Lease.ERROR, states.Lease.DELETING):
            raise _given_up(lease)
        LOG.info(
            'Lease %(lease)s of project %(project)s is that of %(servers)s '
            'from %(start)s to %(end)s',
            {
                'lease': lease.id,
                'project': lease.project_id,
                'servers': objects.plural(
                    len(_reservation(lease).servers), 'server', 'servers'
                ),
                'start': lease.start_date,
                'end': lease.end_date,
            },
        )
        self.notify(notifications.CREATE, notifications.payload(lease))

    def refuse(self, lease_id: str, now: datetime.datetime) -> None:
        """Undo the lease: Nova has refused the request.

        If Nova has made anything nevertheless, a worker deletes it.

        :raises: Contended
        """
        made = self._left_something(lease_id)

        def write(session: api.Session) -> None:
            seen = rows.get(session, lease_id)
            if made:
                self._undo(session, seen, now)
            # In any other state the lease was given up, and says why.
            elif seen.status == states.Lease.CREATING:
                leases.remove(session, seen, now)

        try:
            transactions.write(self.database, write)
        except exception.NotFound:
            return
        LOG.info('Lease %s is undone: its servers were refused', lease_id)

    def _left_something(self, lease_id: str) -> bool:
        """Return whether Nova may have anything of the lease."""
        try:
            lease = self.leases.get(lease_id)
            if self._has_place(lease):
                return True
            recorded = [server.uuid for server in _reservation(lease).servers]
            return bool(recorded and self.cloud.servers.find_servers(recorded))
        except exception.NotFound:
            return False
        except exception.CloudUnavailable as error:
            LOG.warning(
                'Whether lease %(lease)s has servers is not known: %(reason)s',
                {'lease': lease_id, 'reason': error},
            )
            return True

    def _undo(
        self, session: api.Session, seen: objects.Lease, now: datetime.datetime
    ) -> None:
        """Make a worker delete the lease, and all that Nova has of it."""
        if states.Lease.DELETING not in states.LEASE_TRANSITIONS[seen.status]:
            return
        rows.change(
            session,
            seen,
            now,
            status=states.Lease.DELETING,
            status_reason=None,
            in_nova=True,
            due_at=steps.due_now(seen, now),
            reservations=states.Reservation.DELETED,
            events={states.EventType.END: states.Event.IN_PROGRESS},
        )


def _reservation(lease: objects.Lease) -> objects.Reservation:
    reservation = lease.server_reservation
    assert reservation is not None
    return reservation


def _given_up(lease: objects.Lease) -> exception.InvalidState:
    return exception.InvalidState(
        kind='Lease',
        id=lease.id,
        status=lease.status,
        reason='the request for its servers has taken too long',
    )
