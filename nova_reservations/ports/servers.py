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
from nova_reservations.ports.calls import RequestKey


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

    :ivar host: the service host that it is, or will be, on; empty if that
        is none.
    :ivar state: Nova's vm_state, one of ServerState.
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
    def is_settled(self) -> bool:
        """It stays where it is: nothing is done to it that moves it, and no
        resize of it may be reverted."""
        return self.task is None and self.state not in (
            ServerState.BUILDING,
            ServerState.RESIZED,
        )

    @property
    def has_alternates(self) -> bool:
        """Nova may have named more hosts for it: where the first one fails,
        nova-conductor puts it on one of these, and asks nobody."""
        return self.state == ServerState.BUILDING or self.task == 'resize_prep'

    @property
    def is_being_deleted(self) -> bool:
        """Also when its guest is gone, and its host has still to give back
        what it held."""
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
class Room:
    """Hosts that servers could go to, according to placement.

    :ivar needs: server UUID -> resource class -> units.
    :ivar fits: server UUID -> service hosts that would take it, one by one.
    :ivar free: service host -> resource class -> units; of all in fits.
    """

    needs: Mapping[str, amounts.Amounts]
    fits: Mapping[str, Sequence[str]]
    free: Mapping[str, amounts.Amounts]


@dataclasses.dataclass(frozen=True, slots=True)
class Outcome:
    """The servers that a request has not changed yet, or will not.

    :ivar waiting: server UUID -> what it waits for.
    :ivar failed: server UUID -> why; it is no use to ask again.
    """

    waiting: Mapping[str, str]
    failed: Mapping[str, str]


class Servers(Protocol):
    """The servers of all projects.

    Nothing is begun on a host that is down at the time ``now``; without it,
    as plugins of version 0.1 ask, by the clock of Nova in this process.
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
        """Return UUID -> server, of those of these that still exist: also
        where none has been found a host yet, or none was found; with their
        faults.

        :param servers: UUIDs
        """

    def heard_servers(self, servers: Collection[str]) -> Mapping[str, Server]:
        """Return UUID -> server, of those of these that have got a cell, in
        cells that answer.

        :param servers: UUIDs
        """

    def servers_at(self, hosts: Collection[str]) -> Mapping[str, Server]:
        """Return UUID -> server, of those that Nova has on these hosts, in
        cells that answer.

        :param hosts: service hosts
        """

    def gone_servers(self, servers: Collection[str]) -> Collection[str]:
        """Return those of these that no longer exist: one query, where they
        all do.

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
        """Return those of these that are about to be resized or cold
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

        On whichever host, or on none: while one is rescheduled it has
        neither a host nor an allocation in placement.

        :param hosts: where they may come to; only their cells are asked
        :param recorded: UUIDs of servers that are the reservation's, too
        """

    def find_room(
        self, servers: Collection[Server], now: datetime.datetime
    ) -> Room:
        """Return where servers could go that have no reservation: to no host
        of the pool, and to none that is fenced or does not work.

        One that Nova could not look a host up for fits nowhere.
        """

    def release_claims(
        self, servers: Collection[Server], check: Check
    ) -> None:
        """Take away what unbuilt servers hold in placement."""

    def delete_servers(
        self,
        servers: Collection[Server],
        check: Check,
        keep_images: bool = False,
        now: datetime.datetime | None = None,
    ) -> Mapping[str, str]:
        """Ask Nova to delete the servers; does not wait.

        Those of a host that is down only if it is forced down: Nova deletes
        them from its database alone, and trusts that nothing runs there.
        Where Nova has failed at it, it is asked again after a minute.

        :param keep_images: whether what they were shelved as outlives them
        :returns: server UUID -> why not, of those that Nova refused, or has
            failed at.
        """

    def stop_servers(
        self,
        servers: Collection[Server],
        key: RequestKey,
        check: Check,
        now: datetime.datetime | None = None,
    ) -> Mapping[str, str]:
        """Ask Nova to shut the servers down, as their guests want it, once;
        does not wait.

        :returns: server UUID -> why not, of those that Nova refused, or
            that run although they were asked under this key.
        """

    def shelve_servers(
        self,
        servers: Collection[Server],
        key: RequestKey,
        check: Check,
        now: datetime.datetime | None = None,
    ) -> Mapping[str, str]:
        """Ask Nova to shelve the servers and to take them off their hosts;
        does not wait.

        What stands between a server and its shelf is done first: a resize
        is confirmed. One that its user has deleted already is deleted.

        :returns: server UUID -> why not, of those that Nova refused, or
            failed at under this key.
        """

    def unshelve_servers(
        self, servers: Collection[Server], key: RequestKey, check: Check
    ) -> Outcome:
        """Ask Nova to bring shelved servers back, once for a key; does not
        wait. What is done are those that are on no shelf."""

    def migrate_servers(
        self,
        servers: Collection[Server],
        key: RequestKey,
        check: Check,
        now: datetime.datetime | None = None,
    ) -> Outcome:
        """Ask Nova to move the servers to where a server without a
        reservation may be; does not wait.

        Those that run are moved live; once for a key, and what finds no
        place has failed.
        """

    def snapshot_servers(
        self,
        servers: Collection[Server],
        key: RequestKey,
        check: Check,
        now: datetime.datetime | None = None,
    ) -> Outcome:
        """Make an image of each server, once for a key, that belongs to its
        project; do not wait for it."""

    def save_servers(
        self,
        servers: Collection[Server],
        key: RequestKey,
        check: Check,
        now: datetime.datetime | None = None,
    ) -> Outcome:
        """Keep the servers' disks beyond their deletion; do not wait for it.

        An image is made of a server, as by snapshot_servers; volumes that
        were to be deleted with it no longer are; what it was shelved as is
        an image of it, which delete_servers must then keep.
        """

    def suspend_servers(
        self,
        servers: Collection[Server],
        key: RequestKey,
        check: Check,
        now: datetime.datetime | None = None,
    ) -> Outcome:
        """Ask Nova to suspend the servers that run; does not wait."""

    def drain_servers(
        self,
        servers: Collection[Server],
        key: RequestKey,
        now: datetime.datetime,
        check: Check,
    ) -> Outcome:
        """Ask Nova to move servers that are somebody else's; does not wait.

        Live, those that do not run cold; once for a key. Nothing else is
        begun: none is deleted, shelved, or has a resize confirmed
        that its owner has begun. One that can't be moved, or was not although
        it was asked for, has failed, and is as it was.
        """

    def settle_servers(
        self,
        servers: Collection[Server],
        key: RequestKey,
        now: datetime.datetime,
        check: Check,
    ) -> Mapping[str, str]:
        """Finish what was begun under the key, in any attempt; begin nothing.

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
        servers can be made, and their volumes be handled, without their
        users."""

    def check_acting(self) -> None:
        """See that these credentials work at this moment.

        :raises: CloudRefused if none are configured
        """
