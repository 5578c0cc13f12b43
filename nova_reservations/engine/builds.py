# SPDX-License-Identifier: Apache-2.0
"""Servers that Nova was building or moving when a host was closed.

Where nova-conductors are not guarded, such a server may still land on the
host: on an alternate that it was given before, or because somebody forces it
there. A server whose build or move begins later can not land there. So the
servers in flight are listed once, after the host was marked, and only these
are waited for: a busy cloud never has a moment without any build.

Decision 0021: doc/source/decisions/0021-write-first-look-second
"""

from collections.abc import Collection
from collections.abc import Mapping
import dataclasses
import datetime

from nova_reservations import objects
from nova_reservations import ports
from nova_reservations.db.resources import closings
from nova_reservations.engine import settings

MOVING = frozenset(
    {
        'migrating',
        'rebuild_block_device_mapping',
        'rebuild_spawning',
        'rebuilding',
        'resize_prep',
    }
)

MOST_TOLD = 20


@dataclasses.dataclass(eq=False)
class Builds:
    cloud: ports.Cloud
    options: settings.Settings

    def listed(
        self, hosts: Collection[objects.Resource]
    ) -> Mapping[str, Collection[str]]:
        """Return service host -> the servers to wait for; call it once the
        hosts are marked.

        :raises: CloudUnavailable, CloudRefused
        """
        if self.options.conductors_guarded:
            return {host.name: frozenset() for host in hosts}
        return self.cloud.servers.in_flight(hosts)

    def left(self, servers: Collection[str]) -> frozenset[str]:
        """Return those of the servers that are still being built or moved.

        :raises: CloudUnavailable
        """
        known = self.cloud.servers.find_servers(servers)
        left = frozenset(
            uuid
            for uuid, server in known.items()
            if server.state == ports.ServerState.BUILDING
            or server.task in MOVING
        )
        # The deletion of a server hides its build or move, but does not stop
        # it.
        deleted = {
            uuid
            for uuid, server in known.items()
            if server.is_being_deleted and uuid not in left
        }
        if not deleted:
            return left
        return left.union(self.cloud.servers.about_to_move(deleted))

    def is_overdue(
        self, closing: closings.Closing, now: datetime.datetime
    ) -> bool:
        """Return whether the servers of its list were waited for too long."""
        return (
            closing.listed_at is not None
            and now >= closing.listed_at + self.options.build_wait
        )


def named(servers: Collection[str]) -> str:
    """Return a list of servers for an operator, cut if it is long."""
    return objects.few(sorted(servers), MOST_TOLD)
