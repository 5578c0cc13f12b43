# SPDX-License-Identifier: Apache-2.0
"""Leases, their reservations and events."""

from collections.abc import Mapping
import dataclasses
import datetime
from typing import Any

from nova_reservations.objects import interval
from nova_reservations.objects import names
from nova_reservations.objects import reasons
from nova_reservations.objects import states

_UNTOLD = frozenset({'template', 'parameters'})
"""Params that are not told to other services. They are long, and may contain
secrets for the servers of a stack."""


@dataclasses.dataclass(frozen=True, slots=True)
class Event:
    id: str
    lease_id: str
    event_type: states.EventType
    time: datetime.datetime
    status: states.Event
    created_at: datetime.datetime
    updated_at: datetime.datetime | None


@dataclasses.dataclass(frozen=True, slots=True)
class LeasedServer:
    """A server that carries the lease that it is in.

    :ivar released: it no longer belongs to the lease: it was deleted, or could
        not be built, or the lease is over.
    """

    uuid: str
    released: bool


@dataclasses.dataclass(frozen=True, slots=True)
class Reservation:
    """A part of a lease: what is asked of one resource type.

    :ivar params: what was asked, as its resource type normalised it.
    :ivar part_of: the id of the reservation, in the same lease, that was asked
        for and has expanded into this one; part_name: its name there; None:
        this one was asked for itself.
    :ivar servers: of a reservation of type names.SERVER, in the order in which
        they were made.
    :ivar missing_reason: which resources it lacks that no other can replace;
        None: none.
    :ivar untold_reason: why nobody could be told that it ends; None: there was
        nobody to be told, or they were, or may still be.
    """

    id: str
    lease_id: str
    resource_type: str
    status: states.Reservation
    params: Mapping[str, Any]
    missing_resources: bool
    resources_changed: bool
    created_at: datetime.datetime
    updated_at: datetime.datetime | None
    servers: tuple[LeasedServer, ...] = ()
    part_of: str | None = None
    part_name: str | None = None
    missing_reason: str | None = None
    untold_reason: str | None = None

    @property
    def living(self) -> tuple[str, ...]:
        """The UUIDs of its servers that are not released."""
        return tuple(
            server.uuid for server in self.servers if not server.released
        )

    @property
    def told(self) -> dict[str, Any]:
        """Return the params that other services are told of."""
        return {
            name: value
            for name, value in self.params.items()
            if name not in _UNTOLD
        }

    @property
    def is_open(self) -> bool:
        """Return whether servers of its project use it without asking for
        it."""
        return self.params.get('consume') == names.OPEN


@dataclasses.dataclass(frozen=True, slots=True)
class Lease:
    """A project's contract for a window.

    :ivar max_retries: how many times ``create_retry_interval`` a lease waits.
    :ivar arrival: its number among all leases that have ever had to wait;
        None: it never had to wait.
    :ivar duration: seconds that it has from whenever it starts; None: its
        end is fixed.
    :ivar version: changes with each write; writers compare and set it.
    :ivar status_reason: as its owner reads it; status_detail: the whole
        reason, for administrators, if that is more.
    :ivar attempt: changes with each claim; fences workers that wake late.
    :ivar due_at: when a worker must look at the lease next; None: never.
        While a worker holds the lease, when its claim expires.
    :ivar by_default: a server got it that had not asked for one.
    :ivar in_nova: something of the lease may exist in Nova or placement.
    :ivar prepared: Nova holds exactly the resources that the database says.
    :ivar unused_at: when it was found that no server had been let in for too
        long.
    :ivar series_id: of the leases that were created with it; None: it was
        created alone.
    :ivar deleted_at: when it was deleted; None: it was not.
    :ivar latest_end: the latest end that it has had since it began; None: it
        has had no other than its present one.
    """

    id: str
    name: str
    project_id: str
    user_id: str
    start_date: datetime.datetime
    end_date: datetime.datetime
    lease_type: states.LeaseType
    max_retries: int | None
    arrival: int | None
    duration: int | None
    status: states.Lease
    status_reason: str | None
    degraded: bool
    in_nova: bool
    prepared: bool
    version: int
    attempt: int
    claimed_by: str | None
    due_at: datetime.datetime | None
    created_at: datetime.datetime
    updated_at: datetime.datetime | None
    reservations: tuple[Reservation, ...]
    events: tuple[Event, ...]
    status_detail: str | None = None
    by_default: bool = False
    series_id: str | None = None
    unused_at: datetime.datetime | None = None
    deleted_at: datetime.datetime | None = None
    latest_end: datetime.datetime | None = None

    @property
    def why(self) -> reasons.Reason | None:
        if self.status_reason is None:
            return None
        return reasons.Reason(
            self.status_reason, self.status_detail or self.status_reason
        )

    @property
    def window(self) -> interval.Interval:
        return interval.Interval(self.start_date, self.end_date)

    def event(self, kind: states.EventType) -> Event | None:
        for event in self.events:
            if event.event_type == kind:
                return event
        return None

    @property
    def wholes(self) -> frozenset[str]:
        """The ids of those of its reservations that have parts."""
        return frozenset(
            item.part_of for item in self.reservations if item.part_of
        )

    def parts_of(self, reservation_id: str) -> dict[str, Reservation]:
        """Return name -> part of a reservation."""
        return {
            item.part_name: item
            for item in self.reservations
            if item.part_of == reservation_id and item.part_name is not None
        }

    @property
    def server_reservation(self) -> Reservation | None:
        """The only reservation of a lease that servers carry."""
        for reservation in self.reservations:
            if reservation.resource_type == names.SERVER:
                return reservation
        return None

    @property
    def is_window(self) -> bool:
        """Return whether it is a window of maintenance: by it, operators keep
        other leases off a host."""
        return self.by_default and self.server_reservation is None

    @property
    def recorded(self) -> tuple[Reservation, ...]:
        """Those of its reservations that count as held: all of them while it
        is active, and its parts from when servers may land in them."""
        if self.is_window:
            return ()
        if self.status == states.Lease.ACTIVE:
            return self.reservations
        return tuple(
            item
            for item in self.reservations
            if self.status == states.Lease.STARTING
            and item.part_of is not None
            and item.status == states.Reservation.ACTIVE
        )

    @property
    def is_used(self) -> bool:
        """Return whether servers may be on its resources.

        Servers that carry it are there before it is active: from the request
        that makes them if it is immediate, or else from STARTING on. Parts are
        used before the reservation that they are part of has started.
        """
        return (
            self.status == states.Lease.ACTIVE
            or (
                self.server_reservation is not None
                and (
                    self.lease_type == states.LeaseType.IMMEDIATE
                    or self.status == states.Lease.STARTING
                )
            )
            or (
                self.status == states.Lease.STARTING
                and any(
                    item.status == states.Reservation.ACTIVE
                    for item in self.reservations
                )
            )
        )

    @property
    def keeps_its_cell(self) -> bool:
        """Return whether its servers are made elsewhere, and moved to its
        resources later: Nova moves them only within a cell."""
        return (
            self.server_reservation is not None
            and self.lease_type == states.LeaseType.SCHEDULED
            and not self.is_used
        )

    @property
    def has_begun(self) -> bool:
        """Return whether it is, or has been, ACTIVE."""
        start = self.event(states.EventType.START)
        return start is not None and start.status == states.Event.DONE

    @property
    def is_deserted(self) -> bool:
        """Return whether servers carried it, and all of them are gone."""
        carried = self.server_reservation
        return (
            carried is not None
            and bool(carried.servers)
            and not carried.living
        )


@dataclasses.dataclass(frozen=True, slots=True)
class OpenReservation:
    """An active reservation that servers use without asking for it.

    :ivar slots: how many it has, on hosts that can be used now; none, if it is
        of whole hosts.
    """

    id: str
    resource_type: str
    params: Mapping[str, Any]
    slots: int


@dataclasses.dataclass(frozen=True, slots=True)
class LeaseQuery:
    """A page of leases; what is None filters nothing.

    :ivar statuses: those that are wanted; none: all.
    :ivar start_before: with end_after, those whose windows overlap the one
        from end_after to start_before.
    :ivar changed_since: those that were created or changed then or later.
    :ivar over_after: leaves out leases that were over before it.
    :ivar shared_with: a project with which others share some of their
        reservations.
    :ivar marker: the id of the last lease of the page before.
    :ivar deleted: True: only deleted leases; False: only others; None: both.
    """

    id: str | None = None
    project_id: str | None = None
    statuses: tuple[states.Lease, ...] = ()
    name: str | None = None
    start_after: datetime.datetime | None = None
    start_before: datetime.datetime | None = None
    end_after: datetime.datetime | None = None
    end_before: datetime.datetime | None = None
    changed_since: datetime.datetime | None = None
    over_after: datetime.datetime | None = None
    shared_with: str | None = None
    limit: int | None = None
    marker: str | None = None
    sort_key: str = 'created_at'
    descending: bool = False
    deleted: bool | None = False
