# SPDX-License-Identifier: Apache-2.0
"""Active leases that shrink: their owners give back whole resources, or slots.

Before the transaction Nova is asked which resources are empty. The transaction
closes some of these to new servers, and a worker gives them back. For slots
the transaction only writes how many are to stay: slots are not marked, and a
worker gives back those above that number.

Decision 0034: doc/source/decisions/0034-hosts-are-given-back-early
"""

from collections.abc import Collection
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import datetime

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations.db import api
from nova_reservations.db.holdings import allocations
from nova_reservations.db.holdings import leaving as leaving_db
from nova_reservations.engine import resource_types
from nova_reservations.engine.booking import lease_requests
from nova_reservations.objects import demand as demands
from nova_reservations.objects import states
from nova_reservations.types import base
from nova_reservations.types import shrinks
from nova_reservations.types import with_slots

Holdings = Sequence[objects.Holding]

_NOTHING: Mapping[str, Mapping[str, object]] = {}


@dataclasses.dataclass(frozen=True, slots=True)
class _Part:
    """Whole resources, or slots, that a reservation is asked to give back.

    :ivar after: the reservation as it will be.
    :ivar holdings: whole resources that it has, without what is leaving
        already; or those on which it has slots.
    :ivar has: how many whole resources, or slots, it has now.
    :ivar count: how many of them to give back.
    :ivar named: whole resources to give back that the request names.
    """

    before: objects.Reservation
    after: objects.Reservation
    is_whole: bool
    holdings: Holdings
    has: int
    count: int
    named: Holdings = ()


def look(
    database: api.Database,
    types: resource_types.Types,
    seen: objects.Lease,
    changes: lease_requests.LeaseChanges,
    params: Mapping[str, Mapping[str, object]],
    now: datetime.datetime,
) -> lease_requests.LeaseChanges:
    """Ask the cloud what is used of all that may be given back.

    :param params: reservation id -> the params that are asked for
    :raises: InvalidInput, InvalidState, CloudUnavailable
    """
    with database.reader() as session:
        parts = _parts(session, types, seen, params, changes.reservations)
    used = {part.before.id: _used(types, seen, part, now) for part in parts}
    return dataclasses.replace(changes, used=used)


def _used(
    types: resource_types.Types,
    lease: objects.Lease,
    part: _Part,
    now: datetime.datetime,
) -> Mapping[int, int] | None:
    kind = types[part.before.resource_type]
    resources = tuple(holding.resource for holding in part.holdings)
    booking = base.Booking.looked_at(lease, part.before, resources, now)
    if part.is_whole:
        unused = {resource.id for resource in kind.unused(booking)}
        return {each.id: int(each.id not in unused) for each in resources}
    if not isinstance(kind, with_slots.WithSlots):
        return None
    return kind.slots_held(booking)


def close(
    session: api.Session,
    types: resource_types.Types,
    seen: objects.Lease,
    lease: objects.Lease,
    changes: lease_requests.LeaseChanges,
    now: datetime.datetime,
) -> objects.Lease | None:
    """Keep new servers off the resources that are given back; return the lease
    as it is then, with the params to write. None: nothing is given back.

    :param lease: the lease as it is asked to be
    :raises: InvalidInput, InvalidState, Contended
    """
    params = {
        item.id: item.params
        for item in lease.reservations
        if item.id in changes.reservations
    }
    parts = [
        part
        for part in _parts(session, types, seen, params, changes.reservations)
        # If nobody can tell how many slots are held, all of them stay.
        if changes.used.get(part.before.id, {}) is not None
    ]
    if not parts:
        return None
    after = {part.after.id: part.after for part in parts}
    _check_alone(types, seen, lease, after)
    for part in parts:
        used = changes.used.get(part.before.id)
        if used is None:
            # The change became one that shrinks only after Nova was asked.
            raise exception.Contended
        if part.is_whole:
            chosen = _choose(part, used)
            leaving_db.mark(session, part.before.id, chosen, now)
        else:
            _check_not_held(part, used)
    return dataclasses.replace(
        lease,
        prepared=False,
        reservations=tuple(
            after.get(item.id, item) for item in lease.reservations
        ),
    )


def check_none_leaves(
    session: api.Session, types: resource_types.Types, lease: objects.Lease
) -> None:
    """:raises: BeingGivenBack while anything of the lease is being given back:
    what turns out to be used must stay for as long as the lease
    """
    params = {item.id: item.params for item in lease.reservations}
    held = allocations.holdings(
        session, [item.id for item in lease.reservations]
    )
    if _parts(session, types, lease, params) or any(
        holding.leaving_at is not None
        for holdings in held.values()
        for holding in holdings
    ):
        raise exception.BeingGivenBack(
            kind='Lease',
            id=lease.id,
            status=lease.status,
            reason='something of it is just being given back; try again in a '
            'few seconds',
        )


def _parts(
    session: api.Session,
    types: resource_types.Types,
    lease: objects.Lease,
    params: Mapping[str, Mapping[str, object]],
    asked: Mapping[str, Mapping[str, object]] = _NOTHING,
) -> list[_Part]:
    """Return what is to be given back by each reservation that gives any:
    whole resources if it is asked for fewer, and slots above what these params
    ask for.

    :param asked: reservation id -> the change alone
    :raises: InvalidInput, InvalidState
    """
    if lease.status != states.Lease.ACTIVE:
        for item in lease.reservations:
            alone = asked.get(item.id)
            if alone and _released(types.named(item.resource_type), alone):
                raise base.refused_change(
                    item,
                    'only an active lease has hosts that it could release',
                )
        return []
    ids = [item.id for item in lease.reservations]
    held = allocations.holdings(session, ids)
    slots = allocations.slots(session, ids)
    parts: list[_Part | None] = []
    for item in lease.reservations:
        if item.id not in params or item.resource_type not in types:
            continue
        kind = types[item.resource_type]
        after = dataclasses.replace(item, params=params[item.id])
        demand = kind.demand(after.params)
        if demand is None:
            continue
        if not demand.exclusive:
            has = slots.get(item.id, {})
            parts.append(_slots(item, after, demand, held[item.id], has))
        elif item.id in asked:
            ask = asked[item.id]
            parts.append(_wholes(kind, item, after, ask, held[item.id]))
    return [part for part in parts if part is not None]


def _slots(
    before: objects.Reservation,
    after: objects.Reservation,
    demand: demands.Share,
    held: Holdings,
    slots: Mapping[int, int],
) -> _Part | None:
    """:param slots: resource id -> how many the reservation has"""
    has = sum(slots.values())
    if has <= demand.slots:
        return None
    on = [holding for holding in held if holding.resource.id in slots]
    return _Part(before, after, False, on, has, has - demand.slots)


def _check_not_held(part: _Part, used: Mapping[int, int]) -> None:
    """:raises: InvalidState"""
    held, wanted = sum(used.values()), part.has - part.count
    if held > wanted:
        had = objects.plural(part.has, 'slot is', 'slots are')
        raise base.refused_change(
            part.before,
            f'{held} of its {had} used, and amount is to be {wanted}: '
            'delete or migrate servers first',
        )


def _wholes(
    kind: base.ResourceType,
    item: objects.Reservation,
    after: objects.Reservation,
    asked: Mapping[str, object],
    holdings: Holdings,
) -> _Part | None:
    """:raises: InvalidState"""
    demand = kind.demand(after.params)
    assert isinstance(demand, demands.Demand)
    held = [holding for holding in holdings if holding.stays]
    named = _named(item, held, _released(kind, asked))
    left = len(held) - len(named)
    if not named and left <= demand.maximum:
        return None
    if not isinstance(kind, shrinks.Shrinks):
        raise base.refused_change(
            item, 'it can not give anything back before its end'
        )
    minimum, maximum = demand.minimum, demand.maximum
    if named and 'max' not in asked:
        maximum = left
    if named and 'min' not in asked:
        minimum = min(minimum, maximum, left)
    if not 0 < minimum <= min(maximum, left):
        raise base.refused_change(
            item,
            f'{objects.plural(left, "host", "hosts")} would be left of '
            f'{len(held)}, and min is {max(minimum, 1)}',
        )
    if maximum > left and named:
        raise base.refused_change(
            item,
            f'max can be {left} at most if '
            f'{objects.plural(len(named), "host is", "hosts are")} released',
        )
    after = dataclasses.replace(
        after, params=kind.ranged(after.params, minimum, maximum)
    )
    return _Part(
        item, after, True, held, len(held), len(held) - maximum, named
    )


def _released(
    kind: base.ResourceType, asked: Mapping[str, object]
) -> Collection[str]:
    return kind.released(asked) if isinstance(kind, shrinks.Shrinks) else ()


def _named(
    item: objects.Reservation, held: Holdings, names: Collection[str]
) -> list[objects.Holding]:
    """:raises: InvalidState"""
    known = {
        name: holding
        for holding in held
        for name in (
            str(holding.resource.id),
            holding.resource.uuid,
            holding.resource.name,
        )
    }
    unknown = sorted(set(names) - set(known))
    if unknown:
        raise base.refused_change(
            item,
            f'{", ".join(unknown)}: no host of this reservation, or given '
            'back already',
        )
    chosen = {known[name].resource.id for name in names}
    return [holding for holding in held if holding.resource.id in chosen]


def _check_alone(
    types: resource_types.Types,
    seen: objects.Lease,
    lease: objects.Lease,
    shrinking: Collection[str],
) -> None:
    """:raises: InvalidState if the lease also asks for anything more: it would
        have to be booked anew for that

    :param shrinking: ids of the reservations that give something back
    """
    known = {item.id: item for item in seen.reservations}
    for new in lease.reservations:
        if new.id not in known:
            raise base.refused_change(
                known[str(new.part_of)],
                'it can not get more parts while something is given back: '
                'first that, then the other',
            )
        old = known[new.id]
        demands = [types.demand(item) for item in (old, new)]
        if old.id in shrinking:
            # Compare everything except the number of resources.
            demands = [demand and demand.sized(1) for demand in demands]
        ends = [
            types.window(each, item).end
            for each, item in ((seen, old), (lease, new))
        ]
        if demands[0] != demands[1] or ends[1] > ends[0]:
            raise base.refused_change(
                old,
                'it gives something back by a request of its own: first that, '
                'then what else is to change',
            )


def _choose(part: _Part, used: Mapping[int, int]) -> list[int]:
    """Return the ids of the resources to give back: first those that are
    named, then failed ones, then those with the highest ids.

    :param used: resource id -> whether anything was on it when Nova was asked
    :raises: InvalidState
    """
    empty = {key for key, count in used.items() if not count}
    taken = [
        holding.resource.name
        for holding in part.named
        if holding.resource.id not in empty
    ]
    if taken:
        raise base.refused_change(
            part.before,
            f'servers are on {", ".join(taken)}: delete or migrate them '
            'first, or release another host',
        )
    chosen = [holding.resource.id for holding in part.named]
    others = sorted(
        (
            holding
            for holding in part.holdings
            if holding.resource.id in empty
            and holding.resource.id not in chosen
        ),
        key=lambda holding: (holding.usable, -holding.resource.id),
    )
    chosen += [holding.resource.id for holding in others]
    if len(chosen) < part.count:
        raise base.refused_change(
            part.before,
            f'{objects.plural(part.count, "host is", "hosts are")} to be '
            f'given back, and {len(chosen)} of its {part.has} '
            f'{"has" if len(chosen) == 1 else "have"} no servers: delete or '
            'migrate servers first',
        )
    return chosen[: part.count]
