# SPDX-License-Identifier: Apache-2.0
"""The hosts on which a request may land, by the present state of the database.

The project of the server decides, not the caller: administrators get no
exception.

Decision 0004: doc/source/decisions/0004-judged-by-our-database
"""

# Nova's objects get their names only when the process registers them.
from __future__ import annotations

import dataclasses

from nova import exception as nova_exception
from nova import objects as nova_objects
from oslo_log import log

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations.engine import assembly
from nova_reservations.objects import amounts
from nova_reservations.scheduler import guaranteed
from nova_reservations.scheduler import pool
from nova_reservations.scheduler import requests

LOG = log.getLogger(__name__)


@dataclasses.dataclass(frozen=True, slots=True)
class Admission:
    """The answer to where a request may land.

    :ivar reservation_id: the request may land on this reservation's hosts
        only; None: on no host of the pool.
    :ivar in_slot: whether the server takes a slot of the reservation.
    :ivar has_open: whether there may be an open reservation, which a request
        can use without naming it.
    :ivar guaranteed: the amounts of the slot that the server's own lease
        guarantees now; None: there is no such slot.
    :ivar first_of: the id of the lease, if no server was let into it before.
    :ivar cell: the UUID of the only cell from which the server can later be
        moved into the slot of its own lease; None: any cell.
    """

    reservation_id: str | None
    hosts: frozenset[str]
    in_slot: bool = False
    has_open: bool = False
    guaranteed: amounts.Amounts | None = None
    first_of: str | None = None
    cell: str | None = None

    def admits(self, host: str) -> bool:
        return (host in self.hosts) == (self.reservation_id is not None)


class Admissions:
    """:ivar services: what all of this process uses."""

    def __init__(self, services: assembly.Services) -> None:
        self.services = services
        self._pool = pool.Pool(services.database)

    def resolve(self, request_spec: nova_objects.RequestSpec) -> Admission:
        """Return where the request may land, as the database is now.

        A server that has a right to its reservation stays in it: while the
        reservation has no host, the request fails.

        :raises: RequestFilterFailed, NotEnoughResources,
            DatabaseUnavailable, CloudUnavailable
        """
        place = None
        try:
            place = guaranteed.find(self.services.access, request_spec)
            if place is not None and place.is_due:
                return Admission(
                    place.access.reservation_id,
                    place.access.hosts,
                    guaranteed=place.slot,
                )
            asked = requests.asked(request_spec)
            if asked.reservation is not None:
                access = self._admit(asked, request_spec)
                return Admission(
                    access.reservation_id,
                    access.hosts,
                    asked.in_slot,
                    first_of=None if access.is_used else access.lease_id,
                )
        except nova_exception.RequestFilterFailed as refusal:
            if not requests.exists(request_spec):
                raise
            # A server can outlive its lease and must still be movable. Hosts
            # outside the pool offer no slots, so a server without a right to a
            # slot cannot get one there.
            LOG.info(
                'Server %(server)s is moved as one without reservation: '
                '%(reason)s',
                {'server': request_spec.instance_uuid, 'reason': refusal},
            )
        view = self._pool.view(request_spec.project_id)
        return Admission(
            None,
            view.hosts,
            # A server with a lease of its own must use no other: it would end
            # with that one.
            has_open=view.has_open
            and request_spec.get_scheduler_hint(requests.CARRIED) is None,
            cell=place.cell if place else None,
        )

    def _admit(
        self,
        asked: requests.NamedReservation,
        request_spec: nova_objects.RequestSpec,
    ) -> objects.Access:
        """:raises: RequestFilterFailed if the project may not use it now
        :raises: NotEnoughResources if it may, and there is no host
        """
        if not objects.is_id(asked.reservation):
            raise requests.refusal(
                f'"{asked.reservation}" is not the id of one reservation.'
            )
        try:
            return self.services.access.admit(
                asked.reservation,
                request_spec.project_id,
                in_slot=asked.in_slot,
                is_there=lambda: requests.exists(request_spec),
            )
        except (
            exception.InvalidInput,
            exception.InvalidState,
            exception.NotFound,
        ) as error:
            raise requests.refusal(error.public) from error
