# SPDX-License-Identifier: Apache-2.0
"""Allocations: resources, or shares of them, that reservations hold."""

from collections.abc import Collection
from collections.abc import Mapping
import dataclasses
import datetime
from typing import Any

from nova_reservations.objects import host
from nova_reservations.objects import sharing
from nova_reservations.objects import states


@dataclasses.dataclass(frozen=True, slots=True)
class Allocation:
    """One resource, or a share of it, given to a reservation."""

    id: int
    reservation_id: str
    lease_id: str
    resource_id: int
    start_date: datetime.datetime
    end_date: datetime.datetime
    released: bool


@dataclasses.dataclass(frozen=True, slots=True)
class AllocationQuery:
    """Allocations of a page of hosts; what is None filters nothing.

    :ivar start: those that overlap the time from start to end; without any
        filter, all that are not over.
    :ivar resource_ids: those of these hosts.
    :ivar limit: how many hosts at most.
    :ivar marker: the id of the last host of the page before.
    """

    lease_id: str | None = None
    reservation_id: str | None = None
    start: datetime.datetime | None = None
    end: datetime.datetime | None = None
    resource_ids: Collection[int] | None = None
    limit: int | None = None
    marker: int = 0


@dataclasses.dataclass(frozen=True, slots=True)
class Condition:
    """The state of a resource, as far as is known: whether it works.

    :ivar hold: why no new lease gets it although it has not failed; None:
        nothing speaks against it, or it has failed.
    :ivar held_since: since when.
    :ivar down_since: when it was found to have failed; None: it has not.
    :ivar forced_down: it has failed, and somebody who knows has declared that
        nothing runs on it.
    :ivar lost: why Nova or placement can not use it, whatever its monitor
        sees, for operators: it has failed; None: nothing is known of that.
    """

    hold: states.Hold | None = None
    held_since: datetime.datetime | None = None
    down_since: datetime.datetime | None = None
    forced_down: bool = False
    lost: str | None = None

    @property
    def failed(self) -> bool:
        return self.down_since is not None

    @property
    def works(self) -> bool:
        """Return whether it answers, or is not expected to."""
        return not self.failed and self.hold != states.Hold.DOWN


@dataclasses.dataclass(frozen=True, slots=True)
class Holding:
    """A resource that a reservation has, or that it has not left yet.

    :ivar down: it has failed.
    :ivar occupied: it was taken from another reservation when it failed, and
        what was on it then may still be there.
    :ivar given: it was given in place of another one, and the owner has not
        taken note yet.
    :ivar replaced: another one was given in its place.
    :ivar leaving_at: when the owner gave it back; None: it did not.
    :ivar awaited: servers that could still come to it when that had settled;
        None: they are not listed yet.
    :ivar forced_down: it has failed, and nothing runs on it.
    :ivar hold: why no new lease is to have it, though it has not failed;
        held_since: since when.
    :ivar braked: it has failed with so many others that none is replaced.
    :ivar cordoned: an operator keeps new leases off it.
    :ivar emptied_at: when an operator last asked to move servers of leases
        that have left it; stays_because: why those of this lease were not
        moved.
    :ivar lost: it has failed because Nova or placement can not use it.
    """

    resource: host.Resource
    down: bool
    occupied: bool
    given: bool
    replaced: bool
    forced_down: bool = False
    hold: states.Hold | None = None
    held_since: datetime.datetime | None = None
    braked: bool = False
    leaving_at: datetime.datetime | None = None
    awaited: frozenset[str] | None = None
    cordoned: bool = False
    emptied_at: datetime.datetime | None = None
    stays_because: str | None = None
    lost: bool = False

    @property
    def usable(self) -> bool:
        return self.stays and not (self.down or self.occupied)

    @property
    def stays(self) -> bool:
        """Return whether the reservation is to have it up to its end."""
        return not self.replaced and self.leaving_at is None


@dataclasses.dataclass(frozen=True, slots=True)
class HeldResources:
    """Resources that a reservation holds, in short.

    :ivar count: how many resources it has, or has a share of.
    :ivar names: of the first of them.
    :ivar amounts: class of the record -> units of all of them.
    :ivar degraded: the part of amounts that can not be used.
    """

    count: int
    names: tuple[str, ...]
    amounts: Mapping[str, int]
    degraded: Mapping[str, int]


@dataclasses.dataclass(frozen=True, slots=True)
class Occupant:
    """A lease that holds a resource.

    :ivar is_leaving: it has another resource in its place, and something of
        the lease is still there.
    :ivar stays_because: why what is there could not be moved.
    """

    lease_id: str
    project_id: str
    status: states.Lease
    start_date: datetime.datetime
    end_date: datetime.datetime
    is_leaving: bool
    stays_because: str | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class Access:
    """The facts that decide whether a server may use a reservation.

    :ivar hosts: the service hosts that it has, or has a share of, and can
        use.
    :ivar unusable: those that have failed, or that an earlier reservation
        has not left yet.
    :ivar in_slots: whether it has shares: each server takes a slot.
    :ivar cells: the UUIDs of the cells that all of these hosts are in, as
        far as they are known.
    :ivar is_used: whether any server was ever let into its lease.
    :ivar started: whether the reservation is active, which a part is before
        its lease.
    :ivar sharers: other projects that it is, or was, shared with.
    """

    reservation_id: str
    lease_id: str
    project_id: str
    status: states.Lease
    lease_type: states.LeaseType
    start_date: datetime.datetime
    resource_type: str
    params: Mapping[str, Any]
    hosts: frozenset[str]
    unusable: frozenset[str]
    in_slots: bool
    cells: frozenset[str]
    is_used: bool
    sharers: sharing.Sharers = sharing.NOBODY
    started: bool = False

    @property
    def lets_in(self) -> bool:
        """Return whether servers may land in it now."""
        return _lets_in(self.status, self.started)

    def is_for(self, project_id: str) -> bool:
        """Return whether the project may create servers in it."""
        return (
            project_id == self.project_id or project_id in self.sharers.present
        )

    def may_have(self, project_id: str) -> bool:
        """Return whether servers of the project may be in it."""
        return project_id == self.project_id or project_id in self.sharers.all


@dataclasses.dataclass(frozen=True, slots=True)
class Named:
    """A reservation of a lease that a new server names.

    :ivar series_id: the series of the lease; None: it is of none.
    :ivar started: whether the reservation is active.
    """

    reservation_id: str
    resource_type: str
    lease_id: str
    series_id: str | None
    status: states.Lease
    started: bool

    @property
    def lets_in(self) -> bool:
        """Return whether servers may land in it now."""
        return _lets_in(self.status, self.started)


def _lets_in(status: states.Lease, started: bool) -> bool:
    return status == states.Lease.ACTIVE or (
        status == states.Lease.STARTING and started
    )
