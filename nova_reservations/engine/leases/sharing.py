# SPDX-License-Identifier: Apache-2.0
"""Reservations that their owner shares with other projects.

These projects can create servers in a reservation only by naming it. Nova need
not know of the sharing, except for slots, whose flavor is private: there a
worker tells it. The database is asked each time whether a server may land.

Decision 0042: doc/source/decisions/0042-shared-by-name
"""

from collections.abc import Collection
from collections.abc import Mapping
import dataclasses
import datetime
from typing import Any

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations import ports
from nova_reservations.db import api
from nova_reservations.db.leases import leases
from nova_reservations.db.leases import project_access
from nova_reservations.engine import notifications
from nova_reservations.engine import resource_types
from nova_reservations.engine import settings
from nova_reservations.engine import steps
from nova_reservations.engine import transactions
from nova_reservations.objects import states

MOST = 50
"""The most projects that one reservation may be, or have been, shared with:
some checks ask Nova about each."""

SHAREABLE = states.WAITING | states.OPEN

_UNUSED = states.FIRST
"""States of leases in which no server can have landed yet."""


@dataclasses.dataclass(eq=False)
class Sharing:
    database: api.Database
    types: resource_types.Types
    options: settings.Settings
    notify: ports.Notifier

    def of(self, lease: objects.Lease) -> Mapping[str, Collection[str]]:
        """Return reservation id -> ids of the projects that it is shared
        with."""
        with self.database.reader() as session:
            return _present(session, lease)

    def shared_with(
        self, project_id: str, lease_ids: Collection[str]
    ) -> Mapping[str, Collection[str]]:
        """Return lease id -> ids of its reservations that are shared with the
        project; leases without any are left out."""
        with self.database.reader() as session:
            return project_access.shared_with(session, project_id, lease_ids)

    def add(
        self,
        lease_id: str,
        reservation_id: str,
        project_id: str,
        now: datetime.datetime,
    ) -> Mapping[str, Collection[str]]:
        """Share a reservation with a project; return what of() does.

        :raises: NotFound, InvalidInput, InvalidState, Contended
        """

        def share(session: api.Session, lease: objects.Lease) -> None:
            self._check_shareable(lease, reservation_id, project_id)
            sharers = _sharers(session, reservation_id)
            if project_id in sharers.present:
                raise exception.InvalidState(
                    kind='Reservation',
                    id=reservation_id,
                    status='shared',
                    reason=f'project {project_id} has access already',
                )
            self._write(session, lease, reservation_id, now)
            if project_id in sharers.former:
                project_access.set_removed(
                    session, reservation_id, project_id, None, now
                )
                return
            if len(sharers.all) >= MOST:
                raise exception.InvalidState(
                    kind='Reservation',
                    id=reservation_id,
                    status='shared',
                    reason=f'it can be shared with {MOST} projects at most, '
                    'with those that had access while it was active',
                )
            reservation = _reservation(lease, reservation_id)
            project_access.add(session, reservation, project_id, now)

        return self._change(lease_id, share)

    def remove(
        self,
        lease_id: str,
        reservation_id: str,
        project_id: str,
        now: datetime.datetime,
    ) -> Mapping[str, Collection[str]]:
        """Stop sharing a reservation with a project. Servers that it has there
        stay until the end, and no new ones may come.

        :raises: NotFound, Contended
        """

        def unshare(session: api.Session, lease: objects.Lease) -> None:
            _reservation(lease, reservation_id)
            sharers = _sharers(session, reservation_id)
            if project_id not in sharers.present:
                raise exception.NotFound(
                    kind='Access of project', id=project_id
                )
            self._write(session, lease, reservation_id, now)
            if lease.status in _UNUSED:
                project_access.remove(session, reservation_id, project_id)
            else:
                project_access.set_removed(
                    session, reservation_id, project_id, now, now
                )

        return self._change(lease_id, unshare)

    def _change(
        self, lease_id: str, change: Any
    ) -> Mapping[str, Collection[str]]:
        def attempt(
            session: api.Session,
        ) -> tuple[objects.Lease, Mapping[str, Collection[str]]]:
            change(session, leases.get(session, lease_id))
            lease = leases.get(session, lease_id)
            return lease, _present(session, lease)

        lease, present = transactions.write(self.database, attempt)
        self.notify(notifications.UPDATE, notifications.payload(lease))
        return present

    def _check_shareable(
        self, lease: objects.Lease, reservation_id: str, project_id: str
    ) -> None:
        """:raises: NotFound, InvalidInput, InvalidState"""
        reservation = _reservation(lease, reservation_id)
        kind = self.types.named(reservation.resource_type)
        if not kind.shareable or lease.is_window:
            raise exception.InvalidInput(
                'A reservation of hosts or of slots can be shared with other '
                f'projects, and {reservation_id} is none'
            )
        if project_id == lease.project_id:
            raise exception.InvalidInput(
                f'Project {project_id} is the one whose lease it is'
            )
        if lease.status not in SHAREABLE:
            raise exception.InvalidState(
                kind='Lease',
                id=lease.id,
                status=lease.status,
                reason='only a lease that is not over can be shared',
            )

    def _write(
        self,
        session: api.Session,
        lease: objects.Lease,
        reservation_id: str,
        now: datetime.datetime,
    ) -> None:
        """Write that the lease has changed, so that workers which have read
        its sharers to act on them look anew.

        :raises: Conflict
        """
        columns: dict[str, Any] = {}
        reservation = _reservation(lease, reservation_id)
        demand = self.types.demand(reservation)
        if (
            lease.status == states.Lease.ACTIVE
            and demand is not None
            and not demand.exclusive
        ):
            unprepared = dataclasses.replace(lease, prepared=False)
            columns = {
                'prepared': False,
                'due_at': steps.due_after_change(
                    unprepared, now, self.options
                ),
            }
        leases.change(session, lease, now, **columns)


def _reservation(
    lease: objects.Lease, reservation_id: str
) -> objects.Reservation:
    """:raises: NotFound"""
    for reservation in lease.reservations:
        if reservation.id == reservation_id:
            return reservation
    raise exception.NotFound(kind='Reservation', id=reservation_id)


def _sharers(session: api.Session, reservation_id: str) -> objects.Sharers:
    found = project_access.of(session, [reservation_id])
    return found.get(reservation_id, objects.NOBODY)


def _present(
    session: api.Session, lease: objects.Lease
) -> dict[str, list[str]]:
    ids = [item.id for item in lease.reservations]
    found = project_access.of(session, ids)
    return {
        key: sorted(found[key].present)
        for key in ids
        if key in found and found[key].present
    }
