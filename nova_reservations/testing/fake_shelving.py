# SPDX-License-Identifier: Apache-2.0
"""Servers of a cloud in memory that rest: suspended, or on a shelf."""

from collections.abc import Callable
from collections.abc import Collection
import dataclasses

from nova_reservations import ports


class FakeResting:
    """:ivar at_rest: UUID -> server, of those that are on a shelf.

    :ivar unbuilt: UUID -> server, of those that Nova has put on no host yet,
        or could not.
    :ivar rooms: host -> how many more can be unshelved there.
    """

    servers: dict[str, ports.Server]
    shelved: set[str]
    orders: set[tuple[str, ports.RequestKey, str]]
    images: list[tuple[str, ports.RequestKey]]
    slow_servers: set[str]
    tenancy: dict[str, str]
    free_slots: Callable[[str], list[str]]
    _write: Callable[[str], None]
    _begin: Callable[[ports.Server, str], None]
    snapshot_servers: Callable[..., ports.Outcome]

    def __init__(self) -> None:
        self.at_rest: dict[str, ports.Server] = {}
        self.unbuilt: dict[str, ports.Server] = {}
        self.rooms: dict[str, int] = {'elsewhere': 1000}

    def build(self, server: str, project_id: str, state: str) -> None:
        """Have Nova know a server that has no host yet, or found none."""
        self.unbuilt[server] = ports.Server(
            server,
            project_id,
            '',
            state,
            'scheduling' if state == 'building' else None,
            None if state == 'building' else 'No valid host was found.',
        )

    def find_servers(
        self, servers: Collection[str]
    ) -> dict[str, ports.Server]:
        known = self.unbuilt | self.at_rest | self.servers
        return {uuid: known[uuid] for uuid in servers if uuid in known}

    def gone_servers(self, servers: Collection[str]) -> frozenset[str]:
        return frozenset(servers) - self.find_servers(servers).keys()

    def save_servers(
        self,
        servers: Collection[ports.Server],
        order: ports.RequestKey,
        check: ports.Check,
    ) -> ports.Outcome:
        made = {uuid for uuid, _ in self.images}
        running = [one for one in servers if one.uuid in self.servers]
        outcome = self.snapshot_servers(
            [one for one in running if one.uuid not in made], order, check
        )
        slow = made & self.slow_servers
        return ports.Outcome(
            {
                **outcome.waiting,
                **{
                    one.uuid: 'is being made'
                    for one in running
                    if one.uuid in slow
                },
            },
            outcome.failed,
        )

    def suspend_servers(
        self,
        servers: Collection[ports.Server],
        order: ports.RequestKey,
        check: ports.Check,
    ) -> ports.Outcome:
        waiting = {}
        for server in servers:
            check()
            if server.state != 'active':
                continue
            waiting[server.uuid] = 'is being suspended'
            if (server.uuid, order, 'suspend') not in self.orders:
                self._write('suspend server')
                self.orders.add((server.uuid, order, 'suspend'))
                self._begin(server, 'suspending')
        return ports.Outcome(waiting, {})

    def unshelve_servers(
        self,
        servers: Collection[ports.Server],
        order: ports.RequestKey,
        check: ports.Check,
    ) -> ports.Outcome:
        waiting, failed = {}, {}
        for server in servers:
            check()
            if server.uuid in self.servers:
                if server.task:
                    waiting[server.uuid] = f'it is still {server.task}'
                continue
            if (server.uuid, order, 'unshelve') in self.orders:
                failed[server.uuid] = 'no host has room for it'
                continue
            waiting[server.uuid] = 'is being unshelved'
            self._write('unshelve server')
            self.orders.add((server.uuid, order, 'unshelve'))
            if server.uuid in self.tenancy:
                hosts = self.free_slots(self.tenancy[server.uuid])
            else:
                hosts = [name for name, count in self.rooms.items() if count]
            if not hosts:
                continue
            host = hosts[0]
            if host in self.rooms:
                self.rooms[host] -= 1
            self.shelved.discard(server.uuid)
            back = dataclasses.replace(
                self.at_rest.pop(server.uuid), host=host
            )
            self.servers[server.uuid] = back
            self._begin(back, 'unshelving')
        return ports.Outcome(waiting, failed)
