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
from nova_reservations.objects import states
from nova_reservations.types import base
from nova_reservations.types import with_slots

Holdings = Sequence[objects.Holding]


@dataclasses.dataclass(frozen=True, slots=True)
class _Part:
    """Resources that a reservation is asked to give back.

    :ivar held: what the reservation has, without what is leaving already.
    :ivar named: resources to give back that the request names.
    :ivar count: how many resources to give back.
    :ivar after: the reservation as it will be.
    """

    before: objects.Reservation
    after: objects.Reservation
    held: Holdings
    named: Holdings
    count: int


@dataclasses.dataclass(frozen=True, slots=True)
class _Slots:
    """Slots that a reservation is asked to give back.

    :ivar holdings: the resources on which it has slots.
    :ivar count: how many slots it has now.
    """

    before: objects.Reservation
    after: objects.Reservation
    holdings: Holdings
    count: int
    wanted: int


class Shrinking:
    def __init__(
        self, database: api.Database, types: resource_types.Types
    ) -> None:
        self.database = database
        self.types = types

    def look(
        self,
        seen: objects.Lease,
        changes: lease_requests.LeaseChanges,
        params: Mapping[str, Mapping[str, object]],
        now: datetime.datetime,
    ) -> lease_requests.LeaseChanges:
        """Ask the cloud which resources that may be given back are empty.

        :param params: reservation id -> the params that are asked for
        :raises: InvalidInput, InvalidState, CloudUnavailable
        """
        with self.database.reader() as session:
            parts = _parts(session, self.types, seen, changes, params)
            fewer = _slots(session, self.types, seen, params)
        return dataclasses.replace(
            changes,
            empty={
                part.before.id: self._empty(seen, part, now) for part in parts
            },
            held={
                part.before.id: self._held(seen, part, now) for part in fewer
            },
        )

    def _empty(
        self, lease: objects.Lease, part: _Part, now: datetime.datetime
    ) -> frozenset[int]:
        kind = self.types[part.before.resource_type]
        resources = tuple(holding.resource for holding in part.held)
        booking = base.Booking.looked_at(lease, part.before, resources, now)
        return frozenset(resource.id for resource in kind.unused(booking))

    def _held(
        self, lease: objects.Lease, part: _Slots, now: datetime.datetime
    ) -> int | None:
        kind = self.types[part.before.resource_type]
        if not isinstance(kind, with_slots.WithSlots):
            return None
        resources = tuple(holding.resource for holding in part.holdings)
        booking = base.Booking.looked_at(lease, part.before, resources, now)
        return sum(kind.slots_held(booking).values())


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
    parts = _parts(session, types, seen, changes, params)
    fewer = [
        part
        for part in _slots(session, types, seen, params)
        # If nobody can tell how many slots are held, all of them stay.
        if changes.held.get(part.before.id, 0) is not None
    ]
    if not parts and not fewer:
        return None
    after = {part.after.id: part.after for part in parts}
    after |= {part.after.id: part.after for part in fewer}
    _check_alone(types, seen, lease, after)
    for slots in fewer:
        _check_not_held(slots, changes)
    for part in parts:
        chosen = _choose(part, changes.empty.get(part.before.id))
        leaving_db.mark(session, part.before.id, chosen, now)
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
    if _slots(session, types, lease, params) or any(
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
    seen: objects.Lease,
    changes: lease_requests.LeaseChanges,
    params: Mapping[str, Mapping[str, object]],
) -> list[_Part]:
    """Return what is to be given back by each reservation that gives any."""
    parts = []
    for item in seen.reservations:
        asked = changes.reservations.get(item.id)
        if asked is None:
            continue
        names = types.named(item.resource_type).released(asked)
        if seen.status == states.Lease.ACTIVE:
            parts.append(
                _part(session, types, item, asked, params[item.id], names)
            )
        elif names:
            raise base.refused_change(
                item, 'only an active lease has hosts that it could release'
            )
    return [part for part in parts if part is not None]


def _slots(
    session: api.Session,
    types: resource_types.Types,
    lease: objects.Lease,
    params: Mapping[str, Mapping[str, object]],
) -> list[_Slots]:
    """Return what is to be given back by each reservation of an active lease
    that has more slots than these params ask for."""
    if lease.status != states.Lease.ACTIVE:
        return []
    asked = []
    for item in lease.reservations:
        if item.id in params and item.resource_type in types:
            demand = types[item.resource_type].demand(params[item.id])
            if demand is not None and not demand.exclusive:
                asked.append((item, demand))
    ids = [item.id for item, _ in asked]
    if not ids:
        return []
    slots = allocations.slots(session, ids)
    held = allocations.holdings(session, ids)
    return [
        _Slots(
            item,
            dataclasses.replace(item, params=params[item.id]),
            [
                holding
                for holding in held[item.id]
                if holding.resource.id in slots[item.id]
            ],
            sum(slots[item.id].values()),
            demand.slots,
        )
        for item, demand in asked
        if sum(slots.get(item.id, {}).values()) > demand.slots
    ]


def _check_not_held(
    part: _Slots, changes: lease_requests.LeaseChanges
) -> None:
    """:raises: InvalidState, Contended"""
    if part.before.id not in changes.held:
        # The change became one that shrinks only after Nova was asked.
        raise exception.Contended
    held = changes.held[part.before.id] or 0
    if held > part.wanted:
        had = objects.plural(part.count, 'slot is', 'slots are')
        raise base.refused_change(
            part.before,
            f'{held} of its {had} used, and amount is to be {part.wanted}: '
            'delete or migrate servers first',
        )


def _part(
    session: api.Session,
    types: resource_types.Types,
    item: objects.Reservation,
    asked: Mapping[str, object],
    params: Mapping[str, object],
    names: Collection[str],
) -> _Part | None:
    """:raises: InvalidState"""
    kind = types[item.resource_type]
    demand = kind.demand(params)
    if demand is None or not demand.exclusive:
        return None
    [holdings] = allocations.holdings(session, [item.id]).values()
    held = [holding for holding in holdings if holding.stays]
    named = _named(item, held, names)
    left = len(held) - len(named)
    if not named and left <= demand.maximum:
        return None
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
        item, params=kind.ranged(params, minimum, maximum)
    )
    return _Part(item, after, held, named, len(held) - maximum)


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


def _choose(part: _Part, empty: Collection[int] | None) -> list[int]:
    """Return the ids of the resources to give back: first those that are
    named, then failed ones, then those with the highest ids.

    :param empty: ids of resources that had nothing on them when Nova was asked
    :raises: InvalidState, Contended
    """
    if empty is None:
        # The change became one that shrinks only after Nova was asked.
        raise exception.Contended
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
            for holding in part.held
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
            f'given back, and {len(chosen)} of its {len(part.held)} '
            f'{"has" if len(chosen) == 1 else "have"} no servers: delete or '
            'migrate servers first',
        )
    return chosen[: part.count]
