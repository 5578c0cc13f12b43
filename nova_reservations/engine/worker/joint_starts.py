# SPDX-License-Identifier: Apache-2.0
"""Starts of leases that are due in the same second, in one transaction."""

from collections.abc import Sequence
import datetime

from nova_reservations import objects
from nova_reservations import ports
from nova_reservations.db.holdings import allocations
from nova_reservations.db.leases import leases
from nova_reservations.engine import claimed_leases
from nova_reservations.engine import steps
from nova_reservations.engine.worker import bookings


def start(
    given: Sequence[claimed_leases.Claim],
    now: datetime.datetime,
    bookings: bookings.Bookings,
    notify: ports.Notifier,
) -> frozenset[str]:
    """Start the leases whose resources are ready, in one transaction;
    return their ids.

    Decision 0009: doc/source/decisions/0009-on-the-hour

    :raises: ClaimLost, CloudUnavailable: then none has started
    """
    database, options = bookings.database, bookings.options
    with database.reader() as session:
        found = {
            lease.id: lease
            for lease in leases.get_all(
                session, [claim.lease_id for claim in given]
            )
        }
        earlier = allocations.predecessors(session, found.values())
    ready = {
        claim.lease_id: claimed_leases.ClaimedLease(
            database, claim, found[claim.lease_id], now
        )
        for claim in given
        if claim.lease_id in found.keys() - earlier.keys()
        and _is_startable(claim, found[claim.lease_id], now, bookings)
    }
    for kind, booking in bookings.of([*ready.values()], now):
        if not kind.is_ready(booking):
            ready.pop(booking.lease.id, None)
    claimed_leases.activate(database, ready.values(), now, options, notify)
    return frozenset(ready)


def _is_startable(
    claim: claimed_leases.Claim,
    lease: objects.Lease,
    now: datetime.datetime,
    bookings: bookings.Bookings,
) -> bool:
    """Return whether only the start is left to do, if the resources are
    ready; the lease may have changed since it was claimed."""
    return (
        lease.attempt == claim.attempt
        and lease.claimed_by is not None
        # A lease of a switched-off type must not hold up the others.
        and bookings.knows(lease)
        and steps.starts_at_once(lease, now, bookings.options)
    )
