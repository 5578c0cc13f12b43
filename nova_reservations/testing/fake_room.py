# SPDX-License-Identifier: Apache-2.0
"""Room for servers on the ordinary hosts of a fake cloud."""

from collections.abc import Collection

from nova_reservations import ports
from nova_reservations.objects import amounts
from nova_reservations.testing import fake_state


def find(
    state: fake_state.State, servers: Collection[ports.Server]
) -> ports.Destinations:
    """Return the room for servers that need a VCPU each."""
    open_hosts = [
        host
        for host in state.ordinary_hosts()
        if state.cell_of(host) not in state.silent
    ]
    on = [server.host for server in state.instances.values()]
    return ports.Destinations(
        needs={
            server.uuid: amounts.Amounts({'VCPU': 1}) for server in servers
        },
        fits={
            server.uuid: []
            if server.uuid in state.homeless
            or server.uuid not in state.instances
            else [
                host
                for host in open_hosts
                if state.cell_of(host) == state.cell_of(server.host)
            ]
            for server in servers
        },
        free={
            name: amounts.Amounts({'VCPU': state.room - on.count(name)})
            for name in open_hosts
        },
    )
