# SPDX-License-Identifier: Apache-2.0
"""Series: leases that repeat daily or weekly, booked in one transaction.

Each lease is an ordinary one; they have the ``series_id`` in common.

Decision 0035: doc/source/decisions/0035-a-series-is-one-booking
"""

from collections.abc import Sequence
import dataclasses
import datetime

from oslo_log import log

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations.db import api
from nova_reservations.db.holdings import allocations as allocations_db
from nova_reservations.db.leases import freed_capacity
from nova_reservations.db.leases import idempotency
from nova_reservations.db.leases import leases as leases_db
from nova_reservations.engine import transactions
from nova_reservations.engine.booking import lease_requests
from nova_reservations.engine.booking import means
from nova_reservations.engine.booking import replanning
from nova_reservations.engine.leases import at_once
from nova_reservations.engine.leases import enforcement
from nova_reservations.engine.leases import idempotency as repeats
from nova_reservations.engine.leases import leases
from nova_reservations.engine.leases import refusal_counts
from nova_reservations.engine.leases import series_plans
from nova_reservations.objects import ids
from nova_reservations.objects import requirements
from nova_reservations.objects import states
from nova_reservations.planner import recurrence

LOG = log.getLogger(__name__)

MOST_LEASES = recurrence.MOST

MOST_RESERVATIONS = 128
"""The most reservations of all leases together: each takes some queries."""

MOST_RESOURCES = 4096
"""The most resources that all leases together may take: each is a row."""

MOST_COMPARISONS = 2048
"""The most comparisons in the requirements of all leases together: each is in
some queries."""


@dataclasses.dataclass(frozen=True, slots=True)
class Repeat(recurrence.Rule):
    """:ivar partial: whether the leases that fit are wanted if not all fit."""

    partial: bool = False


@dataclasses.dataclass(frozen=True, slots=True)
class Made:
    """:ivar leases: those of the series, in the order of their start.

    :ivar refused: None: an earlier request has made the leases, and was told
        what was refused.
    """

    leases: Sequence[objects.Lease]
    refused: Sequence[series_plans.Refused] | None


@dataclasses.dataclass(frozen=True, slots=True)
class Left:
    """A lease that is not deleted yet.

    :ivar why: the reason if its deletion was refused; None: it is going on.
    """

    lease: objects.Lease
    why: str | None


@dataclasses.dataclass(eq=False)
class Series(means.UseCase):
    single: leases.Leases
    enforcement: enforcement.Enforcement
    at_once: at_once.AtOnce

    def get(self, series_id: str) -> list[objects.Lease]:
        """Return the leases of the series, in the order of their start.

        :raises: NotFound
        """
        with self.database.reader() as session:
            found = leases_db.of_series(session, series_id)
        if not found:
            raise exception.NotFound(kind='Series', id=series_id)
        return found

    @refusal_counts.counted
    def create(
        self,
        asked: lease_requests.NewLease,
        repeat: Repeat,
        now: datetime.datetime,
        *,
        dry_run: bool = False,
    ) -> Made:
        """Promise all leases of the series, or those that fit. If a request
        with the same key has made a series, return that one.

        :param asked: the first lease
        :param dry_run: whether only to return, or raise, what would be.
        :raises: InvalidInput, InvalidState, NotEnoughResources, Contended,
            OverLimit, KeyReused, RequestUnderWay
        :raises: CloudUnavailable if limits are not known
        """
        if asked.key and (first := repeats.made(self.database, asked.key)):
            found = self.get(first.series_id or '')
            self.at_once.make(found, now)
            return Made(found, refused=None)
        _check_type(asked)
        drafts = [
            self.at_once.marked(draft, now)
            for draft in self.requests.drafts(_repeated(asked, repeat), now)
        ]
        self._check_size(drafts)
        guard = self.limits.guard(drafts[0])
        if not dry_run:
            for lease in drafts:
                self.enforcement.check_new(lease, now)

        def book(attempt: transactions.Attempt) -> Made:
            with self.transaction(dry_run=dry_run) as session:
                guard.begin(session)
                if asked.key:
                    idempotency.insert(session, asked.key, drafts[0].id, now)
                attempt.begin(session)
                made = self._book(session, drafts, repeat, now, attempt)
                guard.check_all(session, made.leases, now)
                if asked.key:
                    idempotency.point(session, asked.key, made.leases[0].id)
                return made

        try:
            made = transactions.book(self.database, book, dry_run=dry_run)
        except exception.Repeated:
            # The other request's series exists now, or is deleted already.
            return self.create(asked, repeat, now)
        if not dry_run:
            for lease in made.leases:
                self.single.tell_created(lease)
            self.at_once.make(made.leases, now)
        return made

    def _book(
        self,
        session: api.Session,
        drafts: Sequence[objects.Lease],
        repeat: Repeat,
        now: datetime.datetime,
        attempt: transactions.Attempt,
    ) -> Made:
        """:raises: InvalidInput, NotEnoughResources, Conflict"""
        plans = series_plans.plan(
            self.allocations,
            session,
            drafts,
            now,
            attempt,
            partial=repeat.partial,
        )
        refused = {each.lease.id for each in plans.refused}
        made = [lease for lease in drafts if lease.id not in refused]
        # The guard of the booking must come before anything is written.
        allocations_db.advance(session, plans.generations)
        leases_db.insert(session, *made)
        if plans.moved is not None:
            replanning.write(session, plans.moved, now, self.options)
        for planned in plans.planned.values():
            self.allocations.write(session, planned, {}, now)
        if plans.moved is not None and plans.moved.left:
            freed_capacity.freed(session, now, plans.moved.left)
        return Made(made, plans.refused)

    def _check_size(self, drafts: Sequence[objects.Lease]) -> None:
        """:raises: InvalidInput for a series that is too large to plan"""
        first, count = drafts[0], len(drafts)
        if count * len(first.reservations) > MOST_RESERVATIONS:
            raise exception.InvalidInput(
                f'A series can have {MOST_RESERVATIONS} reservations in all: '
                f'{count} leases have '
                f'{MOST_RESERVATIONS // count} each, at most'
            )
        demanded = self.types.planned(first)
        wanted = sum(demand.maximum for demand in demanded.values())
        if count * wanted > MOST_RESOURCES:
            raise exception.InvalidInput(
                f'A series can ask for {MOST_RESOURCES} hosts or slots in '
                f'all: {count} leases for {MOST_RESOURCES // count} each, at '
                'most'
            )
        compared = sum(
            requirements.size(demand.requirements)
            for demand in demanded.values()
        )
        if count * compared > MOST_COMPARISONS:
            raise exception.InvalidInput(
                f'The requirements of a series can have {MOST_COMPARISONS} '
                f'comparisons in all: {count} leases have '
                f'{MOST_COMPARISONS // count} each, at most'
            )

    def delete(
        self,
        series_id: str,
        now: datetime.datetime,
        since: datetime.datetime | None = None,
    ) -> list[Left]:
        """Delete leases of the series, each by itself; return those that are
        left because their servers have to leave first, or because they can't
        be deleted now.

        If a request was cut off, another one goes on where it stopped.

        :param since: only those that start then or later; None: all
        :raises: NotFound
        """
        refused: dict[str, str] = {}
        for lease in _since(self.get(series_id), since):
            try:
                self.single.delete(lease.id, now)
            except exception.NotFound:
                LOG.info('Lease %s was deleted meanwhile', lease.id)
            except (exception.InvalidState, exception.Contended) as refusal:
                refused[lease.id] = refusal.public
        with self.database.reader() as session:
            left = leases_db.of_series(session, series_id)
        return [
            Left(lease, refused.get(lease.id)) for lease in _since(left, since)
        ]


def _since(
    found: Sequence[objects.Lease], since: datetime.datetime | None
) -> list[objects.Lease]:
    return [
        lease for lease in found if since is None or lease.start_date >= since
    ]


def _repeated(
    asked: lease_requests.NewLease, repeat: Repeat
) -> list[lease_requests.NewLease]:
    """Return the requests for all leases of a series.

    An end that was given keeps its local time; a duration stays as long. All
    that was given is moved by the same number of days.

    :raises: InvalidInput
    """
    zone = recurrence.zone(repeat.timezone)
    delays = recurrence.later(asked.start, repeat)

    def again(time: datetime.datetime) -> list[datetime.datetime]:
        return recurrence.repeated(time, delays, zone)

    starts = again(asked.start)
    if asked.duration is None:
        ends = again(asked.end)
    else:
        ends = recurrence.after(starts, asked.duration)
    warnings: list[datetime.datetime] | list[None] = [None] * len(delays)
    if asked.before_end is not None:
        warnings = again(asked.before_end)
    series_id = ids.new()
    return [
        dataclasses.replace(
            asked,
            start=start,
            end=end,
            before_end=warning,
            series_id=series_id,
        )
        for start, end, warning in zip(starts, ends, warnings, strict=True)
    ]


def _check_type(asked: lease_requests.NewLease) -> None:
    """:raises: InvalidInput"""
    if asked.lease_type not in (None, states.LeaseType.SCHEDULED):
        raise exception.InvalidInput(
            f'Leases of type {asked.lease_type} do not repeat: leave out '
            'lease_type, or repeat'
        )
