# SPDX-License-Identifier: Apache-2.0
"""Steps of a lease that a worker has claimed, one after the other.

The state of the lease says how far it has come, and any worker goes on from
there. Nova is called between two records, never inside a transaction.
"""

from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import datetime
from typing import Any

from oslo_log import log

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations.db import api
from nova_reservations.db import tasks
from nova_reservations.db.holdings import allocations
from nova_reservations.db.holdings import healing as rows
from nova_reservations.db.resources import conditions
from nova_reservations.engine import claimed_leases
from nova_reservations.engine import notifications
from nova_reservations.engine import steps
from nova_reservations.engine.booking import means
from nova_reservations.engine.emptying import best_effort
from nova_reservations.engine.healing import healing
from nova_reservations.engine.healing import monitoring
from nova_reservations.engine.waiting import retry
from nova_reservations.engine.worker import bookings
from nova_reservations.engine.worker import ends
from nova_reservations.engine.worker import given_back
from nova_reservations.engine.worker import joint_starts
from nova_reservations.engine.worker import lost_at_starts
from nova_reservations.objects import states
from nova_reservations.plugins.event_actions import offered
from nova_reservations.types import base

LOG = log.getLogger(__name__)

RARELY = datetime.timedelta(seconds=15)
"""The longest time between two looks at servers that take long."""

Perform = Callable[[claimed_leases.ClaimedLease], steps.Next]
"""Takes one step of a lease; returns what follows it.

May raise ClaimLost, and CloudUnavailable, after which the same step is taken
again.
"""


@dataclasses.dataclass(eq=False)
class Lifecycle(means.UseCase):
    """:ivar steps: step of a lease -> what performs it."""

    clock: Callable[[], datetime.datetime]
    queue: retry.Retries
    best_effort_leases: best_effort.BestEffort
    actions: offered.Actions
    monitors: monitoring.Monitoring
    healer: healing.Healing

    def __post_init__(self, means: means.Means) -> None:
        super().__post_init__(means)
        self.bookings = bookings.Bookings(
            self.database, self.types, self.options
        )
        self.lost_at_starts = lost_at_starts.LostAtStarts(
            self.database, self.monitors, self.healer
        )
        self.ends = ends.Ends(
            self.bookings, self.options, self.notify, self.actions
        )
        self.steps: Mapping[steps.Step, Perform] = {
            steps.Step.WAIT: self._wait_on,
            steps.Step.RESOLVE: self._resolve,
            steps.Step.DRAIN: self.best_effort_leases.advance,
            steps.Step.PREPARE: self._prepare,
            steps.Step.START: self._start,
            steps.Step.MISS: self._miss,
            steps.Step.UPDATE: self._update,
            steps.Step.BEFORE_END: self.ends.before_end,
            steps.Step.END: self.ends.end,
        }

    def run(self, claim: claimed_leases.Claim) -> None:
        """Take the lease as far as it goes now, and give it back.

        If the clocks disagree, the lease is left as it is, still claimed: the
        end of the claim was written by a clock that was right.
        """
        try:
            self._advance(claim)
        except exception.ClocksDisagree as error:
            LOG.error('Lease %s is left: %s', claim.lease_id, error)
        except exception.InvalidTransition:
            LOG.exception('Lease %s is left: a defect', claim.lease_id)

    def start_together(self, given: Sequence[claimed_leases.Claim]) -> None:
        """Start leases that are due, and prepared.

        Leases whose resources are ready start in one transaction, because many
        leases begin in the same second: on the hour. The others start one by
        one.
        """
        try:
            started = joint_starts.start(
                given, self.clock(), self.bookings, self.notify
            )
        except (
            exception.ClaimLost,
            exception.ClocksDisagree,
            exception.CloudUnavailable,
            exception.InvalidTransition,
        ) as error:
            LOG.info('Leases start one by one: %s', error)
            started = frozenset()
        for claim in given:
            if claim.lease_id not in started:
                self.run(claim)

    def _advance(self, claim: claimed_leases.Claim) -> None:
        """Do one step after the other, until there is none to do now.

        If a request changes the lease meanwhile, the next record fails with
        ClaimLost. The lease is then looked at anew, with the same claim if
        that still stands. If nothing of the lease has changed, the conflict
        is about other rows, and may last.
        """
        in_vain: int | None = None
        while (held := self._read(claim)) is not None:
            step = steps.step(held.lease, held.now, self.options)
            if step is None:
                due_at = steps.due_at(held.lease, held.now, self.options)
                if held.release(due_at):
                    return
                continue
            seen = held.lease
            try:
                follows = self._take(step, held)
            except exception.ClaimLost as error:
                if in_vain == seen.version:
                    LOG.warning(
                        'Lease %(lease)s is left for %(pause)s: %(error)s',
                        {
                            'lease': seen.id,
                            'pause': steps.LATER,
                            'error': error.__cause__ or error,
                        },
                    )
                    if self._put_off(claim, seen, steps.LATER):
                        return
                in_vain = seen.version
                continue
            match follows:
                case steps.Over():
                    return
                case steps.Wait(length=length):
                    if self._put_off(claim, seen, length):
                        return

    def _read(
        self, claim: claimed_leases.Claim
    ) -> claimed_leases.ClaimedLease | None:
        return claimed_leases.read(self.database, claim, self.clock)

    def _take(
        self, step: steps.Step, held: claimed_leases.ClaimedLease
    ) -> steps.Next:
        """:raises: ClaimLost"""
        seen = held.lease
        log = LOG.info
        try:
            follows = self.steps[step](held)
        except exception.ClaimLost:
            # Our changes of placement stand, whoever holds the lease by now.
            claimed_leases.keep_provider_changes(
                self.database, held.provider_changes
            )
            raise
        except exception.CloudUnavailable as error:
            log = LOG.warning
            reason: objects.Reason | None = objects.Reason.of(error)
            if seen.status == states.Lease.ERROR:
                # The owner had better go on reading why the lease failed.
                claimed_leases.log_wait(LOG.debug, seen, error)
                reason = None
            follows = steps.Wait(reason, steps.LATER)
        claimed_leases.keep_provider_changes(
            self.database, held.provider_changes
        )
        if isinstance(follows, steps.Wait) and follows.reason is not None:
            held.explain(follows.reason, log)
        return follows

    def _put_off(
        self,
        claim: claimed_leases.Claim,
        seen: objects.Lease,
        wait: datetime.timedelta,
    ) -> bool:
        """Give the lease back until later; return False if a request has
        deleted it since it was seen, or has changed its next step: that must
        not wait."""
        held = self._read(claim)
        if held is None:
            return True
        deleted = states.Lease.DELETING in (held.lease.status, seen.status)
        if (deleted and held.lease.status != seen.status) or steps.step(
            held.lease, held.now, self.options
        ) is not steps.step(seen, held.now, self.options):
            return False
        return held.release(steps.put_off(held.lease, self.clock(), wait))

    def _wait_on(self, held: claimed_leases.ClaimedLease) -> steps.Next:
        self.queue.look(held.lease, held.now)
        return steps.Over()

    def _resolve(self, held: claimed_leases.ClaimedLease) -> steps.Next:
        """Find out what became of a request that was never answered."""
        if any(
            kind.exists(booking)
            for kind, booking in self.bookings.of([held], held.now)
        ):
            held.record(status=states.Lease.PENDING)
            return steps.Again()
        return self._fail(
            held,
            objects.Reason.plain(
                'The request that was to make its servers has made none'
            ),
        )

    def _prepare(self, held: claimed_leases.ClaimedLease) -> steps.Next:
        """Make resources ready in Nova, before the lease starts."""
        if not held.lease.in_nova:
            held.record(in_nova=True)
        current = list(self.bookings.of([held], held.now))
        if self.lost_at_starts.replaced(held, current):
            return steps.Again()
        try:
            waits = _prepare_each(current)
        except (exception.HostRefused, exception.Hopeless) as error:
            return self._refused(held, current, error)
        if waits:
            return steps.Wait(
                objects.Reason.join(waits),
                _between_looks(held.now - held.lease.created_at),
            )
        columns: dict[str, Any] = {'prepared': True, 'status_reason': None}
        if held.lease.why is None:
            # Owners must not notice that resources are prepared anew because
            # a promise has moved.
            columns['updated_at'] = held.lease.updated_at
        held.record(**columns)
        return steps.Again()

    def _start(self, held: claimed_leases.ClaimedLease) -> steps.Next:
        """Give the lease its resources."""
        with self.database.reader() as session:
            earlier = allocations.predecessors(session, [held.lease])
        if earlier:
            return steps.Wait(_earlier(earlier[held.lease.id]), steps.SOON)
        if held.lease.status == states.Lease.PENDING:
            # From here on no request moves the lease, or gives it other
            # resources.
            held.record(
                status=states.Lease.STARTING,
                status_reason=None,
                in_nova=True,
                events={states.EventType.START: states.Event.IN_PROGRESS},
            )
        current = list(self.bookings.of([held], held.now))
        if self.lost_at_starts.replaced(held, current):
            return steps.Again()
        if self.lost_at_starts.is_too_little(held.lease, current):
            return self._fail(held, lost_at_starts.NOT_AT_ALL)
        wholes = [each for each in current if each[1].parts]
        try:
            waits = _start_each(each for each in current if not each[1].parts)
            if not waits and wholes:
                if _let_in(held):
                    return steps.Again()
                waits = _start_each(wholes)
        except exception.NamedResourceTaken as error:
            self._lose(held, error)
            return steps.Again()
        except exception.CloudRefused as error:
            return self._refused(held, current, error)
        if waits:
            start = held.lease.event(states.EventType.START)
            begun = (start and start.updated_at) or held.now
            return steps.Wait(
                objects.Reason.join(waits), _between_looks(held.now - begun)
            )
        claimed_leases.activate(
            self.database, [held], held.now, self.options, self.notify
        )
        return steps.Over()

    def _lose(
        self,
        held: claimed_leases.ClaimedLease,
        error: exception.NamedResourceTaken,
    ) -> None:
        """Record that a resource has failed, so that the lease starts without
        it. The monitor sees when it is free again."""
        LOG.warning('Lease %s: %s', held.lease.id, error)
        resource: objects.Resource = error.values['resource']
        failed = objects.Condition(down_since=held.now)

        def write(session: api.Session) -> None:
            conditions.set_condition(session, resource.id, failed, held.now)
            tasks.hurry(session, rows.HEAL, held.now)

        held.record(then=write)

    def _refused(
        self,
        held: claimed_leases.ClaimedLease,
        current: lost_at_starts.Current,
        error: exception.CloudRefused,
    ) -> steps.Next:
        """Go on without hosts that can not be used; give up whatever else was
        refused."""
        if isinstance(
            error, exception.HostRefused
        ) and self.lost_at_starts.lose(error, current, held.now):
            return steps.Again()
        return self._fail(held, objects.Reason.of(error))

    def _miss(self, held: claimed_leases.ClaimedLease) -> steps.Next:
        """Give up a start that the lease's own end has overtaken."""
        why = held.lease.why or objects.Reason.plain('no worker was there')
        return self._fail(
            held, why.after('It could not be started before its end: ')
        )

    def _fail(
        self, held: claimed_leases.ClaimedLease, reason: objects.Reason
    ) -> steps.Next:
        """Record that the start is given up, before anything is undone."""
        held.record(
            status=states.Lease.ERROR,
            status_reason=reason,
            prepared=False,
            # Active parts may have servers, which have to leave first.
            reservations={
                item.id: states.Reservation.ERROR
                for item in held.lease.reservations
                if item.status != states.Reservation.ACTIVE
            },
            events={states.EventType.START: states.Event.ERROR},
            give_back=not held.lease.in_nova,
        )
        self.notify(
            notifications.failed(states.EventType.START),
            notifications.payload(held.lease),
        )
        return steps.Again()

    def _update(self, held: claimed_leases.ClaimedLease) -> steps.Next:
        """Bring Nova in line with resources that were added, or replaced, or
        are given back."""
        current = list(self.bookings.of([held], held.now))
        try:
            return given_back.update(held, current, self.options.settle)
        except exception.CloudRefused as error:
            LOG.warning(
                'Lease %(lease)s lacks resources that were added: %(reason)s',
                {'lease': held.lease.id, 'reason': error},
            )
            return steps.Wait(objects.Reason.of(error), steps.SELDOM)


def _prepare_each(current: lost_at_starts.Current) -> list[objects.Reason]:
    """Prepare reservations; return what some of them wait for.

    :raises: HostRefused, Hopeless
    """
    waits: list[objects.Reason] = []
    for kind, booking in current:
        if waits and booking.parts:
            continue
        try:
            waiting = kind.prepare(booking)
        except (exception.HostRefused, exception.Hopeless):
            raise
        except exception.CloudRefused as error:
            # The start tries again, and says so if it fails.
            LOG.warning(
                'Lease %(lease)s can not be prepared: %(reason)s',
                {'lease': booking.lease.id, 'reason': error},
            )
        else:
            if waiting is not None:
                waits.append(waiting.why)
    return waits


def _start_each(
    bookings: Iterable[tuple[base.ResourceType, base.Booking]],
) -> list[objects.Reason]:
    """Start reservations; return what some of them wait for.

    :raises: CloudRefused
    """
    return [
        waiting.why
        for kind, booking in bookings
        if (waiting := kind.start(booking)) is not None
    ]


def _let_in(held: claimed_leases.ClaimedLease) -> bool:
    """Let servers land in the parts of a lease from now on, because the start
    of the whole may create some. Return False if they could already."""
    closed = {
        item.id: states.Reservation.ACTIVE
        for item in held.lease.reservations
        if item.part_of is not None
        and item.status != states.Reservation.ACTIVE
    }
    if closed:
        held.record(reservations=closed)
    return bool(closed)


def _earlier(names: Collection[str]) -> objects.Reason:
    """Return that earlier leases still have the named resources."""
    return objects.Reason(
        f'Waiting for earlier leases to leave {len(names)} of its hosts',
        f'Waiting for earlier leases to leave {", ".join(sorted(names))}',
    )


def _between_looks(waited: datetime.timedelta) -> datetime.timedelta:
    """Return the time until the next look at a step that began so long ago.
    It grows, because there may be as many such steps as there are servers."""
    return min(max(waited / 8, steps.SOON), RARELY)
