# SPDX-License-Identifier: Apache-2.0
"""The worker's part when an active lease gives back resources.

Whole resources are taken out of the aggregate. As at an end, servers that were
let in before have time to be seen. Resources that are empty then are released.
If a server has come, the lease keeps its host, and the owner is told. For
slots see ``fewer_slots.py``.

Decision 0034: doc/source/decisions/0034-hosts-are-given-back-early
"""

from collections.abc import Collection
import dataclasses
import datetime

from oslo_log import log

from nova_reservations import objects
from nova_reservations.db import api
from nova_reservations.db.holdings import allocations
from nova_reservations.db.holdings import leaving
from nova_reservations.db.leases import due_leases
from nova_reservations.db.leases import freed_capacity
from nova_reservations.db.leases import leases
from nova_reservations.db.resources import drainable_hosts
from nova_reservations.engine import lease_claims
from nova_reservations.engine import settings
from nova_reservations.engine import steps
from nova_reservations.engine.worker import fewer_slots
from nova_reservations.objects import demand as demands
from nova_reservations.types import base

LOG = log.getLogger(__name__)

SOON = datetime.timedelta(seconds=1)
"""The time between two looks at something that should be over any moment."""

BUILDING = datetime.timedelta(seconds=5)
"""The time between two looks at servers that are being built or moved."""


@dataclasses.dataclass(frozen=True, slots=True)
class _Part:
    """Resources that a reservation gives back, and those it has to keep.

    :ivar after: the reservation as it is afterwards.
    """

    after: objects.Reservation
    empty: tuple[objects.Resource, ...]
    kept: tuple[objects.Resource, ...]


class GivenBack:
    def __init__(
        self, database: api.Database, options: settings.Settings
    ) -> None:
        self.database = database
        self.options = options

    def update(
        self,
        held: lease_claims.ClaimedLease,
        current: Collection[tuple[base.ResourceType, base.Booking]],
        now: datetime.datetime,
    ) -> steps.Next:
        """Bring Nova in line with what the lease has. Record that it is, once
        servers on what is given back have had the time to be seen.

        :param current: the lease's reservations
        :raises: ClaimLost, CloudRefused, CloudUnavailable
        """
        found = [fewer_slots.update(*each) for each in current]
        fewer = [part for part in found if part is not None]
        ids = [item.id for item in held.lease.reservations]
        with self.database.reader() as session:
            holdings = allocations.holdings(session, ids)
        giving = [
            (kind, booking, holdings[booking.reservation.id])
            for kind, booking in current
            if any(
                holding.leaving_at is not None
                for holding in holdings[booking.reservation.id]
            )
        ]
        waiting = self._waits(held, giving, now)
        if waiting is not None:
            return waiting
        parts = [_look(*each) for each in giving]

        def write(session: api.Session) -> None:
            if parts or fewer:
                _write(session, held.lease, parts, fewer, now)

        held.record(
            now, prepared=True, status_reason=_reason(parts, fewer), then=write
        )
        for part in parts:
            LOG.info(
                'Reservation %(id)s has given back %(empty)s, and keeps '
                '%(kept)s',
                {
                    'id': part.after.id,
                    'empty': _names(part.empty),
                    'kept': _names(part.kept),
                },
            )
        for slots in fewer:
            LOG.info(
                'Reservation %(id)s has given back slots of %(number)s '
                'resources, and keeps %(count)s',
                {
                    'id': slots.reservation.id,
                    'number': len(slots.slots),
                    'count': slots.count,
                },
            )
        return steps.Again()

    def _waits(
        self,
        held: lease_claims.ClaimedLease,
        giving: Collection[
            tuple[
                base.ResourceType,
                base.Booking,
                Collection[objects.Holding],
            ]
        ],
        now: datetime.datetime,
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
        if since and now - max(since) < self.options.settle:
            return steps.Wait(
                objects.Reason.plain(
                    'Hosts are being given back: waiting for servers that '
                    'are on their way'
                ),
                SOON,
            )
        coming = [
            server
            for kind, booking, holdings in giving
            for server in _awaited(held, kind, booking, holdings, now)
        ]
        if not coming:
            return None
        count = objects.plural(len(coming), 'server', 'servers')
        return steps.Wait(
            objects.Reason.plain(
                f'Hosts are being given back: waiting for {count} that may '
                'still come to them: being built, resized or migrated'
            ),
            BUILDING,
        )


def _awaited(
    held: lease_claims.ClaimedLease,
    kind: base.ResourceType,
    booking: base.Booking,
    holdings: Collection[objects.Holding],
    now: datetime.datetime,
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
            now,
            then=lambda session: leaving.set_awaited(
                session, booking.reservation.id, unlisted, coming
            ),
        )
        return coming
    listed = [each.awaited for each in leaving_now if each.awaited]
    return coming.intersection(frozenset().union(*listed))


def _look(
    kind: base.ResourceType,
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
    return _Part(after, empty, kept)


def _write(
    session: api.Session,
    lease: objects.Lease,
    parts: Collection[_Part],
    fewer: Collection[fewer_slots.Fewer],
    now: datetime.datetime,
) -> None:
    ids = [
        *(part.after.id for part in parts),
        *(slots.reservation.id for slots in fewer),
    ]
    due_leases.wake_successors(session, ids, now)
    freed = fewer_slots.write(session, lease, fewer, now)
    for part in parts:
        empty = [resource.id for resource in part.empty]
        leaving.release(session, part.after.id, empty, now)
        freed += empty
        if part.kept:
            leaving.keep(
                session,
                part.after.id,
                [resource.id for resource in part.kept],
            )
            leases.set_params(session, lease, part.after, now)
    drainable_hosts.came_free(session, lease.id, now)
    freed_capacity.freed(session, now, freed)


def _reason(
    parts: Collection[_Part], fewer: Collection[fewer_slots.Fewer]
) -> objects.Reason | None:
    hosts = [resource for part in parts for resource in part.kept]
    kept = [_names(hosts)] if hosts else []
    kept += [
        f'{objects.plural(slots.count, "slot", "slots")} of reservation '
        f'{slots.reservation.id}'
        for slots in fewer
        if slots.is_too_many
    ]
    if not kept:
        return None
    return objects.Reason.plain(
        'A server has come meanwhile, so that the lease keeps '
        + ' and '.join(kept)
    )


def _names(resources: Collection[objects.Resource]) -> str:
    return ', '.join(resource.name for resource in resources) or 'none'
