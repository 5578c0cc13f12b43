# SPDX-License-Identifier: Apache-2.0
"""Ends the record of servers that came while their lease ended.

The nodes of a Galera cluster do not know of each other's locks. So one may let
a server into a lease that another one ends at the same time.

Decision 0040: doc/source/decisions/0040-the-record-of-what-was-held
"""

from collections import defaultdict
from collections.abc import Collection
from collections.abc import Iterator
import datetime

from oslo_log import log

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations.db import api
from nova_reservations.db.leases import deleted_leases
from nova_reservations.db.leases import leases
from nova_reservations.db.record import server_usage
from nova_reservations.objects import states

LOG = log.getLogger(__name__)

PAGE = 100
"""The number of rows that are read at once."""

MOST = 1000
"""The most leases that are corrected at one look; the next look goes on."""


def end(database: api.Database, now: datetime.datetime) -> None:
    """Let servers of leases that are over count until their end."""
    done = 0
    for lease_id, reservation_ids in _over(database):
        done += _correct(database, lease_id, reservation_ids, now)
        if done == MOST:
            break
    if done:
        LOG.info('The servers of %d leases that are over ended', done)


def _over(database: api.Database) -> Iterator[tuple[str, Collection[str]]]:
    """Yield leases that are over, each with those of its reservations that
    have servers by the record."""
    after = 0
    while True:
        with database.reader() as session:
            page = server_usage.going_on(session, after, PAGE)
            ids = {row.lease_id for row in page}
            open_leases = server_usage.not_over(session, ids)
        over: dict[str, set[str]] = defaultdict(set)
        for row in page:
            if row.lease_id not in open_leases:
                over[row.lease_id].add(row.reservation_id)
        yield from over.items()
        if len(page) < PAGE:
            return
        after = page[-1].id


def _correct(
    database: api.Database,
    lease_id: str,
    reservation_ids: Collection[str],
    now: datetime.datetime,
) -> bool:
    try:
        with database.writer() as session:
            found = leases.get_all(session, [lease_id])
            if not found:
                at = _end_of_deleted(session, lease_id, now)
                return server_usage.end(session, reservation_ids, at)
            return _end_in(session, found[0], reservation_ids, now)
    except exception.Conflict:
        LOG.debug('Lease %s was changed meanwhile', lease_id)
        return False


def _end_in(
    session: api.Session,
    seen: objects.Lease,
    reservation_ids: Collection[str],
    now: datetime.datetime,
) -> bool:
    """:raises: Conflict if somebody has written the lease since seen"""
    if seen.claimed_by is not None or seen.status in server_usage.LETS_IN:
        # A worker is acting on the lease: the next look finds it again.
        return False
    if not server_usage.end(session, reservation_ids, _end(seen, now)):
        return False
    # Owners see no change, so ``updated_at`` stays.
    leases.change(session, seen, now, updated_at=seen.updated_at)
    return True


def _end_of_deleted(
    session: api.Session, lease_id: str, now: datetime.datetime
) -> datetime.datetime:
    """Return when a deleted lease had ended; now, if that is not known any
    more."""
    try:
        lease = deleted_leases.get(session, lease_id)
    except exception.NotFound:
        return now
    return _end(lease, lease.deleted_at or now)


def _end(lease: objects.Lease, latest: datetime.datetime) -> datetime.datetime:
    """Return when a lease that is over had ended: nothing counts beyond its
    ``end_date``."""
    times = [latest, lease.end_date]
    end = lease.event(states.EventType.END)
    if (
        end is not None
        and end.status != states.Event.UNDONE
        and end.updated_at is not None
    ):
        times.append(end.updated_at)
    return min(times)
