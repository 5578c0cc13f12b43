# SPDX-License-Identifier: Apache-2.0
"""Tries refused leases again on the pool with more hosts: this shows what an
operator could sell by buying these.

All that was booked stays booked, and comes first; it may move as promises
do. The hosts are those that new leases can have now. Nothing is written.

Decision 0038: doc/source/decisions/0038-demand-is-what-was-refused
"""

from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Sequence
import dataclasses
import datetime

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations.db import api
from nova_reservations.db import pages
from nova_reservations.db.holdings import candidates
from nova_reservations.db.holdings import promises as promise_rows
from nova_reservations.db.record import refused_leases as rows
from nova_reservations.db.resources import inventories
from nova_reservations.engine import resource_types
from nova_reservations.engine import settings
from nova_reservations.engine.booking import replanning
from nova_reservations.objects import demand as demands
from nova_reservations.objects import interval
from nova_reservations.objects import refusal as refusals
from nova_reservations.objects import search
from nova_reservations.objects import stock
from nova_reservations.planner import replay
from nova_reservations.planner import timelines
from nova_reservations.types import base

MOST = 100_000
"""The most refusals that are tried again."""


@dataclasses.dataclass(frozen=True, slots=True)
class Tried:
    """:ivar accepted: None: what it asked for is not known any more, or is not
    of hosts.

    :ivar hours: how many hours of whole hosts it asked for.
    """

    refusal: refusals.Refusal
    accepted: bool | None
    hours: float


@dataclasses.dataclass(frozen=True, slots=True)
class _Ask:
    demand: demands.Ask
    end: datetime.datetime


@dataclasses.dataclass(eq=False)
class Replay:
    database: api.Database
    types: resource_types.Types
    options: settings.Settings

    def run(
        self,
        query: refusals.RefusalQuery,
        more: int,
        like: int | None,
        now: datetime.datetime,
    ) -> list[Tried]:
        """Try refusals again, in the order in which they came.

        :param more: how many hosts to add to the pool
        :param like: the id of the host that added hosts are like; None: the
            first one
        :raises: InvalidInput
        """
        found = [
            (refusal, self._asks(refusal)) for refusal in self._refusals(query)
        ]
        known = [
            (refusal, ask) for refusal, asks in found for ask in asks or ()
        ]
        if not known:
            return [Tried(refusal, None, 0) for refusal, _ in found]
        window = interval.Interval(
            min(refusal.start for refusal, _ in known),
            max(ask.end for _, ask in known),
        )
        with self.database.reader() as session:
            world = _World(self, session, more, like, now)
            world.fill(window, [ask for _, ask in known])
            return [
                Tried(
                    refusal,
                    None if asks is None else world.accepts(refusal, asks),
                    _hours(refusal, asks or ()),
                )
                for refusal, asks in found
            ]

    def _refusals(
        self, query: refusals.RefusalQuery
    ) -> list[refusals.Refusal]:
        """:raises: InvalidInput if they are too many"""
        with self.database.reader() as session:
            found = rows.find(
                session, dataclasses.replace(query, limit=MOST + 1)
            )
        if len(found) > MOST:
            raise exception.InvalidInput(
                f'There are more than {MOST} refusals: ask for a shorter time'
            )
        return found

    def _asks(self, refusal: refusals.Refusal) -> list[_Ask] | None:
        """Return what was asked for; None if that is not known any more."""
        asks = []
        for part in refusal.parts:
            kind = self.types.get(part.resource_type)
            if kind is None:
                return None
            label = f'refusal {refusal.id}'
            demand = base.stored_demand(kind, part.params, label)
            if demand is None or demand.resource_type != objects.HOST:
                return None
            end = refusal.end + kind.aftermath(part.params)
            asks.append(_Ask(demand, end))
        return asks


class _World:
    """The pool with more hosts."""

    def __init__(
        self,
        run: Replay,
        session: api.Session,
        more: int,
        like: int | None,
        now: datetime.datetime,
    ) -> None:
        self.session = session
        terms = search.Search(now, run.options.cleaning_time)
        self.promises = replanning.Promises(
            session, run.types, objects.HOST, terms
        )
        hosts = self.promises.usable
        if not hosts:
            raise exception.InvalidInput('New leases can have no host now')
        self.like = min(hosts) if like is None else like
        if self.like not in hosts:
            raise exception.InvalidInput(
                'New leases can not have the host now that the others are to '
                'be like: name another one'
            )
        self.new = range(max(hosts) + 1, max(hosts) + 1 + more)
        self.pool = replay.Pool(
            {}, run.options.cleaning_time, run.options.replan_limit
        )
        self._suitable: dict[object, frozenset[int]] = {}

    def fill(self, window: interval.Interval, asks: Iterable[_Ask]) -> None:
        """Book what was booked, and read the capacity of each host."""
        booked = rows.booked(self.session, window)
        classes = {name for each in booked for name in each.units}
        for ask in asks:
            classes.update(ask.demand.amounts or ())
        self.pool.capacity = self._capacity(classes)
        choices = self.promises.choices.of(
            promise_rows.asked(
                self.session, {each.reservation_id for each in booked}
            )
        )
        for each in booked:
            if each.resource_id not in self.promises.usable:
                continue
            choice = choices.get(each.reservation_id, frozenset())
            moves = each.whole and each.resource_id in choice
            self.pool.add(
                each.resource_id,
                timelines.Promise(
                    each.reservation_id,
                    each.start,
                    each.end,
                    self._grown(choice) if moves else None,
                ),
                None if each.whole else each.units,
            )

    def _capacity(self, classes: Collection[str]) -> dict[int, stock.Stock]:
        found = {}
        for page in pages.of(self.promises.usable):
            for key, known in inventories.find(
                self.session, page, classes
            ).items():
                found[key] = stock.of(known)
        room = found.get(self.like, stock.of(()))
        return found | dict.fromkeys(self.new, room)

    def _grown(self, hosts: frozenset[int]) -> frozenset[int]:
        return hosts.union(self.new) if self.like in hosts else hosts

    def accepts(self, refusal: refusals.Refusal, asks: Sequence[_Ask]) -> bool:
        return self.pool.accept(
            [
                replay.Trial(
                    f'{refusal.id}:{position}',
                    ask.demand,
                    refusal.start,
                    ask.end,
                    self._within(ask.demand),
                )
                for position, ask in enumerate(asks)
            ]
        )

    def _within(self, demand: demands.Ask) -> frozenset[int]:
        asked = demand.requirements
        if asked not in self._suitable:
            found = candidates.meeting_all(self.session, demand)
            self._suitable[asked] = self._grown(frozenset(found))
        return self._suitable[asked]


def _hours(refusal: refusals.Refusal, asks: Iterable[_Ask]) -> float:
    hosts = sum(ask.demand.least for ask in asks if ask.demand.exclusive)
    return hosts * (refusal.end - refusal.start).total_seconds() / 3600
