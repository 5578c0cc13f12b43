# SPDX-License-Identifier: Apache-2.0
"""What Nova and placement still have of reservations that are over.

A worker that was stopped in mid-action, and woke after another had finished,
may leave it. But it looks the same where this is not the database that the
cloud's leases are in, or an old copy of it. So each aggregate bears the name
of the database that it is of.
"""

import dataclasses

from oslo_log import log

from nova_reservations import ports
from nova_reservations.db import api
from nova_reservations.db import audit
from nova_reservations.db import leases
from nova_reservations.engine import identity

LOG = log.getLogger(__name__)

FEW = 3
"""So many at once are what stopped workers have left. More are leases that
this database has forgotten: it was restored from a backup."""


@dataclasses.dataclass(frozen=True, slots=True)
class Leftover:
    """:ivar origin: the database whose lease it was of; None: unknown.

    :ivar ours: whether it is known to be of this one.
    :ivar gathered: whether there is an aggregate.
    :ivar counted: whether there is a resource class that is ours.
    """

    reservation_id: str
    origin: str | None
    ours: bool
    gathered: bool
    counted: bool


@dataclasses.dataclass(frozen=True, slots=True)
class Findings:
    """:ivar unmarked: reservations that are in Nova, and whose aggregates do
    not bear the name of this database yet."""

    leftovers: tuple[Leftover, ...]
    unmarked: tuple[str, ...]


def find(database: api.Database, cloud: ports.Cloud) -> Findings:
    """Return what is of no lease of this database, whoever made it.

    :raises: CloudUnavailable, DatabaseUnavailable
    """
    ours = identity.of(database)
    # Nova first: what is begun after that is not in it.
    origins = cloud.aggregates.origins()
    counted = cloud.slots.slot_classes()
    with database.reader() as session:
        alive = leases.in_nova(session, {*origins, *counted})
        known = audit.reservations(session, set(counted) - alive)
    leftovers = [
        Leftover(
            reservation_id=one,
            origin=origins.get(one),
            # A class bears no name: its aggregate does, or its lease's row
            # is still here.
            ours=origins[one] == ours if one in origins else one in known,
            gathered=one in origins,
            counted=one in counted and cloud.slots.owns_slots(one),
        )
        for one in sorted({*origins, *counted} - alive)
    ]
    return Findings(
        tuple(one for one in leftovers if one.gathered or one.counted),
        tuple(
            one
            for one in sorted(alive & origins.keys())
            if origins[one] != ours
        ),
    )


def sweep(database: api.Database, cloud: ports.Cloud) -> None:
    """Take away what is left of leases of this database, if it is little.

    The first time after an upgrade gives the aggregates of all leases the
    name of the database, and takes nothing away.

    :raises: CloudUnavailable, DatabaseUnavailable
    """
    found = find(database, cloud)
    for reservation_id in found.unmarked:
        LOG.info('Aggregate %s is of this database', reservation_id)
        cloud.aggregates.sign(reservation_id)
    if found.unmarked:
        return
    mine = [one for one in found.leftovers if one.ours]
    if len(mine) > FEW:
        LOG.error(
            '%(count)d reservations in Nova are of no lease any more, which '
            'are too many for what stopped workers leave: nothing is taken '
            'away. If the database was restored, these are of leases made '
            'since its backup. See "nova-reservations-manage audit"; with '
            '--repair it takes them away: %(ids)s',
            {
                'count': len(mine),
                'ids': ', '.join(one.reservation_id for one in mine),
            },
        )
        return
    for one in mine:
        LOG.warning(
            'Reservation %s is of no lease any more: what Nova still has of '
            'it is taken away',
            one.reservation_id,
        )
        take_away(one, cloud)


def take_away(one: Leftover, cloud: ports.Cloud) -> None:
    """:raises: CloudUnavailable"""
    if one.counted and cloud.slots.delete_slots(
        one.reservation_id, [], check=_unchecked
    ):
        # By its aggregate it is known next time.
        return
    if one.gathered:
        cloud.aggregates.delete_aggregate(one.reservation_id, check=_unchecked)


def _unchecked() -> None:
    """Nobody else acts on what belongs to no lease."""
