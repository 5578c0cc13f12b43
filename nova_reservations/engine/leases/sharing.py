# SPDX-License-Identifier: Apache-2.0
"""Reservations that their owner shares with other projects.

These projects can create servers in a reservation only by naming it. Nova need
not know of the sharing, except for slots, whose flavor is private: there a
worker tells it. The database is asked each time whether a server may land.

Decision 0042: doc/source/decisions/0042-shared-by-name
"""

from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Mapping
from collections.abc import Sequence
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

SHAREABLE = states.LIVE

_UNUSED = states.FIRST
"""States of leases in which no server can have landed yet."""


@dataclasses.dataclass(frozen=True, slots=True)
class _Asked:
    """:ivar reservation_id: None: all reservations of the lease."""

    project_ids: frozenset[str]
    reservation_id: str | None

    def reservations(
        self, lease: objects.Lease
    ) -> Sequence[objects.Reservation]:
        """:raises: NotFound"""
        if self.reservation_id is None:
            return lease.reservations
        return [_reservation(lease, self.reservation_id)]


@dataclasses.dataclass(frozen=True, slots=True)
class _Lack:
    """Projects that have no access to a reservation, and are to get it.

    :ivar new: those that never had.
    :ivar former: those that had.
    """

    reservation: objects.Reservation
    new: frozenset[str]
    former: frozenset[str]


@dataclasses.dataclass(eq=False)
class Sharing:
    database: api.Database
    types: resource_types.Types
    options: settings.Settings
    notify: ports.Notifier

    def of(self, *found: objects.Lease) -> Mapping[str, Collection[str]]:
        """Return reservation id -> ids of the projects that it is shared
        with."""
        with self.database.reader() as session:
            return _present(session, *found)

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
        asked = _Asked(frozenset({project_id}), reservation_id)

        def share(session: api.Session, lease: objects.Lease) -> bool:
            if not self._share(session, lease, asked, now):
                raise exception.InvalidState(
                    kind='Reservation',
                    id=reservation_id,
                    status='shared',
                    reason=f'project {project_id} has access already',
                )
            return True

        return self._change(lease_id, share)

    def add_all(
        self,
        found: Sequence[objects.Lease],
        project_ids: Collection[str],
        now: datetime.datetime,
        reservation_id: str | None = None,
    ) -> None:
        """Share the reservations of leases with projects; those that have
        access already keep it.

        Each lease that is not over is changed in a transaction of its own, so
        that a worker which takes one of them does not undo the change of all.
        What can't be shared is refused before the first is changed. If a lease
        changes in between, or the request is cut off, it can be repeated.

        :param found: one lease, or those of a series, by their start
        :param reservation_id: None: all reservations that can be shared
        :raises: NotFound, InvalidInput, InvalidState, Contended
        """
        asked = _Asked(frozenset(project_ids), reservation_id)
        wanted = [lease for lease in found if lease.status in SHAREABLE]
        with self.database.causal_reader() as session:
            lacking = [
                lease.id
                for lease in wanted or found[-1:]
                if self._lacks(session, lease, asked)
            ]

        def share(session: api.Session, lease: objects.Lease) -> bool:
            return self._share(session, lease, asked, now)

        for lease_id in lacking:
            self._change(lease_id, share)

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
        asked = _Asked(frozenset({project_id}), reservation_id)

        def unshare(session: api.Session, lease: objects.Lease) -> bool:
            if not self._unshare(session, lease, asked, now):
                raise exception.NotFound(
                    kind='Access of project', id=project_id
                )
            return True

        return self._change(lease_id, unshare)

    def remove_all(
        self,
        found: Sequence[objects.Lease],
        project_ids: Collection[str],
        now: datetime.datetime,
        reservation_id: str | None = None,
    ) -> None:
        """Stop sharing the reservations of leases with those of the projects
        that have access; each lease in a transaction of its own, as above.

        :raises: NotFound, Contended
        """
        asked = _Asked(frozenset(project_ids), reservation_id)

        def unshare(session: api.Session, lease: objects.Lease) -> bool:
            return self._unshare(session, lease, asked, now)

        # A node of Galera that is behind must not let a project keep access.
        with self.database.causal_reader() as session:
            present = _present(session, *found)
        for lease in found:
            if any(
                asked.project_ids.intersection(present.get(item.id, ()))
                for item in asked.reservations(lease)
            ):
                self._change(lease.id, unshare)

    def _change(
        self,
        lease_id: str,
        change: Callable[[api.Session, objects.Lease], bool],
    ) -> Mapping[str, Collection[str]]:
        """:param change: returns whether it has changed anything"""

        def attempt(
            session: api.Session,
        ) -> tuple[bool, objects.Lease, Mapping[str, Collection[str]]]:
            changed = change(session, leases.get(session, lease_id))
            lease = leases.get(session, lease_id)
            return changed, lease, _present(session, lease)

        changed, lease, present = transactions.write(self.database, attempt)
        if changed:
            self.notify(notifications.UPDATE, notifications.payload(lease))
        return present

    def _share(
        self,
        session: api.Session,
        lease: objects.Lease,
        asked: _Asked,
        now: datetime.datetime,
    ) -> bool:
        """Return False if all projects have access already.

        :raises: NotFound, InvalidInput, InvalidState, Conflict
        """
        lacks = self._lacks(session, lease, asked)
        if not lacks:
            return False
        self._write(session, lease, [each.reservation for each in lacks], now)
        for each in lacks:
            if each.former:
                project_access.set_removed(
                    session, each.reservation.id, each.former, None, now
                )
            project_access.add(session, each.reservation, each.new, now)
        return True

    def _lacks(
        self, session: api.Session, lease: objects.Lease, asked: _Asked
    ) -> list[_Lack]:
        """Return the reservations that are not shared with all projects yet,
        after checking that they can be.

        :raises: NotFound, InvalidInput, InvalidState
        """
        reservations = self._shareable(lease, asked)
        if lease.project_id in asked.project_ids:
            raise exception.InvalidInput(
                f'Project {lease.project_id} is the one whose lease it is'
            )
        if lease.status not in SHAREABLE:
            raise exception.InvalidState(
                kind='Lease',
                id=lease.id,
                status=lease.status,
                reason='only a lease that is not over can be shared',
            )
        known = _sharers(session, reservations)
        found = []
        for reservation in reservations:
            sharers = known[reservation.id]
            new = asked.project_ids - sharers.all
            if new and len(sharers.all | new) > MOST:
                raise exception.InvalidState(
                    kind='Reservation',
                    id=reservation.id,
                    status='shared',
                    reason=f'it can be shared with {MOST} projects at most, '
                    'with those that had access while it was active',
                )
            former = asked.project_ids & sharers.former
            if new or former:
                found.append(_Lack(reservation, new, former))
        return found

    def _shareable(
        self, lease: objects.Lease, asked: _Asked
    ) -> list[objects.Reservation]:
        """:raises: NotFound, InvalidInput"""
        found = [
            reservation
            for reservation in asked.reservations(lease)
            if (kind := self.types.get(reservation.resource_type))
            and kind.shareable
            and not lease.is_window
        ]
        if not found:
            raise exception.InvalidInput(
                'A reservation of hosts or of slots can be shared with other '
                f'projects, and {asked.reservation_id} is none'
                if asked.reservation_id
                else 'Reservations of hosts or of slots can be shared with '
                f'other projects, and lease {lease.id} has none'
            )
        return found

    def _unshare(
        self,
        session: api.Session,
        lease: objects.Lease,
        asked: _Asked,
        now: datetime.datetime,
    ) -> bool:
        """Return False if none of the projects has access.

        :raises: NotFound, Conflict
        """
        reservations = asked.reservations(lease)
        known = _sharers(session, reservations)
        leaving = {
            reservation.id: projects
            for reservation in reservations
            if (projects := asked.project_ids & known[reservation.id].present)
        }
        if not leaving:
            return False
        self._write(
            session,
            lease,
            [item for item in reservations if item.id in leaving],
            now,
        )
        for reservation_id, projects in leaving.items():
            if lease.status in _UNUSED:
                project_access.remove(session, reservation_id, projects)
            else:
                project_access.set_removed(
                    session, reservation_id, projects, now, now
                )
        return True

    def _write(
        self,
        session: api.Session,
        lease: objects.Lease,
        changed: Collection[objects.Reservation],
        now: datetime.datetime,
    ) -> None:
        """Write that the lease has changed, so that workers which have read
        its sharers to act on them look anew.

        :raises: Conflict
        """
        columns: dict[str, Any] = {}
        demands = [self.types.demand(reservation) for reservation in changed]
        if lease.status == states.Lease.ACTIVE and any(
            demand is not None and not demand.exclusive for demand in demands
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


def _sharers(
    session: api.Session, reservations: Collection[objects.Reservation]
) -> dict[str, objects.Sharers]:
    """Return reservation id -> its sharers, of each of them."""
    ids = [reservation.id for reservation in reservations]
    return dict.fromkeys(ids, objects.NOBODY) | project_access.of(session, ids)


def _present(
    session: api.Session, *found: objects.Lease
) -> dict[str, list[str]]:
    return {
        key: sorted(sharers.present)
        for key, sharers in _sharers(
            session, [item for lease in found for item in lease.reservations]
        ).items()
        if sharers.present
    }
