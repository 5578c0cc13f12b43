# SPDX-License-Identifier: Apache-2.0
"""A cloud in memory, for tests of what does not need a real Nova.

It keeps the promises of ``ports.Cloud``: all that it does may be repeated.
"""

from collections import defaultdict
from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Mapping
import dataclasses
import datetime
import threading
from typing import Any
import uuid

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations import ports
from nova_reservations.testing import fake_shelving
from nova_reservations.testing import fake_slots

NAMESPACE = uuid.UUID('8f6ab0b0-6f9c-4c1e-9a35-9b6fe4a1f0de')


_TASKS = {
    'deleting': 'deleted',
    'powering-off': 'stopped',
    'migrating': 'elsewhere',
    'shelving': 'shelved_offloaded',
    'suspending': 'suspended',
    'unshelving': 'active',
}
"""Task -> the state that it ends in."""


def facts(name: str, **changes: Any) -> objects.HostFacts:
    """Return what a fresh host of the cloud tells of itself."""
    plain = objects.HostFacts(
        uuid=str(uuid.uuid5(NAMESPACE, name)),
        service_host=name,
        hypervisor_hostname=f'{name}.example.org',
        vcpus=16,
        memory_mb=65536,
        local_gb=1000,
        free_memory_mb=65024,
        free_disk_gb=1000,
        cpu_info='{}',
        hypervisor_type='QEMU',
        hypervisor_version=8002000,
        availability_zone='nova',
        provider_generation=1,
        traits=frozenset({'HW_CPU_X86_VMX'}),
        inventories=(
            objects.Inventory('DISK_GB', 1000, 0, 1, 1000, 1, 1.0),
            objects.Inventory('MEMORY_MB', 65536, 512, 1, 65536, 1, 1.0),
            objects.Inventory('VCPU', 16, 0, 1, 16, 1, 4.0),
        ),
    )
    return dataclasses.replace(plain, **changes)


class FakeCloud(fake_slots.FakeSlots, fake_shelving.FakeResting):
    """:ivar before: called with the name of each write before it is made;
        a test may raise from it, as a kill or a failure would.

    :ivar identity: returns the name of the database.
    :ivar signed: aggregate -> the database that it says it is of.
    :ivar hints: server -> the reservation that it was created in.
    :ivar unmirrored: (host, aggregate) that placement does not know of.
    :ivar slow_servers: what is asked of them takes until finish_tasks().
    :ivar refusals: server -> why it can not be shelved.
    :ivar shelved: servers that are on no host.
    :ivar migrated: servers that are outside of the pool now.
    :ivar homeless: servers that find no place there.
    :ivar images: (server, why) of the snapshots that there are.
    :ivar broken: servers of which no snapshot can be made.
    :ivar trusted: whether there are credentials to act for projects.
    :ivar services: service host -> its nova-compute, if it does not work.
    :ivar cells: service host -> its cell, if not that of all others.
    :ivar members: what is in the aggregate of donors; None: there is none.
    :ivar particulars: server -> what is told of it beside its state.
    :ivar moved: (server, from where) of those that were moved for leases.
    """

    def __init__(self, *names: str) -> None:
        fake_slots.FakeSlots.__init__(self)
        fake_shelving.FakeResting.__init__(self)
        self.known = {name: facts(name) for name in names}
        self.marked: set[str] = set()
        self.pool: set[str] = set()
        self.pool_zone: str | None = None
        self.aggregates: dict[str, set[str]] = {}
        self.owners: dict[str, str] = {}
        self.identity: ports.Identity = str
        self.signed: dict[str, str] = {}
        self.servers: dict[str, ports.Server] = {}
        self.hints: dict[str, str] = {}
        self.unmirrored: set[tuple[str, str]] = set()
        self.leftovers: dict[str, set[str]] = defaultdict(set)
        self.slow_servers: set[str] = set()
        self.refusals: dict[str, str] = {}
        self.shelved: set[str] = set()
        self.migrated: set[str] = set()
        self.homeless: set[str] = set()
        self.images: list[tuple[str, ports.RequestKey]] = []
        self.broken: set[str] = set()
        self.trusted = True
        self.orders: set[tuple[str, ports.RequestKey, str]] = set()
        self.services: dict[str, ports.ComputeService] = {}
        self.cells: dict[str, str] = {}
        self.members: set[str] | None = None
        self.particulars: dict[str, dict[str, Any]] = {}
        self.moved: list[tuple[str, str]] = []
        self.before: Callable[[str], None] = lambda step: None
        self.writes: list[str] = []
        self._lock = threading.Lock()

    def boot(
        self, host: str, project_id: str, server: str | None = None
    ) -> str:
        """Put a server on a host, whatever the scheduler would say.

        In a reservation of its project's that has the host, if there is one.
        """
        server = self.intrude(host, project_id, server)
        for reservation_id, members in self.aggregates.items():
            if (
                host in members
                and self.owners.get(reservation_id) == project_id
            ):
                self.hints.setdefault(server, reservation_id)
        return server

    def intrude(
        self, host: str, project_id: str, server: str | None = None
    ) -> str:
        """Put a server on a host, by no reservation."""
        server = server or str(uuid.uuid4())
        self.servers[server] = ports.Server(server, project_id, host, 'active')
        return server

    def finish_tasks(self) -> None:
        for name in self.slow_servers & set(self.servers):
            server = self.servers[name]
            if server.task in _TASKS:
                self._finish(server, _TASKS[server.task])
        self.slow_servers.clear()

    def _begin(self, server: ports.Server, task: str) -> None:
        if task == 'deleting':
            self.at_rest.pop(server.uuid, None)
            self.unbuilt.pop(server.uuid, None)
        if server.uuid not in self.servers:
            return
        if server.uuid in self.slow_servers:
            self.servers[server.uuid] = dataclasses.replace(server, task=task)
        else:
            self._finish(server, _TASKS[task])

    def _finish(self, server: ports.Server, state: str) -> None:
        if state in ('stopped', 'suspended', 'active'):
            self.servers[server.uuid] = dataclasses.replace(
                server, state=state, task=None
            )
            return
        del self.servers[server.uuid]
        if state == 'shelved_offloaded':
            self.shelved.add(server.uuid)
            self.at_rest[server.uuid] = dataclasses.replace(
                server, host='', state=state, task=None
            )
        if state == 'elsewhere':
            self.migrated.add(server.uuid)

    def _write(self, step: str) -> None:
        self.before(step)
        with self._lock:
            self.writes.append(step)

    def find_hosts(self, name: str) -> list[objects.Resource]:
        return [
            objects.Resource(0, objects.HOST, known.service_host, known.uuid)
            for known in self.known.values()
            if name
            in (known.service_host, known.hypervisor_hostname, known.uuid)
        ]

    def ensure_pool(self) -> None:
        self._write('ensure_pool')

    def mark(self, host: objects.Resource) -> None:
        self._write('mark')
        self.marked.add(host.name)

    def unmark(self, host: objects.Resource) -> None:
        self._write('unmark')
        self.marked -= {
            name
            for name, known in self.known.items()
            if known.uuid == host.uuid
        }

    def join_pool(self, host: objects.Resource) -> None:
        self._write('join_pool')
        self.pool.add(host.name)

    def leave_pool(self, host: objects.Resource) -> None:
        self._write('leave_pool')
        self.pool.discard(host.name)

    def find_pool(self) -> ports.Pool:
        return ports.Pool(str(NAMESPACE), frozenset(self.pool), self.pool_zone)

    def provider_aggregates(
        self, hosts: Collection[objects.Resource]
    ) -> dict[str, set[str]]:
        members = {str(NAMESPACE): self.pool, **self.aggregates}
        return {
            host.name: {
                aggregate
                for aggregate, names in members.items()
                if host.name in names
                and (host.name, aggregate) not in self.unmirrored
            }
            for host in hosts
        }

    def pool_generations(self) -> dict[str, ports.HostVersion]:
        return {
            known.uuid: ports.HostVersion(
                known.provider_generation, known.availability_zone
            )
            for name, known in self.known.items()
            if name in self.marked
        }

    def facts(
        self, hosts: Collection[objects.Resource]
    ) -> list[objects.HostFacts]:
        return [
            self.known[host.name] for host in hosts if host.name in self.known
        ]

    def find_members(self, aggregate: str) -> ports.Members | None:
        if self.members is None:
            return None
        return ports.Members(
            frozenset(self.members),
            {
                known.uuid: known.provider_generation
                for name, known in self.known.items()
                if name in self.members
            },
        )

    def servers_on(
        self, hosts: Collection[objects.Resource]
    ) -> dict[str, list[ports.PlacedServer]]:
        flavor = ports.Flavor(vcpus=1, memory_mb=512, root_gb=1)
        names = {host.name for host in hosts}
        found: dict[str, list[ports.PlacedServer]] = {
            name: [] for name in names
        }
        for server in self.servers.values():
            if server.host in names:
                more = {
                    'flavor': flavor,
                    **self.particulars.get(server.uuid, {}),
                }
                found[server.host].append(ports.PlacedServer(server, **more))
        return found

    def find_room(
        self, servers: Collection[ports.Server], now: datetime.datetime
    ) -> ports.Room:
        """Each host has room for 100 servers."""
        open_hosts = sorted(set(self.known) - self.marked - set(self.services))
        on = [server.host for server in self.servers.values()]
        return ports.Room(
            needs={server.uuid: {'VCPU': 1} for server in servers},
            fits={
                server.uuid: []
                if server.uuid in self.homeless
                else [name for name in open_hosts if name != server.host]
                for server in servers
            },
            free={
                name: {'VCPU': self.room - on.count(name)}
                for name in open_hosts
            },
        )

    room = 100

    def drain_servers(
        self,
        servers: Collection[ports.Server],
        order: ports.RequestKey,
        now: datetime.datetime,
        check: ports.Check,
    ) -> ports.Outcome:
        waiting, failed = {}, {}
        for server in servers:
            check()
            if server.task == 'migrating':
                waiting[server.uuid] = 'is being moved'
                continue
            if (server.uuid, order, 'drain') in self.orders:
                failed[server.uuid] = 'Nova has failed to move it'
                continue
            self._write('drain server')
            self.orders.add((server.uuid, order, 'drain'))
            waiting[server.uuid] = 'is being moved'
            if server.uuid in self.slow_servers:
                self.servers[server.uuid] = dataclasses.replace(
                    server, task='migrating'
                )
            elif server.uuid not in self.broken:
                self._move(server)
        return ports.Outcome(waiting, failed)

    def _move(self, server: ports.Server) -> None:
        targets = set(self.known) - self.marked - {server.host}
        self.moved.append((server.uuid, server.host))
        self.servers[server.uuid] = dataclasses.replace(
            server, host=min(targets), task=None
        )

    def finish_moves(self) -> None:
        """Have servers arrive that are slow, unless they are broken."""
        for server in list(self.servers.values()):
            if server.task == 'migrating' and server.uuid in self.broken:
                self.servers[server.uuid] = dataclasses.replace(
                    server, task=None
                )
            elif server.task == 'migrating':
                self._move(server)
        self.slow_servers.clear()

    def settle_servers(
        self,
        servers: Collection[ports.Server],
        order: ports.RequestKey,
        now: datetime.datetime,
        check: ports.Check,
    ) -> Mapping[str, str]:
        return {
            server.uuid: 'is being moved'
            for server in servers
            if server.task == 'migrating'
            and (server.uuid, order, 'drain') in self.orders
        }

    def set_aggregate_hosts(
        self,
        reservation_id: str,
        project_id: str,
        hosts: Collection[objects.Resource],
        check: ports.Check,
    ) -> None:
        check()
        self._write('create aggregate')
        members = self.aggregates.setdefault(reservation_id, set())
        self.owners[reservation_id] = project_id
        self.signed[reservation_id] = self.identity()
        for host in hosts:
            check()
            self._write('add host')
            members.add(host.name)
            self.unmirrored.discard((host.name, reservation_id))
        for surplus in members - {host.name for host in hosts}:
            check()
            self._write('remove host')
            members.discard(surplus)

    def in_flight(
        self, hosts: Collection[objects.Resource]
    ) -> dict[str, set[str]]:
        return {host.name: set(self.unbuilt) for host in hosts}

    def has_aggregate_hosts(
        self, reservation_id: str, hosts: Collection[objects.Resource]
    ) -> bool:
        return self.aggregates.get(reservation_id) == {
            host.name for host in hosts
        }

    def delete_aggregate(
        self, reservation_id: str, check: ports.Check
    ) -> bool:
        was_there = reservation_id in self.aggregates
        for member in sorted(self.aggregates.get(reservation_id, set())):
            check()
            self._write('remove host')
            self.aggregates[reservation_id].discard(member)
        check()
        self._write('delete aggregate')
        self.aggregates.pop(reservation_id, None)
        return was_there

    def occupancy(
        self, hosts: Collection[objects.Resource]
    ) -> dict[str, ports.Occupancy]:
        return {
            host.name: ports.Occupancy(
                servers=tuple(
                    server
                    for server in self.servers.values()
                    if server.host == host.name
                ),
                leftovers=tuple(sorted(self.leftovers[host.name])),
            )
            for host in hosts
        }

    def let_in(
        self, reservation_id: str, servers: Collection[str]
    ) -> Collection[str]:
        return {
            server
            for server in servers
            if self.hints.get(server) == reservation_id
        }

    def building_servers(
        self, reservation_id: str, project_id: str
    ) -> list[ports.Server]:
        return [
            server
            for server in self.servers.values()
            if server.state == 'building'
            and server.project_id == project_id
            and self.hints.get(server.uuid) == reservation_id
        ]

    def release_claims(
        self, servers: Collection[ports.Server], check: ports.Check
    ) -> None:
        for server in servers:
            check()
            self.servers[server.uuid] = dataclasses.replace(server, host='')

    def stop_servers(
        self,
        servers: Collection[ports.Server],
        order: ports.RequestKey,
        check: ports.Check,
    ) -> Mapping[str, str]:
        refused = {}
        for server in servers:
            check()
            if server.task == 'powering-off':
                continue
            if (server.uuid, order, 'stop') in self.orders:
                refused[server.uuid] = 'it runs although it was asked to stop'
                continue
            self._write('stop server')
            self.orders.add((server.uuid, order, 'stop'))
            self._begin(server, 'powering-off')
        return refused

    def delete_servers(
        self,
        servers: Collection[ports.Server],
        check: ports.Check,
        keep_images: bool = False,
    ) -> Mapping[str, str]:
        for server in servers:
            check()
            self._write('delete server')
            self._begin(server, 'deleting')
        return {}

    def shelve_servers(
        self,
        servers: Collection[ports.Server],
        order: ports.RequestKey,
        check: ports.Check,
    ) -> Mapping[str, str]:
        for server in servers:
            check()
            if server.uuid in self.refusals or server.task == 'shelving':
                continue
            self._write('shelve server')
            self._begin(server, 'shelving')
        return {
            server.uuid: self.refusals[server.uuid]
            for server in servers
            if server.uuid in self.refusals
        }

    def migrate_servers(
        self,
        servers: Collection[ports.Server],
        order: ports.RequestKey,
        check: ports.Check,
    ) -> ports.Outcome:
        waiting, failed = {}, {}
        for server in servers:
            check()
            if server.uuid in self.homeless:
                failed[server.uuid] = 'it has found no place'
                continue
            waiting[server.uuid] = 'is being migrated'
            if server.task != 'migrating':
                self._write('migrate server')
                self._begin(server, 'migrating')
        return ports.Outcome(waiting, failed)

    def snapshot_servers(
        self,
        servers: Collection[ports.Server],
        order: ports.RequestKey,
        check: ports.Check,
    ) -> ports.Outcome:
        waiting, failed = {}, {}
        for server in servers:
            check()
            if server.uuid in self.broken:
                failed[server.uuid] = 'Nova has failed at it'
                continue
            if server.uuid in self.slow_servers:
                waiting[server.uuid] = 'is being made'
            if (server.uuid, order) not in self.images:
                self._write('snapshot server')
                self.images.append((server.uuid, order))
        return ports.Outcome(waiting, failed)

    def check_acting(self) -> None:
        if not self.trusted:
            raise exception.CloudRefused(
                what='[service_user] of Nova', reason='it is not configured'
            )

    def acts_for_projects(self) -> bool:
        return self.trusted

    def fail(
        self, host: str, disabled: bool = False, forced_down: bool = False
    ) -> None:
        """Have a host fail: if not on purpose, it no longer reports."""
        self.services[host] = ports.ComputeService(
            up=disabled, disabled=disabled, forced_down=forced_down
        )

    def recover(self, host: str) -> None:
        self.services.pop(host, None)

    def compute_services(
        self, now: datetime.datetime, host: str | None = None
    ) -> dict[str, ports.ComputeService]:
        works = ports.ComputeService(True, False, False)
        return {
            name: self.services.get(name, works)
            for name in self.known
            if host in (None, name)
        }

    def cells_of(self, names: Collection[str]) -> Mapping[str, str]:
        return {name: self.cells.get(name, 'a cell') for name in names}

    def evacuate(
        self, servers: Collection[ports.Server], check: ports.Check
    ) -> Mapping[str, str]:
        """Put them on the first host of an aggregate that theirs was in, or
        into the first slot of their reservation that is free."""
        refused = {}
        for server in servers:
            check()
            self._write('evacuate')
            if server.uuid not in self.servers:
                continue
            if server.uuid in self.tenancy:
                targets = self.free_slots(self.tenancy[server.uuid])
            else:
                targets = [
                    min(members)
                    for members in self.aggregates.values()
                    if members and server.host not in members
                ]
            service = self.services.get(server.host)
            if not service or not service.forced_down or not targets:
                refused[server.uuid] = 'no valid host'
                continue
            self.servers[server.uuid] = dataclasses.replace(
                server, host=targets[0]
            )
        return refused

    def lease_aggregates(self) -> Mapping[str, Collection[str]]:
        return {key: set(members) for key, members in self.aggregates.items()}

    def origins(self) -> Mapping[str, str | None]:
        return {key: self.signed.get(key) for key in self.aggregates}

    def sign(self, reservation_id: str) -> None:
        self._write('sign aggregate')
        self.signed[reservation_id] = self.identity()
