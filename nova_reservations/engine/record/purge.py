# SPDX-License-Identifier: Apache-2.0
"""Deletes old leases and old records, as options say or an operator asks.

Each batch is a transaction of its own, and has only whole leases. A purge that
is interrupted leaves nothing half deleted; the next one deletes the rest.

Decision 0045: doc/source/decisions/0045-whole-leases-are-purged
"""

from collections import Counter
from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import datetime
import itertools

from oslo_log import log

from nova_reservations.db import api
from nova_reservations.db.leases import idempotency
from nova_reservations.db.record import refused_leases
from nova_reservations.db.upkeep import purge as rows
from nova_reservations.engine import settings
from nova_reservations.engine import transactions

LOG = log.getLogger(__name__)

TASK = 'purge'

INTERVAL = datetime.timedelta(hours=1)

LEASES = 50
"""The most leases of a batch."""

ROWS = 1000
"""The most rows of a batch of what does not belong to a lease."""

MEMORY = datetime.timedelta(days=1)
"""How long the ids of reservations of deleted leases that had not begun are
known: a worker that was suspended for longer is gone."""

MOST = 500
"""The most batches of a run of the periodic task; the next run goes on."""

KINDS = (
    'leases',
    'reservations',
    'events',
    'allocations',
    'servers',
    'deleted leases',
    'refusals',
    'idempotency keys',
    'records',
)
"""The kinds of rows that are deleted, as they are counted."""


@dataclasses.dataclass(frozen=True, slots=True)
class Cutoffs:
    """The times before which something must be over to be deleted; None:
    nothing of the kind is deleted.

    :ivar leases: for leases that are over, or were deleted by their owners.
    :ivar records: for the record of what was held and used.
    :ivar requests: for refused requests, and idempotency keys.
    """

    leases: datetime.datetime | None = None
    records: datetime.datetime | None = None
    requests: datetime.datetime | None = None


_Act = Callable[[api.Session, Sequence[str]], Mapping[str, int]]


@dataclasses.dataclass(eq=False)
class Purge:
    database: api.Database
    options: settings.Settings

    def run(self, now: datetime.datetime) -> None:
        """Delete what is older than the options say, up to a limit."""
        done = self.purge(
            Cutoffs(
                _before(now, self.options.lease_retention),
                _before(now, self.options.usage_retention),
            ),
            MOST,
        )
        self._rows(rows.remove_promises, now - MEMORY, MOST)
        if any(done.values()):
            LOG.info(
                'Purged: %s',
                ', '.join(f'{n} {kind}' for kind, n in done.items() if n),
            )

    def purge(self, asked: Cutoffs, most: int | None = None) -> dict[str, int]:
        """Delete what is asked for; return kind -> number of rows, for all
        KINDS.

        :param most: the most batches of each kind; None: no limit
        :raises: Contended
        """
        done = Counter(dict.fromkeys(KINDS, 0))
        if asked.leases is not None:
            done.update(self._leases(asked.leases, most, rows.remove))
        for kind, remove, before in (
            ('deleted leases', rows.remove_deleted, asked.leases),
            ('refusals', refused_leases.remove, asked.requests),
            ('idempotency keys', idempotency.remove, asked.requests),
            ('records', rows.remove_records, asked.records),
        ):
            if before is not None:
                done[kind] = self._rows(remove, before, most)
        return dict(done)

    def count(self, asked: Cutoffs) -> dict[str, int]:
        """Return what a purge would delete now."""
        found = Counter(dict.fromkeys(KINDS, 0))
        if asked.leases is not None:
            found.update(self._leases(asked.leases, None, rows.count))
        with self.database.reader() as session:
            for kind, before in (
                ('deleted leases', asked.leases),
                ('refusals', asked.requests),
                ('idempotency keys', asked.requests),
                ('records', asked.records),
            ):
                if before is not None:
                    found[kind] = rows.count_old(session, kind, before)
        return dict(found)

    def _leases(
        self, before: datetime.datetime, most: int | None, act: _Act
    ) -> Counter[str]:
        """Act on leases that are over; return kind -> number of rows."""
        done: Counter[str] = Counter()
        after: rows.Ended | None = None
        for _ in _batches(most):
            found, acted_on = self._batch(before, after, act)
            done.update(acted_on)
            if len(found) < LEASES:
                break
            after = found[-1]
        return done

    def _batch(
        self, before: datetime.datetime, after: rows.Ended | None, act: _Act
    ) -> tuple[list[rows.Ended], Mapping[str, int]]:
        """Act on the first leases after a position in the order."""

        def attempt(
            session: api.Session,
        ) -> tuple[list[rows.Ended], Mapping[str, int]]:
            found = rows.ended(session, before, LEASES, after)
            ids = rows.gone(session, [each.lease_id for each in found])
            return found, act(session, ids) if ids else {}

        return transactions.write(self.database, attempt)

    def _rows(
        self,
        remove: Callable[[api.Session, datetime.datetime, int], int],
        before: datetime.datetime,
        most: int | None,
    ) -> int:
        done = 0
        for _ in _batches(most):
            removed = transactions.write(self.database, remove, before, ROWS)
            done += removed
            if removed < ROWS:
                break
        return done


def _batches(most: int | None) -> Iterator[int]:
    return itertools.count() if most is None else iter(range(most))


def _before(
    now: datetime.datetime, kept: datetime.timedelta | None
) -> datetime.datetime | None:
    return None if kept is None else now - kept
