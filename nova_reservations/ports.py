# SPDX-License-Identifier: Apache-2.0
"""What leases want from the cloud; ``cloud/`` gives it on a real Nova.

Every method may be repeated after a crash in the middle of it: what is done
already is left as it is. All of them may raise CloudUnavailable (try again
later) and, where said, CloudRefused (trying again will not help).
"""

from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import datetime
from typing import Any
from typing import Protocol

from nova_reservations import values

Check = Callable[[], None]
"""Raises ClaimLost if the caller must not go on: another worker has taken
over, or a request has changed the lease. Called before each write, so that
a worker that was stopped and wakes late changes nothing."""


@dataclasses.dataclass(frozen=True, slots=True)
class Server:
    """A server that is on a host, or on its way there.

    :ivar host: the service host that it is, or will be, on.
    :ivar state: Nova's vm_state.
    :ivar task: Nova's task_state: what it is being changed by.
    """

    uuid: str
    project_id: str
    host: str
    state: str
    task: str | None = None

    @property
    def condition(self) -> str:
        """Its state and its task, in Nova's words."""
        return ', '.join(filter(None, (self.state, self.task)))


@dataclasses.dataclass(frozen=True, slots=True)
class Occupancy:
    """What keeps a host from being empty.

    :ivar servers: in Nova's cells, in migrations to or from the host, or
        only holding an allocation in placement while being built.
    :ivar leftovers: consumers of placement, or migrations, that belong to
        no server that Nova knows.
    """

    servers: tuple[Server, ...] = ()
    leftovers: tuple[str, ...] = ()

    @property
    def empty(self) -> bool:
        return not self.servers and not self.leftovers


@dataclasses.dataclass(frozen=True, slots=True)
class Order:
    """Why a server is to be changed; Nova's records of what was done to a
    server bear it, in the id of the request.

    What was begun by an order, by whatever worker, is not begun again by the
    same, and what has failed is not tried again: the next attempt is another
    order.

    :ivar reason: the id of what wants it.
    :ivar attempt: from 0 on.
    """

    reason: str
    attempt: int = 0


@dataclasses.dataclass(frozen=True, slots=True)
class Flavor:
    """The size of servers.

    :ivar memory_mb: MiB, as swap_mb; root_gb, ephemeral_gb: GiB.
    """

    vcpus: int
    memory_mb: int
    root_gb: int
    ephemeral_gb: int = 0
    swap_mb: int = 0
    rxtx_factor: float = 1.0
    extra_specs: Mapping[str, str] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True, slots=True)
class KnownFlavor:
    """A flavor that Nova has, and what placement is asked for by it.

    :ivar amounts: resource class -> units, of all request groups together.
    :ivar required: traits; forbidden likewise.
    """

    id: str
    name: str
    is_public: bool
    flavor: Flavor
    amounts: Mapping[str, int]
    required: frozenset[str]
    forbidden: frozenset[str]


@dataclasses.dataclass(frozen=True, slots=True)
class Slots:
    """What Nova must have for a reservation of slots.

    :ivar user_id: whose the server group is.
    :ivar hosts: where, and how many.
    """

    reservation_id: str
    project_id: str
    user_id: str
    flavor: Flavor
    affinity: bool | None
    hosts: tuple[tuple[values.Resource, int], ...]


@dataclasses.dataclass(frozen=True, slots=True)
class ComputeService:
    """A nova-compute, as Nova knows it.

    :ivar up: it has reported in time.
    """

    up: bool
    disabled: bool
    forced_down: bool

    @property
    def is_working(self) -> bool:
        return self.up and not self.disabled and not self.forced_down


@dataclasses.dataclass(frozen=True, slots=True)
class Outcome:
    """How far servers have come with what was ordered; the others are done.

    :ivar waiting: server UUID -> what it waits for.
    :ivar failed: server UUID -> why; it is no use to order it again.
    """

    waiting: Mapping[str, str]
    failed: Mapping[str, str]


@dataclasses.dataclass(frozen=True, slots=True)
class Sighting:
    """Differs from the last one if a host's facts may have changed."""

    provider_generation: int
    availability_zone: str


@dataclasses.dataclass(frozen=True, slots=True)
class Pool:
    """The aggregate ``freepool``, as Nova has it.

    :ivar availability_zone: None, unless somebody gave it one.
    """

    uuid: str
    hosts: frozenset[str]
    availability_zone: str | None = None


class Cloud(Protocol):
    # Hosts and the pool

    def find_hosts(self, name: str) -> Sequence[values.Resource]:
        """Return the compute nodes that name names exactly.

        :param name: a service host, a hypervisor hostname or a node's UUID;
            the ids of the resources returned are 0.
        """

    def ensure_pool(self) -> None:
        """Make the trait and the aggregate ``freepool`` if missing."""

    def mark(self, host: values.Resource) -> None:
        """Put the pool's trait on the host's provider."""

    def unmark(self, host: values.Resource) -> None:
        """Take the pool's trait off; a provider that is gone is fine."""

    def join_pool(self, host: values.Resource) -> None:
        """Add the host to ``freepool``, in Nova and in placement."""

    def leave_pool(self, host: values.Resource) -> None:
        """Take the host out of ``freepool``."""

    def find_pool(self) -> Pool | None:
        """Return the pool's aggregate; None if there is none."""

    def provider_aggregates(
        self, hosts: Collection[values.Resource]
    ) -> Mapping[str, Collection[str]]:
        """Return service host -> UUIDs of the aggregates that placement has
        it in."""

    def survey(self) -> Mapping[str, Sighting]:
        """Return provider UUID -> what tells whether facts have changed.

        Of all marked hosts: one request to placement and one query,
        whatever their number.
        """

    def facts(
        self, hosts: Collection[values.Resource]
    ) -> Sequence[values.HostFacts]:
        """Return the facts of those of the hosts that still exist."""

    # Leases of hosts

    def gather(
        self,
        reservation_id: str,
        project_id: str,
        hosts: Collection[values.Resource],
        check: Check,
    ) -> None:
        """Make the reservation's aggregate hold exactly these hosts.

        In Nova and in placement, many hosts at once, then one cast to the
        schedulers.

        :raises: CloudRefused if a host is unknown to Nova or placement
        """

    def is_gathered(
        self, reservation_id: str, hosts: Collection[values.Resource]
    ) -> bool:
        """Whether the aggregate holds exactly these hosts, in Nova."""

    def disband(
        self,
        reservation_id: str,
        hosts: Collection[values.Resource],
        check: Check,
    ) -> None:
        """Take the hosts out of the aggregate and delete it.

        In Nova and in placement; hosts that only placement still has in it
        are among those named.
        """

    def occupancy(
        self, hosts: Collection[values.Resource]
    ) -> Mapping[str, Occupancy]:
        """Return service host -> what is on it, or on its way there."""

    def delete_servers(
        self, servers: Collection[Server], check: Check
    ) -> Mapping[str, str]:
        """Ask Nova to delete the servers; does not wait.

        :returns: server UUID -> why not, of those that Nova refused.
        """

    def stop_servers(
        self, servers: Collection[Server], order: Order, check: Check
    ) -> Mapping[str, str]:
        """Ask Nova to shut the servers down, as their guests want it, once;
        does not wait.

        :returns: server UUID -> why not, of those that Nova refused, or
            that run although they were asked by this order.
        """

    def shelve_servers(
        self, servers: Collection[Server], order: Order, check: Check
    ) -> Mapping[str, str]:
        """Ask Nova to shelve the servers and to take them off their hosts;
        does not wait.

        What stands between a server and its shelf is done first: a resize
        is confirmed. One that its user has deleted already is deleted.

        :returns: server UUID -> why not, of those that Nova refused, or
            failed at under this order.
        """

    def migrate_servers(
        self, servers: Collection[Server], order: Order, check: Check
    ) -> Outcome:
        """Ask Nova to move the servers to where a server without a
        reservation may be; does not wait.

        Those that run are moved live; once by an order, and what finds no
        place has failed.
        """

    def snapshot_servers(
        self, servers: Collection[Server], order: Order, check: Check
    ) -> Outcome:
        """Have an image made of each server, once by an order, that belongs
        to its project; does not wait."""

    def acts_for_projects(self) -> bool:
        """Whether credentials are configured by which images of servers
        can be made, and their volumes be handled, without their users."""

    def compute_services(
        self, now: datetime.datetime, host: str | None = None
    ) -> Mapping[str, ComputeService]:
        """Return service host -> its nova-compute, of all cells.

        :param host: only this one, if it has any
        """

    def evacuate(
        self, servers: Collection[Server], check: Check
    ) -> Mapping[str, str]:
        """Ask Nova to rebuild servers elsewhere; does not wait.

        For hosts that are forced down: Nova trusts that nothing runs there.

        :returns: server UUID -> why not, of those that Nova refused.
        """

    def lease_aggregates(self) -> Mapping[str, Collection[str]]:
        """Return reservation id -> service hosts, of all aggregates of
        reservations that Nova has."""

    # Leases of slots

    def find_flavor(self, flavor_id: str, project_id: str) -> KnownFlavor:
        """Return a flavor that the project may use.

        :raises: CloudRefused if there is none, or if what it asks for can't
            be counted
        """

    def furnish(self, slots: Slots, check: Check) -> None:
        """Make the reservation's resource class, its inventories, flavor
        and server group be exactly so; the flavor is nobody's yet.

        :raises: CloudRefused if placement does not know a host
        """

    def is_furnished(self, slots: Slots) -> bool:
        """Whether Nova has the flavor so; one look at its database."""

    def admit(self, slots: Slots, check: Check) -> None:
        """Let the project use the flavor."""

    def clear(
        self,
        reservation_id: str,
        hosts: Collection[values.Resource],
        check: Check,
    ) -> Collection[str]:
        """Take away all that furnish and admit have made.

        :returns: consumers of placement that hold slots still: then the
            inventories and the class of these are left.
        """

    def tenants(
        self,
        reservation_id: str,
        hosts: Collection[values.Resource],
        servers: Collection[str],
    ) -> Occupancy:
        """Return the servers that have the reservation's flavor, or hold a
        slot of it, and those of servers that still exist.

        :param servers: UUIDs
        """

    def forget_slots(
        self,
        reservation_id: str,
        servers: Collection[Server],
        check: Check,
    ) -> None:
        """Have servers that outlive the reservation ask for no slot of it,
        wherever they go."""

    def offered_slots(
        self, hosts: Collection[values.Resource]
    ) -> Mapping[str, Mapping[str, int]]:
        """Return reservation id -> service host -> slots, as placement has
        them on these hosts."""

    def owns_slots(self, reservation_id: str) -> bool:
        """Whether such a class is ours: Blazar names its own alike, and may
        be there still."""

    def slot_classes(self) -> Collection[str]:
        """Return the reservations of which placement has a class."""


class Notifier(Protocol):
    def __call__(self, event_type: str, payload: Mapping[str, Any]) -> None:
        """Emit a notification; never raises."""
