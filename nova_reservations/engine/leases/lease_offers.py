# SPDX-License-Identifier: Apache-2.0
"""Offers: windows in which a lease would be accepted at this moment.

Nothing is written, and nothing that is offered is held for the project.

Decision 0033: doc/source/decisions/0033-offers-are-planned
"""

from collections.abc import Callable
from collections.abc import Iterator
import dataclasses
import datetime
import heapq
import itertools
import time

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations.db import api
from nova_reservations.engine import budgets
from nova_reservations.engine import transactions
from nova_reservations.engine.booking import allocations
from nova_reservations.engine.booking import lease_requests
from nova_reservations.engine.booking import lease_terms
from nova_reservations.engine.booking import limits
from nova_reservations.engine.booking import means
from nova_reservations.engine.booking import parts
from nova_reservations.engine.leases import openings
from nova_reservations.objects import interval
from nova_reservations.planner import openings as planner


@dataclasses.dataclass(frozen=True, slots=True)
class OfferQuery:
    """:ivar start_after: the first time at which the lease may start.

    :ivar start_before: the last such time; None: any later time.
    :ivar limit: how many windows are wanted.
    :ivar review: refuses parts of its reservations that its user may not ask
        for.
    """

    project_id: str
    user_id: str
    reservations: tuple[lease_requests.NewReservation, ...]
    duration: datetime.timedelta
    start_after: datetime.datetime
    start_before: datetime.datetime | None
    limit: int
    review: parts.Review = parts.allow


@dataclasses.dataclass(frozen=True, slots=True)
class Offers:
    """:ivar windows: the earliest first.

    :ivar truncated: whether there may be more windows later.
    """

    windows: tuple[interval.Interval, ...]
    truncated: bool


@dataclasses.dataclass(eq=False)
class LeaseOffers(means.UseCase):
    """:ivar cpu: returns the seconds of CPU that this thread has used."""

    looks: openings.Openings
    cpu: Callable[[], float] = time.thread_time

    def find(self, wanted: OfferQuery, now: datetime.datetime) -> Offers:
        """Return windows in which the whole lease would be accepted now. The
        first is at the earliest possible start; each other one is at a time at
        which what is free changes, and is enough.

        :raises: InvalidInput, OverLimit
        :raises: CloudUnavailable if limits are not known
        """
        budget = budgets.Budget(cpu=self.cpu)
        draft = self._draft(wanted, now)
        guard = self.limits.guard(draft)
        found: list[interval.Interval] = []
        with self.database.reader() as session:
            outlook = guard.outlook(session, draft, now)
            guard.check_one_more(session, now)
            look = self.looks.look(session, draft, now, allocations.Terms())
            for start in self._starts(look, wanted, now):
                if budget.is_spent():
                    return Offers(tuple(found), truncated=True)
                window = interval.Interval(start, start + wanted.duration)
                if self._is_accepted(session, draft, window, outlook, budget):
                    found.append(window)
                if len(found) == wanted.limit:
                    return Offers(tuple(found), truncated=False)
        return Offers(tuple(found), truncated=not _knows_all(look, wanted))

    def _draft(
        self, wanted: OfferQuery, now: datetime.datetime
    ) -> objects.Lease:
        """:raises: InvalidInput"""
        _check_count(len(wanted.reservations))
        if (
            wanted.start_before is not None
            and wanted.start_before < wanted.start_after
        ):
            raise exception.InvalidInput(
                'start_before must not be earlier than start_after'
            )
        draft = self.requests.draft(
            lease_requests.NewLease(
                name='',
                project_id=wanted.project_id,
                user_id=wanted.user_id,
                start=wanted.start_after,
                end=wanted.start_after + wanted.duration,
                before_end=None,
                reservations=wanted.reservations,
                review=wanted.review,
            ),
            now,
        )
        _check_count(len(draft.reservations) - len(draft.wholes))
        return draft

    def _starts(
        self,
        look: openings.Prospects,
        wanted: OfferQuery,
        now: datetime.datetime,
    ) -> Iterator[datetime.datetime]:
        """Yield the starts that are worth trying."""
        last = min(
            filter(
                None,
                [
                    wanted.start_before,
                    lease_terms.last_start(self.options, now),
                ],
            ),
            default=None,
        )
        sweeps = [look.reservations]
        if self.options.replan_limit and all(
            prospect.demand.exclusive for prospect in look.reservations
        ):
            # If promises can move, no single resource needs to be free for the
            # whole window.
            sweeps.append(
                [planner.pooled(prospect) for prospect in look.reservations]
            )
        times = heapq.merge(
            *(
                planner.starts(
                    prospects,
                    wanted.start_after,
                    wanted.duration,
                    look.until,
                    sure=False,
                )
                for prospects in sweeps
            )
        )
        for start, _ in itertools.groupby(times):
            if last is not None and start > last:
                return
            yield start

    def _is_accepted(
        self,
        session: api.Session,
        draft: objects.Lease,
        window: interval.Interval,
        outlook: limits.Outlook,
        budget: budgets.Budget,
    ) -> bool:
        lease = dataclasses.replace(
            draft, start_date=window.start, end_date=window.end
        )
        try:
            planned = self.allocations.plan(
                session,
                lease,
                outlook.now,
                allocations.Terms(
                    attempt=transactions.Attempt(searches=True, budget=budget),
                    moves_promises=True,
                ),
                explain=False,
            )
        # Conflict: a waiting lease is being tried for these resources.
        except (
            exception.NotEnoughResources,
            exception.Conflict,
            exception.TooLong,
        ):
            return False
        return planned is None or (
            outlook.breach(
                [
                    limits.planned(
                        session, item, planned.slots[item.reservation_id]
                    )
                    for item in planned.wanted
                ]
            )
            is None
        )


def _check_count(reservations: int) -> None:
    """:raises: InvalidInput"""
    if reservations > openings.MOST:
        raise exception.InvalidInput(
            f'There are offers for leases with at most {openings.MOST} '
            'reservations, with the parts of some'
        )


def _knows_all(look: openings.Prospects, wanted: OfferQuery) -> bool:
    return look.until is None or (
        wanted.start_before is not None
        and look.knows(wanted.start_before, wanted.duration)
    )
