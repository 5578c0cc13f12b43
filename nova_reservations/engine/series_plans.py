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

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations.db import api
from nova_reservations.engine import allocations
from nova_reservations.engine import queue
from nova_reservations.engine import replanning
from nova_reservations.engine import resource_types
from nova_reservations.engine import transactions
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
    def generations(self) -> dict[int, int]:
        """Resource id -> generation, of all that changes."""
        found = dict(self.moved.generations) if self.moved else {}
        for each in self.planned.values():
            for key, generation in each.generations.items():
                # Plans may have read a resource at different generations: the
                # oldest one must still be valid.
                found[key] = min(generation, found.get(key, generation))
        return found


class SeriesPlans:
    def __init__(self, plans: allocations.Allocations) -> None:
        self.plans = plans

    def plan(
        self,
        session: api.Session,
        drafts: Sequence[objects.Lease],
        now: datetime.datetime,
        attempt: transactions.Attempt,
        *,
        partial: bool,
    ) -> Plans:
        """Return what each of the leases gets, or that it is refused. Nothing
        is written.

        :param drafts: in the order of their start
        :param partial: whether to plan the other leases if one is refused
        :raises: Conflict, InvalidInput
        """
        if attempt.moves_promises:
            return self._search(session, drafts, now, partial)
        planned: _Planned = {}
        refused = []
        for lease in drafts:
            terms = allocations.Terms(
                best_fit=attempt.number == 1,
                replan=replanning.Replan.ASK,
                beside=self._beside(planned, lease),
            )
            try:
                found = self.plans.plan(session, lease, now, terms)
            except exception.NotEnoughResources as refusal:
                refused.append(Refused(lease, refusal))
                if not partial:
                    break
            else:
                if found is not None:
                    planned[lease.id] = found
        return Plans(planned, refused)

    def _search(
        self,
        session: api.Session,
        drafts: Sequence[objects.Lease],
        now: datetime.datetime,
        partial: bool,
    ) -> Plans:
        """Return the plans by one search in which promises may move."""
        until = max(lease.end_date for lease in drafts)
        all_of_it = dataclasses.replace(drafts[0], end_date=until)
        if first := queue.in_hand(session, all_of_it, now):
            # Resources that a lease which is being tried could have are not
            # for other leases.
            raise exception.Conflict(kind='Lease', id=first[0].id)
        wanted = [
            list(self.plans.wanted(session, lease, (), allocations.Terms()))
            for lease in drafts
        ]
        options = self.plans.options
        found = replanning.Promises(
            session,
            self.plans.types,
            wanted[0][0].demand.resource_type,
            search.Search(now, options.cleaning_time),
        ).find_each(wanted, options.replan_limit)
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
                zip(drafts, wanted, strict=True)
            )
            if number not in refused
        }
        return Plans(
            planned,
            [
                Refused(lease, self._why(session, lease, now, planned))
                for lease in (
                    drafts[number]
                    for number in refused[: None if partial else 1]
                )
            ],
            found,
        )

    def _why(
        self,
        session: api.Session,
        lease: objects.Lease,
        now: datetime.datetime,
        planned: _Planned,
    ) -> exception.NotEnoughResources:
        """Return why there is no room for a lease even if promises move."""
        terms = allocations.Terms(beside=self._beside(planned, lease))
        try:
            self.plans.plan(session, lease, now, terms)
        except exception.NotEnoughResources as refusal:
            return refusal
        types = self.plans.types
        return resource_types.shortage(
            types,
            resource_types.planned(types, lease).values(),
            'too few are free for all leases of the series',
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
            resource_types.window(self.plans.types, lease, item)
            for item in lease.reservations
        ]
        return interval.Interval(
            lease.start_date,
            max((each.end for each in windows), default=lease.end_date),
        )
