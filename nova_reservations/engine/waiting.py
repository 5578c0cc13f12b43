# SPDX-License-Identifier: Apache-2.0
"""Leases that wait for capacity: of type retry, while they are CREATING.

Such a lease holds nothing, neither here nor in Nova. It is tried again at
set times, and as soon as anything comes free: whoever frees something wakes
all that wait, in the same transaction. A try is one transaction too, like
the creation of a lease, and what it finds it starts like any other.

Those who wait have an order, that of their arrival. A host that would do for
one of them is not for those behind it, also when it is too little for the
first: else one that wants many hosts would never get them. New leases may
overtake, except while a worker has the one that waits in its hands.
"""

from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Sequence
import dataclasses
import datetime
from typing import Any

from oslo_log import log

from nova_reservations import demand as demands
from nova_reservations import exception
from nova_reservations import interval
from nova_reservations import ports
from nova_reservations import requirements
from nova_reservations import states
from nova_reservations import values
from nova_reservations.db import api
from nova_reservations.db import capacity
from nova_reservations.db import counters
from nova_reservations.db import leases
from nova_reservations.db import waiters
from nova_reservations.engine import contention
from nova_reservations.engine import notifications
from nova_reservations.engine import settings

LOG = log.getLogger(__name__)

ENOUGH = datetime.timedelta(minutes=1)
"""What must be left of a lease for it to be worth waiting for."""

SOON = datetime.timedelta(seconds=1)

Book = Callable[..., None]
"""Plans a lease, and writes what it gets, in the caller's transaction."""


def window(lease: values.Lease, now: datetime.datetime) -> interval.Interval:
    """Return the window of a lease that gets its resources now.

    Waiting moves the end only of a lease that was asked for with a duration.

    :raises: NotEnoughResources if less than a minute would be left
    """
    start = max(lease.start_date, now)
    end = lease.end_date
    if lease.duration is not None:
        end = start + datetime.timedelta(seconds=lease.duration)
    if end - start < ENOUGH:
        raise exception.NotEnoughResources(
            reason='less than a minute of its time is left'
        )
    return interval.Interval(start, end)


def ahead(
    session: Any, lease: values.Lease, now: datetime.datetime
) -> list[values.Lease]:
    """Return those whose turn is before the lease's, for the same time."""
    if lease.arrival is not None:
        others = waiters.before(session, lease.arrival)
    else:
        others = waiters.in_hand(session, now)
    return [other for other in others if _competes(other, lease, now)]


def _competes(
    other: values.Lease, lease: values.Lease, now: datetime.datetime
) -> bool:
    try:
        return window(other, now).overlaps(lease.window)
    except exception.NotEnoughResources:
        return False


def refusal(
    refusal: exception.NotEnoughResources,
    lease: values.Lease,
    first: Sequence[values.Lease],
) -> exception.ReservationsError:
    """Return what to tell a lease for which nothing was left."""
    if not first:
        return refusal
    if lease.lease_type != states.LeaseType.RETRY:
        # Only for the moment until a worker has tried it; one that may wait
        # joins them.
        return exception.Conflict(kind='Lease', id=first[0].id)
    return exception.NotEnoughResources(
        f'{refusal}; {len(first)} leases that came before wait'
    )


def left_over(
    demand: demands.Ask, others: Iterable[demands.Ask]
) -> demands.Ask:
    """Return the demand for what none of the others could have.

    :raises: NotEnoughResources if they could have anything
    """
    rivals = {
        other.requirements
        for other in others
        if other.resource_type == demand.resource_type
    }
    if None in rivals:
        raise exception.NotEnoughResources(
            reason='leases that came before wait for any that match'
        )
    if not rivals:
        return demand
    parts = [
        *([demand.requirements] if demand.requirements else []),
        *(requirements.Not(rival) for rival in rivals if rival),
    ]
    return dataclasses.replace(
        demand, requirements=requirements.AllOf(tuple(parts))
    )


def begin(
    lease: values.Lease,
    refusal: exception.NotEnoughResources,
    now: datetime.datetime,
    options: settings.Settings,
) -> values.Lease:
    """Return the lease, that was refused, as it begins to wait.

    :raises: NotEnoughResources if it has nothing to wait for
    """
    if lease.lease_type != states.LeaseType.RETRY or not lease.max_retries:
        raise refusal
    window(lease, now)
    lease = dataclasses.replace(
        lease,
        status=states.Lease.CREATING,
        retry_at=now + options.create_retry_interval,
    )
    return dataclasses.replace(
        lease,
        status_reason=_reason(lease, refusal),
        # What is freed at this very moment, by one that does not see yet
        # that this lease waits, is free by then.
        due_at=min(_due_at(lease), now + options.settle),
    )


def _due_at(lease: values.Lease) -> datetime.datetime:
    """Return when a lease that waits must be tried at the latest."""
    assert lease.retry_at is not None
    if lease.duration is not None:
        return lease.retry_at
    too_late = lease.end_date - ENOUGH + datetime.timedelta(seconds=1)
    return min(lease.retry_at, too_late)


def _reason(lease: values.Lease, refusal: Exception) -> str:
    return (
        f'{refusal}. Tried again {lease.tries} of {lease.max_retries} times; '
        f'the next try is at {lease.retry_at:%Y-%m-%d %H:%M:%S} UTC, or as '
        'soon as anything comes free'
    )


def grant(
    session: Any,
    seen: values.Lease,
    now: datetime.datetime,
    book: Book,
    empty: Collection[int] = (),
    *,
    snug: bool,
) -> values.Lease:
    """Give the lease, that a worker holds, what it waits for.

    In the caller's transaction, like the creation of a lease.

    :param empty: ids of resources that are there for it alone
    :raises: NotEnoughResources, InvalidInput, Conflict
    :raises: ClaimLost unless the worker holds it, as it has seen it
    """
    lease = _current(session, seen)
    time = window(lease, now)
    granted = dataclasses.replace(
        lease, start_date=time.start, end_date=time.end
    )
    ids = [reservation.id for reservation in lease.reservations]
    book(
        session,
        granted,
        now,
        held={reservation_id: empty for reservation_id in ids},
        recheck=ids,
        snug=snug,
    )
    leases.change(
        session,
        lease,
        now,
        status=states.Lease.PENDING,
        status_reason=None,
        start_date=time.start,
        end_date=time.end,
        duration=None,
        retry_at=None,
    )
    for kind, moved in _event_times(lease, time).items():
        leases.set_event(session, lease.id, kind, now, time=moved)
    return granted


def _current(session: Any, seen: values.Lease) -> values.Lease:
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


class Queue:
    """:param book: of the use cases of leases."""

    def __init__(
        self,
        database: api.Database,
        book: Book,
        options: settings.Settings,
        notify: ports.Notifier,
    ) -> None:
        self.database = database
        self.book = book
        self.options = options
        self.notify = notify

    def attempt(self, lease: values.Lease, now: datetime.datetime) -> bool:
        """See whether there is capacity for the lease that a worker holds.

        :returns: whether the worker still holds it: if not, it waits on.
        :raises: ClaimLost also if the lease was changed, or woken, meanwhile
        """
        try:
            granted = contention.settle(
                lambda attempt: self._grant(lease, now, attempt)
            )
        except (
            exception.NotEnoughResources,
            exception.InvalidInput,
        ) as refusal:
            return self._refused(lease, refusal, now)
        except exception.Contended:
            self._give_back(lease, now, due_at=now + SOON)
            return False
        LOG.info(
            'Lease %(lease)s of project %(project)s has waited, and is '
            'promised from %(start)s to %(end)s',
            {
                'lease': granted.id,
                'project': granted.project_id,
                'start': granted.start_date,
                'end': granted.end_date,
            },
        )
        return True

    def _grant(
        self, seen: values.Lease, now: datetime.datetime, attempt: int
    ) -> values.Lease:
        """Give the lease what it waits for, or raise why not."""
        with self.database.writer() as session:
            if attempt > contention.TOGETHER:
                counters.increment(session, 'booking')
            granted = grant(session, seen, now, self.book, snug=attempt == 1)
            capacity.freed(session, now)
            return granted

    def _refused(
        self,
        lease: values.Lease,
        refusal: exception.ReservationsError,
        now: datetime.datetime,
    ) -> bool:
        assert lease.retry_at is not None
        counted = now >= lease.retry_at
        if counted:
            lease = dataclasses.replace(
                lease,
                tries=lease.tries + 1,
                retry_at=now + self.options.create_retry_interval,
            )
        if self._is_last(lease, refusal, now):
            self._give_up(lease, str(refusal), now)
            return True
        self._give_back(
            lease,
            now,
            due_at=_due_at(lease),
            tries=lease.tries,
            retry_at=lease.retry_at,
            status_reason=_reason(lease, refusal),
        )
        if counted:
            self.notify(notifications.RETRY, notifications.payload(lease))
        return False

    def _is_last(
        self,
        lease: values.Lease,
        refusal: exception.ReservationsError,
        now: datetime.datetime,
    ) -> bool:
        if isinstance(refusal, exception.InvalidInput):
            return True
        if lease.tries >= (lease.max_retries or 0):
            return True
        try:
            window(lease, now)
        except exception.NotEnoughResources:
            return True
        return False

    def _give_up(
        self, lease: values.Lease, reason: str, now: datetime.datetime
    ) -> None:
        """End the wait; a worker still holds the lease."""
        try:
            with self.database.writer() as session:
                leases.change(
                    session,
                    lease,
                    now,
                    status=states.Lease.ERROR,
                    status_reason=reason,
                    tries=lease.tries,
                    retry_at=None,
                )
                leases.set_reservations(
                    session, lease.id, now, status=states.Reservation.ERROR
                )
                leases.set_event(
                    session,
                    lease.id,
                    states.EventType.START,
                    now,
                    status=states.Event.ERROR,
                )
                capacity.freed(session, now)
        except exception.Conflict as error:
            raise exception.ClaimLost(
                id=lease.id, worker=lease.claimed_by
            ) from error
        self.notify(
            notifications.failed(states.EventType.START),
            notifications.payload(
                dataclasses.replace(lease, status=states.Lease.ERROR)
            ),
        )
        LOG.info(
            'Lease %(lease)s of project %(project)s has waited for nothing: '
            '%(reason)s',
            {
                'lease': lease.id,
                'project': lease.project_id,
                'reason': reason,
            },
        )

    def _give_back(
        self,
        lease: values.Lease,
        now: datetime.datetime,
        **columns: Any,
    ) -> None:
        """Record how the try went, and end the claim, in one: whoever frees
        something before has changed the lease, and it is tried again.

        :raises: ClaimLost
        """
        try:
            with self.database.writer() as session:
                leases.change(session, lease, now, claimed_by=None, **columns)
        except exception.Conflict as error:
            raise exception.ClaimLost(
                id=lease.id, worker=lease.claimed_by
            ) from error


def _event_times(
    lease: values.Lease, time: interval.Interval
) -> dict[states.EventType, datetime.datetime]:
    """Return when the events of a lease are that gets this window; the
    warning keeps its distance to the end."""
    times = {
        states.EventType.START: time.start,
        states.EventType.END: time.end,
    }
    warning = lease.event(states.EventType.BEFORE_END)
    if warning is not None:
        moved = warning.time + (time.end - lease.end_date)
        times[states.EventType.BEFORE_END] = max(time.start, moved)
    return times
