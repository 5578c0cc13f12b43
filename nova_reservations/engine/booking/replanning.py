# SPDX-License-Identifier: Apache-2.0
"""Re-planning: promises of leases that have not begun move to other
resources, so that a lease fits for which there was no room.

Everything joins the caller's transaction. Nothing is written before the
generations of all resources concerned are compared and set.

Decision 0031: doc/source/decisions/0031-promises-may-move
"""

from collections import defaultdict
from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import datetime
import itertools
from typing import Any

from oslo_log import log

from nova_reservations import exception
from nova_reservations.db import api
from nova_reservations.db.holdings import candidates
from nova_reservations.db.holdings import promises
from nova_reservations.db.leases import leases
from nova_reservations.engine import budgets
from nova_reservations.engine import resource_types
from nova_reservations.engine import settings
from nova_reservations.engine import steps
from nova_reservations.engine.booking import fixed_promises
from nova_reservations.engine.booking import reach
from nova_reservations.objects import holding
from nova_reservations.objects import interval
from nova_reservations.objects import search
from nova_reservations.objects import states
from nova_reservations.planner import levels
from nova_reservations.planner import replanning
from nova_reservations.planner import timelines

LOG = log.getLogger(__name__)

NEAR = datetime.timedelta(days=1)
"""The least time after a window for which promises are read at first."""


@dataclasses.dataclass(frozen=True, slots=True)
class Found:
    """:ivar generations: resource id -> generation, of all that changes.

    :ivar lease_ids: the leases whose promises move.
    """

    room: replanning.Room
    generations: Mapping[int, int]
    lease_ids: Collection[str]

    @property
    def left(self) -> frozenset[int]:
        """The resources that promises leave."""
        return frozenset(move.source for move in self.room.moves)


@dataclasses.dataclass(frozen=True, slots=True)
class Searched:
    """The result of a search for reservations, outside of the transaction in
    which it is to be written; None: nothing was found.
    """

    wanted: Sequence[search.Wanted]
    found: Found | None

    @property
    def moves(self) -> bool:
        return self.found is not None

    def of(self, wanted: Sequence[search.Wanted]) -> Found | None:
        """Return what was found for these reservations.

        :raises: Conflict if they want something else by now
        """
        if list(wanted) != list(self.wanted):
            raise exception.Conflict(kind='Room', id='that was found')
        return self.found


def is_hopeless(
    session: api.Session,
    types: resource_types.Types,
    wanted: Sequence[search.Wanted],
    terms: search.Search,
) -> bool:
    """Return whether there is no room for reservations however promises move.

    :param wanted: whole resources, of one type
    """
    if fixed_promises.block_all(session, types, wanted, terms):
        return True
    resource_type = wanted[0].demand.resource_type
    return Promises(session, types, resource_type, terms).is_hopeless(wanted)


def find(
    session: api.Session,
    types: resource_types.Types,
    wanted: Sequence[search.Wanted],
    terms: search.Search,
    limits: 'SearchLimits',
) -> Found | None:
    """Return what reservations can have if promises move, as far as the limits
    go; what is hopeless is told at little cost.

    :param wanted: whole resources, of one type
    """
    budget = limits.budget
    if fixed_promises.block_all(session, types, wanted, terms, budget):
        return None
    resource_type = wanted[0].demand.resource_type
    promised = Promises(session, types, resource_type, terms)
    for item in wanted:
        if budget.is_spent() or not promised.may_keep(item):
            return None
    if promised.is_hopeless(wanted, budget):
        return None
    return promised.find(wanted, limits)


@dataclasses.dataclass(frozen=True, slots=True)
class SearchLimits:
    """SearchLimits of a search.

    :ivar exchanges: the most exchanges of promises.
    """

    exchanges: int
    budget: budgets.Budget


class Promises:
    """The promises of one type of resource.

    :ivar usable: ids of all resources that new leases can have.
    """

    def __init__(
        self,
        session: api.Session,
        types: resource_types.Types,
        resource_type: str,
        terms: search.Search,
    ) -> None:
        self.session = session
        self.terms = terms
        # Must be read before all that the generations guard.
        self.generations = promises.generations(session, resource_type)
        self.choices = fixed_promises.Choices(session, types, resource_type)
        self.usable = self.choices.usable
        self._could_have: dict[Any, frozenset[int]] = {}

    def is_hopeless(
        self,
        wanted: Sequence[search.Wanted],
        budget: budgets.Budget | None = None,
    ) -> bool:
        """Return whether there is no room however promises move.

        :param budget: when it is spent, no further reservation is looked at.
        """
        if not all(map(self.may_keep, wanted)):
            return True
        window = self._around(wanted)
        reached = self._reach(wanted, window)
        if reached is None:
            return False
        least = sum(item.demand.least for item in wanted)
        resources = reached.resources
        if self._peak(reached.rows, window) + least > len(resources):
            return True
        if self._is_kept_for_others(wanted, window.start, least):
            return True
        told = set()
        for item in wanted:
            suitable = self._suitable(item)
            # Most reservations of a large request are alike.
            alike = suitable, item.demand.least
            if suitable == resources or alike in told:
                continue
            told.add(alike)
            if budget is not None and budget.is_spent():
                return False
            bound = _bound(reached.rows, reached.within, suitable)
            if self._peak(bound, window) + item.demand.least > len(suitable):
                return True
        return False

    def may_keep(self, wanted: search.Wanted) -> bool:
        """Return whether a reservation may have all that it must keep."""
        kept, suitable = wanted.must_keep, self._suitable(wanted)
        return len(kept) <= wanted.demand.maximum and suitable.issuperset(kept)

    def _is_kept_for_others(
        self,
        wanted: Sequence[search.Wanted],
        start: datetime.datetime,
        least: int,
    ) -> bool:
        """Return whether the resources that are not taken at the start are for
        those who wait."""
        beside = self.terms.beside.least
        if not beside:
            return False
        resources = self.usable.union(*(item.must_keep for item in wanted))
        instant = interval.Interval(
            start, start + datetime.timedelta.resolution
        )
        rows = reach.promised(self.session, resources, instant, self.terms)
        return self._peak(rows, instant) + beside + least > len(resources)

    def bound(
        self, rows: Iterable[holding.Held], resources: frozenset[int]
    ) -> list[holding.Held]:
        """Return the rows that stay among these resources, however promises
        move."""
        there = [row for row in rows if row.resource_id in resources]
        movable = promises.movable(
            self.session,
            {row.reservation_id for row in there if row.may_move},
            self.terms.now,
        )
        return _bound(there, self.choices.of(movable), resources)

    def find(
        self, wanted: Sequence[search.Wanted], limits: SearchLimits
    ) -> Found | None:
        """Return what the reservations can have if promises move, as far as
        the limits go."""
        # Mostly it is enough to move promises of about the same time, and
        # reading all promises takes longer than the search.
        for near in (_near(wanted, self.terms), None):
            found = self.find_each([wanted], limits, near)
            if not found.room.refused:
                return found
            if limits.budget.is_spent():
                break
        return None

    def find_each(
        self,
        leases: Sequence[Sequence[search.Wanted]],
        limits: SearchLimits,
        near: interval.Interval | None = None,
    ) -> Found:
        """Return what each of several leases can have, as find() does for one;
        some may be refused. What one lease gets may move for the next.

        :param limits: those of the search for all of them together
        :param near: promises that are not wholly in it stay; None: all may
            move
        """
        reached = self._reach(itertools.chain(*leases), near)
        if reached is None:
            refused = tuple(range(len(leases)))
            return Found(replanning.Room({}, (), refused), {}, ())
        held = defaultdict[int, list[timelines.Promise]](list)
        for row in reached.rows:
            resource, start, end = self._taken(row)
            stays = near and not near.start <= start < end <= near.end
            held[resource].append(
                timelines.Promise(
                    row.reservation_id,
                    start,
                    end,
                    None if stays else reach.choice(row, reached.within),
                )
            )
        newcomers = [list(map(self._newcomer, wanted)) for wanted in leases]
        room = replanning.make_rooms(
            held, newcomers, limits.exchanges, limits.budget.is_spent
        )
        changed = {
            *(key for ids in room.resources.values() for key in ids),
            *(move.source for move in room.moves),
            *(move.target for move in room.moves),
        }
        moved = {move.reservation_id for move in room.moves}
        return Found(
            room,
            {key: self.generations[key] for key in changed},
            {
                each.lease_id
                for each in reached.movable
                if each.reservation_id in moved
            },
        )

    def _reach(
        self,
        wanted: Iterable[search.Wanted],
        near: interval.Interval | None,
    ) -> reach.Reach | None:
        resources = frozenset[int]().union(
            *(self._suitable(item).union(item.must_keep) for item in wanted)
        )
        return reach.find(
            self.session, self.choices, resources, near, self.terms
        )

    def _around(self, wanted: Sequence[search.Wanted]) -> interval.Interval:
        """Return the window that all of them have, with the time for
        cleaning."""
        return interval.Interval(
            min(item.window.start for item in wanted),
            min(item.window.end for item in wanted) + self.terms.cleaning,
        )

    def _peak(
        self, rows: Iterable[holding.Held], window: interval.Interval
    ) -> int:
        return levels.peak(map(self._taken, rows), window.start, window.end)

    def _taken(self, row: holding.Held) -> interval.Taken:
        return row.taken(self.terms.now, self.terms.cleaning)

    def _newcomer(self, wanted: search.Wanted) -> replanning.Newcomer:
        return replanning.Newcomer(
            wanted.reservation_id,
            wanted.window.start,
            wanted.window.end + self.terms.cleaning,
            max(wanted.demand.least, len(wanted.must_keep)),
            self._suitable(wanted),
            sorted(wanted.must_keep),
            wanted.demand.maximum,
        )

    def _suitable(self, wanted: search.Wanted) -> frozenset[int]:
        alike = wanted.demand, frozenset(wanted.held), wanted.recheck
        if alike not in self._could_have:
            self._could_have[alike] = frozenset(
                candidates.could_have(
                    self.session, wanted, limit=len(self.generations)
                )
            )
        return self._could_have[alike]


def write(
    session: api.Session,
    found: Found,
    now: datetime.datetime,
    options: settings.Settings,
) -> None:
    """Move the promises. Leases are guarded by their versions, and written in
    the order of their ids.

    :raises: Conflict if somebody has changed one of them, or acts on it
    """
    for lease_id in sorted(found.lease_ids):
        try:
            seen = leases.get(session, lease_id)
        except exception.NotFound:
            raise exception.Conflict(kind='Lease', id=lease_id) from None
        if (
            seen.status != states.Lease.PENDING
            or seen.claimed_by is not None
            or seen.start_date <= now
        ):
            raise exception.Conflict(kind='Lease', id=lease_id)
        lease = dataclasses.replace(seen, prepared=False)
        leases.change(
            session,
            seen,
            now,
            prepared=False,
            due_at=steps.due_at(lease, now, options),
            # Owners must not notice the move.
            updated_at=seen.updated_at,
        )
    for move in found.room.moves:
        promises.move(session, move.reservation_id, move.source, move.target)
        LOG.info(
            'Moved to make room: reservation %(id)s, from resource %(source)s '
            'to %(target)s',
            {
                'id': move.reservation_id,
                'source': move.source,
                'target': move.target,
            },
        )


def _near(
    wanted: Sequence[search.Wanted], terms: search.Search
) -> interval.Interval:
    """Return the time of all windows, and as much again after it, or NEAR if
    that is more, but nothing after the last date of leases."""
    start = min(item.window.start for item in wanted)
    end = max(item.window.end for item in wanted) + terms.cleaning
    left = max(interval.LAST - end, datetime.timedelta(0))
    return interval.Interval(start, end + min(max(end - start, NEAR), left))


def _bound(
    rows: Iterable[holding.Held],
    within: Mapping[str, frozenset[int]],
    resources: frozenset[int],
) -> list[holding.Held]:
    return [
        row
        for row in rows
        if row.resource_id in resources
        and ((its := reach.choice(row, within)) is None or its <= resources)
    ]
