# SPDX-License-Identifier: Apache-2.0
"""The states of leases, reservations and events, and what may follow what.

The tables here are the only ones; the diagram in the documentation and the
CHECK constraints of the database are made from them.
"""

import enum


class LeaseType(enum.StrEnum):
    """When the resources of a lease must be had."""

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
    """What a resource is to leases."""

    POOL = 'pool'
    """Enrolled: it is there for leases alone."""
    DRAINABLE = 'donor'
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

WAITING = frozenset({Lease.CREATING, Lease.IN_PROGRESS})
"""Leases that have been promised nothing yet."""

FIRST = WAITING | {Lease.PENDING}
"""The states in which leases begin."""

OPEN = frozenset({Lease.PENDING, Lease.STARTING, Lease.ACTIVE})
"""Leases whose promise still stands."""

OVER = frozenset({Lease.TERMINATED, Lease.TIMEDOUT, Lease.ERROR})
"""Leases that nothing more will be done for, if nothing of them is left in
Nova."""


class Hold(enum.StrEnum):
    """Why no new lease gets a resource that has not failed."""

    DISABLED = 'disabled'
    DOWN = 'down'


class HealActive(enum.StrEnum):
    """What active leases get something else in place of by themselves."""

    FAILED = 'failed'
    FORCED_DOWN = 'forced_down'
    NEVER = 'never'
