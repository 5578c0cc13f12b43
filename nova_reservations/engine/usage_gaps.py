# SPDX-License-Identifier: Apache-2.0
"""Closes gaps in the record of what leases had.

A worker of a release without the record starts and ends leases without
recording that, so gaps are looked for from time to time. Other workers leave
none.

Decision 0040: doc/source/decisions/0040-the-record-of-what-was-held
"""

from collections import defaultdict
from collections.abc import Collection
from collections.abc import Iterator
import datetime
import itertools

from oslo_log import log

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations.db import api
from nova_reservations.db import deleted_leases
from nova_reservations.db import lease_pages
from nova_reservations.db import leases
from nova_reservations.db import usage
from nova_reservations.db import usage_gaps as rows
from nova_reservations.objects import states

LOG = log.getLogger(__name__)

_Gap = tuple[str, Collection[str]]
"""The id of a lease, and ids of its reservations."""

PAGE = 100
"""The number of rows, or of leases, that are read at once."""

MOST = 1000
"""The most leases that are corrected at one look; the next look goes on."""


class UsageGaps:
    def __init__(self, database: api.Database) -> None:
        self.database = database

    def close(self, now: datetime.datetime) -> None:
        """Bring the record in line with what leases have, and have had."""
        done = 0
        not_ended = map(self._not_ended, rows.Kind)
        for lease_id, reservation_ids in itertools.chain(
            *not_ended, self._not_begun()
        ):
            done += self._correct(lease_id, reservation_ids, now)
            if done == MOST:
                break
        if done:
            LOG.info('The record of %d leases was corrected', done)

    def _not_ended(self, kind: rows.Kind) -> Iterator[_Gap]:
        """Yield leases that are over, but hold something by the record."""
        after = 0
        while True:
            with self.database.reader() as session:
                page = rows.going_on(session, kind, after, PAGE)
                ids = {row.lease_id for row in page}
                going_on = rows.not_over(session, kind, ids)
            over: dict[str, set[str]] = defaultdict(set)
            for row in page:
                if row.lease_id not in going_on:
                    over[row.lease_id].add(row.reservation_id)
            yield from over.items()
            if len(page) < PAGE:
                return
            after = page[-1].id

    def _not_begun(self) -> Iterator[_Gap]:
        """Yield active leases that hold something, but nothing by the
        record."""
        query = objects.LeaseQuery(statuses=(states.Lease.ACTIVE,), limit=PAGE)
        after = None
        while True:
            with self.database.reader() as session:
                found, after = lease_pages.page(session, query, after)
                ids = {
                    lease.id: {item.id for item in lease.reservations}
                    for lease in found
                    if not lease.is_window
                }
                every = set().union(*ids.values())
                held = usage.held(session, every)
                missing = held.keys() - usage.going_on(session, every).keys()
            for lease_id, its in ids.items():
                if its & missing:
                    yield lease_id, its
            if after is None:
                return

    def _correct(
        self,
        lease_id: str,
        reservation_ids: Collection[str],
        now: datetime.datetime,
    ) -> bool:
        try:
            with self.database.writer() as session:
                found = leases.get_all(session, [lease_id])
                if not found:
                    at = _end_of_deleted(session, lease_id, now)
                    return usage.end(session, reservation_ids, at)
                return _settle(session, found[0], now)
        except exception.Conflict:
            LOG.debug('Lease %s was changed meanwhile', lease_id)
            return False


def _settle(
    session: api.Session, seen: objects.Lease, now: datetime.datetime
) -> bool:
    """:raises: Conflict if somebody has written the lease since seen"""
    if seen.claimed_by is not None:
        # A worker is acting on the lease: the next look finds it again.
        return False
    is_active = seen.status == states.Lease.ACTIVE
    at = now if is_active else _end(seen, now)
    if not usage.settle(session, [seen], at):
        return False
    # Owners see no change, so ``updated_at`` stays.
    leases.change(session, seen, now, updated_at=seen.updated_at)
    return True


def _end_of_deleted(
    session: api.Session, lease_id: str, now: datetime.datetime
) -> datetime.datetime:
    """Return when a deleted lease had ended; now, if that is not known: a
    worker without the record does not keep deleted leases."""
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
