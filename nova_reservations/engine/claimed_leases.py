# SPDX-License-Identifier: Apache-2.0
"""Claims: leases on which one worker acts.

A worker can write only while its claim still stands and nobody else has
written the lease since it was read. Otherwise the worker learns that it has
lost the lease, and writes nothing.
"""

from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Iterator
from collections.abc import Mapping
from concurrent import futures
import contextlib
import dataclasses
import datetime
from typing import Any
from typing import Concatenate
from typing import ParamSpec

from oslo_log import log

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations import ports
from nova_reservations.db import api
from nova_reservations.db.holdings import allocations
from nova_reservations.db.leases import belongings
from nova_reservations.db.leases import deleted_leases
from nova_reservations.db.leases import due_leases
from nova_reservations.db.leases import freed_capacity
from nova_reservations.db.leases import leases
from nova_reservations.db.record import server_usage
from nova_reservations.db.record import usage
from nova_reservations.db.resources import drainable_hosts
from nova_reservations.db.resources import hosts
from nova_reservations.engine import notifications
from nova_reservations.engine import settings
from nova_reservations.engine import steps
from nova_reservations.objects import states

LOG = log.getLogger(__name__)

P = ParamSpec('P')

TAKEN_OVER = 'claims_taken_over'
"""The counter of leases whose worker was gone, so that another took over."""

DURATION = datetime.timedelta(seconds=30)
"""How long a claim stands if nobody renews it."""

RENEWAL = datetime.timedelta(seconds=10)
"""The time after which a claim is renewed."""


@dataclasses.dataclass(frozen=True, slots=True)
class Claim:
    """:ivar attempt: the attempt of the lease, as the claim set it."""

    lease_id: str
    attempt: int
    worker: str


def try_change(
    database: api.Database,
    change: Callable[Concatenate[api.Session, P], bool],
    *args: P.args,
    **kwargs: P.kwargs,
) -> bool:
    """Make a change that only one worker may make; return False if another
    worker was first.

    :param change: takes the session first, then all that follows
    """
    try:
        with database.writer() as session:
            return change(session, *args, **kwargs)
    except exception.Conflict:
        return False


def log_failure(future: futures.Future[None], what: str) -> None:
    """Log an unexpected error of a worker's thread; its claim expires and is
    taken again."""
    error = future.exception()
    if error is not None:
        LOG.error(
            'The work on %(what)s failed; it will be taken up again',
            {'what': what},
            exc_info=error,
        )


@contextlib.contextmanager
def kept(*held: objects.Lease) -> Iterator[None]:
    """Turn a conflict with another writer into ClaimLost.

    :param held: leases as the worker has read them, with its claim on them
    :raises: ClaimLost
    """
    try:
        yield
    except exception.Conflict as error:
        raise exception.ClaimLost(
            id=', '.join(lease.id for lease in held),
            worker=held[0].claimed_by,
        ) from error


@dataclasses.dataclass(eq=False)
class ClaimedLease:
    """A lease that a worker has claimed.

    :ivar lease: as it was read last, or written by this worker.
    :ivar now: when the worker looked at it.
    :ivar provider_changes: changes that were made, for the lease, to hosts'
        providers in placement.
    """

    database: api.Database
    claim: Claim
    lease: objects.Lease
    now: datetime.datetime
    provider_changes: list[ports.GenerationChanges] = dataclasses.field(
        default_factory=list, init=False
    )

    def check(self) -> None:
        """:raises: ClaimLost if the claim does not stand any more, or the
        lease is no longer in the state that the caller acts on
        """
        with self.database.causal_reader() as session:
            held = leases.is_held(
                session,
                self.claim.lease_id,
                self.claim.attempt,
                [self.lease.status],
            )
        if not held:
            raise exception.ClaimLost(
                id=self.claim.lease_id, worker=self.claim.worker
            )

    def record(
        self,
        *,
        give_back: bool = False,
        then: Callable[[api.Session], None] | None = None,
        **columns: Any,
    ) -> None:
        """Write one change of the lease.

        :param give_back: whether others may have its resources from now on
        :param then: writes more, in the same transaction
        :param columns: as ``db.leases.change`` takes them
        :raises: ClaimLost, InvalidTransition
        """
        before = self.lease
        with kept(before), self.database.writer() as session:
            leases.change(session, before, self.now, **columns)
            if give_back:
                freed = allocations.held_by(session, before)
                _give_back(session, before, self.now)
                freed_capacity.freed(session, self.now, freed)
            if then is not None:
                then(session)
            recorded = leases.get(session, before.id)
            if before.recorded or recorded.recorded:
                usage.settle(session, [recorded], self.now)
        self.lease = recorded
        if recorded.status != before.status:
            LOG.info(
                'Lease %(lease)s of project %(project)s is %(status)s'
                '%(reason)s',
                {
                    'lease': recorded.id,
                    'project': recorded.project_id,
                    'status': recorded.status,
                    'reason': f': {recorded.why}' if recorded.why else '',
                },
            )

    def delete(self) -> None:
        """Delete the lease; nothing of it may be left in Nova.

        :raises: ClaimLost
        """
        with kept(self.lease), self.database.writer() as session:
            freed = allocations.held_by(session, self.lease)
            _give_back(session, self.lease, self.now)
            leases.delete(session, self.lease)
            deleted_leases.keep(session, self.lease, self.now)
            freed_capacity.freed(session, self.now, freed)
        LOG.info('Lease %s is deleted', self.lease.id)

    def explain(
        self, reason: objects.Reason, log: Callable[..., None] = LOG.info
    ) -> None:
        """Record what the lease waits for, for its owner to read.

        :param log: tells operators, once for each reason
        """
        current = read(self.database, self.claim, lambda: self.now)
        if current is None or current.lease.why == reason.fitted():
            return
        if reason.detail:
            log_wait(log, current.lease, reason)
        try:
            current.record(status_reason=reason)
        except exception.ClaimLost:
            LOG.debug('Lease %s was changed while it waited', current.lease.id)

    def release(self, due_at: datetime.datetime | None) -> bool:
        """End the claim; False if the lease must be looked at anew.

        :param due_at: when a worker must look at it next; None: never
        """
        return try_change(self.database, leases.release, self.lease, due_at)


def read(
    database: api.Database,
    claim: Claim,
    clock: Callable[[], datetime.datetime],
) -> ClaimedLease | None:
    """Return the lease as it is now; None if the claim is lost.

    :param clock: returns the time, and is asked once the lease is read
    """
    with database.causal_reader() as session:
        try:
            lease = leases.get(session, claim.lease_id)
        except exception.NotFound:
            return None
    if lease.attempt == claim.attempt and lease.claimed_by:
        return ClaimedLease(database, claim, lease, clock())
    LOG.warning(
        'Worker %(worker)s has lost lease %(lease)s',
        {'worker': claim.worker, 'lease': claim.lease_id},
    )
    return None


def keep_provider_changes(
    database: api.Database, changes: Collection[ports.GenerationChanges]
) -> None:
    """Record our own changes of providers for a lease, so that their hosts are
    not looked at again.

    This has a transaction of its own, whether or not the claim still stands.
    If it fails, the hosts are looked at again, but the lease's record stays.

    Decision 0017: doc/source/decisions/0017-what-we-changed-ourselves
    """
    if not any(changes):
        return
    try:
        with database.writer() as session:
            for of_one_call in changes:
                hosts.move_provider_generations(session, of_one_call)
    except exception.Conflict as error:
        LOG.debug('Hosts will be looked at again: %s', error)


def activate(
    database: api.Database,
    started: Collection[ClaimedLease],
    now: datetime.datetime,
    options: settings.Settings,
    notify: ports.Notifier,
) -> None:
    """Record that leases have started, and end their claims, so that other
    leases start before these go on with later work. Notify of it.

    :raises: ClaimLost; then none of them has started
    """
    if not started:
        return
    seen = {held.lease.id: held.lease for held in started}
    active = {
        lease_id: _active(lease, now) for lease_id, lease in seen.items()
    }
    due_at: Mapping[str, datetime.datetime | None] = {
        lease_id: steps.due_at(lease, now, options)
        for lease_id, lease in active.items()
    }
    with kept(*seen.values()), database.writer() as session:
        leases.activate(session, seen, due_at, now)
        usage.settle(session, active.values(), now)
        carried = [
            lease.server_reservation.id
            for lease in active.values()
            if lease.server_reservation is not None
        ]
        if carried:
            server_usage.begin(session, carried, now)
    for held in started:
        held.lease = active[held.lease.id]
        LOG.info(
            'Lease %(lease)s of project %(project)s is ACTIVE',
            {'lease': held.lease.id, 'project': held.lease.project_id},
        )
        notify(
            notifications.event(states.EventType.START),
            notifications.payload(held.lease),
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


def log_wait(
    log: Callable[..., None], lease: objects.Lease, reason: object
) -> None:
    log(
        'Lease %(lease)s waits: %(reason)s',
        {'lease': lease.id, 'reason': reason},
    )


def _give_back(
    session: api.Session, lease: objects.Lease, now: datetime.datetime
) -> None:
    """Release the lease's resources, in the caller's transaction."""
    ids = [item.id for item in lease.reservations]
    due_leases.wake_successors(session, ids, now)
    belongings.give_back(session, ids, now)
    # Usage that had begun was ended before this; the rest never began.
    server_usage.undo(session, ids)
    if any(item.resources_changed for item in lease.reservations):
        leases.set_reservations(
            session, lease.id, now, resources_changed=False
        )
    drainable_hosts.came_free(session, lease.id, now)
