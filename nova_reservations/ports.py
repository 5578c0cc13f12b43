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

from nova_reservations import objects

Check = Callable[[], None]
"""Raises ClaimLost if the caller must not go on: another worker has taken
over, or a request has changed the lease. Called before each write, or a moment
before where many are made side by side, so that a worker that was stopped and
wakes late changes nothing."""

Move = tuple[int, int]
"""The generation of a provider before a change of ours, and by it alone."""

Moved = Callable[[Mapping[str, Move]], None]
"""Is told of such, by the providers' UUIDs."""

Identity = Callable[[], str]
"""Returns the name of our database."""


@dataclasses.dataclass(frozen=True, slots=True)
class Server:
    """A server that is on a host, or on its way there.

    :ivar host: the service host that it is, or will be, on; empty if that
        is none.
    :ivar state: Nova's vm_state.
    :ivar task: Nova's task_state: what it is being changed by.
    :ivar fault: where it was asked for, what has gone wrong with it last.
    :ivar written_at: when Nova wrote its row last, where it has one.
    :ivar unbuilt: whether Nova has given it up before any host began to build
        it: there is nothing of it but what it holds in placement.
    """

    uuid: str
    project_id: str
    host: str
    state: str
    task: str | None = None
    fault: str | None = None
    written_at: datetime.datetime | None = dataclasses.field(
        default=None, compare=False
    )
    unbuilt: bool = False

    @property
    def condition(self) -> str:
        """Its state and its task, in Nova's words."""
        return ', '.join(filter(None, (self.state, self.task)))

    @property
    def is_being_deleted(self) -> bool:
        """Also when its guest is gone, and its host has still to give back
        what it held."""
        return self.task == 'deleting' or self.state == 'deleted'


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
class RequestKey:
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
class PlacedServer:
    """A server with what it takes of its host.

    :ivar pinned: it has CPUs of the host for itself.
    :ivar passthrough: it has devices of the host.
    """

    server: Server
    flavor: Flavor
    pinned: bool = False
    passthrough: bool = False


@dataclasses.dataclass(frozen=True, slots=True)
class Room:
    """Where servers could go, by what placement says of the cloud.

    :ivar needs: server UUID -> resource class -> units.
    :ivar fits: server UUID -> service hosts that would take it, one by one.
    :ivar free: service host -> resource class -> units; of all in fits.
    """

    needs: Mapping[str, Mapping[str, int]]
    fits: Mapping[str, Sequence[str]]
    free: Mapping[str, Mapping[str, int]]


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
    :ivar flavor: None: none of its own, its servers have others.
    :ivar hosts: where, and how many.
    """

    reservation_id: str
    project_id: str
    user_id: str
    flavor: Flavor | None
    affinity: bool | None
    hosts: tuple[tuple[objects.Resource, int], ...]


@dataclasses.dataclass(frozen=True, slots=True)
class ComputeService:
    """A nova-compute, as Nova knows it.

    :ivar up: it has reported in time.
    :ivar gave_up: it was not an administrator who disabled it but Nova
        itself, because it can't work.
    """

    up: bool
    disabled: bool
    forced_down: bool
    gave_up: bool = False

    @property
    def is_working(self) -> bool:
        """Whether Nova would put a server there."""
        return self.up and not self.disabled and not self.forced_down

    @property
    def is_down(self) -> bool:
        return not self.up or self.gave_up


@dataclasses.dataclass(frozen=True, slots=True)
class Outcome:
    """How far servers have come with what was ordered; the others are done.

    :ivar waiting: server UUID -> what it waits for.
    :ivar failed: server UUID -> why; it is no use to order it again.
    """

    waiting: Mapping[str, str]
    failed: Mapping[str, str]


@dataclasses.dataclass(frozen=True, slots=True)
class HostVersion:
    """Differs from the last one if a host's facts may have changed."""

    provider_generation: int
    availability_zone: str


@dataclasses.dataclass(frozen=True, slots=True)
class Members:
    """What is in an aggregate of an operator's.

    :ivar hosts: service hosts, as Nova has them.
    :ivar generations: provider UUID -> generation, as placement has them.
    """

    hosts: frozenset[str]
    generations: Mapping[str, int]


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

    def find_hosts(self, name: str) -> Sequence[objects.Resource]:
        """Return the compute nodes that name names exactly.

        :param name: a service host, a hypervisor hostname or a node's UUID;
            the ids of the resources returned are 0.
        """

    def ensure_pool(self) -> None:
        """Make the trait and the aggregate ``freepool`` if missing."""

    def mark(self, host: objects.Resource) -> None:
        """Put the pool's trait on the host's provider."""

    def unmark(self, host: objects.Resource) -> None:
        """Take the pool's trait off; a provider that is gone is fine."""

    def join_pool(self, host: objects.Resource) -> None:
        """Add the host to ``freepool``, in Nova and in placement."""

    def leave_pool(self, host: objects.Resource) -> None:
        """Take the host out of ``freepool``."""

    def find_pool(self) -> Pool | None:
        """Return the pool's aggregate; None if there is none."""

    def provider_aggregates(
        self, hosts: Collection[objects.Resource]
    ) -> Mapping[str, Collection[str]]:
        """Return service host -> UUIDs of the aggregates that placement has
        it in."""

    def pool_generations(self) -> Mapping[str, HostVersion]:
        """Return provider UUID -> what tells whether facts have changed.

        Of all marked hosts: one request to placement and one query,
        whatever their number.
        """

    def facts(
        self, hosts: Collection[objects.Resource]
    ) -> Sequence[objects.HostFacts]:
        """Return the facts of those of the hosts that still exist."""

    # Hosts that are emptied for leases

    def find_members(self, aggregate: str) -> Members | None:
        """Return what is in an aggregate; None if there is none so named."""

    def servers_on(
        self, hosts: Collection[objects.Resource]
    ) -> Mapping[str, Sequence[PlacedServer]]:
        """Return service host -> the servers that Nova has on it."""

    def find_room(
        self, servers: Collection[Server], now: datetime.datetime
    ) -> Room:
        """Return where servers could go that have no reservation: to no host
        of the pool, and to none that is fenced or does not work.

        One that Nova could not look a host up for fits nowhere.
        """

    def drain_servers(
        self,
        servers: Collection[Server],
        order: RequestKey,
        now: datetime.datetime,
        check: Check,
    ) -> Outcome:
        """Ask Nova to move servers that are somebody else's; does not wait.

        Live, those that do not run cold; once by an order. What nobody has
        ordered is left: none is deleted, shelved, or has a resize confirmed
        that its owner has begun. One that can't be moved, or was not although
        it was ordered, has failed, and is as it was.
        """

    def settle_servers(
        self,
        servers: Collection[Server],
        order: RequestKey,
        now: datetime.datetime,
        check: Check,
    ) -> Mapping[str, str]:
        """Finish what was begun by the order, and begin nothing.

        :returns: server UUID -> what it waits for
        """

    # Leases of hosts

    def in_flight(
        self, hosts: Collection[objects.Resource]
    ) -> Mapping[str, Collection[str]]:
        """Return service host -> the servers that Nova is building or moving
        at this moment, and that might land there.

        Only as far as nova-conductor may choose a host for them by itself.
        """

    def set_aggregate_hosts(
        self,
        reservation_id: str,
        project_id: str,
        hosts: Collection[objects.Resource],
        check: Check,
    ) -> None:
        """Make the reservation's aggregate hold exactly these hosts.

        In Nova and in placement, many hosts at once, then one cast to the
        schedulers.

        :raises: CloudRefused if a host is unknown to Nova or placement
        """

    def has_aggregate_hosts(
        self, reservation_id: str, hosts: Collection[objects.Resource]
    ) -> bool:
        """Whether the aggregate holds exactly these hosts, in Nova."""

    def delete_aggregate(self, reservation_id: str, check: Check) -> bool:
        """Take all hosts out of the aggregate, in Nova and in placement, and
        delete it.

        :returns: False if it was gone before
        """

    def occupancy(
        self, hosts: Collection[objects.Resource]
    ) -> Mapping[str, Occupancy]:
        """Return service host -> what is on it, or on its way there."""

    def let_in(
        self, reservation_id: str, servers: Collection[str]
    ) -> Collection[str]:
        """Return those of the servers that were created in the reservation:
        the request that Nova has stored of each bears its hint.

        :param servers: UUIDs
        """

    def building_servers(
        self, reservation_id: str, project_id: str
    ) -> Sequence[Server]:
        """Return the servers that Nova is building in the reservation.

        On whichever host, or on none: while one is rescheduled it has
        neither a host nor an allocation in placement.
        """

    def release_claims(
        self, servers: Collection[Server], check: Check
    ) -> None:
        """Have servers that are unbuilt hold nothing in placement."""

    def find_servers(self, servers: Collection[str]) -> Mapping[str, Server]:
        """Return UUID -> server, of those of these that still exist: also
        where none has been found a host yet, or none was found; with their
        faults.

        :param servers: UUIDs
        """

    def gone_servers(self, servers: Collection[str]) -> Collection[str]:
        """Return those of these that no longer exist: one query, where they
        all do.

        :param servers: UUIDs
        """

    def delete_servers(
        self,
        servers: Collection[Server],
        check: Check,
        keep_images: bool = False,
    ) -> Mapping[str, str]:
        """Ask Nova to delete the servers; does not wait.

        :param keep_images: whether what they were shelved as outlives them
        :returns: server UUID -> why not, of those that Nova refused.
        """

    def stop_servers(
        self, servers: Collection[Server], order: RequestKey, check: Check
    ) -> Mapping[str, str]:
        """Ask Nova to shut the servers down, as their guests want it, once;
        does not wait.

        :returns: server UUID -> why not, of those that Nova refused, or
            that run although they were asked by this order.
        """

    def shelve_servers(
        self, servers: Collection[Server], order: RequestKey, check: Check
    ) -> Mapping[str, str]:
        """Ask Nova to shelve the servers and to take them off their hosts;
        does not wait.

        What stands between a server and its shelf is done first: a resize
        is confirmed. One that its user has deleted already is deleted.

        :returns: server UUID -> why not, of those that Nova refused, or
            failed at under this order.
        """

    def migrate_servers(
        self, servers: Collection[Server], order: RequestKey, check: Check
    ) -> Outcome:
        """Ask Nova to move the servers to where a server without a
        reservation may be; does not wait.

        Those that run are moved live; once by an order, and what finds no
        place has failed.
        """

    def snapshot_servers(
        self, servers: Collection[Server], order: RequestKey, check: Check
    ) -> Outcome:
        """Have an image made of each server, once by an order, that belongs
        to its project; does not wait."""

    def save_servers(
        self, servers: Collection[Server], order: RequestKey, check: Check
    ) -> Outcome:
        """Have what is on the servers' disks outlive them; does not wait.

        An image is made of a server, as by snapshot_servers; volumes that
        were to be deleted with it no longer are; what it was shelved as is
        an image of it, which delete_servers must then keep.
        """

    def suspend_servers(
        self, servers: Collection[Server], order: RequestKey, check: Check
    ) -> Outcome:
        """Ask Nova to suspend the servers that run; does not wait."""

    def unshelve_servers(
        self, servers: Collection[Server], order: RequestKey, check: Check
    ) -> Outcome:
        """Ask Nova to bring shelved servers back, once by an order; does not
        wait. What is done are those that are on no shelf."""

    def acts_for_projects(self) -> bool:
        """Whether credentials are configured by which images of servers
        can be made, and their volumes be handled, without their users."""

    def check_acting(self) -> None:
        """See that these credentials work at this moment.

        :raises: CloudRefused if none are configured
        """

    def compute_services(
        self, now: datetime.datetime, host: str | None = None
    ) -> Mapping[str, ComputeService]:
        """Return service host -> its nova-compute, of all cells.

        :param host: only this one, if it has any
        """

    def cells_of(self, names: Collection[str]) -> Mapping[str, str]:
        """Return service host -> the name or UUID of its cell, of those that
        Nova has mapped to one."""

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

    def origins(self) -> Mapping[str, str | None]:
        """Return reservation id -> the database of which its aggregate says
        that it is, of all aggregates of reservations."""

    def sign(self, reservation_id: str) -> None:
        """Have the aggregate say that it is of our database."""

    # Leases of slots

    def find_flavor(self, flavor_id: str, project_id: str) -> KnownFlavor:
        """Return a flavor that the project may use.

        :raises: CloudRefused if there is none, or if what it asks for can't
            be counted
        """

    def ensure_slots(self, slots: Slots, check: Check) -> None:
        """Make the reservation's resource class, its inventories, flavor
        and server group be exactly so; the flavor is nobody's yet.

        :raises: CloudRefused if placement does not know a host
        """

    def has_slots(self, slots: Slots) -> bool:
        """Whether Nova has the flavor so, by one look at its database; where
        it has none, whether placement has the inventories so."""

    def allow_flavor(self, slots: Slots, check: Check) -> None:
        """Let the project use the flavor."""

    def delete_slots(
        self,
        reservation_id: str,
        hosts: Collection[objects.Resource],
        check: Check,
    ) -> Collection[str]:
        """Take away all that furnish and admit have made.

        :returns: consumers of placement that hold slots still: then the
            inventories and the class of these are left.
        """

    def tenants(
        self,
        reservation_id: str,
        hosts: Collection[objects.Resource],
        servers: Collection[str],
    ) -> Occupancy:
        """Return the servers that have the reservation's flavor, or hold a
        slot of it, and those of servers that still exist.

        :param servers: UUIDs
        """

    def slots_taken(self, reservation_id: str, project_id: str) -> int:
        """Return how many slots of its reservation the project's servers
        hold: one that is moved holds two."""

    def forget_slots(
        self,
        reservation_id: str,
        servers: Collection[Server],
        check: Check,
    ) -> None:
        """Have servers that outlive the reservation ask for no slot of it,
        wherever they go."""

    def offered_slots(
        self, hosts: Collection[objects.Resource]
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
