# SPDX-License-Identifier: Apache-2.0
"""The worker's part when an active lease gives back whole resources, or slots.

Whole resources are taken out of the aggregate. As at an end, servers that were
let in before have time to be seen. Resources that are empty then are released.

Placement counts slots: once it has fewer of them, no new allocation can take
more, and all earlier allocations are visible. So no time to settle is needed:
the slots that are held are read after placement was changed.

If a server has come meanwhile, the lease keeps its host or slot, and the owner
is told.

Decision 0034: doc/source/decisions/0034-hosts-are-given-back-early
"""

from collections.abc import Collection
from collections.abc import Mapping
import dataclasses
import datetime
import itertools

from oslo_log import log

from nova_reservations import objects
from nova_reservations.db import api
from nova_reservations.db.holdings import allocations
from nova_reservations.db.holdings import leaving
from nova_reservations.db.leases import due_leases
from nova_reservations.db.leases import freed_capacity
from nova_reservations.db.leases import leases
from nova_reservations.db.resources import drainable_hosts
from nova_reservations.engine import claimed_leases
from nova_reservations.engine import steps
from nova_reservations.objects import demand as demands
from nova_reservations.planner import shrinking
from nova_reservations.types import base
from nova_reservations.types import shrinks
from nova_reservations.types import with_slots

LOG = log.getLogger(__name__)

BUILDING = datetime.timedelta(seconds=5)
"""The time between two looks at servers that are being built or moved."""


CHOICES = 2
"""How often other slots are chosen in place of those that were taken
meanwhile. After that the lease keeps the taken slots, too."""


@dataclasses.dataclass(frozen=True, slots=True)
class _Part:
    """Whole resources, or slots, that a reservation gives back; Nova has only
    those that it keeps.

    :ivar after: the reservation as it is afterwards.
    :ivar left: resource id -> how many slots stay, of resources of which some
        are given back; whole resources: none.
    :ivar given: names what is given back; left_over, what it keeps.
    :ivar slot: what a slot holds; None: they are whole resources.
    :ivar kept: ids of whole resources to which a server has come.
    :ivar surplus: names what it keeps because of servers that have come.
    """

    after: objects.Reservation
    left: Mapping[int, int]
    given: str
    left_over: str
    slot: Mapping[str, int] | None = None
    kept: Collection[int] = ()
    surplus: str = ''

    def write(
        self,
        session: api.Session,
        lease: objects.Lease,
        now: datetime.datetime,
    ) -> None:
        """Record what the reservation has lost, and what it keeps."""
        if self.slot is not None:
            leaving.lower(session, self.after.id, self.left, self.slot, now)
        else:
            leaving.release(session, self.after.id, [*self.left], now)
            if self.kept:
                leaving.keep(session, self.after.id, self.kept)
        if self.surplus:
            leases.set_params(session, lease, self.after, now)


def update(
    held: claimed_leases.ClaimedLease,
    current: Collection[tuple[base.ResourceType, base.Booking]],
    settle: datetime.timedelta,
) -> steps.Next:
    """Bring Nova in line with what the lease has. Record that it is, once
    servers on what is given back have had the time to be seen.

    :param current: the lease's reservations
    :param settle: how long a server that was let in may take to be seen
    :raises: ClaimLost, CloudRefused, CloudUnavailable
    """
    # Whole resources leave Nova by this, too.
    slots = [_update(*each) for each in current]
    ids = [item.id for item in held.lease.reservations]
    with held.database.reader() as session:
        holdings = allocations.holdings(session, ids)
    giving = [
        (kind, booking, holdings[booking.reservation.id])
        for kind, booking in current
        if isinstance(kind, shrinks.Shrinks)
        and any(
            holding.leaving_at is not None
            for holding in holdings[booking.reservation.id]
        )
    ]
    waiting = _waits(held, giving, settle)
    if waiting is not None:
        return waiting
    parts = [_look(*each) for each in giving]
    parts += [part for part in slots if part is not None]

    def write(session: api.Session) -> None:
        if parts:
            _write(session, held.lease, parts, held.now)

    held.record(prepared=True, status_reason=_reason(parts), then=write)
    for part in parts:
        LOG.info(
            'Reservation %(id)s has given back %(given)s, and keeps %(kept)s',
            {
                'id': part.after.id,
                'given': part.given,
                'kept': part.left_over,
            },
        )
    return steps.Again()


def _waits(
    held: claimed_leases.ClaimedLease,
    giving: Collection[
        tuple[shrinks.Shrinks, base.Booking, Collection[objects.Holding]]
    ],
    settle: datetime.timedelta,
) -> steps.Wait | None:
    """Return the wait for servers that may still come to what is given
    back, if any.

    :raises: ClaimLost, CloudUnavailable
    """
    since = [
        holding.leaving_at
        for _, _, holdings in giving
        for holding in holdings
        if holding.leaving_at is not None
    ]
    if since and held.now - max(since) < settle:
        return steps.Wait.plain(
            'Hosts are being given back: waiting for servers that are on '
            'their way',
            steps.SOON,
        )
    coming = [
        server
        for kind, booking, holdings in giving
        for server in _awaited(held, kind, booking, holdings)
    ]
    if not coming:
        return None
    count = objects.plural(len(coming), 'server', 'servers')
    return steps.Wait.plain(
        f'Hosts are being given back: waiting for {count} that may still '
        'come to them: being built, resized or migrated',
        BUILDING,
    )


def _awaited(
    held: claimed_leases.ClaimedLease,
    kind: shrinks.Shrinks,
    booking: base.Booking,
    holdings: Collection[objects.Holding],
) -> frozenset[str]:
    """Return the servers that may still come to what a reservation gives
    back: nova-conductor uses alternates that were chosen before the mark.

    The servers are listed once the mark has settled. Servers that are built
    later have none of these resources among their alternates.

    :raises: ClaimLost, CloudUnavailable
    """
    coming = kind.coming(booking)
    leaving_now = [
        holding for holding in holdings if holding.leaving_at is not None
    ]
    unlisted = [
        holding.resource.id
        for holding in leaving_now
        if holding.awaited is None
    ]
    if coming and unlisted:
        held.record(
            then=lambda session: leaving.set_awaited(
                session, booking.reservation.id, unlisted, coming
            ),
        )
        return coming
    listed = [each.awaited for each in leaving_now if each.awaited]
    return coming.intersection(frozenset().union(*listed))


def _look(
    kind: shrinks.Shrinks,
    booking: base.Booking,
    holdings: Collection[objects.Holding],
) -> _Part:
    """Look at what a reservation gives back; in Nova, the lease gets again
    what is not empty."""
    leaving_now = tuple(
        holding.resource
        for holding in holdings
        if holding.leaving_at is not None
    )
    empty = tuple(
        kind.unused(dataclasses.replace(booking, resources=leaving_now))
    )
    kept = tuple(item for item in leaving_now if item not in empty)
    after = booking.reservation
    if kept:
        kind.update(
            dataclasses.replace(
                booking,
                resources=booking.resources + kept,
                left=tuple(item for item in booking.left if item not in kept),
            )
        )
        demand = kind.demand(after.params)
        assert isinstance(demand, demands.Demand)
        count = len(kept) + sum(holding.stays for holding in holdings)
        after = dataclasses.replace(
            after,
            params=kind.ranged(
                after.params, demand.minimum, max(demand.maximum, count)
            ),
        )
    names = ', '.join(item.name for item in kept)
    return _Part(
        after,
        {item.id: 0 for item in empty},
        ', '.join(item.name for item in empty) or 'none',
        names or 'none',
        kept=[item.id for item in kept],
        surplus=names,
    )


def _update(kind: base.ResourceType, booking: base.Booking) -> _Part | None:
    """Bring Nova in line with what the reservation has. It loses the slots
    above what it asks for now; return these, or None if there are none.

    :raises: ClaimLost, CloudRefused, CloudUnavailable
    """
    demand = _fewer_slots(kind, booking)
    if demand is None or not isinstance(kind, with_slots.WithSlots):
        _align(kind, booking)
        return None
    kept = _keep(kind, booking, demand.slots)
    count = sum(kept.values())
    left = {
        key: slots for key, slots in kept.items() if slots < booking.slots[key]
    }
    item = booking.reservation
    named = (
        f'{objects.plural(count, "slot", "slots")} of reservation {item.id}'
    )
    return _Part(
        dataclasses.replace(
            item, params=kind.ranged(item.params, count, count)
        ),
        left,
        f'slots of {len(left)} resources',
        str(count),
        slot=demand.amounts,
        surplus=named if count > demand.slots else '',
    )


def _fewer_slots(
    kind: base.ResourceType, booking: base.Booking
) -> demands.Share | None:
    """Return what the reservation asks for, if it has more slots than that."""
    if not booking.slots:
        return None
    demand = kind.demand(booking.reservation.params)
    if (
        demand is None
        or demand.exclusive
        or sum(booking.slots.values()) <= demand.slots
    ):
        return None
    return demand


def _keep(
    kind: with_slots.WithSlots, booking: base.Booking, wanted: int
) -> dict[int, int]:
    """Have Nova offer as many slots as are wanted; slots that were taken
    meanwhile stay. Return resource id -> how many there are."""
    held = kind.slots_held(booking)
    usable = {resource.id for resource in booking.resources}
    for choice in itertools.count(1):
        kept = shrinking.kept(booking.slots, held, wanted, usable)
        _align(kind, _with(booking, kept))
        held = kind.slots_held(booking)
        there = _not_taken(kind, booking, kept)
        if not there and all(
            held.get(key, 0) <= count or count == booking.slots[key]
            for key, count in kept.items()
        ):
            break
        if choice > CHOICES:
            # From now on no number of kept slots may fall, so the loop ends.
            held = {
                key: max(count, held.get(key, 0), key in there)
                for key, count in kept.items()
            }
    return kept


def _not_taken(
    kind: with_slots.WithSlots, booking: base.Booking, kept: Mapping[int, int]
) -> set[int]:
    """Return the ids of resources of which Nova still has all slots, though
    none is to be kept: a server held one when they were to be taken away. That
    server may have left since, and another one come."""
    if all(kept.values()):
        return set()
    offered = kind.slots_offered(booking)
    return {key for key, count in kept.items() if not count and key in offered}


def _with(booking: base.Booking, slots: Mapping[int, int]) -> base.Booking:
    return dataclasses.replace(
        booking,
        slots=slots,
        resources=tuple(
            resource for resource in booking.resources if slots[resource.id]
        ),
    )


def _align(kind: base.ResourceType, booking: base.Booking) -> None:
    if booking.left:
        kind.heal(booking)
    else:
        kind.update(booking)


def _write(
    session: api.Session,
    lease: objects.Lease,
    parts: Collection[_Part],
    now: datetime.datetime,
) -> None:
    due_leases.wake_successors(session, [part.after.id for part in parts], now)
    for part in parts:
        part.write(session, lease, now)
    freed = [key for part in parts for key in part.left]
    drainable_hosts.came_free(session, lease.id, now)
    freed_capacity.freed(session, now, freed)


def _reason(parts: Collection[_Part]) -> objects.Reason | None:
    hosts = ', '.join(part.surplus for part in parts if part.kept)
    slots = [part.surplus for part in parts if part.slot is not None]
    kept = [surplus for surplus in (hosts, *slots) if surplus]
    if not kept:
        return None
    return objects.Reason.plain(
        'A server has come meanwhile, so that the lease keeps '
        + ' and '.join(kept)
    )
