# SPDX-License-Identifier: Apache-2.0
"""Leftovers in Nova and placement of reservations that are over.

A worker that was suspended, and resumes after another worker has finished, may
leave some behind. But aggregates of leases also look like leftovers to a
worker that uses the wrong database, or an old copy of the right one. So each
aggregate bears the name of its database.

Decision 0024: doc/source/decisions/0024-leftovers-bear-a-name
"""

from collections.abc import Collection
import dataclasses

from oslo_log import log

from nova_reservations import ports
from nova_reservations.db import api
from nova_reservations.db.leases import deleted_leases
from nova_reservations.db.leases import leases
from nova_reservations.db.upkeep import audit
from nova_reservations.engine import identity
from nova_reservations.ports import fences

LOG = log.getLogger(__name__)

FEW = 3
"""The most leftovers that suspended workers can explain."""

TOO_MANY = (
    '%(count)d reservations in Nova are of no lease any more. They are too '
    'many for leftovers of stopped workers: they are not deleted. See '
    '"nova-reservations-manage audit"; with --repair it deletes them: %(ids)s'
)

UNKNOWN = (
    '%(count)d reservations in Nova are of no lease that this database has or '
    'had: they are not deleted. If the database was restored, these are of '
    'leases made since its backup. See "nova-reservations-manage audit"; with '
    '--repair it deletes them: %(ids)s'
)


@dataclasses.dataclass(frozen=True, slots=True)
class Leftover:
    """:ivar origin: the database that its lease was in; None: unknown.

    :ivar ours: whether it is said to be of this database.
    :ivar known: whether this database has, or had, its lease.
    :ivar gathered: whether it has an aggregate.
    :ivar counted: whether it has a resource class of ours.
    """

    reservation_id: str
    origin: str | None
    ours: bool
    known: bool
    gathered: bool
    counted: bool


@dataclasses.dataclass(frozen=True, slots=True)
class Findings:
    """:ivar unmarked: reservations of live leases whose aggregates do not bear
    the name of this database yet."""

    leftovers: tuple[Leftover, ...]
    unmarked: tuple[str, ...]


def find(database: api.Database, cloud: ports.Cloud) -> Findings:
    """Return what belongs to no lease of this database, whoever made it.

    :raises: CloudUnavailable, DatabaseUnavailable
    """
    ours = identity.of(database)
    # Nova is read first: leases that begin after that are not in it, so they
    # can not look like leftovers.
    origins = cloud.aggregates.origins()
    counted = cloud.slots.slot_classes()
    with database.reader() as session:
        alive = leases.in_nova(session, {*origins, *counted})
        dead = {*origins, *counted} - alive
        known = audit.reservations(session, dead)
        known |= deleted_leases.had(session, dead - known)
    leftovers = [
        Leftover(
            reservation_id=reservation_id,
            origin=origins.get(reservation_id),
            # A resource class bears no name: without an aggregate, it is ours
            # if its lease is known here.
            ours=origins[reservation_id] == ours
            if reservation_id in origins
            else reservation_id in known,
            known=reservation_id in known,
            gathered=reservation_id in origins,
            counted=reservation_id in counted
            and cloud.slots.owns_slots(reservation_id),
        )
        for reservation_id in sorted(dead)
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


class Sweep:
    """Deletes leftovers of leases that this database has, or had, if they are
    few. Other leftovers that are said to be of this database are only
    logged."""

    def __init__(self, database: api.Database, cloud: ports.Cloud) -> None:
        self._database = database
        self._cloud = cloud
        self._named: dict[str, list[str]] = {}
        """Message -> the ids that were last logged with it."""

    def run(self) -> None:
        """Delete leftovers. The first run after an upgrade only gives the
        aggregates of all leases the name of the database.

        :raises: CloudUnavailable, DatabaseUnavailable
        """
        found = find(self._database, self._cloud)
        name = identity.of(self._database)
        for reservation_id in found.unmarked:
            LOG.info('Aggregate %s is of this database', reservation_id)
            self._cloud.aggregates.sign(reservation_id, name)
        if found.unmarked:
            return
        ours = [leftover for leftover in found.leftovers if leftover.ours]
        known = [leftover for leftover in ours if leftover.known]
        many = known if len(known) > FEW else []
        self._name(UNKNOWN, [each for each in ours if not each.known])
        self._name(TOO_MANY, many)
        if many:
            return
        for leftover in known:
            LOG.warning(
                'Reservation %s is of no lease any more: its leftovers in '
                'Nova are deleted',
                leftover.reservation_id,
            )
            take_away(leftover, self._cloud)

    def _name(self, message: str, leftovers: Collection[Leftover]) -> None:
        """Log which leftovers stay: once, and again when they change."""
        ids = [leftover.reservation_id for leftover in leftovers]
        if ids and ids != self._named.get(message):
            LOG.error(message, {'count': len(ids), 'ids': ', '.join(ids)})
        self._named[message] = ids


def take_away(leftover: Leftover, cloud: ports.Cloud) -> None:
    """:raises: CloudUnavailable"""
    if leftover.counted and cloud.slots.delete_slots(
        leftover.reservation_id, [], check=fences.current()
    ):
        # Consumers in placement still hold slots: the aggregate stays, so that
        # the next run knows whose leftover this is.
        return
    if leftover.gathered:
        cloud.aggregates.delete_aggregate(
            leftover.reservation_id, check=fences.current()
        )
