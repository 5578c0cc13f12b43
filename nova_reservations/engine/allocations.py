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
from nova_reservations.db import allocations
from nova_reservations.db import api
from nova_reservations.db import candidates
from nova_reservations.db import resources
from nova_reservations.db import shares
from nova_reservations.engine import queue
from nova_reservations.engine import replanning
from nova_reservations.engine import resource_types
from nova_reservations.engine import settings
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
    :ivar replan: whether promises of others may move for the lease.
    :ivar beside: resources that are not for the lease.
    """

    held: Mapping[str, Collection[int]] = dataclasses.field(
        default_factory=dict
    )
    recheck: Collection[str] = ()
    best_fit: bool = True
    among: Mapping[str, Collection[int]] | None = None
    replan: replanning.Replan = replanning.Replan.NO
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


class Allocations:
    def __init__(
        self, types: resource_types.Types, options: settings.Settings
    ) -> None:
        self.types = types
        self.options = options

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
        self.write(session, planned, terms.held)
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
        :raises: Conflict, NotEnoughResources, InvalidInput
        """
        if not resource_types.planned(self.types, lease):
            return None
        first = (
            queue.in_hand(session, lease, now) if terms.among is None else []
        )
        rivals = [
            demand
            for other in first
            for demand in resource_types.asks(self.types, other)
        ]
        replan = replanning.Replan.NO if first else terms.replan
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
                replan,
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
        demanded = resource_types.planned(self.types, lease)
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
                    resource_types.nouns(self.types, demand.resource_type)[1],
                ),
                resource_types.window(self.types, lease, item),
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
        unknown = candidates.unknown_keys(session, demand)
        if unknown:
            one, many = resource_types.nouns(self.types, demand.resource_type)
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
        terms: search.Search,
        replan: replanning.Replan,
        explain: bool,
    ) -> Planned:
        """:raises: NotEnoughResources, InvalidInput, Crowded"""
        asks = [find_offers(session, item, terms) for item in wanted]
        found = plan.assign(asks, seed(lease), terms.best_fit)
        if isinstance(found, plan.Plan):
            if lease.keeps_its_cell:
                found = _in_one_cell(session, lease, asks, found, terms)
            return Planned(wanted, found.slots, found.generations)
        if not lease.keeps_its_cell:
            moved = self.make_room(session, lease, wanted, terms, replan)
            if moved is not None:
                return _as_planned(wanted, moved)
        if not explain:
            raise resource_types.shortage(
                self.types,
                [item.demand for item in wanted],
                'not enough are free',
            )
        refused = next(
            ask
            for ask in asks
            if ask.wanted.reservation_id == found.reservation_id
        )
        demand = refused.wanted.demand
        nouns = resource_types.nouns(self.types, demand.resource_type)
        if demand.exclusive:
            reason = _whole_refusal(
                session, refused.wanted, asks, terms, nouns
            )
        else:
            reason = _share_refusal(session, refused, len(asks) - 1, nouns)
        LOG.info(
            'Lease %(id)s is refused: %(reason)s',
            {'id': lease.id, 'reason': reason},
        )
        raise exception.NotEnoughResources(reason=reason, what=nouns[1])

    def make_room(
        self,
        session: api.Session,
        lease: objects.Lease,
        wanted: Sequence[search.Wanted],
        terms: search.Search,
        replan: replanning.Replan,
    ) -> replanning.Found | None:
        """Return what reservations can have if promises of others move; None
        if no such plan is found, or promises may not move.

        :raises: Crowded if another attempt, which may move promises, might
            find room
        """
        limit = self.options.replan_limit
        types = {item.demand.resource_type for item in wanted}
        if (
            replan is replanning.Replan.NO
            or not limit
            or len(types) > 1
            or not all(item.demand.exclusive for item in wanted)
        ):
            return None
        promises = replanning.Promises(session, self.types, types.pop(), terms)
        if replan is replanning.Replan.YES:
            return promises.find(wanted, limit)
        if promises.is_hopeless(wanted):
            return None
        raise exception.Crowded(id=lease.id)

    def write(
        self,
        session: api.Session,
        planned: Planned,
        held: Mapping[str, Collection[int]],
    ) -> None:
        """Write the plan; its generations must be advanced already.

        :param held: as in the terms
        """
        # Delete all before inserting any: one reservation may get a resource
        # that another one had.
        for reservation_id, resource_ids in held.items():
            allocations.delete(session, reservation_id, resource_ids)
        for wanted in planned.wanted:
            reservation_id = wanted.reservation_id
            slots = planned.slots[reservation_id]
            if held:
                # The reservation may have had it before, and had to leave it.
                allocations.delete(session, reservation_id, slots)
            allocations.insert(
                session,
                reservation_id,
                slots,
                wanted.demand.amounts,
                wanted.window,
            )


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
    for cell in sorted(cells) or candidates.all_cells(session):
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


def _matching(count: int, nouns: tuple[str, str]) -> str:
    one, many = nouns
    return objects.plural(count, f'{one} matches', f'{many} match')


def _whole_refusal(
    session: api.Session,
    wanted: search.Wanted,
    asks: Iterable[offers.Ask],
    terms: search.Search,
    nouns: tuple[str, str],
) -> str:
    """Return why whole resources are refused; reads the whole cloud."""
    shortage = candidates.shortage(session, wanted, terms)
    others = [
        ask.wanted.demand.least
        for ask in asks
        if ask.wanted.demand.exclusive and ask.wanted is not wanted
    ]
    matching = _matching(shortage.matching, nouns)
    taken = objects.plural(shortage.taken, 'is taken', 'are taken')
    reason = (
        f'{matching}, {taken} in this window, {wanted.demand.least} wanted'
    )
    if others:
        reason += f', and {sum(others)} by other reservations of the lease'
    if terms.beside.taken:
        count = len(terms.beside.taken)
        reason += f', and {count} by other leases of the series'
    if wanted.named:
        reason += f', and {len(wanted.named)} by their names'
    if wanted.keep_all and wanted.held:
        reason += (
            f', and an active lease keeps the {len(wanted.held)} that it has'
        )
    return reason


def _share_refusal(
    session: api.Session,
    ask: offers.Ask,
    siblings: int,
    nouns: tuple[str, str],
) -> str:
    """Return why a share is refused; reads the whole cloud."""
    share, must_keep = ask.wanted.demand, ask.wanted.must_keep
    assert not share.exclusive
    fit = [
        min(share.slot.times_in(offer.left), share.slots)
        for offer in ask.offers
    ]
    matching = _matching(shares.matching(session, share), nouns)
    one, many, each = 'server', 'servers', ''
    if share.resource_type != objects.HOST:
        units = (f'{units} {name}' for name, units in share.amounts.items())
        one, many, each = 'share', 'shares', f' of {" and ".join(units)}'
    if share.affinity:
        room = f'none of them has room for all {many}{each}'
    elif share.affinity is False:
        room = objects.plural(
            sum(1 for slots in fit if slots),
            f'has room for a {one}{each}',
            f'have room for a {one}{each}',
        )
    else:
        count = objects.plural(sum(fit), one, many)
        room = f'there is room for {count}{each}'
    reason = f'{matching}, {room} in this window, {share.slots} wanted'
    if siblings:
        reason += ', beside what other reservations of the lease take'
    if must_keep:
        slots = sum(must_keep.values())
        kept = objects.plural(
            slots,
            'slot that it has where it is',
            'slots that it has where they are',
        )
        reason += f', and an active lease keeps the {kept}'
    return reason
