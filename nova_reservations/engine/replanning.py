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
import enum
import functools
import json
from typing import Any
from typing import Self

from oslo_log import log

from nova_reservations import exception
from nova_reservations.db import api
from nova_reservations.db import candidates
from nova_reservations.db import leases
from nova_reservations.db import promises
from nova_reservations.engine import resource_types
from nova_reservations.engine import settings
from nova_reservations.engine import steps
from nova_reservations.engine import transactions
from nova_reservations.objects import demand as demands
from nova_reservations.objects import interval
from nova_reservations.objects import search
from nova_reservations.objects import states
from nova_reservations.planner import replanning
from nova_reservations.planner import timelines
from nova_reservations.planner import usage
from nova_reservations.plugins.resource_types import base

LOG = log.getLogger(__name__)

KINDS = 64
"""The most different requirements of promises that are looked up; each costs a
query. Promises with any further requirements stay."""


NEAR = datetime.timedelta(days=1)
"""The least time after a window for which promises are read at first."""


class Replan(enum.Enum):
    """Permission for a plan to move promises of others.

    ASK: the plan may not move any yet, but tells whether that might help.
    """

    NO = enum.auto()
    ASK = enum.auto()
    YES = enum.auto()

    @classmethod
    def of(cls, attempt: transactions.Attempt) -> Self:
        return cls.YES if attempt.moves_promises else cls.ASK


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
        self.types = types
        self.resource_type = resource_type
        self.terms = terms
        # Must be read before all that the generations guard.
        self.generations = promises.generations(session, resource_type)
        anything = demands.Demand(resource_type, 1, 1)
        self.usable = frozenset(candidates.meeting_all(session, anything))
        self._meeting: dict[Any, frozenset[int] | None] = {None: self.usable}
        self._could_have: dict[Any, frozenset[int]] = {}

    def is_hopeless(self, wanted: Sequence[search.Wanted]) -> bool:
        """Return whether there is no room however promises move."""
        window = self._around(wanted)
        resources = self.usable.union(*(item.must_keep for item in wanted))
        rows = self._without_own(
            promises.in_window(self.session, resources, window, self.terms)
        )
        least = sum(item.demand.least for item in wanted)
        if _peak(rows, window) + least > len(resources):
            return True
        beside = self.terms.beside.least
        if beside and _peak(rows, _instant(window)) + beside + least > len(
            resources
        ):
            return True
        for item in wanted:
            suitable = self._suitable(item)
            if not _may_keep(item, suitable):
                return True
            if suitable == resources:
                continue
            bound = self.bound(rows, suitable)
            if _peak(bound, window) + item.demand.least > len(suitable):
                return True
        return False

    def bound(
        self, rows: Iterable[promises.Held], resources: frozenset[int]
    ) -> list[promises.Held]:
        """Return the rows that stay among these resources, however promises
        move."""
        return [
            row
            for row in rows
            if row.resource_id in resources
            and (
                (its := self._choice(row, self._chosen)) is None
                or its <= resources
            )
        ]

    @functools.cached_property
    def _chosen(self) -> Mapping[str, frozenset[int]]:
        """Reservation id -> the resources that it may have."""
        return self.choices(promises.movable(self.session, self.terms.now))

    def find(
        self, wanted: Sequence[search.Wanted], limit: int
    ) -> Found | None:
        """Return what the reservations can have if promises move, as far as
        the limit of the search goes."""
        if not all(_may_keep(item, self._suitable(item)) for item in wanted):
            return None
        # Mostly it is enough to move promises of about the same time, and
        # reading all promises takes longer than the search.
        for near in (_near(wanted, self.terms), None):
            found = self.find_each([wanted], limit, near)
            if not found.room.refused:
                return found
        return None

    def find_each(
        self,
        leases: Sequence[Sequence[search.Wanted]],
        limit: int,
        near: interval.Interval | None = None,
    ) -> Found:
        """Return what each of several leases can have, as find() does for one;
        some may be refused. What one lease gets may move for the next.

        :param limit: the limit of the search for all of them together
        :param near: promises that are not wholly in it stay; None: all may
            move
        """
        newcomers = [list(map(self._newcomer, wanted)) for wanted in leases]
        movable = promises.movable(self.session, self.terms.now, near)
        within = self.choices(movable)
        held = defaultdict[int, list[timelines.Promise]](list)
        rows = (
            promises.in_window(
                self.session, self.generations, near, self.terms
            )
            if near
            else promises.held(self.session, self.generations, self.terms)
        )
        for row in self._without_own(rows):
            stays = near and not near.start <= row.start < row.end <= near.end
            held[row.resource_id].append(
                timelines.Promise(
                    row.reservation_id,
                    row.start,
                    row.end,
                    None if stays else self._choice(row, within),
                )
            )
        room = replanning.make_rooms(held, newcomers, limit)
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
                for each in movable
                if each.reservation_id in moved
            },
        )

    def _without_own(
        self, rows: Iterable[promises.Held]
    ) -> list[promises.Held]:
        """Return the rows without those of reservations that are planned
        anew."""
        return [
            row
            for row in rows
            if not (row.whole and row.reservation_id in self.terms.ignore)
        ]

    def _around(self, wanted: Sequence[search.Wanted]) -> interval.Interval:
        """Return the window that all of them have, with the time for
        cleaning."""
        return interval.Interval(
            min(item.window.start for item in wanted),
            min(item.window.end for item in wanted) + self.terms.cleaning,
        )

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

    def _choice(
        self,
        row: promises.Held,
        within: Mapping[str, frozenset[int]],
    ) -> frozenset[int] | None:
        """Return the resources that a promise may have; None: it stays."""
        choice = within.get(row.reservation_id) if row.whole else None
        # A promise whose resource does not suit it, as when that has failed,
        # is left to healing.
        return choice if choice and row.resource_id in choice else None

    def choices(
        self, movable: Iterable[promises.Movable]
    ) -> dict[str, frozenset[int]]:
        """Return reservation id -> the resources that it may have."""
        alike: dict[tuple[str, str], frozenset[int] | None] = {}
        within = {}
        for each in movable:
            key = each.resource_type, each.params
            if key not in alike:
                alike[key] = self._meeting_all(each)
            if (found := alike[key]) is not None:
                within[each.reservation_id] = found
        return within

    def _meeting_all(self, movable: promises.Movable) -> frozenset[int] | None:
        kind = self.types.get(movable.resource_type)
        if kind is None:
            return None
        demand = base.stored_demand(
            kind, json.loads(movable.params), f'lease {movable.lease_id}'
        )
        if (
            demand is None
            or not demand.exclusive
            or demand.named
            or demand.resource_type != self.resource_type
        ):
            return None
        asked = demand.requirements
        if asked not in self._meeting:
            if len(self._meeting) > KINDS:
                return None
            self._meeting[asked] = frozenset(
                candidates.meeting_all(self.session, demand)
            )
        return self._meeting[asked]


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
    that is more."""
    start = min(item.window.start for item in wanted)
    end = max(item.window.end for item in wanted) + terms.cleaning
    return interval.Interval(start, end + max(end - start, NEAR))


def _may_keep(wanted: search.Wanted, suitable: Collection[int]) -> bool:
    """Return whether a reservation may have all that it must keep."""
    kept = wanted.must_keep
    return len(kept) <= wanted.demand.maximum and all(
        key in suitable for key in kept
    )


def _instant(window: interval.Interval) -> interval.Interval:
    """Return the first instant of a window."""
    return interval.Interval(
        window.start, window.start + datetime.timedelta.resolution
    )


def _peak(rows: Iterable[promises.Held], window: interval.Interval) -> int:
    return usage.peak(
        ((row.resource_id, row.start, row.end) for row in rows),
        window.start,
        window.end,
    )
