# SPDX-License-Identifier: Apache-2.0
"""Servers: where they are, and what Nova is asked to do with them."""

from collections.abc import Collection
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import datetime
import enum
from typing import Protocol

from nova_reservations import objects
from nova_reservations.objects import amounts
from nova_reservations.ports.calls import Check
from nova_reservations.ports.calls import Order


class ServerState(enum.StrEnum):
    """Nova's vm_states, in Nova's words.

    ``Server.state`` is text: a later Nova may have more of them.
    """

    ACTIVE = 'active'
    BUILDING = 'building'
    PAUSED = 'paused'
    SUSPENDED = 'suspended'
    STOPPED = 'stopped'
    RESCUED = 'rescued'
    RESIZED = 'resized'
    SOFT_DELETED = 'soft-delete'
    DELETED = 'deleted'
    ERROR = 'error'
    SHELVED = 'shelved'
    SHELVED_OFFLOADED = 'shelved_offloaded'


MOVABLE = frozenset(
    {ServerState.ACTIVE, ServerState.PAUSED, ServerState.STOPPED}
)
"""States of servers that Nova can move, and that their owners need not end
first."""


@dataclasses.dataclass(frozen=True, slots=True)
class Server:
    """A server that is on a host, or on its way there.

    :ivar host: the service host that it is, or will be, on; empty if there is
        none.
    :ivar state: Nova's vm_state, one of ServerState.
    :ivar task: Nova's task_state: the operation under way.
    :ivar fault: its last fault, if faults were asked for.
    :ivar flavor: the name of its flavor, if Nova was asked for it.
    :ivar written_at: when Nova last wrote its row, if it has one.
    :ivar unbuilt: whether Nova has given it up before any host began to build
        it: nothing of it exists but its allocation in placement.
    :ivar moved_to: the root providers of its own allocation, if only a
        migration of it holds something here: it counts there. Empty until
        nova-scheduler has claimed a host for the move.
    """

    uuid: str
    project_id: str
    host: str
    state: str
    task: str | None = None
    fault: str | None = None
    flavor: str | None = None
    written_at: datetime.datetime | None = dataclasses.field(
        default=None, compare=False
    )
    unbuilt: bool = False
    moved_to: frozenset[str] = frozenset()

    @property
    def condition(self) -> str:
        """Its state and its task, in Nova's words."""
        return ', '.join(filter(None, (self.state, self.task)))

    @property
    def is_settled(self) -> bool:
        """It stays where it is: no operation on it is under way, and no resize
        of it can be reverted."""
        return self.task is None and self.state not in (
            ServerState.BUILDING,
            ServerState.RESIZED,
        )

    @property
    def has_alternates(self) -> bool:
        """Nova may have named alternates for it: if the first host fails,
        nova-conductor puts it on one of these without asking a filter."""
        return self.state == ServerState.BUILDING or self.task == 'resize_prep'

    @property
    def is_being_deleted(self) -> bool:
        """True also when its guest is gone, but its host has not given back
        yet what it held."""
        return self.task == 'deleting' or self.state == ServerState.DELETED


@dataclasses.dataclass(frozen=True, slots=True)
class Occupancy:
    """Servers and leftovers that keep a host from being empty.

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
    """A server with the amounts that it takes of its host.

    :ivar pinned: it has CPUs of the host for itself.
    :ivar passthrough: it has devices of the host.
    """

    server: Server
    flavor: Flavor
    pinned: bool = False
    passthrough: bool = False


@dataclasses.dataclass(frozen=True, slots=True)
class Destinations:
    """Hosts that servers could go to, according to placement.

    :ivar needs: server UUID -> resource class -> units.
    :ivar fits: server UUID -> service hosts that would take it alone.
    :ivar free: service host -> resource class -> units; of all in fits.
    """

    needs: Mapping[str, amounts.Amounts]
    fits: Mapping[str, Sequence[str]]
    free: Mapping[str, amounts.Amounts]


@dataclasses.dataclass(frozen=True, slots=True)
class Outcome:
    """The servers that a request has not changed yet, or will not.

    Administrators are also told what the service has said that Nova failed at.

    :ivar waiting: server UUID -> what it waits for.
    :ivar failed: server UUID -> why; it is no use to ask again.
    """

    waiting: Mapping[str, objects.Reason]
    failed: Mapping[str, objects.Reason]


class Servers(Protocol):
    """The servers of all projects.

    Nothing is begun on a host that is down at the time ``now``.
    """

    def occupancy(
        self, hosts: Collection[objects.Resource]
    ) -> Mapping[str, Occupancy]:
        """Return service host -> what is on it, or on its way there."""

    def servers_on(
        self, hosts: Collection[objects.Resource]
    ) -> Mapping[str, Sequence[PlacedServer]]:
        """Return service host -> the servers that Nova has on it; without
        hosts whose cells do not answer."""

    def find_servers(self, servers: Collection[str]) -> Mapping[str, Server]:
        """Return UUID -> server, with its fault, of those that still exist,
        including those for which no host has been found yet, or none could be
        found.

        :param servers: UUIDs
        """

    def heard_servers(self, servers: Collection[str]) -> Mapping[str, Server]:
        """Return UUID -> server, with its flavor, of those that are in a cell
        that answers.

        :param servers: UUIDs
        """

    def servers_at(self, hosts: Collection[str]) -> Mapping[str, Server]:
        """Return UUID -> server, of those that Nova has on these hosts, in
        cells that answer.

        :param hosts: service hosts
        """

    def inhabited(self, hosts: Collection[str]) -> Collection[str]:
        """Return those of the service hosts on which Nova has servers.

        Servers that are on their way to a host, or count elsewhere and still
        hold something there, may be missing: ``occupancy`` finds these, too.

        :raises: CloudUnavailable if a cell does not answer
        """

    def gone_servers(self, servers: Collection[str]) -> Collection[str]:
        """Return those of the servers that no longer exist. That is one query
        if they all exist.

        :param servers: UUIDs
        """

    def let_in(
        self, reservation_id: str, servers: Collection[str]
    ) -> Collection[str]:
        """Return those of the servers that were created in the reservation:
        the request that Nova has stored of each bears its hint.

        :param servers: UUIDs
        """

    def in_flight(
        self, hosts: Collection[objects.Resource]
    ) -> Mapping[str, Collection[str]]:
        """Return service host -> the servers that Nova is building or moving
        at this moment, and that might land there.

        Only as far as nova-conductor may choose a host for them by itself.
        """

    def about_to_move(self, servers: Collection[str]) -> Collection[str]:
        """Return those of the servers that are about to be resized or cold
        migrated, also when they are deleted in the middle of that.

        :param servers: UUIDs
        """

    def servers_with_alternates(
        self,
        reservation_id: str,
        project_ids: Collection[str],
        hosts: Collection[objects.Resource],
        recorded: Collection[str] = (),
    ) -> Sequence[Server]:
        """Return the servers of the reservation that may have alternates:
        those that are being built, and those that are about to be resized or
        cold migrated, also when they are deleted in the middle of that.

        They may be on any host, or on none: a server that is being rescheduled
        has neither a host nor an allocation in placement.

        :param hosts: where they may come to; only their cells are asked
        :param recorded: UUIDs of servers that belong to the reservation, too
        """

    def find_room(
        self, servers: Collection[Server], now: datetime.datetime
    ) -> Destinations:
        """Return where the servers could go without a reservation: not to
        hosts of the pool, nor to hosts that are fenced or do not work.

        A server whose request Nova has lost, or would refuse, fits nowhere.
        """

    def release_claims(
        self, servers: Collection[Server], check: Check
    ) -> None:
        """Take away what unbuilt servers hold in placement."""

    def delete_servers(
        self,
        servers: Collection[Server],
        check: Check,
        now: datetime.datetime,
        keep_images: bool = False,
    ) -> Mapping[str, objects.Reason]:
        """Ask Nova to delete the servers; does not wait.

        Servers of a host that is down are deleted only if it is forced down:
        Nova then deletes them from its database alone, and trusts that nothing
        runs there. If Nova has failed to delete a server, it is asked again
        after a minute.

        :param keep_images: whether the images that they were shelved as
            outlive them
        :returns: server UUID -> why not, of those that Nova refused, or has
            failed at.
        """

    def stop_servers(
        self, servers: Collection[Server], order: Order
    ) -> Mapping[str, objects.Reason]:
        """Ask Nova to shut the servers down, as their guests want it, once;
        does not wait.

        :returns: server UUID -> why not, of those that Nova refused, or
            that run although they were asked under this key.
        """

    def shelve_servers(
        self, servers: Collection[Server], order: Order
    ) -> Mapping[str, objects.Reason]:
        """Ask Nova to shelve the servers and to take them off their hosts;
        does not wait.

        An open resize is confirmed, and a rescued server unrescued, first. A
        server that its user has soft-deleted is deleted.

        :returns: server UUID -> why not, of those that Nova refused, or
            failed at under this key.
        """

    def unshelve_servers(
        self, servers: Collection[Server], order: Order
    ) -> Outcome:
        """Ask Nova to bring shelved servers back, once for a key; does not
        wait. A server that is not shelved counts as done."""

    def confirm_resizes(
        self, servers: Collection[Server], order: Order
    ) -> Mapping[str, objects.Reason]:
        """Ask Nova to confirm the open resizes and cold migrations of the
        servers; does not wait. They stay where they are.

        :returns: server UUID -> why not, of those that Nova refused.
        """

    def migrate_servers(
        self, servers: Collection[Server], order: Order
    ) -> Outcome:
        """Ask Nova to move the servers to where a server without a
        reservation may be; does not wait.

        Those that run are live migrated. Nova is asked once for each server
        and key; a server that finds no host has failed.
        """

    def snapshot_servers(
        self, servers: Collection[Server], order: Order
    ) -> Outcome:
        """Make an image of each server, once for a key, that belongs to its
        project; do not wait for it."""

    def save_servers(
        self, servers: Collection[Server], order: Order
    ) -> Outcome:
        """Keep the servers' disks beyond their deletion; do not wait for it.

        An image is made of a server, as by snapshot_servers. Volumes that were
        to be deleted with it are kept. A shelved server has an image already,
        which delete_servers must then keep.
        """

    def suspend_servers(
        self, servers: Collection[Server], order: Order
    ) -> Outcome:
        """Ask Nova to suspend the servers that run; does not wait."""

    def drain_servers(
        self, servers: Collection[Server], order: Order
    ) -> Outcome:
        """Ask Nova to move servers, of any project, off their hosts; does not
        wait.

        Servers that run are live migrated, others cold, once for a key.
        Nothing else is begun: no server is deleted or shelved, and no resize
        that its owner has begun is confirmed. A server that can't be moved, or
        was not moved when that was asked, has failed, and is as it was.
        """

    def settle_servers(
        self, servers: Collection[Server], order: Order
    ) -> Mapping[str, objects.Reason]:
        """Finish the moves that were begun under the key, in any attempt;
        begin none.

        :returns: server UUID -> what it waits for
        """

    def evacuate(
        self, servers: Collection[Server], check: Check
    ) -> Mapping[str, str]:
        """Ask Nova to rebuild servers elsewhere; does not wait.

        For hosts that are forced down: Nova trusts that nothing runs there.

        :returns: server UUID -> why not, of those that Nova refused.
        """

    def acts_for_projects(self) -> bool:
        """Return whether credentials are configured with which images of
        servers can be made, and their volumes handled, without their users."""

    def check_acting(self) -> None:
        """Check that these credentials work at this moment.

        :raises: CloudRefused if none are configured
        """
