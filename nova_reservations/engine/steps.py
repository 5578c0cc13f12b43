# SPDX-License-Identifier: Apache-2.0
"""Steps of a lease: which one is next, and when, follows from the lease's row
and the time.

The engine looks at the state of a lease, not at messages of what happened. So
any worker can go on with a lease that another worker has left half-way.
"""

import dataclasses
import datetime
import enum
from typing import Self

from nova_reservations import objects
from nova_reservations.engine import settings
from nova_reservations.objects import states

ANSWER = datetime.timedelta(minutes=5)
"""The longest time of a request to create servers with a lease: no client
waits so long, and a server that it creates after that is refused."""

SOON = datetime.timedelta(seconds=1)
"""The time between two looks at something that should be over any moment."""

LATER = datetime.timedelta(seconds=5)
"""The time between two tries while Nova or placement does not answer."""

SELDOM = datetime.timedelta(seconds=60)
"""The time between two looks at something that an operator has to mend."""


class Step(enum.Enum):
    WAIT = 'see whether it may wait on'
    RESOLVE = 'find out whether Nova has made its servers'
    DRAIN = 'empty hosts for it'
    PREPARE = 'make its resources ready in Nova, before its time'
    START = 'give it its resources'
    MISS = 'give up a start that its own end has overtaken'
    UPDATE = 'bring Nova in line with resources that were added, or leave'
    BEFORE_END = 'do what was asked for before its end'
    END = 'take its resources back'


@dataclasses.dataclass(frozen=True, slots=True)
class Again:
    """The lease is looked at anew, at once, by the same worker."""


@dataclasses.dataclass(frozen=True, slots=True)
class Wait:
    """The lease is given back, and looked at later.

    :ivar reason: what the lease waits for, for its owner to read; None: keep
        what was written before.
    """

    reason: objects.Reason | None
    length: datetime.timedelta

    @classmethod
    def plain(cls, told: str, length: datetime.timedelta) -> Self:
        """Return a wait of which operators learn no more than the owner."""
        return cls(objects.Reason.plain(told), length)


@dataclasses.dataclass(frozen=True, slots=True)
class Over:
    """The step has given the lease back, with its last record."""


Next = Again | Wait | Over
"""The result of a step."""


def step(
    lease: objects.Lease, now: datetime.datetime, options: settings.Settings
) -> Step | None:
    """Return what a worker has to do for the lease now, if anything."""
    match lease.status:
        case states.Lease.CREATING if lease.server_reservation is not None:
            return Step.RESOLVE if now >= _unanswered_at(lease) else None
        case states.Lease.CREATING:
            return Step.WAIT
        case states.Lease.IN_PROGRESS:
            return Step.DRAIN
        case states.Lease.PENDING | states.Lease.STARTING:
            return _before_start(lease, now, options)
        case states.Lease.ACTIVE:
            return _while_active(lease, now)
        case states.Lease.TERMINATING if _is_warned_at(lease, now):
            # What was asked for can still be done while the servers exist.
            return Step.BEFORE_END
        case states.Lease.TERMINATING | states.Lease.DELETING:
            return Step.END
        case states.Lease.ERROR if lease.in_nova:
            return Step.END
    return None


def starts_at_once(
    lease: objects.Lease, now: datetime.datetime, options: settings.Settings
) -> bool:
    """Return whether the start is all that has to be done, and takes no
    time."""
    return (
        step(lease, now, options) is Step.START
        and lease.prepared
        # A start of servers takes time, which is counted from STARTING on.
        and lease.server_reservation is None
    )


def _before_start(
    lease: objects.Lease, now: datetime.datetime, options: settings.Settings
) -> Step | None:
    if lease.is_deserted:
        return Step.END
    if now >= lease.end_date:
        return Step.MISS
    if now >= lease.start_date:
        return Step.START
    if now >= _prepared_from(lease, options) and not lease.prepared:
        return Step.PREPARE
    return None


def _prepared_from(
    lease: objects.Lease, options: settings.Settings
) -> datetime.datetime:
    if lease.server_reservation is not None:
        # Its servers exist already, and have to be shelved until the start.
        return lease.created_at
    return lease.start_date - options.prepare_ahead


def _unanswered_at(lease: objects.Lease) -> datetime.datetime:
    return lease.created_at + ANSWER


def _while_active(lease: objects.Lease, now: datetime.datetime) -> Step | None:
    if now >= lease.end_date or lease.is_deserted:
        return Step.END
    if _is_warned_at(lease, now):
        return Step.BEFORE_END
    if not lease.prepared:
        return Step.UPDATE
    return None


def _is_warned_at(lease: objects.Lease, now: datetime.datetime) -> bool:
    """Return whether the actions before its end have to be done now."""
    warning = lease.event(states.EventType.BEFORE_END)
    return (
        warning is not None
        and now >= warning.time
        and warning.status in (states.Event.UNDONE, states.Event.IN_PROGRESS)
    )


def due_at(
    lease: objects.Lease, now: datetime.datetime, options: settings.Settings
) -> datetime.datetime | None:
    """Return when a worker must look at the lease next; None: never."""
    if step(lease, now, options) is not None:
        return now
    if lease.status == states.Lease.CREATING:
        return _unanswered_at(lease)
    if lease.status in (states.Lease.PENDING, states.Lease.STARTING):
        # A STARTING lease gets here only if the database's clock was set back.
        if lease.prepared or not options.prepare_ahead:
            return lease.start_date
        return lease.start_date - options.prepare_ahead
    if lease.status == states.Lease.ACTIVE:
        warning = lease.event(states.EventType.BEFORE_END)
        if warning is not None and warning.status == states.Event.UNDONE:
            return min(lease.end_date, warning.time)
        return lease.end_date
    return None


def due_after_change(
    lease: objects.Lease, now: datetime.datetime, options: settings.Settings
) -> datetime.datetime | None:
    """Return when a worker must look at a lease that is changed now: one that
    holds it finds the change when it is done."""
    if lease.claimed_by is not None:
        return lease.due_at
    return due_at(lease, now, options)


def due_now(
    lease: objects.Lease, now: datetime.datetime
) -> datetime.datetime | None:
    """Return the same if a worker must look at the change at once."""
    return now if lease.claimed_by is None else lease.due_at


def put_off(
    lease: objects.Lease, now: datetime.datetime, wait: datetime.timedelta
) -> datetime.datetime:
    """Return when a lease that waits is due: after the wait, or at its next
    event if that is sooner."""
    coming = [event.time for event in lease.events if event.time > now]
    return min([now + wait, *coming])
