# SPDX-License-Identifier: Apache-2.0
"""Plans of a series: each of its leases gets resources, beside the others.

Nothing is written before the generations of all resources of all leases are
compared and set, once, in the order of their ids. So a plan can not be read
back from the database: each lease is told what planned leases take that
overlap it.

Decision 0035: doc/source/decisions/0035-a-series-is-one-booking
"""

from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import datetime
import functools

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations.db import api
from nova_reservations.engine import budgets
from nova_reservations.engine import transactions
from nova_reservations.engine.booking import allocations
from nova_reservations.engine.booking import queue
from nova_reservations.engine.booking import replanning
from nova_reservations.objects import amounts
from nova_reservations.objects import interval
from nova_reservations.objects import search

_Planned = dict[str, allocations.Planned]
"""Lease id -> what it gets."""


@dataclasses.dataclass(frozen=True, slots=True)
class Refused:
    """A lease of a series for which there is no room, and why."""

    lease: objects.Lease
    why: exception.NotEnoughResources


@dataclasses.dataclass(frozen=True, slots=True)
class Plans:
    """:ivar planned: lease id -> what it gets, of leases that need resources.

    :ivar moved: the promises of others that move for the series.
    """

    planned: Mapping[str, allocations.Planned]
    refused: Sequence[Refused]
    moved: replanning.Found | None = None

    @property
    def moves(self) -> bool:
        return self.moved is not None and bool(self.planned)

    @property
    def generations(self) -> dict[int, int]:
        """Resource id -> generation, of all that changes."""
        found = dict(self.moved.generations) if self.moved else {}
        for each in self.planned.values():
            for key, generation in each.generations.items():
                # Plans may have read a resource at different generations: the
                # oldest one must still be valid.
                found[key] = min(generation, found.get(key, generation))
        return found


def plan(
    plans: allocations.Allocations,
    session: api.Session,
    drafts: Sequence[objects.Lease],
    now: datetime.datetime,
    attempt: transactions.Attempt,
    *,
    partial: bool,
) -> Plans:
    """Return what each of the leases gets, or that it is refused. Nothing is
    written.

    :param drafts: in the order of their start
    :param partial: whether to plan the other leases if one is refused
    :raises: Conflict, InvalidInput
    :raises: Crowded if room is to be searched outside of the transaction
    """
    if isinstance(attempt.room, Plans):
        # Workers may have begun to try leases since the room was found.
        _check_queue(session, drafts, now)
        return attempt.room
    series = _Series(plans, drafts, now, attempt, partial)
    if attempt.searches:
        return series.search_room(session)
    return series.plan(session)


@dataclasses.dataclass(eq=False)
class _Series:
    """Plans for the leases of one series, one after the other.

    :ivar partial: whether to plan the other leases if one is refused.
    """

    plans: allocations.Allocations
    drafts: Sequence[objects.Lease]
    now: datetime.datetime
    attempt: transactions.Attempt
    partial: bool
    planned: _Planned = dataclasses.field(default_factory=dict, init=False)
    refused: list[Refused] = dataclasses.field(
        default_factory=list, init=False
    )

    def plan(self, session: api.Session) -> Plans:
        """Return the plans if there is room for all leases as it is.

        :raises: Conflict, InvalidInput, Crowded
        """
        for number, lease in enumerate(self.drafts):
            try:
                self._plan(session, lease, explain=False)
            except exception.NotEnoughResources:
                raise exception.Crowded(
                    functools.partial(self.search_room, first=number),
                    id=lease.id,
                ) from None
        return Plans(self.planned, ())

    def search_room(
        self,
        session: api.Session,
        first: int = 0,
    ) -> Plans:
        """Return the plans, in which promises may move, and refusals with
        their reasons.

        :param first: the number of the first lease that is not planned yet
        :raises: Conflict, InvalidInput
        :raises: NotEnoughResources if nothing is to be written
        """
        budget = self.attempt.budget or budgets.Budget()
        for lease in self.drafts[first:]:
            try:
                self._plan(session, lease, explain=True)
            except exception.NotEnoughResources as refusal:
                if self._might_move(session, lease, budget):
                    return self._checked(self._move(session, budget))
                self.refused.append(Refused(lease, refusal))
                if not self.partial:
                    break
        return self._checked(Plans(self.planned, self.refused))

    def _checked(self, plans: Plans) -> Plans:
        """:raises: NotEnoughResources if a lease lacks room that must not, or
        all do"""
        refused = plans.refused
        if refused and not (self.partial and len(refused) < len(self.drafts)):
            raise _refusal(refused[0], self.drafts)
        return plans

    def _plan(
        self, session: api.Session, lease: objects.Lease, *, explain: bool
    ) -> None:
        """:raises: Conflict, InvalidInput, NotEnoughResources"""
        found = self.plans.plan(
            session, lease, self.now, self._terms(lease), explain=explain
        )
        if found is not None:
            self.planned[lease.id] = found

    def _terms(self, lease: objects.Lease) -> allocations.Terms:
        return allocations.Terms(
            best_fit=self.attempt.number == 1,
            attempt=self.attempt,
            beside=self._beside(self.planned, lease),
        )

    def _beside(
        self, planned: _Planned, lease: objects.Lease
    ) -> search.Beside:
        """Return what planned leases have while the lease has its
        resources."""
        cleaning = self.plans.options.cleaning_time
        window = self._window(lease)
        taken: dict[int, amounts.Amounts | None] = {}
        least = 0
        for each in planned.values():
            for wanted in each.wanted:
                if not wanted.window.padded(cleaning).overlaps(window):
                    continue
                least += wanted.demand.least
                # Shares need no time for cleaning between them.
                touches = not wanted.window.overlaps(window)
                for key, slots in each.slots[wanted.reservation_id].items():
                    others = taken.get(key, amounts.NOTHING)
                    taken[key] = (
                        None
                        if others is None or wanted.demand.exclusive
                        else others
                        + wanted.demand.slot * (0 if touches else slots)
                    )
        return search.Beside(taken, least)

    def _window(self, lease: objects.Lease) -> interval.Interval:
        """Return the time in which the lease has any of its resources."""
        windows = [
            self.plans.types.window(lease, item) for item in lease.reservations
        ]
        return interval.Interval(
            lease.start_date,
            max((each.end for each in windows), default=lease.end_date),
        )

    def _might_move(
        self,
        session: api.Session,
        lease: objects.Lease,
        budget: budgets.Budget,
    ) -> bool:
        """Return whether there might be room for all leases up to this one if
        promises move."""
        if budget.is_spent() or lease.keeps_its_cell:
            return False
        terms = self._terms(lease)
        wanted = list(self.plans.wanted(session, lease, (), terms))
        return self.plans.might_move(
            session,
            wanted,
            search.Search(
                self.now,
                self.plans.options.cleaning_time,
                beside=terms.beside,
            ),
        )

    def _move(self, session: api.Session, budget: budgets.Budget) -> Plans:
        """Return the plans by one search in which promises may move."""
        _check_queue(session, self.drafts, self.now)
        wanted = [
            list(self.plans.wanted(session, lease, (), allocations.Terms()))
            for lease in self.drafts
        ]
        found = replanning.Promises(
            session,
            self.plans.types,
            wanted[0][0].demand.resource_type,
            search.Search(self.now, self.plans.options.cleaning_time),
        ).find_each(
            wanted,
            replanning.SearchLimits(self.plans.options.replan_limit, budget),
        )
        refused = found.room.refused
        planned = {
            lease.id: allocations.Planned(
                its,
                {
                    item.reservation_id: dict.fromkeys(
                        found.room.resources[item.reservation_id], 1
                    )
                    for item in its
                },
                {},
            )
            for number, (lease, its) in enumerate(
                zip(self.drafts, wanted, strict=True)
            )
            if number not in refused
        }
        return Plans(
            planned,
            [
                Refused(lease, self._why(session, lease, planned))
                for lease in (
                    self.drafts[number]
                    for number in refused[: None if self.partial else 1]
                )
            ],
            found,
        )

    def _why(
        self,
        session: api.Session,
        lease: objects.Lease,
        planned: _Planned,
    ) -> exception.NotEnoughResources:
        """Return why there is no room for a lease even if promises move."""
        terms = allocations.Terms(beside=self._beside(planned, lease))
        try:
            self.plans.plan(session, lease, self.now, terms)
        except exception.NotEnoughResources as refusal:
            return refusal
        return self.plans.types.shortage(
            self.plans.types.planned(lease).values(),
            'too few are free for all leases of the series',
        )


def _check_queue(
    session: api.Session,
    drafts: Sequence[objects.Lease],
    now: datetime.datetime,
) -> None:
    """Check that no worker is trying a lease that waits, at the time of the
    series: resources that such a lease could have are not for other leases.

    :raises: Conflict
    """
    until = max(lease.end_date for lease in drafts)
    all_of_it = dataclasses.replace(drafts[0], end_date=until)
    if first := queue.in_hand(session, all_of_it, now):
        raise exception.Conflict(kind='Lease', id=first[0].id)


def _refusal(
    refused: Refused, drafts: Sequence[objects.Lease]
) -> exception.NotEnoughResources:
    """Return the error for a series of which one lease does not fit."""
    number = drafts.index(refused.lease) + 1
    start = refused.lease.start_date
    return exception.NotEnoughResources(
        reason=f'{refused.why.values["reason"]}; this is lease {number} of '
        f'{len(drafts)} of the series, from {start:%Y-%m-%d %H:%M}',
        what=refused.why.values['what'],
    )
