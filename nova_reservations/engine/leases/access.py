# SPDX-License-Identifier: Apache-2.0
"""Access of projects and their servers to reservations.

A server uses the reservation that its request names, or an open reservation
that its scheduling chooses.
"""

from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Sequence
import dataclasses
import datetime

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations.db import api
from nova_reservations.db.holdings import slot_servers
from nova_reservations.db.leases import access
from nova_reservations.db.leases import project_access
from nova_reservations.db.record import server_usage
from nova_reservations.engine import resource_types
from nova_reservations.engine import transactions
from nova_reservations.objects import amounts
from nova_reservations.objects import states
from nova_reservations.objects import usage
from nova_reservations.types import base


@dataclasses.dataclass(frozen=True, slots=True)
class Open:
    """An open reservation.

    :ivar slots: how many it has on hosts that can be used now, free or not.
    :ivar slot: what each slot holds; None: the reservation is of whole hosts.
    :ivar shared: whether other projects may hold some of the slots.
    """

    reservation_id: str
    slots: int
    slot: amounts.Amounts | None
    shared: bool = False


@dataclasses.dataclass(eq=False)
class Access:
    database: api.Database
    types: resource_types.Types

    def find(self, reservation_id: str) -> objects.Access | None:
        """Return the facts that decide who may use the reservation."""
        with self.database.causal_reader() as session:
            return access.find(session, reservation_id)

    def has_flavor(self, project_id: str, flavor_id: str | None) -> bool:
        """Return whether the flavor is that of a reservation that the project
        may use; Nova gives the flavor to nobody else."""
        if not objects.is_id(flavor_id):
            return False
        access = self.find(flavor_id)
        return access is not None and access.is_for(project_id)

    def admit(
        self,
        reservation_id: str,
        project_id: str,
        *,
        in_slot: bool,
        is_there: Callable[[], bool] = lambda: False,
    ) -> objects.Access:
        """Return where a server of the project may land in the reservation.

        :param in_slot: whether the server has the reservation's flavor
        :param is_there: returns whether the server is in the reservation
            already and is only moved: it may stay, whoever may come now
        :raises: NotFound, InvalidState, InvalidInput
        :raises: NotEnoughResources if there is no host at this moment
        """
        access = self.find(reservation_id)
        if access is None or not (
            access.is_for(project_id)
            or (access.may_have(project_id) and is_there())
        ):
            raise exception.NotFound(kind='Reservation', id=reservation_id)
        if not access.lets_in:
            raise _closed(access)
        if not access.hosts and not access.unusable:
            raise exception.InvalidInput(
                f'Reservation {reservation_id} is of {access.resource_type}, '
                'on which no server can land'
            )
        if access.in_slots and not in_slot:
            raise exception.InvalidInput(
                f'Servers of reservation {reservation_id} must have its '
                f'flavor: give the flavor {reservation_id}; no hint is needed '
                'then'
            )
        if not access.hosts:
            raise exception.NotEnoughResources(
                reason=f'those of reservation {reservation_id} have failed, '
                'or are not free yet'
            )
        return access

    def check_flavor(self, flavor_id: str | None, project_id: str) -> None:
        """Refuse the flavor of a reservation of the project that has not
        started. All else about flavors is decided by Nova, or in scheduling.

        :raises: InvalidState
        """
        if not objects.is_id(flavor_id):
            return
        access = self.find(flavor_id)
        if (
            access is not None
            and access.in_slots
            and access.is_for(project_id)
            and access.status in states.COMING
            and not access.lets_in
        ):
            raise _closed(access)

    def slot(self, access: objects.Access) -> amounts.Amounts | None:
        """Return the amounts of one slot of the reservation, if it has
        slots."""
        kind = self.types.get(access.resource_type)
        demand = kind.demand(access.params) if kind else None
        return demand.slot if demand else None

    def owners(
        self, reservation_ids: Collection[str]
    ) -> dict[str, tuple[str, frozenset[str]]]:
        """Return reservation -> (project, resource names), of those that
        servers may land in now.

        :raises: DatabaseUnavailable
        """
        with self.database.causal_reader() as session:
            return access.owners(session, reservation_ids)

    def record_server(
        self,
        server_uuid: str,
        reservation_id: str,
        now: datetime.datetime,
        chosen: bool = False,
    ) -> None:
        """Remember that the server was created in the reservation. This is
        for slots, and for any reservation that scheduling has chosen.

        :param chosen: whether the server's request named no reservation
        :raises: Contended, DatabaseUnavailable
        """

        def record(session: api.Session) -> None:
            if not slot_servers.is_recorded(session, server_uuid):
                slot_servers.record(
                    session, server_uuid, reservation_id, now, chosen
                )

        transactions.write(self.database, record)

    def use(self, lease_id: str, now: datetime.datetime) -> bool:
        """Remember that the first server is let into the lease, so that the
        lease does not end as unused.

        :returns: False if another server was first, or the lease ends: the
            caller has to ask for the access anew
        :raises: Contended, DatabaseUnavailable

        Decision 0043: doc/source/decisions/0043-what-operators-watch
        """
        return transactions.write(self.database, access.use, lease_id, now)

    def record_use(
        self,
        server_uuid: str,
        reservation_id: str,
        size: usage.Size,
        now: datetime.datetime,
    ) -> None:
        """Record that the server is let into the reservation, or is moved
        within it; with another flavor, if it is resized.

        :raises: Contended, DatabaseUnavailable
        """
        transactions.write(
            self.database,
            server_usage.admit,
            server_uuid,
            reservation_id,
            size,
            now,
        )

    def open_to(
        self, project_id: str, only: str | None = None
    ) -> Sequence[Open]:
        """Return the project's open reservations that can be used now, in the
        order of their ends. The number of queries does not grow with the
        number of reservations.

        :param only: of this one, if it is such a reservation
        :raises: DatabaseUnavailable
        """
        with self.database.causal_reader() as session:
            found = slot_servers.open_to(session, project_id, only)
            shared = project_access.of(session, [item.id for item in found])
        opened = []
        for item in found:
            # A type may have been switched off after the lease was made.
            if item.resource_type in self.types:
                demand = base.stored_demand(
                    self.types[item.resource_type],
                    item.params,
                    f'reservation {item.id}',
                )
                if demand is None:
                    continue
                # The lease may still hold slots that it is giving back: no
                # new server may take these. Whole hosts have no slots.
                slots = 0 if demand.exclusive else demand.slots
                opened.append(
                    Open(
                        item.id,
                        min(item.slots, slots),
                        demand.slot,
                        item.id in shared,
                    )
                )
        return opened

    def choice(self, server_uuid: str) -> str | None:
        """Return the reservation that the server was created in without
        having asked for it, if any."""
        with self.database.causal_reader() as session:
            return slot_servers.choice(session, server_uuid)

    def forget(self, server_uuids: Collection[str]) -> None:
        """Forget servers that were recorded in a reservation, but were not
        created.

        :raises: Contended, DatabaseUnavailable
        """

        def forget(session: api.Session) -> None:
            slot_servers.unrecord(session, server_uuids)
            server_usage.forget(session, server_uuids)

        transactions.write(self.database, forget)


def _closed(access: objects.Access) -> exception.InvalidState:
    coming = access.status in states.COMING
    start = f', from {access.start_date:%Y-%m-%d %H:%M} UTC on' * coming
    return exception.InvalidState(
        kind='Lease',
        id=access.lease_id,
        status=access.status,
        reason=f'servers can land in it only while it is ACTIVE{start}',
    )
