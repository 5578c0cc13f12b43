# SPDX-License-Identifier: Apache-2.0
"""Leases that wait for capacity: of type retry, while they are CREATING.

Such a lease holds nothing, neither here nor in Nova. It is tried as soon as
resources that it could have come free: the transaction that frees resources
records that, and a worker goes through all waiting leases (``retry_walk.py``).
A try is one transaction, like the creation of a lease.

A host that suits a lease is kept from the leases behind it, even if it alone
is too little: otherwise a lease of many hosts would never get them.
``engine/booking/queue.py`` has the rules of the order.
"""

from collections.abc import Collection
from collections.abc import Iterator
import dataclasses
import datetime

from oslo_log import log

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations.db import api
from nova_reservations.db.holdings import candidates
from nova_reservations.db.leases import freed_capacity
from nova_reservations.db.leases import leases
from nova_reservations.db.leases import retry_queue
from nova_reservations.engine import claimed_leases
from nova_reservations.engine import notifications
from nova_reservations.engine import resource_types
from nova_reservations.engine import settings
from nova_reservations.engine.booking import allocations
from nova_reservations.engine.booking import means
from nova_reservations.engine.booking import queue
from nova_reservations.objects import interval
from nova_reservations.objects import states

LOG = log.getLogger(__name__)

SELDOM = datetime.timedelta(hours=1)
"""The time between two looks at what is free for a waiting lease. The lease is
tried at once for what comes free; these looks find what a changed
configuration allows."""

AGAIN = datetime.timedelta(minutes=1)
"""The same for a lease whose own project has to give something back. That is
told only to leases that could have the freed resources."""

FEW = 20
"""The most resources that are told of one by one; beyond it, leases are told
that any resource may be free."""


def begin(
    lease: objects.Lease,
    refusal: exception.NotEnoughResources,
    now: datetime.datetime,
    options: settings.Settings,
) -> objects.Lease:
    """Return the refused lease in the state in which it waits.

    :raises: NotEnoughResources if it has nothing to wait for
    """
    if lease.lease_type != states.LeaseType.RETRY or not lease.max_retries:
        raise refusal
    queue.window(lease, now)
    return dataclasses.replace(
        lease,
        status=states.Lease.CREATING,
        status_reason=_explain(lease, str(refusal), options),
        # A transaction that frees resources at this very moment may not see
        # yet that this lease waits. By then it has committed.
        due_at=min(_last(lease, options), now + options.settle),
    )


def _last(
    lease: objects.Lease, options: settings.Settings
) -> datetime.datetime:
    """Return the time until which a lease waits."""
    patience = (lease.max_retries or 0) * options.create_retry_interval
    last = lease.created_at + min(patience, options.max_create_wait)
    if lease.duration is not None:
        return last
    return min(
        last, lease.end_date - queue.ENOUGH + datetime.timedelta(seconds=1)
    )


def _explain(
    lease: objects.Lease, refusal: str, options: settings.Settings
) -> str:
    return f'{refusal}{_outlook(lease, options)}'


def _outlook(lease: objects.Lease, options: settings.Settings) -> str:
    return (
        '. It is tried again as soon as anything comes free that it could '
        f'have, until {_last(lease, options):%Y-%m-%d %H:%M:%S} UTC'
    )


def left(
    session: api.Session,
    lease: objects.Lease,
    now: datetime.datetime,
    types: resource_types.Types,
    told: Collection[int | None] = (),
) -> None:
    """Tell the leases behind a waiting lease that it waits no more, or for
    something else; in the caller's transaction, after its other writes.

    :param told: resources that they are told of anyway
    """
    if lease.status != states.Lease.CREATING or lease.arrival is None:
        return
    try:
        kept = _kept(session, lease, now, types)
    except exception.InvalidInput:
        # Hosts have got too many values for Nova to judge what it has kept.
        kept = {None}
    freed_capacity.tell(session, now, kept.difference(told), lease.arrival)


def _kept(
    session: api.Session,
    lease: objects.Lease,
    now: datetime.datetime,
    types: resource_types.Types,
) -> set[int | None]:
    """Return the ids of resources that the lease has kept from those behind
    it, with None for any.

    :raises: InvalidInput
    """
    assert lease.arrival is not None
    start = max(lease.start_date, now)
    soon = interval.Interval(start, start + queue.ENOUGH)
    ids = _could_have(session, lease, soon, now, types)
    kept: set[int | None] = {*ids} if len(ids) <= FEW else {None}
    if retry_queue.is_any(session, lease.arrival, starting_after=now):
        # From leases that start later it has also kept resources that are
        # taken now.
        for demand in types.asks(lease):
            few = candidates.meeting_all(session, demand, limit=FEW + 1)
            kept.update(few if len(few) <= FEW else [None])
    return kept


def _could_have(
    session: api.Session,
    lease: objects.Lease,
    time: interval.Interval,
    now: datetime.datetime,
    types: resource_types.Types,
) -> set[int]:
    """Return the ids of free resources that the lease could want at a time.

    :raises: InvalidInput if Nova would have to judge too often
    """
    found: set[int] = set()
    for demand in types.asks(lease):
        found.update(
            candidates.not_taken(
                session,
                demand.resource_type,
                demand.requirements,
                time,
                now,
            )
        )
    return found


def grant(
    session: api.Session,
    seen: objects.Lease,
    now: datetime.datetime,
    allocations: allocations.Allocations,
    terms: allocations.Terms,
) -> tuple[objects.Lease, Collection[int]]:
    """Book a lease that has waited and that a worker holds; return it with
    the ids of the resources that promises of others have left for it.

    This joins the caller's transaction, like the creation of a lease.

    :raises: NotEnoughResources, InvalidInput, Conflict
    :raises: ClaimLost unless the worker still holds the lease as it saw it
    """
    lease = _current(session, seen)
    time = queue.window(lease, now)
    granted = dataclasses.replace(
        lease, start_date=time.start, end_date=time.end
    )
    moved = allocations.book(session, granted, now, terms)
    leases.change(
        session,
        lease,
        now,
        status=states.Lease.PENDING,
        status_reason=None,
        start_date=time.start,
        end_date=time.end,
        duration=None,
    )
    for event, at in _event_times(lease, time):
        leases.move_event(session, event, at, now)
    granted = dataclasses.replace(
        granted,
        status=states.Lease.PENDING,
        duration=None,
        version=lease.version + 1,
    )
    return granted, moved


def _current(session: api.Session, seen: objects.Lease) -> objects.Lease:
    try:
        lease = leases.get(session, seen.id)
    except exception.NotFound:
        lease = None
    if lease is None or (lease.version, lease.attempt) != (
        seen.version,
        seen.attempt,
    ):
        raise exception.ClaimLost(id=seen.id, worker=seen.claimed_by)
    return lease


@dataclasses.dataclass(eq=False)
class Retries(means.UseCase):
    """Leases that wait: after a try in vain they wait on, or give up."""

    def look(self, lease: objects.Lease, now: datetime.datetime) -> None:
        """Give up a lease that a worker holds if its time is over; otherwise
        let it wait on.

        The lease is told of all that is free now: it may have been changed,
        or have begun to wait just as something was freed.

        :raises: ClaimLost, also if the lease was changed meanwhile
        """
        assert lease.arrival is not None
        if now >= _last(lease, self.options):
            self.give_up(lease, self._last_reason(lease, now), now)
            return
        told = lease.status_reason
        if told is None:
            # The lease was changed after its last try.
            told = _explain(lease, 'It waits for its turn', self.options)
        window = queue.window(lease, now)
        try:
            with claimed_leases.kept(lease), self.database.writer() as session:
                self._release(session, lease, told, now)
                freed_capacity.tell(
                    session,
                    now,
                    _could_have(session, lease, window, now, self.types),
                    lease.arrival - 1,
                )
        except exception.InvalidInput as refusal:
            # Hosts have got too many values for Nova to judge.
            self.give_up(lease, str(refusal), now)

    def wait_on(
        self,
        lease: objects.Lease,
        refusal: str,
        now: datetime.datetime,
        again: datetime.timedelta = SELDOM,
    ) -> None:
        """Let a lease that is held, and was tried in vain, wait on.

        :param again: the time until it next looks for what is free, if it is
            not told before
        :raises: ClaimLost
        """
        told = _explain(lease, refusal, self.options)
        with claimed_leases.kept(lease), self.database.writer() as session:
            self._release(session, lease, told, now, again)

    def _release(
        self,
        session: api.Session,
        lease: objects.Lease,
        told: str,
        now: datetime.datetime,
        again: datetime.timedelta = SELDOM,
    ) -> None:
        """:param told: what its owner is told"""
        leases.change(
            session,
            lease,
            now,
            claimed_by=None,
            due_at=min(_last(lease, self.options), now + again),
            status_reason=told,
        )

    def _last_reason(
        self, lease: objects.Lease, now: datetime.datetime
    ) -> str:
        try:
            queue.window(lease, now)
        except exception.NotEnoughResources as error:
            return str(error)
        reason = lease.status_reason or 'It has waited in vain'
        return reason.removesuffix(_outlook(lease, self.options))

    def give_up(
        self, lease: objects.Lease, reason: str, now: datetime.datetime
    ) -> None:
        """End the wait of a lease that a worker holds, and its claim.

        :raises: ClaimLost
        """
        with claimed_leases.kept(lease), self.database.writer() as session:
            leases.change(
                session,
                lease,
                now,
                status=states.Lease.ERROR,
                status_reason=reason,
                claimed_by=None,
                due_at=None,
                reservations=states.Reservation.ERROR,
                events={states.EventType.START: states.Event.ERROR},
            )
            left(session, lease, now, self.types)
        self.notify(
            notifications.failed(states.EventType.START),
            notifications.payload(
                dataclasses.replace(lease, status=states.Lease.ERROR)
            ),
        )
        LOG.info(
            'Lease %(lease)s of project %(project)s has waited in vain: '
            '%(reason)s',
            {
                'lease': lease.id,
                'project': lease.project_id,
                'reason': reason,
            },
        )


def _event_times(
    lease: objects.Lease, time: interval.Interval
) -> Iterator[tuple[objects.Event, datetime.datetime]]:
    """Yield the events of a lease with their times in a new window; the
    warning keeps its distance to the end."""
    for event in lease.events:
        match event.event_type:
            case states.EventType.START:
                yield event, time.start
            case states.EventType.END:
                yield event, time.end
            case states.EventType.BEFORE_END:
                moved = event.time + (time.end - lease.end_date)
                yield event, max(time.start, moved)
