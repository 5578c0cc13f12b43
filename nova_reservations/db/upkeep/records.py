# SPDX-License-Identifier: Apache-2.0
"""The database, as the audits of resource types see it."""

from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Mapping
import datetime

from nova_reservations import objects
from nova_reservations.db import api
from nova_reservations.db.leases import leases
from nova_reservations.db.resources import conditions
from nova_reservations.db.resources import resources
from nova_reservations.db.upkeep import audit


class Records:
    """Each method reads anew: leases go on while a service is asked.

    :ivar ours: the name of the database, which is in the marks of all that
        was made for its reservations.
    """

    def __init__(
        self, database: api.Database, ours: str, now: datetime.datetime
    ) -> None:
        self.ours = ours
        self._database = database
        self._now = now

    def leasable(self, resource_type: str) -> list[objects.Inventoried]:
        """Return all resources of a type that can be leased."""
        with self._database.reader() as session:
            return resources.find(
                session, objects.ResourceQuery(resource_type)
            )

    def leased(self, resource_type: str) -> list[audit.Leased]:
        """Return the resources of a type that active leases should have."""
        with self._database.reader() as session:
            return audit.leased(session, resource_type)

    def holders(self, resource_type: str) -> Mapping[str, Collection[str]]:
        """Return name of a resource -> the projects whose leases have begun
        and hold it."""
        with self._database.reader() as session:
            return conditions.holders(session, resource_type, self._now)

    def shares(
        self, holders: Collection[objects.Inventoried]
    ) -> Mapping[str, list[resources.Share]]:
        """Return name of a resource -> what reservations have of it."""
        with self._database.reader() as session:
            return {
                each.name: resources.shares(session, each.id)
                for each in holders
            }

    def projects(self, resource_type: str) -> list[str]:
        """Return the projects that have, or had, reservations of a type."""
        with self._database.reader() as session:
            return audit.projects(session, resource_type)

    def active(
        self, resource_type: str, project_id: str
    ) -> set[tuple[str, str]]:
        """Return (reservation id, lease id) of a project's active
        reservations of a type."""
        with self._database.reader() as session:
            return set(audit.active(session, resource_type, project_id))

    def recorded(self, reservation_ids: Collection[str]) -> Mapping[str, bool]:
        """Return reservation id -> whether it may have something in Nova or
        another service now; without those that this database does not know."""
        with self._database.reader() as session:
            alive = leases.in_nova(session, reservation_ids)
            known = audit.reservations(session, reservation_ids)
        return {each: each in alive for each in known}

    def leases_of(
        self, reservation_ids: Collection[str]
    ) -> list[objects.Lease]:
        """Return the leases of those of the reservations that exist."""
        with self._database.reader() as session:
            return leases.of_reservations(session, reservation_ids)

    def made_again(self, lease_id: str) -> Callable[[], None]:
        """Return the repair of what an active lease lacks: a worker calls the
        type's update()."""

        def repair() -> None:
            with self._database.writer() as session:
                audit.regather(session, lease_id, self._now)

        return repair
