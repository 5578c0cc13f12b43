# SPDX-License-Identifier: Apache-2.0
"""The state of a cloud in memory, with methods by which tests change it."""

from collections import defaultdict
from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Mapping
import dataclasses
import datetime
import threading
from typing import Any
import uuid

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations import ports
from nova_reservations.testing import fake_moves

_TASKS = {
    'deleting': 'deleted',
    'powering-off': 'stopped',
    'migrating': 'migrated',
    'shelving': 'shelved_offloaded',
    'suspending': 'suspended',
    'unshelving': 'active',
}
"""Task state -> the state in which it ends."""

FAILED = 'Nova has failed at it, and is asked again within a minute'

RETRY = datetime.timedelta(minutes=1)

CELL = 'a cell'
"""The cell of all hosts that are not in State.cells."""


class State:
    """The state of a cloud in memory; its parts read and change it.

    :ivar before: called with the name of each write before the write; a test
        can raise from it to simulate a kill or a failure.
    :ivar instances: UUID -> server, of servers on hosts.
    :ivar aggregate_hosts: reservation id -> the hosts of its aggregate.
    :ivar signed: aggregate -> the database in its metadata.
    :ivar hints: server -> the reservation in which it was created.
    :ivar unmirrored: (host, aggregate) pairs that placement lacks.
    :ivar slow_servers: servers whose tasks last until finish_tasks().
    :ivar refusals: server -> why it can not be shelved.
    :ivar shelved: servers that are on no host.
    :ivar migrated: servers that were migrated out of the pool.
    :ivar elsewhere: UUID -> server, of migrated servers.
    :ivar homeless: servers that no host outside of the pool has room for.
    :ivar images: (server, key) of the existing snapshots.
    :ivar broken: servers that can not be saved, shelved or moved.
    :ivar undeletable: servers whose deletion fails on their hosts.
    :ivar preparing: servers that are about to be migrated, whatever else is
        done to them.
    :ivar failed_deletions: server -> when its deletion has failed last.
    :ivar trusted: whether there are credentials to act for projects.
    :ivar orphans: UUIDs of providers that are left of deleted hosts.
    :ivar services: service host -> its nova-compute, if it does not work.
    :ivar cells: service host -> its cell, if that is not CELL.
    :ivar silent: cells that do not answer.
    :ivar members: the hosts in the aggregate of drainable hosts; None: there
        is no such aggregate.
    :ivar particulars: server -> fields of PlacedServer beside its state.
    :ivar moved: (server, old host) of servers that were moved for leases.
    :ivar at_rest: UUID -> server, of shelved servers.
    :ivar unbuilt: UUID -> server, of servers that Nova has put on no host yet,
        or could not.
    :ivar rooms: host -> how many more servers can be unshelved there.
    :ivar room: how many servers each host outside of the pool has room for.
    :ivar flavor_projects: flavor -> its projects, if it is not public.
    :ivar classes: reservation id -> host -> slots.
    :ivar reservation_of: server -> the reservation whose flavor it has, or in
        which it has a guaranteed place.
    :ivar moves: server -> its move, of servers that are being moved, or whose
        resize is open: see fake_moves.
    :ivar forgotten: servers whose next move asks for no slot.
    :ivar foreign: resource classes that others have created.
    :ivar stuck: reservation id -> consumers that never give their slots up.
    :ivar networks_known: id -> network of Neutron.
    :ivar network_projects: network -> the projects that see it, if not all.
    :ivar floating_ips: id -> floating IP, of any project.
    :ivar network_ports: (network, address) -> the port with that address.
    :ivar segment_networks: id -> network on a segment, of any project.
    :ivar project_ports: network id -> port id -> port.
    :ivar vlan_ranges: physical network -> the VLANs that Neutron gives to
        anybody; None: Neutron does not tell.
    :ivar unreached: physical networks whose agents are all dead.
    :ivar stuck_ports: ids of ports that something else needs.
    :ivar without_quota: projects without quota for more floating IPs or
        networks.
    :ivar neutron_is_silent: whether Neutron does not answer.
    :ivar is_administrator: whether we are an administrator to Neutron.
    :ivar stacks_made: name -> stack, of any project.
    :ivar stack_templates: name of a stack -> its template.
    :ivar heat_is_silent: whether Heat does not answer.
    :ivar heat_is_quick: whether Heat finishes each request at once.
    :ivar without_role: projects for which we get no tokens.
    :ivar roles: the roles of our tokens for all other projects.
    :ivar catalog: the types of services in these tokens.
    """

    def __init__(self, known: Mapping[str, objects.HostFacts]) -> None:
        self.known = dict(known)
        self.marked: set[str] = set()
        self.pool: set[str] = set()
        self.has_pool = False
        self.pool_zone: str | None = None
        self.aggregate_hosts: dict[str, set[str]] = {}
        self.owners: dict[str, str] = {}
        self.signed: dict[str, str] = {}
        self.instances: dict[str, ports.Server] = {}
        self.hints: dict[str, str] = {}
        self.unmirrored: set[tuple[str, str]] = set()
        self.leftovers: dict[str, set[str]] = defaultdict(set)
        self.slow_servers: set[str] = set()
        self.refusals: dict[str, str | objects.Reason] = {}
        self.shelved: set[str] = set()
        self.migrated: set[str] = set()
        self.elsewhere: dict[str, ports.Server] = {}
        self.homeless: set[str] = set()
        self.images: list[tuple[str, ports.RequestKey]] = []
        self.broken: set[str] = set()
        self.undeletable: set[str] = set()
        self.preparing: set[str] = set()
        self.failed_deletions: dict[str, datetime.datetime] = {}
        self.trusted = True
        self.orders: set[tuple[str, ports.RequestKey, str]] = set()
        self.orphans: set[str] = set()
        self.services: dict[str, ports.ComputeService] = {}
        self.cells: dict[str, str] = {}
        self.silent: set[str] = set()
        self.members: set[str] | None = None
        self.particulars: dict[str, dict[str, Any]] = {}
        self.moved: list[tuple[str, str]] = []
        self.before: Callable[[str], None] = lambda step: None
        self.writes: list[str] = []
        self.at_rest: dict[str, ports.Server] = {}
        self.unbuilt: dict[str, ports.Server] = {}
        self.rooms: dict[str, int] = {'elsewhere': 1000}
        self.known_flavors: dict[str, ports.KnownFlavor] = {}
        self.flavor_projects: dict[str, set[str]] = {}
        self.classes: dict[str, dict[str, int]] = {}
        self.flavors: dict[str, ports.Flavor] = {}
        self.admitted: dict[str, str] = {}
        self.flavor_sharers: dict[str, frozenset[str]] = {}
        self.groups: dict[str, bool] = {}
        self.reservation_of: dict[str, str] = {}
        self.moves: dict[str, fake_moves.Move] = {}
        self.forgotten: set[str] = set()
        self.stuck: dict[str, set[str]] = {}
        self.foreign: set[str] = set()
        self.networks_known: dict[str, ports.Network] = {}
        self.network_projects: dict[str, set[str]] = {}
        self.floating_ips: dict[str, ports.FloatingIP] = {}
        self.network_ports: dict[tuple[str, str], str] = {}
        self.segment_networks: dict[str, ports.SegmentNetwork] = {}
        self.project_ports: dict[str, dict[str, ports.NetworkPort]] = (
            defaultdict(dict)
        )
        self.vlan_ranges: dict[str, list[range]] | None = {}
        self.unreached: set[str] = set()
        self.stuck_ports: set[str] = set()
        self.without_quota: set[str] = set()
        self.neutron_is_silent = False
        self.is_administrator = True
        self.stacks_made: dict[str, ports.Stack] = {}
        self.stack_templates: dict[str, dict[str, Any]] = {}
        self.heat_is_silent = False
        self.heat_is_quick = False
        self.without_role: set[str] = set()
        self.roles = ['member', 'reader']
        self.catalog = ['compute', 'identity', 'orchestration']
        self.room = 100
        self._lock = threading.Lock()

    def check_neutron(self) -> None:
        """:raises: CloudUnavailable while Neutron does not answer"""
        if self.neutron_is_silent:
            raise exception.CloudUnavailable(
                service='Neutron', reason='it does not answer'
            )

    def ask_neutron(self, step: str, check: ports.Check) -> None:
        """Begin a write to Neutron.

        :raises: CloudUnavailable while Neutron does not answer
        """
        check()
        self.write(step)
        self.check_neutron()

    def check_heat(self) -> None:
        """:raises: CloudUnavailable while Heat does not answer"""
        if self.heat_is_silent:
            raise exception.CloudUnavailable(
                service='Heat', reason='it does not answer'
            )

    def cell_of(self, host: str) -> str:
        return self.cells.get(host, CELL)

    def ordinary_hosts(self) -> list[str]:
        """Return the hosts that are not enrolled, and work."""
        return sorted(
            host
            for host in self.known
            if host not in self.marked and host not in self.services
        )

    def check_cells(self, hosts: Iterable[str]) -> None:
        """:raises: CloudUnavailable unless the cells of the hosts answer"""
        for cell in sorted({self.cell_of(host) for host in hosts}):
            if cell in self.silent:
                raise exception.CellUnavailable(
                    cell=cell, reason='it does not answer'
                )

    def boot(
        self, host: str, project_id: str, server: str | None = None
    ) -> str:
        """Put a server on a host, without a scheduler.

        If its project has a reservation with that host, it is in this one.
        """
        server = self.intrude(host, project_id, server)
        for reservation_id, members in self.aggregate_hosts.items():
            if (
                host in members
                and self.owners.get(reservation_id) == project_id
            ):
                self.hints.setdefault(server, reservation_id)
        return server

    def intrude(
        self, host: str, project_id: str, server: str | None = None
    ) -> str:
        """Put a server on a host outside of any reservation."""
        server = server or str(uuid.uuid4())
        self.instances[server] = ports.Server(
            server, project_id, host, 'active'
        )
        return server

    def build(self, server: str, project_id: str, state: str) -> None:
        """Add a server that has no host yet, or for which there was none."""
        self.unbuilt[server] = ports.Server(
            server,
            project_id,
            '',
            state,
            'scheduling' if state == 'building' else None,
            None if state == 'building' else 'No valid host was found.',
            unbuilt=state == 'error',
        )

    def was_ever_asked(self, server: str, reason: str, verb: str) -> bool:
        return any(
            (uuid, key.reason, done) == (server, reason, verb)
            for uuid, key, done in self.orders
        )

    def finish_tasks(self) -> None:
        for name in self.slow_servers & set(self.instances):
            server = self.instances[name]
            if server.task in _TASKS:
                self._finish(server, _TASKS[server.task])
        self.slow_servers.clear()

    def finish_moves(self) -> None:
        """Finish the moves of slow servers, unless they are broken."""
        for server in list(self.instances.values()):
            if server.task == 'migrating' and server.uuid in self.broken:
                self.instances[server.uuid] = dataclasses.replace(
                    server, task=None
                )
            elif server.task == 'migrating':
                self.move(server)
        self.slow_servers.clear()

    def fail(
        self, host: str, disabled: bool = False, forced_down: bool = False
    ) -> None:
        """Make a host fail: unless it is disabled, it no longer reports."""
        self.services[host] = ports.ComputeService(
            up=disabled, disabled=disabled, forced_down=forced_down
        )

    def recover(self, host: str) -> None:
        self.services.pop(host, None)

    def free_slots(self, reservation_id: str) -> list[str]:
        """Return the hosts that have free slots of the reservation."""
        return [
            host
            for host, slots in sorted(self.classes[reservation_id].items())
            if host in self.aggregate_hosts.get(reservation_id, ())
            and slots > self.held_on(reservation_id, host)
        ]

    def held_on(self, reservation_id: str, host: str) -> int:
        """Return how many slots of the reservation servers hold on a host."""
        place = fake_moves.Place(host, reservation_id)
        return sum(
            fake_moves.places(self, server).count(place)
            for server in self.instances.values()
        )

    def begin(self, server: ports.Server, task: str) -> None:
        if task == 'deleting':
            self.at_rest.pop(server.uuid, None)
            self.elsewhere.pop(server.uuid, None)
            self.unbuilt.pop(server.uuid, None)
        if server.uuid not in self.instances:
            return
        if server.uuid in self.slow_servers:
            self.instances[server.uuid] = dataclasses.replace(
                server, task=task
            )
        else:
            self._finish(server, _TASKS[task])

    def why_not_deleted(
        self, server: ports.Server, now: datetime.datetime
    ) -> str | None:
        service = self.services.get(server.host)
        if service is not None and service.is_silent:
            return 'its host is down'
        failed_at = self.failed_deletions.get(server.uuid)
        if failed_at and now - failed_at < RETRY:
            return FAILED
        return None

    def delete(self, server: ports.Server, now: datetime.datetime) -> None:
        """Delete a server, or have its host fail to delete it."""
        self.write('delete server')
        if server.uuid not in self.undeletable:
            self.begin(server, 'deleting')
            return
        if server.uuid not in self.instances:
            return
        self.failed_deletions[server.uuid] = now
        self.instances[server.uuid] = dataclasses.replace(
            server, state=ports.ServerState.ERROR, task=None
        )

    def _finish(self, server: ports.Server, state: str) -> None:
        if state in ('stopped', 'suspended', 'active'):
            self.instances[server.uuid] = dataclasses.replace(
                server, state=state, task=None
            )
            return
        del self.instances[server.uuid]
        self.moves.pop(server.uuid, None)
        if server.uuid in self.forgotten:
            self.reservation_of.pop(server.uuid, None)
        if state == 'shelved_offloaded':
            self.shelved.add(server.uuid)
            self.at_rest[server.uuid] = dataclasses.replace(
                server, host='', state=state, task=None
            )
        if state == 'migrated':
            self.migrated.add(server.uuid)
            self.elsewhere[server.uuid] = dataclasses.replace(
                server, host='elsewhere', task=None
            )

    def move(self, server: ports.Server) -> None:
        """Move a server as the scheduler would: within its reservation, or
        to a host outside of the pool."""
        members = self.aggregate_hosts.get(self.hints.get(server.uuid, ''))
        targets = set(members or set(self.known) - self.marked)
        targets.discard(server.host)
        if not targets:
            return
        self.moved.append((server.uuid, server.host))
        self.instances[server.uuid] = dataclasses.replace(
            server, host=min(targets), task=None
        )

    def write(self, step: str) -> None:
        self.before(step)
        with self._lock:
            self.writes.append(step)


def told(
    reasons: Mapping[str, str | objects.Reason],
) -> dict[str, objects.Reason]:
    return {
        server: objects.Reason.plain(why) if isinstance(why, str) else why
        for server, why in reasons.items()
    }
