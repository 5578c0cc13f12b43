# SPDX-License-Identifier: Apache-2.0
"""Leases that wait for capacity: of type retry, while they are CREATING.

Such a lease holds nothing, neither here nor in Nova. It is tried as soon as
anything comes free that it could have: whoever frees something writes down
what, in the same transaction, and a worker goes through all that wait
(``engine/retry_walk.py``). A try is one transaction too, like the creation
of a lease, and what it finds it starts like any other.

Those who wait have an order, that of their arrival. A host that would do for
one of them is not for those behind it, also when it is too little for the
first: else one that wants many hosts would never get them. New leases may
overtake, except while a worker has the one that waits in its hands.
"""

from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import contextlib
import dataclasses
import datetime
from typing import Any

from oslo_log import log

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations import ports
from nova_reservations.db import api
from nova_reservations.db import candidates
from nova_reservations.db import capacity
from nova_reservations.db import leases
from nova_reservations.db import retry_queue
from nova_reservations.engine import notifications
from nova_reservations.engine import settings
from nova_reservations.objects import demand as demands
from nova_reservations.objects import interval
from nova_reservations.objects import requirements
from nova_reservations.objects import states
from nova_reservations.plugins.resource_types import base

LOG = log.getLogger(__name__)

ENOUGH = datetime.timedelta(minutes=1)
"""What must be left of a lease for it to be worth waiting for."""

SELDOM = datetime.timedelta(hours=1)
"""Between two looks at what is free for one that waits. Whatever comes free
is told to it at once; this finds what a changed configuration allows."""

FEW = 20
"""Resources that can be named as those that somebody may have wanted."""

Types = Mapping[str, base.ResourceType]

Book = Callable[..., None]
"""Plans a lease, and writes what it gets, in the caller's transaction."""


def window(
    lease: objects.Lease | retry_queue.Waiting, now: datetime.datetime
) -> interval.Interval:
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


def asks(types: Types, lease: objects.Lease) -> Iterator[demands.Ask]:
    """Yield what the reservations of a lease ask for, as far as that can be
    told."""
    for item in lease.reservations:
        if item.resource_type in types:
            demand = base.stored_demand(
                types[item.resource_type], item.params, f'lease {lease.id}'
            )
            if demand is not None:
                yield demand


def in_hand(
    session: Any, lease: objects.Lease, now: datetime.datetime
) -> list[objects.Lease]:
    """Return those whose turn it is at this moment, for the same time."""
    return [
        other
        for other in retry_queue.in_hand(session, now)
        if _competes(other, lease, now)
    ]


def _competes(
    other: objects.Lease, lease: objects.Lease, now: datetime.datetime
) -> bool:
    try:
        return window(other, now).overlaps(lease.window)
    except exception.NotEnoughResources:
        return False


def refusal(
    refusal: exception.NotEnoughResources,
    lease: objects.Lease,
    first: Sequence[objects.Lease],
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
    lease: objects.Lease,
    refusal: exception.NotEnoughResources,
    now: datetime.datetime,
    options: settings.Settings,
) -> objects.Lease:
    """Return the lease, that was refused, as it begins to wait.

    :raises: NotEnoughResources if it has nothing to wait for
    """
    if lease.lease_type != states.LeaseType.RETRY or not lease.max_retries:
        raise refusal
    window(lease, now)
    return dataclasses.replace(
        lease,
        status=states.Lease.CREATING,
        status_reason=_explain(lease, str(refusal), options),
        # What is freed at this very moment, by one that does not see yet
        # that this lease waits, is free by then.
        due_at=min(_last(lease, options), now + options.settle),
    )


def _last(
    lease: objects.Lease, options: settings.Settings
) -> datetime.datetime:
    """Return until when a lease waits."""
    patience = (lease.max_retries or 0) * options.create_retry_interval
    last = lease.created_at + patience
    if lease.duration is not None:
        return last
    return min(last, lease.end_date - ENOUGH + datetime.timedelta(seconds=1))


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
    session: Any,
    lease: objects.Lease,
    now: datetime.datetime,
    types: Types,
    told: Collection[int | None] = (),
) -> None:
    """Tell those behind a lease that it waits no more, or for something else;
    in the caller's transaction, after its other writes.

    :param told: of these resources they are told anyway
    """
    if lease.status != states.Lease.CREATING or lease.arrival is None:
        return
    start = max(lease.start_date, now)
    soon = interval.Interval(start, start + ENOUGH)
    ids = _could_have(session, lease, soon, now, types)
    kept: set[int | None] = {*ids} if len(ids) <= FEW else {None}
    if retry_queue.is_any(session, lease.arrival, starting_after=now):
        # From those it has kept what is taken now, too.
        for demand in asks(types, lease):
            few = candidates.meeting_all(session, demand, limit=FEW + 1)
            kept.update(few if len(few) <= FEW else [None])
    capacity.tell(session, now, kept.difference(told), lease.arrival)


def _could_have(
    session: Any,
    lease: objects.Lease,
    time: interval.Interval,
    now: datetime.datetime,
    types: Types,
) -> set[int]:
    """Return the ids of what the lease could want that is free at a time."""
    found: set[int] = set()
    for demand in asks(types, lease):
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
    session: Any,
    seen: objects.Lease,
    now: datetime.datetime,
    book: Book,
    empty: Collection[int] = (),
    *,
    best_fit: bool,
    among: Mapping[str, Collection[int]] | None = None,
) -> objects.Lease:
    """Give the lease, that a worker holds, what it waits for.

    In the caller's transaction, like the creation of a lease.

    :param empty: ids of resources that are there for it alone
    :param among: reservation id -> ids of all that it may have; None:
        whatever there is
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
        best_fit=best_fit,
        among=among,
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
    return dataclasses.replace(
        granted,
        status=states.Lease.PENDING,
        duration=None,
        version=lease.version + 1,
    )


def _current(session: Any, seen: objects.Lease) -> objects.Lease:
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
    """What becomes of those who wait, while nothing comes free for them."""

    def __init__(
        self,
        database: api.Database,
        types: Types,
        options: settings.Settings,
        notify: ports.Notifier,
    ) -> None:
        self.database = database
        self.types = types
        self.options = options
        self.notify = notify

    def look(self, lease: objects.Lease, now: datetime.datetime) -> None:
        """Have the lease, that a worker holds, wait on, or give up.

        What is free is told to it: it may have been asked for anew, or have
        begun to wait as something was freed.

        :raises: ClaimLost also if the lease was changed meanwhile
        """
        assert lease.arrival is not None
        if now >= _last(lease, self.options):
            self.give_up(lease, self._last_reason(lease, now), now)
            return
        told = lease.status_reason
        if told is None:
            # It was changed since it was tried.
            told = _explain(lease, 'It waits for its turn', self.options)
        with self._held(lease), self.database.writer() as session:
            self._release(session, lease, told, now)
            capacity.tell(
                session,
                now,
                _could_have(
                    session, lease, window(lease, now), now, self.types
                ),
                lease.arrival - 1,
            )

    def wait_on(
        self, lease: objects.Lease, refusal: str, now: datetime.datetime
    ) -> None:
        """Have a lease, that is held, and was tried in vain, wait on.

        :raises: ClaimLost
        """
        told = _explain(lease, refusal, self.options)
        with self._held(lease), self.database.writer() as session:
            self._release(session, lease, told, now)

    def _release(
        self,
        session: Any,
        lease: objects.Lease,
        told: str,
        now: datetime.datetime,
    ) -> None:
        """:param told: what its owner is told"""
        leases.change(
            session,
            lease,
            now,
            claimed_by=None,
            due_at=min(_last(lease, self.options), now + SELDOM),
            status_reason=told,
        )

    def _last_reason(
        self, lease: objects.Lease, now: datetime.datetime
    ) -> str:
        try:
            window(lease, now)
        except exception.NotEnoughResources as error:
            return str(error)
        reason = lease.status_reason or 'It has waited in vain'
        return reason.removesuffix(_outlook(lease, self.options))

    def give_up(
        self, lease: objects.Lease, reason: str, now: datetime.datetime
    ) -> None:
        """End the wait of a lease that is held, and the claim.

        :raises: ClaimLost
        """
        with self._held(lease), self.database.writer() as session:
            leases.change(
                session,
                lease,
                now,
                status=states.Lease.ERROR,
                status_reason=reason,
                claimed_by=None,
                due_at=None,
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
            left(session, lease, now, self.types)
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

    @contextlib.contextmanager
    def _held(self, lease: objects.Lease) -> Iterator[None]:
        try:
            yield
        except exception.Conflict as error:
            raise exception.ClaimLost(
                id=lease.id, worker=lease.claimed_by
            ) from error


def _event_times(
    lease: objects.Lease, time: interval.Interval
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
