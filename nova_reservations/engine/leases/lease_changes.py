# SPDX-License-Identifier: Apache-2.0
"""Writing changes of a lease: name, window, params, resources, and what its
owner has acknowledged.

Everything joins the caller's transaction.
"""

from collections.abc import Collection
from collections.abc import Mapping
import dataclasses
import datetime
from typing import Any

from nova_reservations import objects
from nova_reservations.db import api
from nova_reservations.db.holdings import allocations as allocations_db
from nova_reservations.db.holdings import healing
from nova_reservations.db.holdings import windows
from nova_reservations.db.leases import belongings
from nova_reservations.db.leases import freed_capacity
from nova_reservations.db.leases import leases
from nova_reservations.engine import resource_types
from nova_reservations.engine import settings
from nova_reservations.engine import steps
from nova_reservations.engine import transactions
from nova_reservations.engine.booking import allocations
from nova_reservations.engine.booking import lease_requests
from nova_reservations.engine.booking import lease_terms
from nova_reservations.engine.booking import parts
from nova_reservations.engine.leases import shrinking
from nova_reservations.engine.waiting import retry
from nova_reservations.objects import demand as demands
from nova_reservations.objects import states


@dataclasses.dataclass(eq=False)
class ChangeWriter:
    types: resource_types.Types
    options: settings.Settings
    requests: lease_requests.LeaseRequests
    allocations: allocations.Allocations

    def write(
        self,
        session: api.Session,
        seen: objects.Lease,
        changes: lease_requests.LeaseChanges,
        now: datetime.datetime,
        attempt: transactions.Attempt,
    ) -> None:
        """:raises: Conflict, NotEnoughResources, InvalidInput"""
        columns: dict[str, Any] = {}
        left: Collection[int] = ()
        held = allocations_db.held_by(session, seen)
        slots = _slots(session, seen)
        if changes.name is not None:
            columns['name'] = changes.name
        if not changes.only_rename:
            more, left = self._reschedule(session, seen, changes, now, attempt)
            columns |= more
        if changes.acknowledged:
            columns |= self._acknowledge(session, seen, changes, now)
        leases.change(session, seen, now, **columns)
        if not changes.only_rename:
            freed_capacity.freed(
                session,
                now,
                _given_back(session, seen, held, slots).union(left),
            )
            retry.left(session, seen, now, self.types)

    def _acknowledge(
        self,
        session: api.Session,
        seen: objects.Lease,
        changes: lease_requests.LeaseChanges,
        now: datetime.datetime,
    ) -> dict[str, Any]:
        """Record that the owner knows of changed resources."""
        degraded = False
        for item in leases.get(session, seen.id).reservations:
            known = item.id in changes.acknowledged
            if known:
                healing.acknowledge(session, item.id, now)
                flags = dataclasses.replace(
                    healing.Flags.of(item), changed=False
                )
                healing.set_flags(session, item.id, flags, now)
            degraded |= item.missing_resources or (
                item.resources_changed and not known
            )
        return {'degraded': degraded}

    def _reschedule(
        self,
        session: api.Session,
        seen: objects.Lease,
        changes: lease_requests.LeaseChanges,
        now: datetime.datetime,
        attempt: transactions.Attempt,
    ) -> tuple[dict[str, Any], Collection[int]]:
        """Write new dates and resources; return columns of the lease, and ids
        of the resources that promises of others have left for the lease."""
        left: Collection[int] = ()
        lease, changed = self.asked(seen, changes, now)
        _write_events(session, seen, lease.events, now)
        _write_parts(session, seen, lease)
        if seen.status in states.WAITING and seen.server_reservation is None:
            _set_params(session, lease, changed, now)
        elif closed := shrinking.close(
            session, self.types, seen, lease, changes, now
        ):
            lease = closed
            _set_params(session, lease, changed, now)
            self._move(session, lease, now)
        elif _books(seen, lease):
            shrinking.check_none_leaves(session, self.types, seen)
            lease, left = self._rebook(
                session, seen, lease, changed, now, attempt
            )
        else:
            self._move(session, lease, now)
        columns = {
            'start_date': lease.start_date,
            'end_date': lease.end_date,
            'latest_end': lease_terms.latest_end(seen, lease),
            'duration': None if changes.end else seen.duration,
            'prepared': lease.prepared,
            'degraded': lease.degraded,
            'status_reason': None,
            'due_at': steps.due_after_change(lease, now, self.options),
        }
        return columns, left

    def asked(
        self,
        seen: objects.Lease,
        changes: lease_requests.LeaseChanges,
        now: datetime.datetime,
    ) -> tuple[objects.Lease, Collection[str]]:
        """Return the lease as it is asked to be, and the ids of the
        reservations whose params change.

        :raises: InvalidInput, InvalidState, OverLimit, Contended
        """
        window = lease_requests.new_dates(seen, changes, now)
        params = self.requests.new_params(seen, changes)
        lease = dataclasses.replace(
            seen,
            start_date=window.start,
            end_date=window.end,
            reservations=tuple(
                dataclasses.replace(
                    reservation,
                    params=params.get(reservation.id, reservation.params),
                )
                for reservation in parts.apply(seen, changes.part_changes)
            ),
            events=self.requests.moved_events(seen, changes, window, now),
        )
        if params and seen.reservations != lease.reservations:
            self.requests.check_size(lease)
        lease_terms.check_changed(seen, lease, self.options, now)
        return lease, params

    def _rebook(
        self,
        session: api.Session,
        seen: objects.Lease,
        lease: objects.Lease,
        changed: Collection[str],
        now: datetime.datetime,
        attempt: transactions.Attempt,
    ) -> tuple[objects.Lease, Collection[int]]:
        """Book the lease anew; return the new lease, and the ids of the
        resources that promises of others have left for it.

        :param changed: ids of the reservations whose params change
        """
        ids = [item.id for item in seen.reservations]
        before = self._part(session, seen, now)
        slots = allocations_db.slots(session, ids)
        _set_params(session, lease, changed, now)
        left = self.allocations.book(
            session,
            lease,
            now,
            allocations.Terms(
                held=before,
                recheck=changed,
                attempt=attempt,
                moves_promises=True,
            ),
        )
        differs = (
            before != self._held(session, seen)
            or slots != allocations_db.slots(session, ids)
            or any(item.id not in ids for item in lease.reservations)
            or any(
                item.id in lease.wholes or _is_shared(self.types.demand(item))
                for item in seen.reservations
                if item.id in changed
            )
        )
        # The owner has asked for the change, and all resources were checked
        # anew: nothing is missing, or changed without the owner's knowledge.
        for reservation_id in ids:
            healing.set_flags(session, reservation_id, healing.Flags(), now)
        rebooked = dataclasses.replace(
            lease, prepared=lease.prepared and not differs, degraded=False
        )
        return rebooked, left

    def _move(
        self,
        session: api.Session,
        lease: objects.Lease,
        now: datetime.datetime,
    ) -> None:
        """Move the lease's allocations to its new window."""
        for reservation in lease.reservations:
            windows.move(
                session,
                reservation.id,
                self.types.window(lease, reservation),
                now,
            )

    def kept(
        self, session: api.Session, lease: objects.Lease
    ) -> dict[str, list[int]]:
        """Return what _held() would return if a used lease had released the
        resources that it can't use."""
        held = allocations_db.holdings(
            session, [item.id for item in lease.reservations]
        )
        return {
            reservation_id: [
                holding.resource.id
                for holding in holdings
                if holding.stays and (holding.usable or not lease.is_used)
            ]
            for reservation_id, holdings in held.items()
        }

    def _held(
        self, session: api.Session, lease: objects.Lease
    ) -> dict[str, list[int]]:
        """Return reservation id -> ids of the resources that it has."""
        held = allocations_db.holdings(
            session, [item.id for item in lease.reservations]
        )
        return {
            reservation_id: [
                holding.resource.id for holding in holdings if holding.stays
            ]
            for reservation_id, holdings in held.items()
        }

    def _part(
        self,
        session: api.Session,
        lease: objects.Lease,
        now: datetime.datetime,
    ) -> dict[str, list[int]]:
        """Release resources that a used lease can't use, so that they are
        planned anew with the rest; return what the lease still has."""
        if lease.is_used:
            held = allocations_db.holdings(
                session, [item.id for item in lease.reservations]
            )
            for reservation_id, holdings in held.items():
                healing.replace(
                    session,
                    reservation_id,
                    [
                        holding.resource.id
                        for holding in holdings
                        if not holding.usable and holding.stays
                    ],
                    now,
                )
        return self._held(session, lease)


def _is_shared(demand: demands.Ask | None) -> bool:
    return demand is not None and not demand.exclusive


def _write_events(
    session: api.Session,
    seen: objects.Lease,
    events: Collection[objects.Event],
    now: datetime.datetime,
) -> None:
    """Write the events of a lease that are new or were moved."""
    for event in events:
        old = seen.event(event.event_type)
        if old is None:
            leases.insert_event(session, event)
        elif old != event:
            leases.move_event(session, old, event.time, now, event.status)


def _write_parts(
    session: api.Session, seen: objects.Lease, lease: objects.Lease
) -> None:
    """Write the reservations that are new in the lease, and delete those that
    it has no more."""
    before = {item.id for item in seen.reservations}
    after = {item.id for item in lease.reservations}
    if gone := sorted(before - after):
        belongings.remove_reservations(session, gone)
    added = [item for item in lease.reservations if item.id not in before]
    if added:
        leases.add_reservations(session, lease, added)


def _set_params(
    session: api.Session,
    lease: objects.Lease,
    changed: Collection[str],
    now: datetime.datetime,
) -> None:
    """Write the params of those of the lease's reservations that change."""
    for reservation in lease.reservations:
        if reservation.id in changed:
            leases.set_params(session, lease, reservation, now)


def _books(old: objects.Lease, new: objects.Lease) -> bool:
    """Return whether the change asks for resources or time that may be taken:
    giving back time never has to be planned."""
    return (
        new.start_date < old.start_date
        or new.end_date > old.end_date
        or [item.params for item in new.reservations]
        != [item.params for item in old.reservations]
    )


def _slots(
    session: api.Session, lease: objects.Lease
) -> dict[tuple[str, int], int]:
    """Return (reservation id, resource id) -> slots."""
    found = allocations_db.slots(
        session, [item.id for item in lease.reservations]
    )
    return {
        (reservation_id, resource_id): count
        for reservation_id, its in found.items()
        for resource_id, count in its.items()
    }


def _given_back(
    session: api.Session,
    seen: objects.Lease,
    held: set[int],
    slots: Mapping[tuple[str, int], int],
) -> set[int]:
    """Return the ids of resources that a changed lease has no longer, or for
    less time.

    A change that gives nothing back must not make workers go through all
    waiting leases: any member can extend a lease again and again.
    """
    lease = leases.get(session, seen.id)
    if (
        lease.start_date > seen.start_date
        or lease.end_date < seen.end_date
        or [item.params for item in lease.reservations]
        != [item.params for item in seen.reservations]
    ):
        return held
    kept = _slots(session, lease)
    fewer = {
        resource_id
        for (reservation_id, resource_id), count in slots.items()
        if kept.get((reservation_id, resource_id), 0) < count
    }
    return fewer | (held - allocations_db.held_by(session, lease))
