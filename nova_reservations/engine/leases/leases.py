# SPDX-License-Identifier: Apache-2.0
"""Use cases of leases: create, show, update, delete.

Each use case is one transaction, which starts anew when another writer was
first, and never calls Nova. Workers find the lease due, and bring Nova in line
with it.
"""

from collections.abc import Iterator
from collections.abc import Mapping
import contextlib
import dataclasses
import datetime

from oslo_log import log

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations.db import api
from nova_reservations.db.holdings import allocations as allocations_db
from nova_reservations.db.leases import deleted_leases
from nova_reservations.db.leases import freed_capacity
from nova_reservations.db.leases import idempotency as idempotency_db
from nova_reservations.db.leases import leases
from nova_reservations.db.leases import retry_queue
from nova_reservations.db.record import server_usage
from nova_reservations.db.record import usage
from nova_reservations.db.resources import drainable_hosts as drainable_rows
from nova_reservations.engine import notifications
from nova_reservations.engine import steps
from nova_reservations.engine import transactions
from nova_reservations.engine.booking import allocations
from nova_reservations.engine.booking import lease_requests
from nova_reservations.engine.booking import limits
from nova_reservations.engine.booking import means
from nova_reservations.engine.emptying import drain_candidates
from nova_reservations.engine.emptying import drainable_hosts
from nova_reservations.engine.leases import at_once
from nova_reservations.engine.leases import enforcement
from nova_reservations.engine.leases import idempotency as repeats
from nova_reservations.engine.leases import lease_changes
from nova_reservations.engine.leases import openings
from nova_reservations.engine.leases import refusal_counts
from nova_reservations.engine.leases import shrinking
from nova_reservations.engine.outlook import refused_demand
from nova_reservations.engine.waiting import retry
from nova_reservations.objects import states

LOG = log.getLogger(__name__)

_CREATED: Mapping[states.Lease, str] = {
    states.Lease.PENDING: 'Lease %(lease)s of project %(project)s is '
    'promised from %(start)s to %(end)s',
    states.Lease.CREATING: 'Lease %(lease)s of project %(project)s waits: '
    '%(reason)s',
    states.Lease.IN_PROGRESS: 'Hosts are to be emptied for lease %(lease)s '
    'of project %(project)s',
}
"""The line in the log for a new lease, by its status."""


@dataclasses.dataclass(frozen=True, slots=True)
class Writing:
    """The circumstances in which a new lease is written.

    :ivar guard: the limits of its project.
    :ivar dry_run: whether to roll back, and only return or raise what would
        be the outcome.
    :ivar key: the key by which the request may be repeated; written first.
    """

    guard: limits.Guard
    dry_run: bool = False
    key: objects.IdempotencyKey | None = None


@dataclasses.dataclass(eq=False)
class Leases(means.UseCase):
    change_writer: lease_changes.ChangeWriter
    openings: openings.Openings
    enforcement: enforcement.Enforcement
    at_once: at_once.AtOnce
    demand: refused_demand.RefusedDemand
    drainable_hosts: drainable_hosts.DrainableHosts

    def get(self, lease_id: str) -> objects.Lease:
        """:raises: NotFound"""
        with self.database.reader() as session:
            return leases.get(session, lease_id)

    @refusal_counts.counted
    def create(
        self,
        asked: lease_requests.NewLease,
        now: datetime.datetime,
        *,
        dry_run: bool = False,
    ) -> objects.Lease:
        """Promise the lease; a worker starts it at its time. If a request
        with the same key has made a lease, return that one. Either way it has
        what the next request may name, if it begins soon.

        :param dry_run: whether only to return, or raise, what would be.
        :raises: InvalidInput, InvalidState, NotEnoughResources, Contended,
            OverLimit, KeyReused, RequestUnderWay
        :raises: CloudUnavailable if limits are not known
        """
        if asked.key and (made := repeats.made(self.database, asked.key)):
            self.at_once.make([made], now)
            return made
        draft = self.requests.draft(asked, now)
        if not dry_run:
            self.enforcement.check_new(draft, now)
        writing = Writing(self.limits.guard(draft), dry_run, asked.key)
        try:
            lease = self._create(draft, now, writing)
        except exception.Repeated:
            # The other request's lease exists now, or is deleted already.
            return self.create(asked, now)
        except exception.NotEnoughResources as refusal:
            if not dry_run:
                self.demand.record(draft, now)
            raise self.openings.with_start(
                refusal, draft, writing.guard, now
            ) from refusal
        if not dry_run:
            self.tell_created(lease)
            self.at_once.make([lease], now)
        return lease

    def tell_created(self, lease: objects.Lease) -> None:
        LOG.info(
            _CREATED[lease.status],
            {
                'lease': lease.id,
                'project': lease.project_id,
                'start': lease.start_date,
                'end': lease.end_date,
                'reason': lease.status_reason,
            },
        )
        self.notify(notifications.CREATE, notifications.payload(lease))

    def _create(
        self, draft: objects.Lease, now: datetime.datetime, writing: Writing
    ) -> objects.Lease:
        """:raises: InvalidInput, NotEnoughResources, Contended"""
        lease = self.at_once.marked(draft, now)
        try:
            self.promise(lease, now, writing)
        except exception.NotEnoughResources as refusal:
            waiting = self._waiting(draft, refusal, now, writing)
            return self._keep(waiting, now, writing)
        return lease

    @contextlib.contextmanager
    def _new(
        self, lease: objects.Lease, now: datetime.datetime, writing: Writing
    ) -> Iterator[api.Session]:
        """A transaction that writes a new lease within its project's limits.

        :raises: Repeated, RequestUnderWay, OverLimit
        """
        with self.transaction(dry_run=writing.dry_run) as session:
            writing.guard.begin(session)
            if writing.key:
                idempotency_db.insert(session, writing.key, lease.id, now)
            yield session
            writing.guard.check_new(session, lease, now)

    def promise(
        self, lease: objects.Lease, now: datetime.datetime, writing: Writing
    ) -> None:
        """Write a new lease with its resources.

        :raises: InvalidInput, NotEnoughResources, OverLimit, Contended
        """

        def book(attempt: transactions.Attempt) -> None:
            with self._new(lease, now, writing) as session:
                attempt.begin(session)
                leases.insert(session, lease)
                # A retry does not look for the best fit: concurrent requests
                # would choose the same resource, and collide again.
                left = self.allocations.book(
                    session,
                    lease,
                    now,
                    allocations.Terms(
                        best_fit=attempt.number == 1,
                        attempt=attempt,
                        moves_promises=True,
                    ),
                )
                if left:
                    freed_capacity.freed(session, now, left)

        transactions.book(self.database, book, dry_run=writing.dry_run)

    def _waiting(
        self,
        draft: objects.Lease,
        refusal: exception.NotEnoughResources,
        now: datetime.datetime,
        writing: Writing,
    ) -> objects.Lease:
        """Return a refused lease in the state in which it waits for resources
        that come free, or for hosts that are emptied.

        :raises: NotEnoughResources if it has nothing to wait for
        :raises: CloudUnavailable
        """
        if draft.lease_type != states.LeaseType.BEST_EFFORT:
            return retry.begin(draft, refusal, now, self.options)
        if not self.drainable_hosts.can_be_emptied():
            raise refusal
        if not writing.dry_run:
            self.drainable_hosts.follow(now)
        with self.database.reader() as session:
            prospect = drain_candidates.find(
                session, draft, now, self.types, self.options
            )
        return drain_candidates.begin(draft, prospect, refusal, now)

    def _keep(
        self, lease: objects.Lease, now: datetime.datetime, writing: Writing
    ) -> objects.Lease:
        """Write a lease that waits, and has no resources yet."""

        def insert(_: transactions.Attempt) -> objects.Lease:
            with self._new(lease, now, writing) as session:
                kept = lease
                if lease.status == states.Lease.CREATING:
                    kept = dataclasses.replace(
                        lease, arrival=retry_queue.arrive(session)
                    )
                leases.insert(session, kept)
                return kept

        kept = transactions.retry(insert)
        # The number was rolled back, and may be another lease's by now.
        if writing.dry_run:
            return dataclasses.replace(kept, arrival=None)
        return kept

    @refusal_counts.counted
    def update(
        self,
        lease_id: str,
        changes: lease_requests.LeaseChanges,
        now: datetime.datetime,
        *,
        dry_run: bool = False,
    ) -> objects.Lease:
        """Change the lease: all that was asked for, or nothing.

        :param dry_run: whether only to return, or raise, what would be.
        :raises: NotFound, InvalidInput, InvalidState, NotEnoughResources,
            OverLimit, Contended
        :raises: CloudUnavailable if limits are not known
        """
        guard = limits.NOTHING
        if self.limits.source is not None and not changes.only_rename:
            guard = self.limits.guard(self.get(lease_id))
        changes = self._looked_up(lease_id, changes, now)
        if not dry_run:
            self.enforcement.check_changed(
                lambda: self.get(lease_id), changes, now
            )

        def change(
            attempt: transactions.Attempt,
        ) -> tuple[objects.Lease, objects.Lease]:
            with self.transaction(dry_run=dry_run) as session:
                guard.begin(session)
                attempt.begin(session)
                seen = leases.get(session, lease_id)
                before = guard.look(session, seen)
                self.change_writer.write(
                    session,
                    seen,
                    changes,
                    now,
                    attempt,
                )
                lease = leases.get(session, lease_id)
                if lease.recorded:
                    usage.settle(session, [lease], now)
                guard.check_changed(session, before, lease, now)
                return seen, lease

        try:
            before, lease = transactions.book(
                self.database, change, dry_run=dry_run
            )
        except exception.NotEnoughResources as refusal:
            raise self.openings.with_end(
                refusal, self.get(lease_id), changes, guard, now
            ) from refusal
        if not dry_run:
            self._tell_change(before, lease)
        return lease

    def _looked_up(
        self,
        lease_id: str,
        changes: lease_requests.LeaseChanges,
        now: datetime.datetime,
    ) -> lease_requests.LeaseChanges:
        """Ask the cloud for all that is needed, before the transaction.

        :raises: NotFound, InvalidInput, InvalidState
        """
        if not changes.reservations:
            return changes
        seen = self.get(lease_id)
        changes = self.requests.look_up(seen, changes, now)
        return shrinking.look(
            self.database,
            self.types,
            seen,
            changes,
            self.requests.new_params(seen, changes),
            now,
        )

    def _tell_change(
        self, before: objects.Lease, lease: objects.Lease
    ) -> None:
        LOG.info(
            'Lease %(lease)s is changed; it is %(status)s from %(start)s '
            'to %(end)s',
            {
                'lease': lease.id,
                'status': lease.status,
                'start': lease.start_date,
                'end': lease.end_date,
            },
        )
        self.notify(notifications.UPDATE, notifications.payload(lease))
        if notifications.flags(before) - notifications.flags(lease):
            self.notify(notifications.HEALED, notifications.payload(lease))
        if _is_warned(before) and not _is_warned(lease):
            self.notify(
                notifications.stopped(states.EventType.BEFORE_END),
                notifications.payload(lease),
            )

    def delete(self, lease_id: str, now: datetime.datetime) -> None:
        """Delete the lease: at once if nothing of it is in Nova, otherwise as
        soon as a worker has taken it out of Nova.

        :raises: NotFound, InvalidState, Contended
        """

        def write(session: api.Session) -> objects.Lease | None:
            seen = leases.get(session, lease_id)
            if seen.status == states.Lease.CREATING and seen.in_nova:
                raise exception.InvalidState(
                    kind='Lease',
                    id=lease_id,
                    status=seen.status,
                    reason='Nova is just making its servers; try again '
                    'as soon as it is PENDING or STARTING',
                )
            if not seen.in_nova:
                remove(session, seen, now)
                deleted_leases.keep(session, seen, now)
                retry.left(session, seen, now, self.types)
                return seen
            if seen.status == states.Lease.DELETING:
                return None
            deleting = dataclasses.replace(seen, status=states.Lease.DELETING)
            leases.change(
                session,
                seen,
                now,
                status=states.Lease.DELETING,
                status_reason=None,
                events={states.EventType.END: states.Event.IN_PROGRESS},
                due_at=steps.due_after_change(deleting, now, self.options),
            )
            usage.settle(session, [deleting], now)
            return None

        gone = transactions.write(self.database, write)
        if gone is None:
            LOG.info('Lease %s is being deleted', lease_id)
            return
        LOG.info('Lease %s is deleted', lease_id)
        self.notify(notifications.DELETE, notifications.payload(gone))


def remove(
    session: api.Session, lease: objects.Lease, now: datetime.datetime
) -> None:
    """Delete a lease of which nothing is in Nova; others may have its
    resources."""
    held = allocations_db.held_by(session, lease)
    leases.delete(session, lease)
    server_usage.undo(session, [item.id for item in lease.reservations])
    drainable_rows.came_free(session, lease.id, now)
    freed_capacity.freed(session, now, held)


def _is_warned(lease: objects.Lease) -> bool:
    """Return whether the owner was warned of the lease's end."""
    event = lease.event(states.EventType.BEFORE_END)
    return event is not None and event.status != states.Event.UNDONE
