# SPDX-License-Identifier: Apache-2.0
"""Counts over time of resources, and of shares of them: all, held and free.
They are of hosts and slots of servers, unless another type is asked for.

Decision 0037: doc/source/decisions/0037-free-is-the-most-that-is-granted
"""

from collections import defaultdict
from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import datetime
from typing import NamedTuple

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations.db import api
from nova_reservations.db import pages
from nova_reservations.db.holdings import candidates
from nova_reservations.db.holdings import commitments as rows
from nova_reservations.db.resources import inventories
from nova_reservations.engine.booking import allocations
from nova_reservations.engine.booking import lease_requests
from nova_reservations.engine.booking import means
from nova_reservations.engine.booking import replanning
from nova_reservations.objects import demand as demands
from nova_reservations.objects import holding
from nova_reservations.objects import holds
from nova_reservations.objects import interval
from nova_reservations.objects import requirements
from nova_reservations.objects import search
from nova_reservations.objects import stock
from nova_reservations.planner import levels

MAX_POINTS = 10_000
"""The most steps of capacity in one answer: a week of minutes."""

MAX_SLOT_POINTS = 1000
"""The most steps if slots are counted, which costs more: on each host."""

MAX_ROWS = 50_000
"""The most allocations that are read for one answer."""

MAX_SHARES = 100_000
"""The most numbers about single projects in one answer."""

AT_ONCE = 500
"""The number of hosts whose inventories are read at once."""

FIRST = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
LAST = datetime.datetime(9999, 1, 1, tzinfo=datetime.UTC)

ANY_HOST = demands.Demand(objects.HOST, 1, 1)

_NOTHING = datetime.timedelta(0)


@dataclasses.dataclass(frozen=True, slots=True)
class Asked:
    """Requirements that counted resources must meet.

    :ivar reservation: one of hosts, or of a slot to count slots, too; None:
        ``demand`` says what is counted.
    :ivar demand: for one resource of any type, or one unit of a share.
    :ivar by_project: whether to tell what each project holds.
    """

    project_id: str
    user_id: str
    reservation: lease_requests.NewReservation | None
    availability_zone: str | None = None
    by_project: bool = False
    demand: demands.Ask = ANY_HOST


@dataclasses.dataclass(frozen=True, slots=True)
class _Steps:
    start: datetime.datetime
    end: datetime.datetime
    step: datetime.timedelta

    @property
    def count(self) -> int:
        return -((self.start - self.end) // self.step)

    def held(self, windows: Iterable[interval.Taken]) -> list[int]:
        within = (each for each in windows if each[1] < self.end)
        return levels.held(within, self.start, self.end, self.step)

    def points(self) -> Iterable[tuple[datetime.datetime, datetime.datetime]]:
        for number in range(self.count):
            begin = self.start + number * self.step
            yield begin, begin + min(self.step, self.end - begin)


@dataclasses.dataclass(frozen=True, slots=True)
class _Facts:
    """The facts that a count is made from.

    :ivar members: id of each resource -> reasons that keep it from leases.
    :ivar suitable: ids of the resources that meet the requirements.
    :ivar held: what leases have of all resources.
    :ivar aftermath: for how long a reservation has its resources after the
        end of its lease.
    """

    demand: demands.Ask
    aftermath: datetime.timedelta
    terms: search.Search
    members: Mapping[int, Sequence[holds.Hold]]
    suitable: frozenset[int]
    held: Sequence[holding.Held]

    @property
    def longer(self) -> datetime.timedelta:
        return self.aftermath + self.terms.cleaning

    def blocked(self, among: Collection[int]) -> list[interval.Taken]:
        """Return when reasons keep resources from new leases."""
        return [
            _span(key, hold) for key in among for hold in self.members[key]
        ]

    def of(self, among: Collection[int]) -> list[holding.Held]:
        """Return what leases have of resources."""
        return [each for each in self.held if each.resource_id in among]

    def taken(self, held: Iterable[holding.Held]) -> list[interval.Taken]:
        """Return from when until when it is taken, with the time for
        cleaning."""
        terms = self.terms
        return [each.taken(terms.now, terms.cleaning) for each in held]


@dataclasses.dataclass(eq=False)
class Capacity(means.UseCase):
    def find(
        self,
        start: datetime.datetime,
        end: datetime.datetime,
        step: datetime.timedelta,
        now: datetime.datetime,
        asked: Asked | None = None,
    ) -> list[objects.CapacityPoint]:
        """Tell, for each step from start to end, how many hosts are there,
        held, and free: the most that a lease of just that step is granted.

        :raises: InvalidInput
        """
        steps = _steps(start, end, step)
        draft = None if asked is None else self._draft(asked, now)
        with self.database.reader() as session:
            known = self._known(session, steps, now, asked, draft)
            unmoved, most = self._free(session, known, steps)
            fit = _slots(session, known, steps)
            shares_of = (
                _by_project(session, known, steps)
                if asked is not None and asked.by_project
                else None
            )
        reserved = steps.held(
            (each.resource_id, each.start, each.end)
            for each in known.of(known.suitable)
        )
        reasons = _by_reason(known, steps)
        return [
            objects.CapacityPoint(
                start=begin,
                end=until,
                hosts=len(known.suitable),
                reserved=reserved[index],
                free=most[index],
                unmoved=unmoved[index],
                holds={
                    reason: counts[index]
                    for reason, counts in reasons.items()
                    if counts[index]
                },
                slots=None if fit is None else fit.free[index],
                total=None if fit is None else fit.empty,
                projects=None
                if shares_of is None
                else {
                    project: counts[index]
                    for project, counts in shares_of.items()
                    if counts[index]
                },
            )
            for index, (begin, until) in enumerate(steps.points())
        ]

    def _draft(
        self, asked: Asked, now: datetime.datetime
    ) -> objects.Lease | None:
        """:raises: InvalidInput, CloudUnavailable"""
        if asked.reservation is None:
            return None
        return self.requests.draft(
            lease_requests.NewLease(
                name='',
                project_id=asked.project_id,
                user_id=asked.user_id,
                start=now,
                end=now + datetime.timedelta(minutes=1),
                before_end=None,
                reservations=(asked.reservation,),
            ),
            now,
        )

    def _known(
        self,
        session: api.Session,
        steps: _Steps,
        now: datetime.datetime,
        asked: Asked | None,
        draft: objects.Lease | None,
    ) -> _Facts:
        """:raises: InvalidInput"""
        demand = ANY_HOST if asked is None else asked.demand
        self.allocations.check_keys(session, demand)
        aftermath = _NOTHING
        if draft is not None:
            [wanted] = self.allocations.wanted(
                session, draft, [], allocations.Terms()
            )
            aftermath = wanted.window.end - draft.end_date
            demand = wanted.demand
        if asked is not None and asked.availability_zone is not None:
            demand = dataclasses.replace(
                demand,
                requirements=requirements.within(
                    demand.requirements,
                    'availability_zone',
                    {asked.availability_zone},
                ),
            )
        terms = search.Search(now, self.options.cleaning_time)
        if not demand.exclusive and steps.count > MAX_SLOT_POINTS:
            raise _too_many(MAX_SLOT_POINTS)
        members = rows.members(session, demand.resource_type)
        suitable = set(members)
        if demand.requirements is not None:
            suitable &= candidates.meeting(
                session, demand.resource_type, demand.requirements
            )
        held = rows.held(
            session,
            interval.Interval(steps.start, steps.end + aftermath),
            terms,
            MAX_ROWS + 1,
        )
        if len(held) > MAX_ROWS:
            raise exception.InvalidInput(
                f'There are more than {MAX_ROWS} allocations between start '
                'and end: ask for a shorter time'
            )
        return _Facts(
            demand, aftermath, terms, members, frozenset(suitable), held
        )

    def _free(
        self, session: api.Session, known: _Facts, steps: _Steps
    ) -> tuple[list[int], list[int]]:
        """Return, for each step, how many resources are free if no promise
        moves, and the most that may be granted if promises move."""
        suitable, longer = known.suitable, known.longer
        mine = known.of(suitable)
        blocked = known.blocked(suitable)
        unmoved = [
            len(suitable) - count
            for count in steps.held(
                (key, _earlier(begin, longer), over)
                for key, begin, over in [*known.taken(mine), *blocked]
            )
        ]
        if not self.options.replan_limit:
            return unmoved, unmoved
        everybody = known.members.keys()
        taken = known.taken(known.of(everybody)) + known.blocked(everybody)
        bounds = [_most(everybody, taken, steps, longer)]
        if suitable != everybody:
            promised = replanning.Promises(
                session, self.types, known.demand.resource_type, known.terms
            )
            staying = known.taken(promised.bound(mine, suitable)) + blocked
            bounds.append(_most(suitable, staying, steps, longer))
        return unmoved, [min(each) for each in zip(*bounds, strict=True)]


def _most(
    resources: Collection[int],
    taken: Iterable[interval.Taken],
    steps: _Steps,
    longer: datetime.timedelta,
) -> list[int]:
    """Return, for each step, the number of resources less the peak of those
    that are taken: no lease is granted more, however promises move."""
    peaks = levels.peaks(taken, steps.start, steps.end, steps.step, longer)
    return [len(resources) - peak for peak in peaks]


class _Slots(NamedTuple):
    """Slots for which there is room: in each step, and if nothing were
    held."""

    free: list[int]
    empty: int


def _slots(
    session: api.Session, known: _Facts, steps: _Steps
) -> _Slots | None:
    """Return None where whole resources are asked for."""
    share = known.demand
    if share.exclusive:
        return None
    loads = defaultdict[int, list[levels.Load]](list)
    for key, begin, over in known.blocked(known.suitable):
        loads[key].append(levels.Load(begin, over))
    window = interval.Interval(steps.start, steps.end + known.aftermath)
    units = rows.amounts(session, window, known.terms, share.amounts)
    for each in known.of(known.suitable):
        held = each._replace(units=units.get(each.id, {}))
        loads[each.resource_id].append(levels.load(held, known.terms))
    lines = []
    empty = 0
    for page in pages.of(known.suitable, AT_ONCE):
        found = inventories.find(session, page, share.amounts)
        for key, known_here in found.items():
            if stock.is_slot(share.amounts, known_here):
                capacity = stock.of(known_here)
                empty += share.slot.times_in(capacity)
                lines.append(
                    levels.line(loads[key], steps.start, capacity, share.slot)
                )
    free = levels.least(
        lines, steps.start, steps.end, steps.step, known.aftermath
    )
    return _Slots(free, empty)


def _by_project(
    session: api.Session, known: _Facts, steps: _Steps
) -> dict[str, list[int]]:
    """Return project -> how many hosts its leases hold in each step.

    :raises: InvalidInput
    """
    window = interval.Interval(steps.start, steps.end)
    of = rows.projects(session, window, known.terms)
    windows = defaultdict[str, list[interval.Taken]](list)
    for each in known.of(known.suitable):
        if each.reservation_id in of:
            windows[of[each.reservation_id]].append(
                (each.resource_id, each.start, each.end)
            )
    if len(windows) * steps.count > MAX_SHARES:
        raise exception.InvalidInput(
            f'{len(windows)} projects in {steps.count} steps are too much to '
            'tell: ask for a longer step, or a shorter time'
        )
    return {
        project: steps.held(its) for project, its in sorted(windows.items())
    }


def _by_reason(known: _Facts, steps: _Steps) -> dict[str, list[int]]:
    """Return reason -> how many hosts it keeps from new leases in each
    step."""
    windows = defaultdict[str, list[interval.Taken]](list)
    for key in known.suitable:
        for hold in known.members[key]:
            windows[hold.reason].append(_span(key, hold))
    return {reason: steps.held(its) for reason, its in sorted(windows.items())}


def _span(key: int, hold: holds.Hold) -> interval.Taken:
    return key, hold.since or FIRST, hold.until or LAST


def _earlier(
    date: datetime.datetime, by: datetime.timedelta
) -> datetime.datetime:
    return max(date, FIRST + by) - by


def _steps(
    start: datetime.datetime,
    end: datetime.datetime,
    step: datetime.timedelta,
) -> _Steps:
    """:raises: InvalidInput"""
    if end <= start:
        raise exception.InvalidInput('end must be later than start')
    if (end - start) / step > MAX_POINTS:
        raise _too_many(MAX_POINTS)
    # A longer step, added to a date, could exceed the last possible date.
    return _Steps(start, end, min(step, end - start))


def _too_many(limit: int) -> exception.InvalidInput:
    return exception.InvalidInput(
        f'More than {limit} steps between start and end: ask for a longer '
        'step, or a shorter time'
    )
