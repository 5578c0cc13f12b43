# SPDX-License-Identifier: Apache-2.0
"""Booking: the reservations of a lease get resources, all of them or none.

Everything joins the caller's transaction. Free resources are read together
with their generations. The generations are compared and set before anything
is written, so that no two leases get the same resource.
"""

from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import datetime
import zlib

from oslo_log import log

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations.db import api
from nova_reservations.db.holdings import allocations
from nova_reservations.db.holdings import candidates
from nova_reservations.db.holdings import windows
from nova_reservations.db.resources import resources
from nova_reservations.engine import budgets
from nova_reservations.engine import resource_types
from nova_reservations.engine import settings
from nova_reservations.engine import transactions
from nova_reservations.engine.booking import queue
from nova_reservations.engine.booking import refusal_texts
from nova_reservations.engine.booking import replanning
from nova_reservations.objects import demand as demands
from nova_reservations.objects import search
from nova_reservations.planner import offers
from nova_reservations.planner import plan

LOG = log.getLogger(__name__)


@dataclasses.dataclass(frozen=True, slots=True)
class Terms:
    """Terms of a booking.

    :ivar held: reservation id -> ids of resources that it has already, for
        another window or demand; all stay if servers may be there.
    :ivar recheck: reservations whose resources must meet the requirements
        anew.
    :ivar best_fit: whether to book what fits best.
    :ivar among: reservation id -> ids of all resources that it may have, for
        a waiting lease whose turn it is; None: any resources.
    :ivar attempt: says where room is searched, and how much CPU is left.
    :ivar moves_promises: whether promises of others may move for the lease.
    :ivar beside: resources that are not for the lease.
    """

    held: Mapping[str, Collection[int]] = dataclasses.field(
        default_factory=dict
    )
    recheck: Collection[str] = ()
    best_fit: bool = True
    among: Mapping[str, Collection[int]] | None = None
    attempt: transactions.Attempt = transactions.SEARCHING
    moves_promises: bool = False
    beside: search.Beside = search.NOTHING_BESIDE


@dataclasses.dataclass(frozen=True, slots=True)
class Planned:
    """Resources that a lease can have at this moment.

    :ivar wanted: what each planned reservation wants.
    :ivar slots: what each of these reservations gets.
    :ivar generations: resource id -> generation, of all that changes.
    :ivar moved: the promises that move for the lease.
    """

    wanted: Sequence[search.Wanted]
    slots: offers.Slots
    generations: Mapping[int, int]
    moved: replanning.Found | None = None


def seed(lease: objects.Lease) -> str:
    """Return the seed of the lease's random order of resources. The leases of
    a series share it, so that they tend to get the same resources."""
    return lease.series_id or lease.id


def start_at(lease: objects.Lease) -> int:
    """Return the random place from which a lease starts to look for
    resources."""
    return zlib.crc32(seed(lease).encode()) >> 1


def find_offers(
    session: api.Session, wanted: search.Wanted, terms: search.Search
) -> offers.Ask:
    """Return a reservation with enough offers for it, whatever its siblings
    take, or with all offers that there are."""
    found: list[search.Offer] = []
    for page in candidates.pages(session, wanted, terms):
        found += offers.beside(page, wanted, terms.beside.taken)
        if offers.enough(wanted, found):
            break
    return offers.Ask(wanted, found)


def _is_short(ask: offers.Ask) -> bool:
    """Return whether the reservation would find no room without its siblings,
    too."""
    if offers.enough(ask.wanted, ask.offers):
        return False
    alone = plan.assign([ask], ask.wanted.reservation_id)
    return isinstance(alone, offers.Shortage)


@dataclasses.dataclass(eq=False)
class Allocations:
    types: resource_types.Types
    options: settings.Settings

    def book(
        self,
        session: api.Session,
        lease: objects.Lease,
        now: datetime.datetime,
        terms: Terms | None = None,
    ) -> Collection[int]:
        """Plan the lease's reservations together, and write their allocations
        in the caller's transaction; return the ids of the resources that
        promises of others have left for the lease.

        :raises: Conflict, NotEnoughResources, InvalidInput
        :raises: Crowded if room is to be searched outside of the transaction
        """
        terms = terms or Terms()
        planned = self.plan(session, lease, now, terms)
        if planned is None:
            return ()
        # The guard of booking: advance() fails if another writer has booked
        # any of these resources since they were read. Nothing may be written
        # before it.
        # Decision 0002: doc/source/decisions/0002-resources-and-generations
        allocations.advance(session, planned.generations)
        if planned.moved is not None:
            replanning.write(session, planned.moved, now, self.options)
        self.write(session, planned, terms.held, now)
        return planned.moved.left if planned.moved else ()

    def plan(
        self,
        session: api.Session,
        lease: objects.Lease,
        now: datetime.datetime,
        terms: Terms,
        *,
        explain: bool = True,
    ) -> Planned | None:
        """Return resources for all of the lease's reservations; None if it
        needs none. Nothing is written.

        Resources that suit a waiting lease which a worker is trying at this
        moment are not for this lease.

        :param explain: whether to find out the reason of a refusal, which
            costs more than the refusal itself.
        :raises: Conflict, NotEnoughResources, InvalidInput, Crowded
        """
        if not self.types.planned(lease):
            return None
        first = (
            queue.in_hand(session, lease, now) if terms.among is None else []
        )
        rivals = [
            demand for other in first for demand in self.types.asks(other)
        ]
        if first:
            terms = dataclasses.replace(terms, moves_promises=False)
        try:
            return self._plan(
                session,
                lease,
                list(self.wanted(session, lease, rivals, terms)),
                search.Search(
                    now,
                    self.options.cleaning_time,
                    start_at(lease),
                    terms.best_fit,
                    ignore=[item.id for item in lease.reservations],
                    beside=terms.beside,
                ),
                terms,
                explain,
            )
        except exception.NotEnoughResources as refusal:
            raise queue.refusal(refusal, lease, first) from refusal

    def wanted(
        self,
        session: api.Session,
        lease: objects.Lease,
        rivals: Sequence[demands.Ask],
        terms: Terms,
    ) -> Iterable[search.Wanted]:
        """Yield the wishes of the lease's reservations.

        :param rivals: the demands of waiting leases that are being tried;
            resources that meet these are left out

        :raises: NotEnoughResources, InvalidInput
        """
        demanded = self.types.planned(lease)
        slots = (
            allocations.slots(session, list(terms.held)) if terms.held else {}
        )
        total = sum(demand.maximum for demand in demanded.values())
        for item in lease.reservations:
            if item.id not in demanded:
                continue
            demand = demanded[item.id]
            self.check_keys(session, demand)
            yield search.Wanted(
                item.id,
                queue.left_over(
                    demand,
                    rivals,
                    self.types.nouns(demand.resource_type)[1],
                ),
                self.types.window(lease, item),
                held=dict.fromkeys(terms.held.get(item.id, ()), 1)
                if demand.exclusive
                else slots.get(item.id, {}),
                keep_all=lease.is_used,
                recheck=not terms.held or item.id in terms.recheck,
                # As many more offers as others may take of the same ones.
                siblings=total
                - demand.maximum
                + (len(terms.beside.taken) if demand.exclusive else 0),
                among=terms.among.get(item.id) if terms.among else None,
                named=self._named(session, demand),
            )

    def _named(self, session: api.Session, demand: demands.Ask) -> list[int]:
        """Return the ids of resources that are asked for by name.

        :raises: InvalidInput for an unknown name
        """
        if not demand.named:
            return []
        found = resources.ids_of(session, demand.resource_type, demand.named)
        unknown = sorted(demand.named - found.keys())
        if unknown:
            raise exception.InvalidInput(
                f'{", ".join(unknown)}: nothing of this name can be leased'
            )
        return sorted(found.values())

    def check_keys(self, session: api.Session, demand: demands.Ask) -> None:
        """:raises: InvalidInput for a property that no resource has"""
        kind = self.types.leasing(demand.resource_type)
        given = () if kind is None else kind.given_properties
        # Each resource has those that are given, even if there is none now.
        unknown = [
            name
            for name in candidates.unknown_keys(session, demand)
            if name not in given
        ]
        if unknown:
            one, many = self.types.nouns(demand.resource_type)
            listed = 'os-hosts' if one == 'host' else many
            raise exception.InvalidInput(
                f'Malformed requirements: no {one} has a property '
                f'{", ".join(unknown)}; "{listed}/properties" lists all'
            )

    def _plan(
        self,
        session: api.Session,
        lease: objects.Lease,
        wanted: Sequence[search.Wanted],
        bounds: search.Search,
        terms: Terms,
        explain: bool,
    ) -> Planned:
        """:raises: NotEnoughResources, InvalidInput, Crowded"""
        attempt, moves = terms.attempt, terms.moves_promises
        if moves and isinstance(attempt.room, replanning.Searched):
            moved = attempt.room.of(wanted)
            assert moved is not None
            return _as_planned(wanted, moved)
        asks = []
        for item in wanted:
            if attempt.budget is not None:
                attempt.budget.check()
            asks.append(find_offers(session, item, bounds))
            if _is_short(asks[-1]):
                # The others would cost as much, and change nothing.
                break
        found = plan.assign(asks, seed(lease), bounds.best_fit)
        if isinstance(found, plan.Plan):
            if lease.keeps_its_cell:
                found = _in_one_cell(session, lease, asks, found, bounds)
            return Planned(wanted, found.slots, found.generations)
        short = found.reservation_id

        def look(session: api.Session) -> replanning.Searched:
            """:raises: NotEnoughResources"""
            moved = None
            if moves and not lease.keeps_its_cell:
                moved = self.find_room(session, wanted, bounds, attempt.budget)
            if moved is None:
                raise self._refusal(
                    session, lease, asks, short, bounds, explain
                )
            return replanning.Searched(wanted, moved)

        if moves and not attempt.searches:
            raise exception.Crowded(look, id=lease.id)
        moved = look(session).found
        assert moved is not None
        return _as_planned(wanted, moved)

    def _refusal(
        self,
        session: api.Session,
        lease: objects.Lease,
        asks: Sequence[offers.Ask],
        short: str,
        terms: search.Search,
        explain: bool,
    ) -> exception.NotEnoughResources:
        """:param short: the id of the reservation that lacks resources"""
        if not explain:
            return self.types.shortage(
                [ask.wanted.demand for ask in asks],
                'not enough are free',
            )
        [refused] = (ask for ask in asks if ask.wanted.reservation_id == short)
        nouns = self.types.nouns(refused.wanted.demand.resource_type)
        reason = refusal_texts.reason(session, refused, asks, terms, nouns)
        LOG.info(
            'Lease %(id)s is refused: %(reason)s',
            {'id': lease.id, 'reason': reason},
        )
        return exception.NotEnoughResources(reason=reason, what=nouns[1])

    def make_room(
        self,
        session: api.Session,
        lease: objects.Lease,
        wanted: Sequence[search.Wanted],
        terms: search.Search,
        attempt: transactions.Attempt,
    ) -> replanning.Found | None:
        """Return what reservations can have if promises of others move; None
        if no such plan is found.

        :raises: Conflict
        :raises: Crowded if room is to be searched outside of the transaction
        """
        if not self._may_move(wanted):
            return None
        if isinstance(attempt.room, replanning.Searched):
            return attempt.room.of(wanted)
        if attempt.searches:
            return self.find_room(session, wanted, terms)

        def look(session: api.Session) -> replanning.Searched:
            return replanning.Searched(
                wanted, self.find_room(session, wanted, terms)
            )

        raise exception.Crowded(look, id=lease.id)

    def find_room(
        self,
        session: api.Session,
        wanted: Sequence[search.Wanted],
        terms: search.Search,
        budget: budgets.Budget | None = None,
    ) -> replanning.Found | None:
        """Return what reservations can have if promises of others move; None
        if no such plan is found. Nothing is written."""
        if not self._may_move(wanted):
            return None
        limits = replanning.SearchLimits(
            self.options.replan_limit, budget or budgets.Budget()
        )
        return replanning.find(session, self.types, wanted, terms, limits)

    def might_move(
        self,
        session: api.Session,
        wanted: Sequence[search.Wanted],
        terms: search.Search,
    ) -> bool:
        """Return whether there might be room if promises of others move: it is
        not hopeless."""
        return self._may_move(wanted) and not replanning.is_hopeless(
            session, self.types, wanted, terms
        )

    def _may_move(self, wanted: Sequence[search.Wanted]) -> bool:
        """Return whether room for these may be made by moving promises."""
        return (
            self.options.replan_limit > 0
            and len({item.demand.resource_type for item in wanted}) == 1
            and all(item.demand.exclusive for item in wanted)
        )

    def write(
        self,
        session: api.Session,
        planned: Planned,
        held: Mapping[str, Collection[int]],
        now: datetime.datetime,
    ) -> None:
        """Write the plan; its generations must be advanced already.

        :param held: as in the terms
        """
        # Delete all before inserting any: one reservation may get a resource
        # that another one had.
        stay = {
            wanted.reservation_id
            for wanted in planned.wanted
            if wanted.keep_all
        }
        for reservation_id in held.keys() - stay:
            allocations.delete(session, reservation_id, held[reservation_id])
        for wanted in planned.wanted:
            reservation_id = wanted.reservation_id
            slots = planned.slots[reservation_id]
            amounts = wanted.demand.amounts
            if held:
                windows.give(
                    session,
                    reservation_id,
                    slots,
                    amounts,
                    wanted.window,
                    now,
                )
                continue
            window = windows.from_now(
                session, wanted.window, slots, now, whole=amounts is None
            )
            allocations.insert(session, reservation_id, slots, amounts, window)


def _as_planned(
    wanted: Sequence[search.Wanted], moved: replanning.Found
) -> Planned:
    slots = {
        reservation_id: dict.fromkeys(ids, 1)
        for reservation_id, ids in moved.room.resources.items()
    }
    return Planned(wanted, slots, moved.generations, moved)


def _in_one_cell(
    session: api.Session,
    lease: objects.Lease,
    asks: Sequence[offers.Ask],
    found: plan.Plan,
    terms: search.Search,
) -> plan.Plan:
    """Return the plan if it stays in the cell of the resources that the lease
    has, or, if the lease has none yet, in any one cell; else another plan
    that does.

    :raises: NotEnoughResources if there is no such plan
    """
    held = [resource for ask in asks for resource in ask.wanted.held]
    booked = [resource for slots in found.slots.values() for resource in slots]
    cells = candidates.cells(session, held)
    if len(cells | candidates.cells(session, booked)) < 2:
        return found
    for cell in sorted(cells or candidates.cells(session)):
        there = [
            find_offers(session, ask.wanted.within('cell', {cell}), terms)
            for ask in asks
        ]
        again = plan.assign(there, lease.id, terms.best_fit)
        if isinstance(again, plan.Plan):
            return again
    raise exception.NotEnoughResources(
        reason='there is room, but in no cell of the cloud for all servers '
        'of the lease, and servers are brought to their places only within '
        'a cell'
    )
