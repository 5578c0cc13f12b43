# SPDX-License-Identifier: Apache-2.0
"""Steps of a lease until its resources are there: alone, or with others that
start in the same second."""

from collections.abc import Collection
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import datetime

from oslo_log import log

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations import ports
from nova_reservations.db import allocations
from nova_reservations.db import api
from nova_reservations.db import leases
from nova_reservations.engine import claims
from nova_reservations.engine import notifications
from nova_reservations.engine import settings
from nova_reservations.engine import steps
from nova_reservations.engine.worker import bookings
from nova_reservations.objects import states

LOG = log.getLogger(__name__)

SOON = datetime.timedelta(seconds=1)
"""Between two looks at something that should be over any moment."""

RARELY = datetime.timedelta(seconds=15)
"""The most between two looks at servers that take long."""


class Starts:
    def __init__(
        self,
        database: api.Database,
        bookings: bookings.Bookings,
        options: settings.Settings,
        notify: ports.Notifier,
    ) -> None:
        self.database = database
        self.bookings = bookings
        self.options = options
        self.notify = notify

    def resolve(self, held: claims.Held, now: datetime.datetime) -> steps.Next:
        """Find out what became of a request that nobody has answered."""
        if any(
            kind.exists(booking)
            for kind, booking in self.bookings.of([held], now)
        ):
            held.record(now, status=states.Lease.PENDING)
            return steps.Again()
        return self._fail(
            held,
            now,
            objects.Reason.plain(
                'The request that was to make its servers has made none'
            ),
        )

    def prepare(self, held: claims.Held, now: datetime.datetime) -> steps.Next:
        """Make resources ready in Nova, before the lease starts."""
        if not held.lease.in_nova:
            held.record(now, in_nova=True)
        waits = []
        for kind, booking in self.bookings.of([held], now):
            try:
                waiting = kind.prepare(booking)
            except exception.Hopeless as error:
                return self._fail(held, now, objects.Reason.of(error))
            except exception.CloudRefused as error:
                # The start tries again, and says so if it fails.
                LOG.warning(
                    'Lease %(lease)s can not be prepared: %(reason)s',
                    {'lease': held.lease.id, 'reason': error},
                )
            else:
                if waiting is not None:
                    waits.append(waiting.why)
        if waits:
            return steps.Wait(
                objects.Reason.join(waits),
                _between_looks(now - held.lease.created_at),
            )
        held.record(now, prepared=True, status_reason=None)
        return steps.Again()

    def start(self, held: claims.Held, now: datetime.datetime) -> steps.Next:
        """Give the lease its resources."""
        with self.database.reader() as session:
            earlier = allocations.predecessors(session, [held.lease])
        if earlier:
            return steps.Wait(_earlier(earlier[held.lease.id]), SOON)
        if held.lease.status == states.Lease.PENDING:
            # From here on no request moves it, or gives it other resources.
            held.record(
                now,
                status=states.Lease.STARTING,
                status_reason=None,
                in_nova=True,
                events={states.EventType.START: states.Event.IN_PROGRESS},
            )
        try:
            waits = [
                waiting.why
                for kind, booking in self.bookings.of([held], now)
                if (waiting := kind.start(booking)) is not None
            ]
        except exception.CloudRefused as error:
            return self._fail(held, now, objects.Reason.of(error))
        if waits:
            start = held.lease.event(states.EventType.START)
            begun = (start and start.updated_at) or now
            return steps.Wait(
                objects.Reason.join(waits), _between_looks(now - begun)
            )
        self._activate([held], now)
        return steps.Over()

    def miss(self, held: claims.Held, now: datetime.datetime) -> steps.Next:
        """Give up a start that the lease's own end has overtaken."""
        why = held.lease.why or objects.Reason.plain('no worker was there')
        return self._fail(
            held, now, why.after('It could not be started before its end: ')
        )

    def _fail(
        self, held: claims.Held, now: datetime.datetime, reason: objects.Reason
    ) -> steps.Next:
        """Record that the start is given up, before anything is undone."""
        held.record(
            now,
            status=states.Lease.ERROR,
            status_reason=reason,
            prepared=False,
            reservations=states.Reservation.ERROR,
            events={states.EventType.START: states.Event.ERROR},
            give_back=not held.lease.in_nova,
        )
        self.notify(
            notifications.failed(states.EventType.START),
            notifications.payload(held.lease),
        )
        return steps.Again()

    def together(
        self, given: Sequence[claims.Claim], now: datetime.datetime
    ) -> frozenset[str]:
        """Start those of the leases whose resources are ready, in one
        transaction; return their ids.

        :raises: ClaimLost, CloudUnavailable: then none has started
        """
        with self.database.reader() as session:
            found = {
                lease.id: lease
                for lease in leases.get_all(
                    session, [claim.lease_id for claim in given]
                )
            }
            earlier = allocations.predecessors(session, found.values())
        ready = {
            claim.lease_id: claims.Held(
                self.database, claim, found[claim.lease_id]
            )
            for claim in given
            if claim.lease_id in found.keys() - earlier.keys()
            and self._is_startable(claim, found[claim.lease_id], now)
        }
        for kind, booking in self.bookings.of([*ready.values()], now):
            if not kind.is_ready(booking):
                ready.pop(booking.lease.id, None)
        self._activate(ready.values(), now)
        return frozenset(ready)

    def _is_startable(
        self, claim: claims.Claim, lease: objects.Lease, now: datetime.datetime
    ) -> bool:
        """Whether the start is all that there is to do, if what is prepared
        is there; it may have changed since it was claimed."""
        return (
            lease.attempt == claim.attempt
            and lease.claimed_by is not None
            # One of a type that was switched off holds up no other.
            and all(
                item.resource_type in self.bookings.types
                for item in lease.reservations
            )
            and steps.starts_at_once(lease, now, self.options)
        )

    def _activate(
        self, ready: Collection[claims.Held], now: datetime.datetime
    ) -> None:
        """Record that leases have started, and give them back: others start
        before these do what comes next.

        :raises: ClaimLost
        """
        if not ready:
            return
        seen = {held.lease.id: held.lease for held in ready}
        active = {
            lease_id: _active(lease, now) for lease_id, lease in seen.items()
        }
        due_at: Mapping[str, datetime.datetime | None] = {
            lease_id: steps.due_at(lease, now, self.options)
            for lease_id, lease in active.items()
        }
        with claims.kept(*seen.values()), self.database.writer() as session:
            leases.activate(session, seen, due_at, now)
        for lease in active.values():
            LOG.info(
                'Lease %(lease)s of project %(project)s is ACTIVE',
                {'lease': lease.id, 'project': lease.project_id},
            )
            self.notify(
                notifications.event(states.EventType.START),
                notifications.payload(lease),
            )


def _active(lease: objects.Lease, now: datetime.datetime) -> objects.Lease:
    """Return the lease as it is when it has started."""
    return dataclasses.replace(
        lease,
        status=states.Lease.ACTIVE,
        status_reason=None,
        status_detail=None,
        prepared=True,
        updated_at=now,
        reservations=tuple(
            dataclasses.replace(item, status=states.Reservation.ACTIVE)
            for item in lease.reservations
        ),
        events=tuple(
            dataclasses.replace(
                event, status=states.Event.DONE, updated_at=now
            )
            if event.event_type == states.EventType.START
            else event
            for event in lease.events
        ),
    )


def _earlier(names: Collection[str]) -> objects.Reason:
    """Say that others still have resources, by their names."""
    return objects.Reason(
        f'Waiting for earlier leases to leave {len(names)} of its hosts',
        f'Waiting for earlier leases to leave {", ".join(sorted(names))}',
    )


def _between_looks(waited: datetime.timedelta) -> datetime.timedelta:
    """Return how long to wait until the next look at what began so long ago:
    there may be as many of these as there are servers."""
    return min(max(waited / 8, SOON), RARELY)
