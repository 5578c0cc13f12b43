# SPDX-License-Identifier: Apache-2.0
"""The times at which a refused lease would find room.

Nothing is written, and the amount that is read is bounded. It is read after
the refusal, in a transaction of its own, so another lease may get the room
first.

Decision 0032: doc/source/decisions/0032-refusals-tell-when
"""

from collections import defaultdict
from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import datetime
import itertools

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations.db import api
from nova_reservations.db.holdings import candidates
from nova_reservations.db.holdings import openings as rows
from nova_reservations.db.resources import inventories
from nova_reservations.engine.booking import allocations
from nova_reservations.engine.booking import lease_requests
from nova_reservations.engine.booking import lease_terms
from nova_reservations.engine.booking import limits
from nova_reservations.engine.booking import means
from nova_reservations.engine.leases import lease_changes
from nova_reservations.objects import holding
from nova_reservations.objects import requirements
from nova_reservations.objects import search
from nova_reservations.objects import stock
from nova_reservations.planner import levels
from nova_reservations.planner import openings

MOST = 4
"""The most reservations of a lease for which times are looked for."""

RESOURCES = 500
"""The most resources that are looked at beyond those that are wanted."""

MOST_STARTS = 100
"""The most starts that are checked against limits."""


@dataclasses.dataclass(frozen=True, slots=True)
class Prospects:
    """The resources that a lease could have over time.

    :ivar until: these know all that begins before it; None: they know
        all there is.
    """

    reservations: Sequence[openings.Prospect]
    until: datetime.datetime | None

    def knows(
        self, start: datetime.datetime, duration: datetime.timedelta
    ) -> bool:
        """Return whether all is known that concerns a lease which starts
        then."""
        return self.until is None or all(
            start + duration + each.aftermath <= self.until
            for each in self.reservations
        )


@dataclasses.dataclass(eq=False)
class Openings(means.UseCase):
    change_writer: lease_changes.ChangeWriter

    def with_start(
        self,
        refusal: exception.NotEnoughResources,
        lease: objects.Lease,
        guard: limits.Guard,
        now: datetime.datetime,
    ) -> exception.NotEnoughResources:
        """Return the refusal of a new lease with the earliest start at which
        it would find room, if that is known and tells of no single host."""
        if self._names_hosts(lease):
            return refusal
        with self.database.reader() as session:
            look = self.look(session, lease, now, allocations.Terms())
            outlook = guard.outlook(session, lease, now)
        found = openings.starts(
            look.reservations,
            lease.start_date,
            lease.end_date - lease.start_date,
            look.until,
        )
        start = self._first_allowed(
            itertools.islice(found, MOST_STARTS), lease, outlook
        )
        # If there seems to be room at once, the refusal has another reason.
        if start is None or start == lease.start_date:
            return refusal
        free = _free(look.reservations)
        return exception.NotEnoughResources(
            f'{refusal}; {free} for as long from {_said(start)}',
            earliest_start=start,
        )

    def _names_hosts(self, lease: objects.Lease) -> bool:
        """Return whether the lease asks for hosts by their names: when they
        are taken is nobody's business who may not see it."""
        return any(
            asked.resource_type == objects.HOST
            and requirements.keys(asked.requirements) & requirements.NAMES
            for asked in self.types.planned(lease).values()
        )

    def _first_allowed(
        self,
        starts: Iterable[datetime.datetime],
        lease: objects.Lease,
        outlook: limits.Outlook,
    ) -> datetime.datetime | None:
        """Return the first of the starts at which the lease is within all
        limits."""
        last = lease_terms.last_start(self.options, outlook.now)
        for start in starts:
            if last is not None and start > last:
                return None
            end = start + (lease.end_date - lease.start_date)
            moved = dataclasses.replace(lease, start_date=start, end_date=end)
            if outlook.breach_of(moved) is None:
                return start
        return None

    def with_end(
        self,
        refusal: exception.NotEnoughResources,
        seen: objects.Lease,
        changes: lease_requests.LeaseChanges,
        guard: limits.Guard,
        now: datetime.datetime,
    ) -> exception.NotEnoughResources:
        """Return the refusal of a change with the latest end to which the
        lease can be prolonged along with the other changes, if that is known
        and tells of no single host."""
        lease, changed = self.change_writer.asked(seen, changes, now)
        if lease.end_date <= seen.end_date or self._names_hosts(lease):
            return refusal
        with self.database.reader() as session:
            outlook = guard.outlook(session, seen, now)
            held = self.change_writer.kept(session, seen)
            look = self.look(
                session,
                lease,
                now,
                allocations.Terms(held=held, recheck=changed),
            )
        end = openings.latest_end(
            look.reservations,
            lease.start_date,
            seen.end_date,
            lease.end_date,
            look.until,
        )
        if end is not None:
            end = self._allowed(end, seen, lease, outlook)
        if end is None:
            return refusal
        return exception.NotEnoughResources(
            f'{refusal}; it can be prolonged until {_said(end)}',
            latest_end=end,
        )

    def _allowed(
        self,
        end: datetime.datetime,
        seen: objects.Lease,
        lease: objects.Lease,
        outlook: limits.Outlook,
    ) -> datetime.datetime | None:
        """Return the end, or an earlier one up to which the lease is within
        all limits; None: no end later than the present one is."""
        while end > seen.end_date:
            breach = outlook.breach_of(
                dataclasses.replace(lease, end_date=end)
            )
            if breach is None:
                return end
            if breach.at is None or breach.at >= end:
                return None
            end = breach.at
        return None

    def look(
        self,
        session: api.Session,
        lease: objects.Lease,
        now: datetime.datetime,
        terms: allocations.Terms,
    ) -> Prospects:
        """Return what each reservation of the lease could have over time,
        from its start on.

        :raises: InvalidInput
        """
        if len(lease.reservations) > MOST or lease.keeps_its_cell:
            return Prospects((), None)
        bounds = search.Search(
            now,
            self.options.cleaning_time,
            ignore=[item.id for item in lease.reservations],
        )
        wanted = list(self.allocations.wanted(session, lease, [], terms))
        could = [
            candidates.could_have(
                session, item, RESOURCES + item.demand.maximum
            )
            for item in wanted
        ]
        known = rows.held(
            session,
            {key for ids in could for key in ids},
            lease.start_date,
            bounds,
            amounts=not all(item.demand.exclusive for item in wanted),
        )
        held = defaultdict[int, list[holding.Held]](list)
        for each in known.held:
            held[each.resource_id].append(each)
        return Prospects(
            [
                openings.Prospect(
                    item.demand,
                    _lines(session, item, ids, held, bounds),
                    item.window.end - lease.end_date,
                    item.must_keep,
                )
                for item, ids in zip(wanted, could, strict=True)
            ],
            known.until and known.until - bounds.cleaning,
        )


def _lines(
    session: api.Session,
    wanted: search.Wanted,
    ids: Collection[int],
    held: Mapping[int, Iterable[holding.Held]],
    terms: search.Search,
) -> dict[int, levels.Line]:
    begin, demand = wanted.window.start, wanted.demand
    loads = {
        key: [
            levels.load(each, terms, whole=demand.exclusive)
            for each in held.get(key, ())
        ]
        for key in ids
    }
    if demand.exclusive:
        return {key: levels.line(loads[key], begin) for key in ids}
    found = inventories.find(session, ids, demand.amounts)
    return {
        key: levels.line(loads[key], begin, stock.of(found[key]), demand.slot)
        for key in ids
    }


def _free(prospects: Sequence[openings.Prospect]) -> str:
    [first, *others] = prospects
    if others or not first.demand.exclusive:
        return 'there is room'
    return objects.plural(first.demand.minimum, 'is free', 'are free')


def _said(date: datetime.datetime) -> str:
    """Return the date in the shortest form that a request may use."""
    return date.strftime('%Y-%m-%d %H:%M' + ':%S' * bool(date.second))
