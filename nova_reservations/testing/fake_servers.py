# SPDX-License-Identifier: Apache-2.0
"""The servers of a cloud in memory."""

from collections.abc import Collection
from collections.abc import Iterator
from collections.abc import Mapping
import dataclasses
import datetime
from typing import TypeAlias

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations import ports
from nova_reservations.testing import fake_moves
from nova_reservations.testing import fake_room
from nova_reservations.testing import fake_state

_AT_REST = frozenset(
    {
        ports.ServerState.SHELVED_OFFLOADED,
        ports.ServerState.SOFT_DELETED,
        ports.ServerState.STOPPED,
        ports.ServerState.SUSPENDED,
    }
)

_NOT_TO_BE_COPIED = frozenset(
    {ports.ServerState.ERROR, ports.ServerState.SHELVED_OFFLOADED}
)

_ByUuid: TypeAlias = dict[str, ports.Server]


class FakeServers:
    def __init__(self, state: fake_state.State) -> None:
        self._state = state

    def occupancy(
        self, hosts: Collection[objects.Resource]
    ) -> dict[str, ports.Occupancy]:
        self._state.check_cells(host.name for host in hosts)
        return {
            # Another machine has the name now.
            host.name: ports.Occupancy(())
            if host.name in self._state.known
            and self._state.known[host.name].uuid != host.uuid
            else ports.Occupancy(
                servers=tuple(fake_moves.seen_on(self._state, host.name)),
                leftovers=tuple(sorted(self._state.leftovers[host.name])),
            )
            for host in hosts
        }

    def servers_on(
        self, hosts: Collection[objects.Resource]
    ) -> dict[str, list[ports.PlacedServer]]:
        flavor = ports.Flavor(vcpus=1, memory_mb=512, root_gb=1)
        names = {
            host.name
            for host in hosts
            if self._state.cell_of(host.name) not in self._state.silent
        }
        found: dict[str, list[ports.PlacedServer]] = {
            name: [] for name in names
        }
        for server in self._state.instances.values():
            if server.host in names:
                more = {
                    'flavor': flavor,
                    **self._state.particulars.get(server.uuid, {}),
                }
                found[server.host].append(ports.PlacedServer(server, **more))
        return found

    def find_servers(self, servers: Collection[str]) -> _ByUuid:
        known = self._all()
        found = {uuid: known[uuid] for uuid in servers if uuid in known}
        self._state.check_cells(
            server.host for server in found.values() if server.host
        )
        return found

    def heard_servers(self, servers: Collection[str]) -> _ByUuid:
        return {
            uuid: server
            for uuid, server in self._all().items()
            if uuid in servers
            and self._state.cell_of(server.host) not in self._state.silent
        }

    def servers_at(self, hosts: Collection[str]) -> _ByUuid:
        known = self._state.instances.values()
        return {each.uuid: each for each in known if each.host in hosts}

    def inhabited(self, hosts: Collection[str]) -> Collection[str]:
        self._state.check_cells(hosts)
        return {server.host for server in self.servers_at(hosts).values()}

    def _all(self) -> Mapping[str, ports.Server]:
        return (
            self._state.unbuilt
            | self._state.at_rest
            | self._state.elsewhere
            | self._state.instances
        )

    def _each(
        self, servers: Collection[ports.Server], check: ports.Check
    ) -> Iterator[ports.Server]:
        """Yield the current state of the servers that still exist."""
        for server in servers:
            check()
            yield from self.find_servers([server.uuid]).values()

    def _busy(self, server: ports.Server) -> str | None:
        """Return why the server can't be changed now; None if it can."""
        service = self._state.services.get(server.host)
        if server.task is not None:
            return f'it is still {server.task}'
        if not server.host:
            return 'it has no host yet'
        if service is not None and not service.is_heard:
            return 'its host is down'
        return None

    def gone_servers(self, servers: Collection[str]) -> frozenset[str]:
        # Servers in a cell that does not answer are not known to be gone.
        return frozenset(servers) - self._all().keys()

    def let_in(
        self, reservation_id: str, servers: Collection[str]
    ) -> Collection[str]:
        return {
            server
            for server in servers
            if self._state.hints.get(server) == reservation_id
        }

    def in_flight(
        self, hosts: Collection[objects.Resource]
    ) -> dict[str, set[str]]:
        found = {
            server.uuid
            for server in self._all().values()
            if self._may_have_alternates(server)
        }
        return {host.name: set(found) for host in hosts}

    def _may_have_alternates(self, server: ports.Server) -> bool:
        return server.has_alternates or server.uuid in self._state.preparing

    def about_to_move(self, servers: Collection[str]) -> Collection[str]:
        return self._state.preparing.intersection(servers)

    def servers_with_alternates(
        self,
        reservation_id: str,
        project_ids: Collection[str],
        hosts: Collection[objects.Resource],
        recorded: Collection[str] = (),
    ) -> list[ports.Server]:
        self._state.check_cells(host.name for host in hosts)
        ours = {*recorded, *self.let_in(reservation_id, self._all())}
        return [
            server
            for server in self._all().values()
            if self._may_have_alternates(server)
            and server.project_id in project_ids
            and server.uuid in ours
        ]

    def find_room(
        self, servers: Collection[ports.Server], now: datetime.datetime
    ) -> ports.Destinations:
        return fake_room.find(self._state, servers)

    def release_claims(
        self, servers: Collection[ports.Server], check: ports.Check
    ) -> None:
        for server in self._each(servers, check):
            self._state.instances.pop(server.uuid, None)
            self._state.unbuilt[server.uuid] = dataclasses.replace(
                server, host=''
            )

    def delete_servers(
        self,
        servers: Collection[ports.Server],
        check: ports.Check,
        now: datetime.datetime,
        keep_images: bool = False,
    ) -> Mapping[str, objects.Reason]:
        refused = {}
        for server in self._each(servers, check):
            if refusal := self._state.why_not_deleted(server, now):
                refused[server.uuid] = refusal
                continue
            self._state.delete(server, now)
        return fake_state.told(refused)

    def stop_servers(
        self, servers: Collection[ports.Server], order: ports.Order
    ) -> Mapping[str, objects.Reason]:
        refused = {}
        for server in self._each(servers, order.check):
            if server.task == 'powering-off':
                continue
            if refusal := self._busy(server):
                refused[server.uuid] = refusal
                continue
            if (server.uuid, order.key, 'stop') in self._state.orders:
                refused[server.uuid] = 'it runs although it was asked to stop'
                continue
            self._state.write('stop server')
            self._state.orders.add((server.uuid, order.key, 'stop'))
            self._state.begin(server, 'powering-off')
        return fake_state.told(refused)

    def shelve_servers(
        self, servers: Collection[ports.Server], order: ports.Order
    ) -> Mapping[str, objects.Reason]:
        refused: dict[str, str | objects.Reason] = {}
        for server in self._each(servers, order.check):
            if server.task == 'shelving':
                continue
            begun = (server.uuid, order.key, 'shelve') in self._state.orders
            if refusal := (
                self._state.refusals.get(server.uuid)
                or self._busy(server)
                or (fake_state.FAILED if begun else None)
            ):
                refused[server.uuid] = refusal
                continue
            self._state.write('shelve server')
            self._state.orders.add((server.uuid, order.key, 'shelve'))
            if server.uuid not in self._state.broken:
                self._state.begin(server, 'shelving')
        return fake_state.told(refused)

    def unshelve_servers(
        self, servers: Collection[ports.Server], order: ports.Order
    ) -> ports.Outcome:
        waiting, failed = {}, {}
        for server in self._each(servers, order.check):
            if server.uuid not in self._state.at_rest:
                if server.task:
                    waiting[server.uuid] = f'it is still {server.task}'
                continue
            if (server.uuid, order.key, 'unshelve') in self._state.orders:
                failed[server.uuid] = 'no host has room for it'
                continue
            waiting[server.uuid] = 'is being unshelved'
            self._state.write('unshelve server')
            self._state.orders.add((server.uuid, order.key, 'unshelve'))
            if server.uuid in self._state.reservation_of:
                hosts = self._state.free_slots(
                    self._state.reservation_of[server.uuid]
                )
            else:
                hosts = [
                    name for name, count in self._state.rooms.items() if count
                ]
            if not hosts or server.uuid not in self._state.at_rest:
                continue
            host = hosts[0]
            if host in self._state.rooms:
                self._state.rooms[host] -= 1
            self._state.shelved.discard(server.uuid)
            back = dataclasses.replace(
                self._state.at_rest.pop(server.uuid), host=host
            )
            self._state.instances[server.uuid] = back
            self._state.begin(back, 'unshelving')
        return ports.Outcome(fake_state.told(waiting), fake_state.told(failed))

    def confirm_resizes(
        self, servers: Collection[ports.Server], order: ports.Order
    ) -> Mapping[str, objects.Reason]:
        refused = {}
        for server in self._each(servers, order.check):
            if server.uuid not in self._state.moves:
                continue
            if refusal := self._busy(server):
                refused[server.uuid] = refusal
            elif server.uuid not in self._state.slow_servers:
                self._state.write('confirm resize')
                fake_moves.settle(self._state, server.uuid)
        return fake_state.told(refused)

    def migrate_servers(
        self, servers: Collection[ports.Server], order: ports.Order
    ) -> ports.Outcome:
        waiting, failed = {}, {}
        hosts = {server.host for server in servers}
        for server in self._each(servers, order.check):
            waiting[server.uuid] = 'is being migrated'
            if server.task == 'migrating':
                continue
            if refusal := self._busy(server):
                waiting[server.uuid] = f'can not be migrated: {refusal}'
            elif server.uuid in self._state.homeless:
                del waiting[server.uuid]
                failed[server.uuid] = 'it has found no place'
            elif server.host in hosts:
                self._state.write('migrate server')
                self._state.begin(server, 'migrating')
        return ports.Outcome(fake_state.told(waiting), fake_state.told(failed))

    def snapshot_servers(
        self, servers: Collection[ports.Server], order: ports.Order
    ) -> ports.Outcome:
        waiting, failed = {}, {}
        for server in self._each(servers, order.check):
            begun = (server.uuid, order.key, 'snapshot') in self._state.orders
            if self._is_made(server, order.key):
                if server.uuid in self._state.slow_servers:
                    waiting[server.uuid] = 'is being made'
            elif server.task is None and server.state in _NOT_TO_BE_COPIED:
                failed[server.uuid] = f'it is in state {server.state}'
            elif begun:
                failed[server.uuid] = 'Nova has failed at it'
            elif refusal := self._busy(server):
                waiting[server.uuid] = refusal
            else:
                waiting |= self._snapshot(server, order.key)
        return ports.Outcome(fake_state.told(waiting), fake_state.told(failed))

    def _is_made(self, server: ports.Server, key: ports.RequestKey) -> bool:
        """Return whether there is an image of the server by any attempt."""
        return (server.uuid, key.reason) in {
            (uuid, made.reason) for uuid, made in self._state.images
        }

    def _snapshot(
        self, server: ports.Server, key: ports.RequestKey
    ) -> dict[str, str]:
        self._state.write('snapshot server')
        self._state.orders.add((server.uuid, key, 'snapshot'))
        if server.uuid not in self._state.broken:
            self._state.images.append((server.uuid, key))
        if {server.uuid} & (self._state.slow_servers | self._state.broken):
            return {server.uuid: 'is being made'}
        return {}

    def save_servers(
        self, servers: Collection[ports.Server], order: ports.Order
    ) -> ports.Outcome:
        known = self._state.instances
        running = [server for server in servers if server.uuid in known]
        return self.snapshot_servers(running, order)

    def suspend_servers(
        self, servers: Collection[ports.Server], order: ports.Order
    ) -> ports.Outcome:
        waiting, failed = {}, {}
        for server in self._each(servers, order.check):
            if server.task is None and server.state in _AT_REST:
                continue
            waiting[server.uuid] = 'is being suspended'
            if server.task == 'suspending':
                continue
            if refusal := self._busy(server):
                waiting[server.uuid] = refusal
            elif server.state != ports.ServerState.ACTIVE:
                del waiting[server.uuid]
                failed[server.uuid] = f'it is in state {server.state}'
            elif (server.uuid, order.key, 'suspend') not in self._state.orders:
                self._state.write('suspend server')
                self._state.orders.add((server.uuid, order.key, 'suspend'))
                self._state.begin(server, 'suspending')
        return ports.Outcome(fake_state.told(waiting), fake_state.told(failed))

    def drain_servers(
        self, servers: Collection[ports.Server], order: ports.Order
    ) -> ports.Outcome:
        waiting, failed = {}, {}
        hosts = {server.host for server in servers}
        for server in self._each(servers, order.check):
            begun = (server.uuid, order.key, 'drain') in self._state.orders
            waiting[server.uuid] = 'is being moved'
            if server.task == 'migrating' or server.host not in hosts:
                continue
            if refusal := self._busy(server):
                waiting[server.uuid] = refusal
            elif begun or server.state not in ports.MOVABLE:
                del waiting[server.uuid]
                failed[server.uuid] = (
                    'Nova has failed to move it'
                    if begun
                    else f'it is in state {server.state}'
                )
            else:
                self._drain(server, order.key)
        return ports.Outcome(fake_state.told(waiting), fake_state.told(failed))

    def _drain(self, server: ports.Server, key: ports.RequestKey) -> None:
        self._state.write('drain server')
        self._state.orders.add((server.uuid, key, 'drain'))
        if server.uuid not in self._state.instances:
            # It was deleted meanwhile.
            return
        if server.uuid in self._state.slow_servers:
            self._state.instances[server.uuid] = dataclasses.replace(
                server, task='migrating'
            )
        elif server.uuid not in self._state.broken:
            self._state.move(server)

    def settle_servers(
        self, servers: Collection[ports.Server], order: ports.Order
    ) -> Mapping[str, objects.Reason]:
        return {
            server.uuid: objects.Reason.plain('is being moved')
            for server in self._each(servers, order.check)
            if server.task == 'migrating'
            and self._state.was_ever_asked(
                server.uuid, order.key.reason, 'drain'
            )
        }

    def evacuate(
        self, servers: Collection[ports.Server], check: ports.Check
    ) -> Mapping[str, str]:
        refused = {}
        for server in self._each(servers, check):
            self._state.write('evacuate')
            if server.uuid not in self._state.instances:
                # It was deleted meanwhile.
                continue
            targets = fake_moves.evacuated_to(self._state, server)
            service = self._state.services.get(server.host)
            if not service or not service.forced_down or not targets:
                refused[server.uuid] = 'no valid host'
                continue
            self._state.instances[server.uuid] = dataclasses.replace(
                server, host=targets[0]
            )
        return refused

    def acts_for_projects(self) -> bool:
        return self._state.trusted

    def check_acting(self) -> None:
        if not self._state.trusted:
            raise exception.CloudRefused(
                what='[service_user] of Nova', reason='it is not configured'
            )
