# SPDX-License-Identifier: Apache-2.0
"""Hosts and other resources, with what is known of them."""

from collections.abc import Mapping
import dataclasses
import datetime

from nova_reservations.objects import holds
from nova_reservations.objects import states


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


@dataclasses.dataclass(frozen=True, slots=True)
class Inventory:
    """A host's inventory of one resource class, as placement has it.

    :ivar provider: the UUID of a provider below the host's own; empty: it is
        the host's own.
    :ivar traits: of the provider, where requests may ask for them.
    :ivar beside: the traits of the host's own provider, likewise.
    """

    resource_class: str
    total: int
    reserved: int
    min_unit: int
    max_unit: int
    step_size: int
    allocation_ratio: float
    provider: str = ''
    traits: frozenset[str] = frozenset()
    beside: frozenset[str] = frozenset()

    @property
    def capacity(self) -> int:
        return int((self.total - self.reserved) * self.allocation_ratio)

    def allows(self, units: int) -> bool:
        """Return whether placement would allocate so much to one consumer."""
        return (
            self.min_unit <= units <= min(self.max_unit, self.capacity)
            and units % self.step_size == 0
        )


@dataclasses.dataclass(frozen=True, slots=True)
class HostFacts:
    """The facts of a compute host, as Nova and placement have them.

    :ivar service_host: the host of its nova-compute service.
    :ivar memory_mb: MiB; local_gb, free_disk_gb: GiB.
    :ivar free_memory_mb: capacity less what servers outside of leases use.
    :ivar provider_generation: placement's, when the facts were read.
    :ivar cell: the UUID of its cell of Nova; empty if it is not known.
    :ivar nested: the inventories of the providers below its own, without that
        of our slots.
    :ivar tree: stands for the generations of these; empty: there are none.
    :ivar specs: pairs of a name and a value, sorted: cpu_info, in a form that
        hosts with the same CPUs share; and by its scope, what the metadata of
        the host's aggregates have of each key, separated by commas.
    :ivar aggregates: stands for the latter; empty: it is not known.
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
    cell: str = ''
    nested: tuple[Inventory, ...] = ()
    tree: str = ''
    specs: tuple[tuple[str, str], ...] = ()
    aggregates: str = ''

    @property
    def all_inventories(self) -> tuple[Inventory, ...]:
        """Its own inventories and those below it, with all traits that
        requests may ask for."""
        own = (
            dataclasses.replace(inventory, traits=self.traits)
            for inventory in self.inventories
        )
        nested = (
            dataclasses.replace(inventory, beside=self.traits)
            for inventory in self.nested
        )
        return (*own, *nested)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Enrolled:
    """A resource that leases can have, with what is known of it.

    :ivar properties: the operator's.
    :ivar reservable: leases may be placed on it; of a host, False until its
        enrolment is complete.
    :ivar down_since: when it was found to have failed; None: it has not.
    :ivar hold: why no new lease gets it although it has not failed;
        held_since: since when.
    :ivar braked_at: when it was last seen to have failed with so many others
        that nothing is moved.
    :ivar cordoned_at: since when an operator keeps new leases off it.
    """

    resource: Resource
    properties: Mapping[str, str]
    created_at: datetime.datetime
    updated_at: datetime.datetime | None
    reservable: bool = True
    down_since: datetime.datetime | None = None
    hold: states.Hold | None = None
    held_since: datetime.datetime | None = None
    braked_at: datetime.datetime | None = None
    cordoned_at: datetime.datetime | None = None

    @property
    def id(self) -> int:
        return self.resource.id

    @property
    def name(self) -> str:
        return self.resource.name

    @property
    def bookable(self) -> bool:
        """Return whether a new lease may get it, if it is free."""
        return not holds.forbidding(self, holds.Use.PROMISE)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Host(Enrolled):
    """An enrolled host: a resource with facts.

    :ivar fenced_for: the lease that a drainable host is emptied for, or has
        yet to be given back from; fenced_at: since when.
    :ivar lost: why Nova or placement can not use it; it counts as failed.
    :ivar status_reason: what its enrolment waits for, or why it is lost, for
        an operator.
    """

    facts: HostFacts
    role: states.Role
    fenced_for: str | None = None
    fenced_at: datetime.datetime | None = None
    status_reason: str | None = None
    lost: str | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class Property:
    """The name of a property that operators give to hosts.

    :ivar values: all that are given to some host, sorted.
    """

    id: int
    name: str
    private: bool
    created_at: datetime.datetime
    updated_at: datetime.datetime | None
    values: tuple[str, ...]


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
    """The numbers of hosts from start until just before end: how many there
    are, how many of them leases hold at some instant, and how many a lease of
    exactly that time would be granted now. Hosts that have failed, are held
    back, or are held by a lease that should be over are not granted.

    Decision 0037: doc/source/decisions/0037-free-is-the-most-that-is-granted

    :ivar free: the most that may be granted.
    :ivar unmoved: how many are granted without moving promises.
    :ivar holds: reason -> how many hosts it keeps from new leases.
    :ivar slots: how many slots of servers, or units of other resources, would
        be granted; None: that was not asked for.
    :ivar total: how many of these would be granted if nothing was held.
    :ivar projects: project -> how many hosts its leases hold; None: that was
        not asked for.
    """

    start: datetime.datetime
    end: datetime.datetime
    hosts: int
    reserved: int
    free: int
    unmoved: int
    holds: Mapping[str, int]
    slots: int | None = None
    total: int | None = None
    projects: Mapping[str, int] | None = None
