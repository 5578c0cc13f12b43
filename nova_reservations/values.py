# SPDX-License-Identifier: Apache-2.0
"""What leaves the database: frozen values, never live rows."""

from collections.abc import Iterable
from collections.abc import Mapping
import dataclasses
import datetime
import re
from typing import Any
from typing import Self
from typing import TypeGuard
import uuid

from nova_reservations import exception
from nova_reservations import interval
from nova_reservations import reasons
from nova_reservations import states


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

    :ivar released: the lease has no more to do with it: it was deleted, or
        could not be built, or the lease is over.
    """

    uuid: str
    released: bool


@dataclasses.dataclass(frozen=True, slots=True)
class Reservation:
    """One ask of one resource type.

    :ivar params: what was asked, as its resource type normalised it.
    :ivar servers: of a reservation of type SERVER, in the order in which
        they were made.
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

    @property
    def living(self) -> tuple[str, ...]:
        """The UUIDs of those of its servers that it still has."""
        return tuple(one.uuid for one in self.servers if not one.released)

    @property
    def is_open(self) -> bool:
        """Whether servers of its project use it without asking for it."""
        return self.params.get('consume') == OPEN


OPEN = 'open'
TARGETED = 'targeted'


@dataclasses.dataclass(frozen=True, slots=True)
class Reason:
    """What a lease waits for, or why it failed; as a text it is the whole.

    :ivar told: what its owner reads: it names no server, project or host of
        others.
    :ivar whole: what administrators and the log are told.
    """

    told: str
    whole: str

    def __str__(self) -> str:
        return self.whole

    @property
    def detail(self) -> str | None:
        """What is told to administrators in place of what its owner reads."""
        return None if self.whole == self.told else self.whole

    @classmethod
    def plain(cls, text: str) -> Self:
        """Return one that its owner may read as it is."""
        return cls(text, text)

    @classmethod
    def of(cls, error: exception.ReservationsError) -> Self:
        return cls(error.public, str(error))

    def fitted(self) -> Self:
        """Return it as the database keeps it."""
        return dataclasses.replace(
            self, told=reasons.fit(self.told), whole=reasons.fit(self.whole)
        )

    def after(self, text: str) -> Self:
        """Return one that says this after a text that anybody may read."""
        return dataclasses.replace(
            self, told=text + self.told, whole=text + self.whole
        )

    @classmethod
    def join(cls, several: Iterable[Self], most: int | None = None) -> Self:
        """Return them as one, which says nothing twice.

        :param most: how many of them it tells of
        """
        listed = list(several)
        return cls(
            _listed((reason.told for reason in listed), most),
            _listed((reason.whole for reason in listed), most),
        )


def _listed(texts: Iterable[str], most: int | None) -> str:
    return '; '.join(list(dict.fromkeys(texts))[:most])


@dataclasses.dataclass(frozen=True, slots=True)
class Lease:
    """A project's contract for a window.

    :ivar max_retries: for so many times ``create_retry_interval`` a lease
        waits.
    :ivar arrival: its number among all that have ever had to wait.
    :ivar duration: seconds that it has from whenever it starts; None: its
        end is fixed.
    :ivar version: changes with each write; writers compare and set it.
    :ivar status_reason: as its owner reads it; status_detail: the whole of
        it, for administrators, where that is more.
    :ivar attempt: changes with each claim; fences workers that wake late.
    :ivar due_at: when a worker must look at the lease next; None: never.
        While a worker holds the lease, when its claim expires.
    :ivar in_nova: something of the lease may exist in Nova or placement.
    :ivar prepared: Nova holds exactly the resources that the database says.
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

    @property
    def why(self) -> Reason | None:
        if self.status_reason is None:
            return None
        return Reason(
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
    def server_reservation(self) -> Reservation | None:
        """Of a lease that servers carry, its only reservation."""
        for reservation in self.reservations:
            if reservation.resource_type == SERVER:
                return reservation
        return None

    @property
    def is_used(self) -> bool:
        """Whether servers may be on what it has.

        Those that carry it are there before it is active: from the request
        on that makes them, or from when they are brought back.
        """
        return self.status == states.Lease.ACTIVE or (
            self.server_reservation is not None
            and (
                self.lease_type == states.LeaseType.IMMEDIATE
                or self.status == states.Lease.STARTING
            )
        )

    @property
    def is_deserted(self) -> bool:
        """Whether servers carried it, and all of them are gone."""
        carried = self.server_reservation
        return (
            carried is not None
            and bool(carried.servers)
            and not carried.living
        )


@dataclasses.dataclass(frozen=True, slots=True)
class Resource:
    """Something that can be leased.

    :ivar name: for a host: the host of its compute service.
    :ivar uuid: for a host: its compute node, which is its provider too.
    """

    id: int
    resource_type: str
    name: str
    uuid: str


def is_id(value: Any) -> TypeGuard[str]:
    """Whether it is spelled as ids of leases and reservations are: databases
    may not care for more spellings of a UUID, placement does."""
    return isinstance(value, str) and _UUID.fullmatch(value) is not None


_UUID = re.compile('[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}')


SLOTS = 'CUSTOM_RESERVATION_'


def slot_class(reservation_id: str) -> str:
    """Return the resource class by which a reservation's slots count."""
    return SLOTS + reservation_id.upper().replace('-', '_')


def group_id(reservation_id: str) -> str:
    """Return the UUID of the server group of a reservation's servers."""
    return str(uuid.uuid5(uuid.UUID(reservation_id), 'server group'))


def slots_of(resource_class: str) -> str | None:
    """Return the reservation whose slots the class counts; None: of none."""
    if not resource_class.startswith(SLOTS):
        return None
    name = resource_class.removeprefix(SLOTS).lower().replace('_', '-')
    return name if is_id(name) else None


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
class Condition:
    """Whether a resource works, as far as is known.

    :ivar hold: why no new lease gets it although it has not failed; None:
        nothing speaks against it, or it has failed.
    :ivar held_since: since when.
    :ivar down_since: when it was found to have failed; None: it has not.
    :ivar forced_down: it has failed, and who knows has said that nothing
        runs on it.
    """

    hold: states.Hold | None = None
    held_since: datetime.datetime | None = None
    down_since: datetime.datetime | None = None
    forced_down: bool = False

    @property
    def failed(self) -> bool:
        return self.down_since is not None

    @property
    def works(self) -> bool:
        """Whether it answers, or is not expected to."""
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
    :ivar forced_down: it has failed, and nothing runs on it.
    :ivar hold: why no new lease is to have it, though it has not failed;
        held_since: since when.
    :ivar braked: it has failed with so many others that none is replaced.
    """

    resource: Resource
    down: bool
    occupied: bool
    given: bool
    replaced: bool
    forced_down: bool = False
    hold: states.Hold | None = None
    held_since: datetime.datetime | None = None
    braked: bool = False

    @property
    def usable(self) -> bool:
        return not (self.down or self.occupied or self.replaced)


@dataclasses.dataclass(frozen=True, slots=True)
class Inventory:
    """What placement says that a host has of one resource class."""

    resource_class: str
    total: int
    reserved: int
    min_unit: int
    max_unit: int
    step_size: int
    allocation_ratio: float

    @property
    def capacity(self) -> int:
        return int((self.total - self.reserved) * self.allocation_ratio)


@dataclasses.dataclass(frozen=True, slots=True)
class HostFacts:
    """What Nova and placement say of a compute host.

    :ivar service_host: the host of its nova-compute service.
    :ivar memory_mb: MiB; local_gb, free_disk_gb: GiB.
    :ivar free_memory_mb: capacity less what servers outside of leases use.
    :ivar provider_generation: placement's, when the facts were read.
    """

    uuid: str
    service_host: str
    hypervisor_hostname: str
    vcpus: int
    memory_mb: int
    local_gb: int
    free_memory_mb: int
    free_disk_gb: int
    cpu_info: str
    hypervisor_type: str
    hypervisor_version: int
    availability_zone: str
    provider_generation: int
    traits: frozenset[str]
    inventories: tuple[Inventory, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class Host:
    """An enrolled host: a resource, its facts, the operator's properties.

    :ivar reservable: leases may be placed on it; False until its enrolment
        is complete.
    :ivar down_since: when it was found to have failed; None: it has not.
    :ivar hold: why no new lease gets it although it has not failed.
    :ivar braked: it has failed with so many others that nothing is moved.
    :ivar fenced_for: the lease that a donor is emptied for, or has yet to
        be given back from.
    :ivar status_reason: what its enrolment waits for, for an operator.
    """

    id: int
    reservable: bool
    role: states.Role
    down_since: datetime.datetime | None
    facts: HostFacts
    properties: Mapping[str, str]
    created_at: datetime.datetime
    updated_at: datetime.datetime | None
    fenced_for: str | None = None
    hold: states.Hold | None = None
    braked: bool = False
    status_reason: str | None = None

    @property
    def bookable(self) -> bool:
        """Whether a new lease may get it, if it is free."""
        return self.reservable and self.down_since is None and not self.hold

    @property
    def resource(self) -> Resource:
        return Resource(
            self.id, HOST, self.facts.service_host, self.facts.uuid
        )


HINT = 'reservation'
"""The scheduler hint by which a server is created in a reservation."""

HOST = 'physical:host'

SERVER = 'virtual:server'
"""The type of reservation of a lease that servers carry. Clients know it as
one of virtual:instance."""


@dataclasses.dataclass(frozen=True, slots=True)
class Access:
    """What decides whether a server may use a reservation.

    :ivar hosts: the service hosts that it has, or has a share of, and can
        use.
    :ivar unusable: those that have failed, or that an earlier reservation
        has not left yet.
    :ivar in_slots: whether it has shares: each server takes a slot.
    """

    reservation_id: str
    lease_id: str
    project_id: str
    status: states.Lease
    lease_type: states.LeaseType
    resource_type: str
    params: Mapping[str, Any]
    hosts: frozenset[str]
    unusable: frozenset[str]
    in_slots: bool


@dataclasses.dataclass(frozen=True, slots=True)
class OpenReservation:
    """An active reservation that servers use without asking for it.

    :ivar slots: how many it has, on hosts that can be used now.
    """

    id: str
    resource_type: str
    params: Mapping[str, Any]
    slots: int


@dataclasses.dataclass(frozen=True, slots=True)
class Property:
    """The name of something that operators say of their hosts.

    :ivar values: all that are given to some host, sorted.
    """

    id: int
    name: str
    private: bool
    created_at: datetime.datetime
    updated_at: datetime.datetime | None
    values: tuple[str, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class LeaseQuery:
    """A page of leases; what is None filters nothing.

    :ivar over_after: leaves out leases that were over before it.
    :ivar marker: the id of the last lease of the page before.
    """

    project_id: str | None = None
    status: states.Lease | None = None
    name: str | None = None
    start_after: datetime.datetime | None = None
    end_before: datetime.datetime | None = None
    over_after: datetime.datetime | None = None
    limit: int | None = None
    marker: str | None = None
    sort_key: str = 'created_at'
    descending: bool = False


@dataclasses.dataclass(frozen=True, slots=True)
class HostQuery:
    """A page of hosts; what is None filters nothing.

    :ivar marker: the id of the last host of the page before.
    """

    name: str | None = None
    availability_zone: str | None = None
    limit: int | None = None
    marker: int | None = None
    sort_key: str = 'id'
    descending: bool = False


@dataclasses.dataclass(frozen=True, slots=True)
class CapacityPoint:
    """How many hosts there are, how many of them leases hold at some instant
    from start until just before end, and how many a lease of just that time
    would be granted now: not what has failed, is held back, or is held by a
    lease that should be over."""

    start: datetime.datetime
    end: datetime.datetime
    hosts: int
    reserved: int
    free: int
