# SPDX-License-Identifier: Apache-2.0
"""States of leases, reservations and events, and the transitions between
them.

The tables here are the only ones: the diagram in the documentation and the
CHECK constraints of the database are made from them, and
``db/leases/leases.py`` writes no status that they do not allow.
"""

from collections.abc import Mapping
import enum
from typing import Any

from nova_reservations import exception


class LeaseType(enum.StrEnum):
    """The types of leases: they say when a lease must get its resources."""

    IMMEDIATE = 'immediate'
    """Now, or not at all."""
    SCHEDULED = 'scheduled'
    """Promised now, for later."""
    RETRY = 'retry'
    """Now if possible, else as soon as there is capacity."""
    BEST_EFFORT = 'best_effort'
    """Now, also if other hosts have to be emptied for it."""


class Lease(enum.StrEnum):
    CREATING = 'CREATING'
    """It waits for capacity, and has none yet; or for Nova to accept the
    servers that carry it."""
    IN_PROGRESS = 'IN_PROGRESS'
    """Hosts are being emptied for it."""
    PENDING = 'PENDING'
    """Promised; its time has not come, or its hosts are still being left."""
    STARTING = 'STARTING'
    """A worker is giving it its resources."""
    ACTIVE = 'ACTIVE'
    """Its servers may land on its resources."""
    TERMINATING = 'TERMINATING'
    """Its time is over; its servers are leaving."""
    TERMINATED = 'TERMINATED'
    """Nothing of it is left in Nova."""
    DELETING = 'DELETING'
    """Deleted by its owner; gone when nothing of it is left in Nova."""
    TIMEDOUT = 'TIMEDOUT'
    """Not enough hosts could be emptied for it in time."""
    ERROR = 'ERROR'
    """It got no capacity, could not start, or not end; status_reason says
    why."""


class Role(enum.StrEnum):
    """The roles of resources."""

    POOL = 'pool'
    """Enrolled: it is there for leases alone."""
    DRAINABLE = 'drainable'
    """Everybody's, unless it is emptied for a best effort lease."""


class Reservation(enum.StrEnum):
    PENDING = 'pending'
    ACTIVE = 'active'
    DELETED = 'deleted'
    ERROR = 'error'


class EventType(enum.StrEnum):
    START = 'start_lease'
    BEFORE_END = 'before_end_lease'
    END = 'end_lease'


class Event(enum.StrEnum):
    UNDONE = 'UNDONE'
    IN_PROGRESS = 'IN_PROGRESS'
    DONE = 'DONE'
    ERROR = 'ERROR'


LEASE_TRANSITIONS: dict[Lease, frozenset[Lease]] = {
    Lease.CREATING: frozenset({Lease.PENDING, Lease.ERROR, Lease.DELETING}),
    Lease.IN_PROGRESS: frozenset(
        {Lease.PENDING, Lease.TIMEDOUT, Lease.ERROR, Lease.DELETING}
    ),
    Lease.PENDING: frozenset(
        {
            Lease.STARTING,
            Lease.ACTIVE,
            Lease.TERMINATING,
            Lease.ERROR,
            Lease.DELETING,
        }
    ),
    Lease.STARTING: frozenset(
        {Lease.ACTIVE, Lease.TERMINATING, Lease.ERROR, Lease.DELETING}
    ),
    Lease.ACTIVE: frozenset({Lease.TERMINATING, Lease.DELETING}),
    Lease.TERMINATING: frozenset(
        {Lease.TERMINATED, Lease.ERROR, Lease.DELETING}
    ),
    Lease.TIMEDOUT: frozenset({Lease.DELETING}),
    Lease.ERROR: frozenset({Lease.TERMINATED, Lease.DELETING}),
    Lease.TERMINATED: frozenset(),
    Lease.DELETING: frozenset(),
}
"""PENDING to ACTIVE is the start of a lease that was prepared ahead; a
deleted lease that has nothing in Nova is gone with the answer. PENDING and
STARTING to TERMINATING is the end of a lease whose servers were all deleted;
CREATING to DELETING that of one whose servers Nova has refused."""

RESERVATION_TRANSITIONS: dict[Reservation, frozenset[Reservation]] = {
    Reservation.PENDING: frozenset(
        {Reservation.ACTIVE, Reservation.DELETED, Reservation.ERROR}
    ),
    Reservation.ACTIVE: frozenset({Reservation.DELETED, Reservation.ERROR}),
    Reservation.ERROR: frozenset({Reservation.DELETED}),
    Reservation.DELETED: frozenset(),
}
"""PENDING to DELETED is the end of one that has never started; ACTIVE to ERROR
that of a part, where what it is part of could not be started."""

EVENT_TRANSITIONS: dict[Event, frozenset[Event]] = {
    Event.UNDONE: frozenset({Event.IN_PROGRESS, Event.DONE, Event.ERROR}),
    Event.IN_PROGRESS: frozenset({Event.DONE, Event.ERROR, Event.UNDONE}),
    Event.DONE: frozenset({Event.UNDONE, Event.ERROR}),
    Event.ERROR: frozenset({Event.UNDONE}),
}
"""Every state goes back to UNDONE: an update has moved the event to a time
that is still to come. UNDONE to DONE is the start of a lease that was
prepared ahead; UNDONE to ERROR that of one that got no resources. DONE to
ERROR is an event that somebody was to be told of, and could not be."""

# Keyed by type, because members of different types are equal if their values
# are.
_TRANSITIONS: Mapping[type[enum.StrEnum], Mapping[Any, frozenset[Any]]] = {
    Lease: LEASE_TRANSITIONS,
    Reservation: RESERVATION_TRANSITIONS,
    Event: EVENT_TRANSITIONS,
}


def check(
    old: Lease | Reservation | Event,
    new: Lease | Reservation | Event,
    of: str,
) -> None:
    """Check a change of state; to stay in a state is always allowed.

    :param of: the id of what changes its state
    :raises: InvalidTransition
    """
    if new != old and new not in _TRANSITIONS[type(old)][old]:
        raise exception.InvalidTransition(
            kind=type(old).__name__, id=of, old=old, new=new
        )


WAITING = frozenset({Lease.CREATING, Lease.IN_PROGRESS})
"""Leases that have been promised nothing yet."""

FIRST = WAITING | {Lease.PENDING}
"""The states in which leases begin."""

OPEN = frozenset({Lease.PENDING, Lease.STARTING, Lease.ACTIVE})
"""Leases whose promise still stands."""

LIVE = WAITING | OPEN
"""Leases whose time is not over."""

COMING = frozenset({Lease.PENDING, Lease.STARTING})
"""Leases that are promised, and have not started."""

LETTING_IN = frozenset({Lease.STARTING, Lease.ACTIVE})
"""Leases whose active reservations servers may land in: parts are active
before what they are part of has started."""

ENDING = frozenset({Lease.TERMINATING, Lease.DELETING})
"""Leases that give back all that they have."""

OVER = frozenset({Lease.TERMINATED, Lease.TIMEDOUT, Lease.ERROR})
"""Leases that nothing more will be done for, if nothing of them is left in
Nova."""


class Hold(enum.StrEnum):
    """The reasons why no new lease gets a resource that has not failed.

    Decision 0019: doc/source/decisions/0019-disabled-is-no-failure
    """

    DISABLED = 'disabled'
    DOWN = 'down'


class UnusedAction(enum.StrEnum):
    """The actions on leases that nobody uses."""

    NOTIFY = 'notify'
    END = 'end'


class HealActive(enum.StrEnum):
    """The resources of active leases that are replaced without being asked
    for."""

    FAILED = 'failed'
    FORCED_DOWN = 'forced_down'
    NEVER = 'never'
