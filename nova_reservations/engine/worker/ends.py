# SPDX-License-Identifier: Apache-2.0
"""Steps of a lease from the warning before its end on."""

from collections.abc import Collection
from collections.abc import Iterator
import contextlib
import dataclasses
import datetime

from oslo_log import log

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations import ports
from nova_reservations.db import api
from nova_reservations.db.holdings import leaving
from nova_reservations.db.leases import due_leases
from nova_reservations.db.leases import freed_capacity
from nova_reservations.db.leases import messages
from nova_reservations.db.resources import drainable_hosts
from nova_reservations.engine import claimed_leases
from nova_reservations.engine import notifications
from nova_reservations.engine import settings
from nova_reservations.engine import steps
from nova_reservations.engine.worker import bookings
from nova_reservations.engine.worker import unused_leases
from nova_reservations.objects import states
from nova_reservations.plugins.event_actions import offered
from nova_reservations.types import base

LOG = log.getLogger(__name__)

EACH = datetime.timedelta(milliseconds=50)
"""The time to add between two looks for each server: Nova takes longer with
many servers, and frequent looks would slow it down."""

LATER = datetime.timedelta(seconds=5)
"""The longest time between two looks at servers that leave."""


@dataclasses.dataclass(eq=False)
class Ends:
    bookings: bookings.Bookings
    options: settings.Settings
    notify: ports.Notifier
    actions: offered.Actions

    def before_end(self, held: claimed_leases.ClaimedLease) -> steps.Next:
        """Do what was asked for before the end; failures are only reported."""
        kind = states.EventType.BEFORE_END
        if _event(held.lease, kind).status == states.Event.UNDONE:
            held.record(events={kind: states.Event.IN_PROGRESS})
            self._tell(held, notifications.event(kind))
        begun = _event(held.lease, kind).updated_at or held.now
        overdue = held.now >= begun + self.options.end_timeout
        current = list(self.bookings.of([held], held.now))
        failures: list[objects.Reason] = []
        waits = []
        for resource_type, booking in current:
            with _reported(booking.lease, failures, overdue):
                waiting = resource_type.before_end(booking)
                if waiting is not None:
                    waits.append(waiting.why)
        if waits and not overdue:
            return steps.Wait(objects.Reason.join(waits), steps.SOON)
        failures += waits
        told = self._announce(current, failures, overdue)
        before = [
            item.id for item in held.lease.reservations if item.untold_reason
        ]

        def write(session: api.Session) -> None:
            messages.write(session, told, held.now)
            if before:
                messages.set_untold(session, before, None, held.now)

        # The messages are sent if, and only if, this is recorded.
        held.record(
            status_reason=objects.Reason.join(failures) if failures else None,
            events={
                kind: states.Event.ERROR if failures else states.Event.DONE
            },
            then=write,
        )
        if failures:
            self._tell(held, notifications.failed(kind))
        return steps.Again()

    def _announce(
        self,
        current: Collection[tuple[base.ResourceType, base.Booking]],
        failures: list[objects.Reason],
        overdue: bool,
    ) -> list[objects.Message]:
        """Return the messages that tell of the end; add to the failures.

        :raises: CloudUnavailable
        """
        told: list[objects.Message] = []
        without_servers = []
        for resource_type, booking in current:
            if not isinstance(resource_type, offered.WithServers):
                without_servers.append(booking)
                continue
            with _reported(booking.lease, failures, overdue):
                told += resource_type.announcements(booking)
        if len(without_servers) == len(current):
            # Nothing of the lease can choose what is done before its end.
            for booking in without_servers:
                with _reported(booking.lease, failures, overdue=False):
                    told += self.actions.announce_without_servers(booking)
        return told

    def end(self, held: claimed_leases.ClaimedLease) -> steps.Next:
        """Take the resources of the lease back."""
        if held.lease.status in states.OPEN:
            # From here on the scheduler lets nobody in.
            held.record(
                status=states.Lease.TERMINATING,
                status_reason=None,
                events={states.EventType.END: states.Event.IN_PROGRESS},
            )
            # A TERMINATING lease may still have to do BEFORE_END first.
            return steps.Again()
        waits = []
        wholes = []
        silent: exception.CloudUnavailable | None = None
        # A part is needed until the whole that it is part of has ended.
        needed: set[str | None] = set()
        for kind, booking in sorted(
            self.bookings.of([held], held.now),
            key=lambda each: not each[1].parts,
        ):
            if booking.parts:
                needed.add(booking.reservation.id)
            if booking.reservation.part_of in needed:
                continue
            # Resources that had failed are given back like the others.
            whole = dataclasses.replace(
                booking, resources=booking.resources + booking.left, left=()
            )
            wholes.append(whole)
            try:
                waiting = kind.end(whole)
            except exception.CloudUnavailable as error:
                # Other reservations may be in cells that answer.
                silent = error
                continue
            if waiting is not None:
                waits.append(waiting)
            else:
                needed.discard(booking.reservation.id)
                whole.vacated[:] = whole.resources
        if silent is not None or waits:
            _vacate(held, wholes)
        if silent is not None:
            raise silent
        if waits:
            return self._wait(held, waits)
        self._finish(held)
        return steps.Again()

    def _wait(
        self,
        held: claimed_leases.ClaimedLease,
        waits: Collection[base.Waiting],
    ) -> steps.Next:
        reason = objects.Reason.join(waiting.why for waiting in waits)
        ending = bookings.since_end(
            held.lease, held.now
        ) or datetime.timedelta(0)
        longest = self.options.end_timeout + self.bookings.aftermath(
            held.lease
        )
        overdue = ending >= longest
        pause = _between_looks(sum(waiting.count for waiting in waits))
        if bookings.is_failed_start(held.lease) and not overdue:
            # The owner had better go on reading why the start failed.
            claimed_leases.log_wait(LOG.debug, held.lease, reason)
            return steps.Wait(None, pause)
        if overdue and held.lease.status == states.Lease.TERMINATING:
            held.record(status_reason=reason, status=states.Lease.ERROR)
            self._tell(held, notifications.failed(states.EventType.END))
        if overdue or held.lease.status == states.Lease.ERROR:
            return steps.Wait(reason, steps.SELDOM)
        return steps.Wait(reason, pause)

    def _finish(self, held: claimed_leases.ClaimedLease) -> None:
        """Record that nothing of the lease is left in Nova."""
        if held.lease.status == states.Lease.DELETING:
            held.delete()
            self._tell(held, notifications.DELETE)
            return
        ended = held.lease.event(states.EventType.END)
        if ended is None or ended.status != states.Event.IN_PROGRESS:
            held.record(
                in_nova=False,
                give_back=True,
                reservations={
                    item.id: states.Reservation.ERROR
                    for item in held.lease.reservations
                    if item.status == states.Reservation.ACTIVE
                },
            )
            return
        flags = notifications.flags(held.lease)
        begun = ended.updated_at
        held.record(
            status=states.Lease.TERMINATED,
            # The owner of an unused lease has not asked for this end, and is
            # told why.
            status_reason=unused_leases.reason(held.lease, begun)
            if begun is not None and begun == held.lease.unused_at
            else None,
            in_nova=False,
            prepared=False,
            degraded=any(
                item.missing_resources for item in held.lease.reservations
            ),
            reservations=states.Reservation.DELETED,
            give_back=True,
            events={states.EventType.END: states.Event.DONE},
        )
        self._tell(held, notifications.event(states.EventType.END))
        if flags - notifications.flags(held.lease):
            self._tell(held, notifications.HEALED)

    def _tell(
        self, held: claimed_leases.ClaimedLease, event_type: str
    ) -> None:
        self.notify(event_type, notifications.payload(held.lease))


def _vacate(
    held: claimed_leases.ClaimedLease, current: Collection[base.Booking]
) -> None:
    """Give others the resources that the lease has left already, while it
    waits for the rest.

    :raises: ClaimLost

    Decision 0057: doc/source/decisions/0057-a-silent-host-is-not-empty
    """
    vacated = {
        booking.reservation.id: booking.vacated
        for booking in current
        if booking.vacated
    }
    # Before its start a lease gives all back at once: nobody waits for it.
    if not vacated or held.now < held.lease.start_date:
        return

    def write(session: api.Session) -> None:
        due_leases.wake_successors(session, vacated, held.now)
        freed: list[int] = []
        for reservation_id, resources in vacated.items():
            ids = [resource.id for resource in resources]
            leaving.vacate(session, reservation_id, ids, held.now)
            freed += ids
        drainable_hosts.came_free(session, held.lease.id, held.now)
        freed_capacity.freed(session, held.now, freed)

    held.record(then=write)
    for reservation_id, resources in vacated.items():
        LOG.info(
            'Reservation %(id)s has left %(names)s; its lease still waits',
            {
                'id': reservation_id,
                'names': ', '.join(resource.name for resource in resources),
            },
        )


def _event(lease: objects.Lease, kind: states.EventType) -> objects.Event:
    event = lease.event(kind)
    assert event is not None
    return event


def _between_looks(servers: int) -> datetime.timedelta:
    """Return the time until the next look at so many servers that leave."""
    return min(max(servers * EACH, steps.SOON), LATER)


@contextlib.contextmanager
def _reported(
    lease: objects.Lease, failures: list[objects.Reason], overdue: bool
) -> Iterator[None]:
    """Add a failure of what follows to the others, and go on.

    :raises: CloudUnavailable unless it is overdue
    """
    try:
        yield
    except exception.CloudRefused as error:
        LOG.warning('Lease %s: %s', lease.id, error)
        failures.append(objects.Reason.of(error))
    except exception.CloudUnavailable as error:
        if not overdue:
            raise
        failures.append(objects.Reason.of(error))
