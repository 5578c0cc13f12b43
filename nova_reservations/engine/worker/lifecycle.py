# SPDX-License-Identifier: Apache-2.0
"""What a worker does with a lease that it has claimed.

The state of the lease says how far it has come; whoever finds it goes on
from there. Each record is made only if the claim still stands and nobody
has written the lease meanwhile, and Nova is called between two records,
never inside a transaction.
"""

from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import datetime
import enum
from typing import Any

from oslo_log import log

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations import ports
from nova_reservations.db import allocations
from nova_reservations.db import api
from nova_reservations.db import capacity
from nova_reservations.db import drainable_hosts
from nova_reservations.db import healing
from nova_reservations.db import leased_servers
from nova_reservations.db import leases
from nova_reservations.db import slot_servers
from nova_reservations.engine import best_effort
from nova_reservations.engine import notifications
from nova_reservations.engine import retry
from nova_reservations.engine import settings
from nova_reservations.engine import steps
from nova_reservations.objects import states
from nova_reservations.plugins.resource_types import base

LOG = log.getLogger(__name__)

SOON = datetime.timedelta(seconds=1)
"""Between two looks at something that should be over any moment."""

EACH = datetime.timedelta(milliseconds=50)
"""More between two looks for each server: what Nova does with many takes
longer, and they would be in its way."""

LATER = datetime.timedelta(seconds=5)
"""Between two tries while Nova or placement does not answer, and the most
between two looks at servers that leave."""

RARELY = datetime.timedelta(seconds=15)
"""Between two looks at servers that take long."""

SELDOM = datetime.timedelta(seconds=60)
"""Between two looks at something that an operator has to mend."""


class _Turn(enum.Enum):
    OVER = 'the lease is given back already'


@dataclasses.dataclass(frozen=True, slots=True)
class Claim:
    """:ivar attempt: the lease's, as the claim set it."""

    lease_id: str
    attempt: int
    worker: str


class Lifecycle:
    def __init__(
        self,
        database: api.Database,
        types: Mapping[str, base.ResourceType],
        options: settings.Settings,
        notify: ports.Notifier,
        clock: Callable[[], datetime.datetime],
        queue: retry.Retries,
        hunt: best_effort.BestEffort,
    ) -> None:
        self.database = database
        self.types = types
        self.options = options
        self.notify = notify
        self.clock = clock
        self.queue = queue
        self.hunt = hunt
        self._steps = {
            steps.Step.RESOLVE: self._resolve,
            steps.Step.HUNT: self._hunt,
            steps.Step.PREPARE: self._prepare,
            steps.Step.START: self._start,
            steps.Step.MISS: self._miss,
            steps.Step.UPDATE: self._update,
            steps.Step.BEFORE_END: self._before_end,
            steps.Step.END: self._end,
        }

    def run(self, claim: Claim) -> None:
        """Take the lease as far as it goes now, and give it back.

        Where the clocks disagree it is left as it is, and claimed: the claim
        ends at a time that was right.
        """
        try:
            self._advance(claim)
        except exception.ClocksDisagree as error:
            LOG.error('Lease %s is left: %s', claim.lease_id, error)

    def _advance(self, claim: Claim) -> None:
        """Do one step after the other, until there is none to do now.

        A request that changes the lease meanwhile makes the next record
        fail with ClaimLost: the lease is looked at anew, with the same
        claim if that still stands.
        """
        while True:
            lease = self._held(claim)
            if lease is None:
                return
            now = self.clock()
            step = steps.step(lease, now, self.options)
            if step is None:
                if self._give_back(
                    lease, steps.due_at(lease, now, self.options)
                ):
                    return
                continue
            try:
                if step is steps.Step.WAIT:
                    self.queue.look(lease, now)
                    return
                wait = self._steps[step](claim, lease, now)
                if wait is _Turn.OVER:
                    return
            except exception.ClaimLost:
                continue
            except exception.CloudUnavailable as error:
                wait = LATER
                if lease.status != states.Lease.ERROR:
                    why = objects.Reason.of(error)
                    self._explain(claim, lease, now, why, wait, LOG.warning)
                else:
                    # What it failed for is worth more to its owner.
                    _log_wait(LOG.debug, lease, error)
            if wait is not None and self._put_off(claim, lease, wait):
                return

    def start_together(self, claims: Sequence[Claim]) -> None:
        """Start leases that are due, and prepared.

        Those whose resources are ready in one transaction, for many leases
        begin in the same second: on the hour. The others one by one.
        """
        try:
            started = self._start_ready(claims)
        except (
            exception.ClaimLost,
            exception.ClocksDisagree,
            exception.CloudUnavailable,
        ) as error:
            LOG.info('Leases start one by one: %s', error)
            started = frozenset()
        for claim in claims:
            if claim.lease_id not in started:
                self.run(claim)

    def _start_ready(self, claims: Sequence[Claim]) -> frozenset[str]:
        """Return the ids of those that have started."""
        now = self.clock()
        with self.database.reader() as session:
            found = {
                lease.id: lease
                for lease in leases.get_all(
                    session, [claim.lease_id for claim in claims]
                )
            }
            earlier = allocations.predecessors(session, found.values())
        due = {
            claim: found[claim.lease_id]
            for claim in claims
            if claim.lease_id in found.keys() - earlier.keys()
            and self._is_startable(claim, found[claim.lease_id], now)
        }
        ready = {lease.id: lease for lease in due.values()}
        for kind, booking in self._bookings(due, now):
            if not kind.is_ready(booking):
                ready.pop(booking.lease.id, None)
        self._activate(ready, now)
        return frozenset(ready)

    def _is_startable(
        self, claim: Claim, lease: objects.Lease, now: datetime.datetime
    ) -> bool:
        """Whether the start is all that there is to do, if what is prepared
        is there; it may have changed since it was claimed."""
        return (
            lease.attempt == claim.attempt
            and lease.claimed_by is not None
            and lease.prepared
            # That takes its time, which is counted from STARTING on.
            and lease.server_reservation is None
            # One of a type that was switched off holds up no other.
            and all(
                item.resource_type in self.types for item in lease.reservations
            )
            and steps.step(lease, now, self.options) is steps.Step.START
        )

    def _activate(
        self, ready: Mapping[str, objects.Lease], now: datetime.datetime
    ) -> None:
        """Record that leases, by their ids, have started, and give them
        back: others start before these do what comes next.

        :raises: ClaimLost
        """
        if not ready:
            return
        active = {
            lease_id: _active(lease, now) for lease_id, lease in ready.items()
        }
        due_at = {
            lease_id: steps.due_at(lease, now, self.options)
            for lease_id, lease in active.items()
        }
        try:
            with self.database.writer() as session:
                leases.activate(session, ready, due_at, now)
        except exception.Conflict as error:
            raise exception.ClaimLost(
                id=', '.join(ready), worker='this one'
            ) from error
        for lease in active.values():
            LOG.info(
                'Lease %(lease)s of project %(project)s is ACTIVE',
                {'lease': lease.id, 'project': lease.project_id},
            )
            self.notify(
                notifications.event(states.EventType.START),
                notifications.payload(lease),
            )

    # The claim

    def _held(self, claim: Claim) -> objects.Lease | None:
        """Return the lease as it is now; None if the claim is lost."""
        with self.database.reader() as session:
            try:
                lease = leases.get(session, claim.lease_id)
            except exception.NotFound:
                return None
        if lease.attempt == claim.attempt and lease.claimed_by:
            return lease
        LOG.warning(
            'Worker %(worker)s has lost lease %(lease)s',
            {'worker': claim.worker, 'lease': claim.lease_id},
        )
        return None

    def _give_back(
        self, lease: objects.Lease, due_at: datetime.datetime | None
    ) -> bool:
        """End the claim; False if the lease must be looked at anew."""
        try:
            with self.database.writer() as session:
                return leases.release(session, lease, due_at)
        except exception.Conflict:
            return False

    def _put_off(
        self, claim: Claim, seen: objects.Lease, wait: datetime.timedelta
    ) -> bool:
        """Give the lease back until later; False if a request has deleted it
        since seen, or has it do something else: that is not to wait."""
        lease = self._held(claim)
        if lease is None:
            return True
        now = self.clock()
        deleted = states.Lease.DELETING in (lease.status, seen.status)
        if (deleted and lease.status != seen.status) or steps.step(
            lease, now, self.options
        ) is not steps.step(seen, now, self.options):
            return False
        return self._give_back(lease, steps.put_off(lease, self.clock(), wait))

    def _check(self, claim: Claim, lease: objects.Lease) -> ports.Check:
        """Return what raises ClaimLost if another worker, or a request,
        has taken the lease out of the state that the caller acts on."""

        def check() -> None:
            with self.database.reader() as session:
                held = leases.is_held(
                    session, claim.lease_id, claim.attempt, [lease.status]
                )
            if not held:
                raise exception.ClaimLost(
                    id=claim.lease_id, worker=claim.worker
                )

        return check

    def _record(
        self,
        claim: Claim,
        lease: objects.Lease,
        now: datetime.datetime,
        *,
        release: bool = False,
        **columns: Any,
    ) -> objects.Lease:
        """Write one change of state, if the lease is still as seen.

        :param release: whether others may have its resources from now on
        :param columns: as ``db.leases.change`` takes them
        :raises: ClaimLost
        """
        try:
            with self.database.writer() as session:
                leases.change(session, lease, now, **columns)
                if release:
                    held = allocations.held_by(session, lease)
                    self._release(session, lease, now)
                    capacity.freed(session, now, held)
                recorded = leases.get(session, lease.id)
        except exception.Conflict as error:
            raise exception.ClaimLost(
                id=lease.id, worker=claim.worker
            ) from error
        if recorded.status != lease.status:
            LOG.info(
                'Lease %(lease)s of project %(project)s is %(status)s'
                '%(reason)s',
                {
                    'lease': lease.id,
                    'project': lease.project_id,
                    'status': recorded.status,
                    'reason': f': {recorded.why}' if recorded.why else '',
                },
            )
        return recorded

    def _release(
        self, session: Any, lease: objects.Lease, now: datetime.datetime
    ) -> None:
        ids = [item.id for item in lease.reservations]
        leases.wake_successors(session, ids, now)
        healing.vacate(session, ids, now)
        allocations.release(session, ids)
        slot_servers.forget(session, ids)
        if lease.server_reservation is not None:
            leased_servers.release_all(session, ids, now)
        if any(item.resources_changed for item in lease.reservations):
            leases.set_reservations(
                session, lease.id, now, resources_changed=False
            )
        drainable_hosts.came_free(session, lease.id, now)

    def _explain(
        self,
        claim: Claim,
        lease: objects.Lease,
        now: datetime.datetime,
        reason: objects.Reason,
        wait: datetime.timedelta,
        log: Callable[..., None] = LOG.info,
    ) -> datetime.timedelta:
        """Tell the owner what the lease waits for; return how long.

        :param log: tells operators, once for each reason
        """
        current = self._held(claim)
        if current is not None and current.why != reason.fitted():
            if reason.detail:
                _log_wait(log, lease, reason)
            try:
                self._record(claim, current, now, status_reason=reason)
            except exception.ClaimLost:
                LOG.debug('Lease %s was changed while it waited', lease.id)
        return wait

    def _bookings(
        self, held: Mapping[Claim, objects.Lease], now: datetime.datetime
    ) -> Iterator[tuple[base.ResourceType, base.Booking]]:
        """Yield the reservations of the leases, with what handles them."""
        ids = [
            item.id for lease in held.values() for item in lease.reservations
        ]
        with self.database.reader() as session:
            given = allocations.holdings(session, ids)
            slots = allocations.slots(session, ids)
            created = slot_servers.of(session, ids)
        for claim, lease in held.items():
            ending = self._ending(lease, now)
            warning = lease.event(states.EventType.BEFORE_END)
            for reservation in lease.reservations:
                resources, left = base.parts(given[reservation.id])
                yield (
                    self.types[reservation.resource_type],
                    base.Booking(
                        lease=lease,
                        reservation=reservation,
                        resources=resources,
                        slots=slots.get(reservation.id, {}),
                        servers=created.get(reservation.id, frozenset()),
                        now=now,
                        prepared=lease.prepared,
                        settled=ending is not None
                        and ending >= self.options.settle,
                        check=self._check(claim, lease),
                        ending=ending or datetime.timedelta(0),
                        left=left,
                        warned_at=warning.time if warning else None,
                    ),
                )

    def _ending(
        self, lease: objects.Lease, now: datetime.datetime
    ) -> datetime.timedelta | None:
        """Return how long ago the lease's end began; None: it did not."""
        end = lease.event(states.EventType.END)
        if end is None or end.status == states.Event.UNDONE:
            return None
        return now - (end.updated_at or now)

    # The steps: each returns how long to wait, None to look for the next, or
    # that it was the last of this turn.

    def _hunt(
        self, claim: Claim, lease: objects.Lease, now: datetime.datetime
    ) -> datetime.timedelta | None:
        pause = self.hunt.go_on(lease, now, self._check(claim, lease))
        if pause is None:
            return None
        return self._explain(claim, lease, now, pause.reason, pause.length)

    def _resolve(
        self, claim: Claim, lease: objects.Lease, now: datetime.datetime
    ) -> None:
        """Find out what became of a request that nobody has answered."""
        if any(
            kind.exists(booking)
            for kind, booking in self._bookings({claim: lease}, now)
        ):
            self._record(claim, lease, now, status=states.Lease.PENDING)
            return
        self._fail(
            claim,
            lease,
            now,
            objects.Reason.plain(
                'The request that was to make its servers has made none'
            ),
        )

    def _prepare(
        self, claim: Claim, lease: objects.Lease, now: datetime.datetime
    ) -> datetime.timedelta | None:
        if not lease.in_nova:
            lease = self._record(claim, lease, now, in_nova=True)
        waits = []
        for kind, booking in self._bookings({claim: lease}, now):
            try:
                waiting = kind.prepare(booking)
            except exception.Hopeless as error:
                self._fail(claim, lease, now, objects.Reason.of(error))
                return None
            except exception.CloudRefused as error:
                # The start tries again, and says so if it fails.
                LOG.warning(
                    'Lease %(lease)s can not be prepared: %(reason)s',
                    {'lease': lease.id, 'reason': error},
                )
            else:
                if waiting is not None:
                    waits.append(waiting.why)
        if waits:
            pause = _pause(now - lease.created_at)
            why = objects.Reason.join(waits)
            return self._explain(claim, lease, now, why, pause)
        self._record(claim, lease, now, prepared=True, status_reason=None)
        return None

    def _start(
        self, claim: Claim, lease: objects.Lease, now: datetime.datetime
    ) -> datetime.timedelta | _Turn | None:
        with self.database.reader() as session:
            earlier = allocations.predecessors(session, [lease])
        if earlier:
            return self._explain(
                claim, lease, now, _earlier(earlier[lease.id]), SOON
            )
        if lease.status == states.Lease.PENDING:
            # From here on no request moves it, or gives it other resources.
            lease = self._record(
                claim,
                lease,
                now,
                status=states.Lease.STARTING,
                status_reason=None,
                in_nova=True,
                events={states.EventType.START: states.Event.IN_PROGRESS},
            )
        try:
            waits = [
                waiting.why
                for kind, booking in self._bookings({claim: lease}, now)
                if (waiting := kind.start(booking)) is not None
            ]
        except exception.CloudRefused as error:
            self._fail(claim, lease, now, objects.Reason.of(error))
            return None
        if waits:
            begun = _event(lease, states.EventType.START).updated_at or now
            pause = _pause(now - begun)
            why = objects.Reason.join(waits)
            return self._explain(claim, lease, now, why, pause)
        self._activate({lease.id: lease}, now)
        return _Turn.OVER

    def _fail(
        self,
        claim: Claim,
        lease: objects.Lease,
        now: datetime.datetime,
        reason: objects.Reason,
    ) -> None:
        """Record that the start is given up, before anything is undone."""
        lease = self._record(
            claim,
            lease,
            now,
            status=states.Lease.ERROR,
            status_reason=reason,
            prepared=False,
            reservations=states.Reservation.ERROR,
            events={states.EventType.START: states.Event.ERROR},
            release=not lease.in_nova,
        )
        self.notify(
            notifications.failed(states.EventType.START),
            notifications.payload(lease),
        )

    def _miss(
        self, claim: Claim, lease: objects.Lease, now: datetime.datetime
    ) -> None:
        why = lease.why or objects.Reason.plain('no worker was there')
        self._fail(
            claim,
            lease,
            now,
            why.after('It could not be started before its end: '),
        )

    def _update(
        self, claim: Claim, lease: objects.Lease, now: datetime.datetime
    ) -> datetime.timedelta | None:
        try:
            for kind, booking in self._bookings({claim: lease}, now):
                if booking.left:
                    kind.heal(booking)
                else:
                    kind.update(booking)
        except exception.CloudRefused as error:
            LOG.warning(
                'Lease %(lease)s lacks resources that were added: %(reason)s',
                {'lease': lease.id, 'reason': error},
            )
            why = objects.Reason.of(error)
            return self._explain(claim, lease, now, why, SELDOM)
        self._record(claim, lease, now, prepared=True, status_reason=None)
        return None

    def _before_end(
        self, claim: Claim, lease: objects.Lease, now: datetime.datetime
    ) -> datetime.timedelta | None:
        """Do what was asked for; what fails is told, and no more."""
        kind = states.EventType.BEFORE_END
        if _event(lease, kind).status == states.Event.UNDONE:
            lease = self._record(
                claim, lease, now, events={kind: states.Event.IN_PROGRESS}
            )
            self.notify(
                notifications.event(kind), notifications.payload(lease)
            )
        begun = _event(lease, kind).updated_at or now
        overdue = now >= begun + self.options.end_timeout
        bookings = list(self._bookings({claim: lease}, now))
        waits, failures = _run_before_end(bookings, overdue)
        if waits and not overdue:
            why = objects.Reason.join(waits)
            return self._explain(claim, lease, now, why, SOON)
        failures += waits
        for resource_type, booking in bookings:
            try:
                resource_type.announce_end(booking)
            except (
                exception.CloudRefused,
                exception.CloudUnavailable,
            ) as error:
                LOG.warning('Lease %s: %s', lease.id, error)
                failures.append(objects.Reason.of(error))
        lease = self._record(
            claim,
            lease,
            now,
            status_reason=objects.Reason.join(failures) if failures else None,
            events={
                kind: states.Event.ERROR if failures else states.Event.DONE
            },
        )
        if failures:
            self.notify(
                notifications.failed(kind), notifications.payload(lease)
            )
        return None

    def _end(
        self, claim: Claim, lease: objects.Lease, now: datetime.datetime
    ) -> datetime.timedelta | None:
        if lease.status in states.OPEN:
            # From here on the scheduler lets nobody in.
            lease = self._record(
                claim,
                lease,
                now,
                status=states.Lease.TERMINATING,
                status_reason=None,
                events={states.EventType.END: states.Event.IN_PROGRESS},
            )
            # Which may still have something to do before.
            return None
        waits = []
        for kind, booking in self._bookings({claim: lease}, now):
            # What had failed is left as well, as if it had not.
            whole = dataclasses.replace(
                booking, resources=booking.resources + booking.left, left=()
            )
            waiting = kind.end(whole)
            if waiting is not None:
                waits.append(waiting)
        if waits:
            return self._wait_for_end(claim, lease, now, waits)
        self._finish(claim, lease, now)
        return None

    def _wait_for_end(
        self,
        claim: Claim,
        lease: objects.Lease,
        now: datetime.datetime,
        waits: Collection[base.Waiting],
    ) -> datetime.timedelta:
        reason = objects.Reason.join(waiting.why for waiting in waits)
        ending = self._ending(lease, now) or datetime.timedelta(0)
        overdue = ending >= self.options.end_timeout + self._aftermath(lease)
        if overdue and lease.status == states.Lease.TERMINATING:
            lease = self._record(
                claim,
                lease,
                now,
                status_reason=reason,
                status=states.Lease.ERROR,
            )
            self.notify(
                notifications.failed(states.EventType.END),
                notifications.payload(lease),
            )
        if overdue or lease.status == states.Lease.ERROR:
            wait = SELDOM
        else:
            wait = _between_looks(sum(waiting.count for waiting in waits))
        return self._explain(claim, lease, now, reason, wait)

    def _aftermath(self, lease: objects.Lease) -> datetime.timedelta:
        return max(
            (
                self.types[item.resource_type].aftermath(item.params)
                for item in lease.reservations
            ),
            default=datetime.timedelta(0),
        )

    def _finish(
        self, claim: Claim, lease: objects.Lease, now: datetime.datetime
    ) -> None:
        """Record that nothing of the lease is left in Nova."""
        if lease.status == states.Lease.DELETING:
            try:
                with self.database.writer() as session:
                    held = allocations.held_by(session, lease)
                    self._release(session, lease, now)
                    leases.delete(session, lease)
                    capacity.freed(session, now, held)
            except exception.Conflict as error:
                raise exception.ClaimLost(
                    id=lease.id, worker=claim.worker
                ) from error
            LOG.info('Lease %s is deleted', lease.id)
            self.notify(notifications.DELETE, notifications.payload(lease))
            return
        ended = lease.event(states.EventType.END)
        if ended is not None and ended.status == states.Event.IN_PROGRESS:
            flags = notifications.flags(lease)
            lease = self._record(
                claim,
                lease,
                now,
                status=states.Lease.TERMINATED,
                status_reason=None,
                in_nova=False,
                prepared=False,
                degraded=any(
                    item.missing_resources for item in lease.reservations
                ),
                reservations=states.Reservation.DELETED,
                release=True,
                events={states.EventType.END: states.Event.DONE},
            )
            self.notify(
                notifications.event(states.EventType.END),
                notifications.payload(lease),
            )
            if flags - notifications.flags(lease):
                self.notify(notifications.HEALED, notifications.payload(lease))
        else:
            self._record(claim, lease, now, in_nova=False, release=True)


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


def _log_wait(
    log: Callable[..., None], lease: objects.Lease, reason: object
) -> None:
    log(
        'Lease %(lease)s waits: %(reason)s',
        {'lease': lease.id, 'reason': reason},
    )


def _earlier(names: Collection[str]) -> objects.Reason:
    """Say that others still have resources, by their names."""
    return objects.Reason(
        f'Waiting for earlier leases to leave {len(names)} of its hosts',
        f'Waiting for earlier leases to leave {", ".join(sorted(names))}',
    )


def _between_looks(servers: int) -> datetime.timedelta:
    """Return how long to wait until the next look at so many that leave."""
    return min(max(servers * EACH, SOON), LATER)


def _pause(waited: datetime.timedelta) -> datetime.timedelta:
    """Return how long to wait until the next look at what began so long ago:
    there may be as many of these as there are servers."""
    return min(max(waited / 8, SOON), RARELY)


def _event(lease: objects.Lease, kind: states.EventType) -> objects.Event:
    event = lease.event(kind)
    assert event is not None
    return event


def _run_before_end(
    bookings: Collection[tuple[base.ResourceType, base.Booking]],
    overdue: bool,
) -> tuple[list[objects.Reason], list[objects.Reason]]:
    """Return what waits, and what has failed."""
    waits, failures = [], []
    for resource_type, booking in bookings:
        try:
            waiting = resource_type.before_end(booking)
        except exception.CloudRefused as error:
            LOG.warning('Lease %s: %s', booking.lease.id, error)
            failures.append(objects.Reason.of(error))
        except exception.CloudUnavailable as error:
            if not overdue:
                raise
            failures.append(objects.Reason.of(error))
        else:
            if waiting is not None:
                waits.append(waiting.why)
    return waits, failures
