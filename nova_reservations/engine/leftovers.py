# SPDX-License-Identifier: Apache-2.0
"""Leftovers in Nova and placement of reservations that are over.

A worker that was stopped in mid-action, and woke after another had finished,
may leave them. But aggregates of leases look like leftovers if the worker has
another database than the cloud's, or an old copy of it. So each aggregate
bears the name of its database.

Decision 0024: doc/source/decisions/0024-leftovers-bear-a-name
"""

from collections.abc import Collection
import dataclasses

from oslo_log import log

from nova_reservations import ports
from nova_reservations.db import api
from nova_reservations.db import audit
from nova_reservations.db import deleted_leases
from nova_reservations.db import leases
from nova_reservations.engine import identity

LOG = log.getLogger(__name__)

FEW = 3
"""The most leftovers of stopped workers at once. If there are more, their
leases are missing in this database: it was restored from a backup."""


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
    """Return the leftovers of no lease of this database, whoever made them.

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
            reservation_id=reservation_id,
            origin=origins.get(reservation_id),
            # A class bears no name: its aggregate does, or its lease's row
            # is still here.
            ours=origins[reservation_id] == ours
            if reservation_id in origins
            else reservation_id in known,
            gathered=reservation_id in origins,
            counted=reservation_id in counted
            and cloud.slots.owns_slots(reservation_id),
        )
        for reservation_id in sorted({*origins, *counted} - alive)
    ]
    return Findings(
        tuple(
            leftover
            for leftover in leftovers
            if leftover.gathered or leftover.counted
        ),
        tuple(
            reservation_id
            for reservation_id in sorted(alive & origins.keys())
            if origins[reservation_id] != ours
        ),
    )


def sweep(database: api.Database, cloud: ports.Cloud) -> None:
    """Delete leftovers of leases that this database had, if they are few.

    The first time after an upgrade gives the aggregates of all leases the
    name of the database, and takes nothing away.

    :raises: CloudUnavailable, DatabaseUnavailable
    """
    found = find(database, cloud)
    name = identity.of(database)
    for reservation_id in found.unmarked:
        LOG.info('Aggregate %s is of this database', reservation_id)
        cloud.aggregates.sign(reservation_id, name)
    if found.unmarked:
        return
    ours = [leftover for leftover in found.leftovers if leftover.ours]
    if len(ours) > FEW or not _are_known(database, ours):
        LOG.error(
            '%(count)d reservations in Nova are of no lease any more. They '
            'are too many for leftovers of stopped workers, or this database '
            'never had some of their leases: nothing is deleted. If the '
            'database was restored, these are of leases made since its '
            'backup. See "nova-reservations-manage audit"; with --repair it '
            'deletes them: %(ids)s',
            {
                'count': len(ours),
                'ids': ', '.join(leftover.reservation_id for leftover in ours),
            },
        )
        return
    for leftover in ours:
        LOG.warning(
            'Reservation %s is of no lease any more: its leftovers in Nova '
            'are deleted',
            leftover.reservation_id,
        )
        take_away(leftover, cloud)


def _are_known(
    database: api.Database, leftovers: Collection[Leftover]
) -> bool:
    """Return whether this database has, or had, the leases of all of these."""
    ids = {leftover.reservation_id for leftover in leftovers}
    with database.reader() as session:
        ids -= audit.reservations(session, ids)
        return ids == deleted_leases.had(session, ids)


def take_away(leftover: Leftover, cloud: ports.Cloud) -> None:
    """:raises: CloudUnavailable"""
    if leftover.counted and cloud.slots.delete_slots(
        leftover.reservation_id, [], check=_unchecked
    ):
        # By its aggregate it is known next time.
        return
    if leftover.gathered:
        cloud.aggregates.delete_aggregate(
            leftover.reservation_id, check=_unchecked
        )


def _unchecked() -> None:
    """Check nothing: nobody else acts on resources that belong to no lease."""
