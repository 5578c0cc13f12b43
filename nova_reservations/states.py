# SPDX-License-Identifier: Apache-2.0
"""The states of leases, reservations and events, and what may follow what.

The tables here are the only ones; the diagram in the documentation and the
CHECK constraints of the database are made from them.
"""

import enum


class Lease(enum.StrEnum):
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
    ERROR = 'ERROR'
    """It could not start, or not end; status_reason says why."""


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
    Lease.PENDING: frozenset(
        {Lease.STARTING, Lease.ACTIVE, Lease.ERROR, Lease.DELETING}
    ),
    Lease.STARTING: frozenset({Lease.ACTIVE, Lease.ERROR, Lease.DELETING}),
    Lease.ACTIVE: frozenset({Lease.TERMINATING, Lease.DELETING}),
    Lease.TERMINATING: frozenset(
        {Lease.TERMINATED, Lease.ERROR, Lease.DELETING}
    ),
    Lease.ERROR: frozenset({Lease.TERMINATED, Lease.DELETING}),
    Lease.TERMINATED: frozenset(),
    Lease.DELETING: frozenset(),
}
"""PENDING to ACTIVE is the start of a lease that was prepared ahead; a
deleted lease that has nothing in Nova is gone with the answer."""

OPEN = frozenset({Lease.PENDING, Lease.STARTING, Lease.ACTIVE})
"""Leases whose promise still stands."""
