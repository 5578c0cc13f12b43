# SPDX-License-Identifier: Apache-2.0
"""Servers that Nova was building or moving when a host was closed.

Where nova-conductors are not guarded, such a server may still land on the
host: by an alternate that it was given before, or because somebody has forced
it there. Servers whose build or move begins later can't: so they are listed
once, after the host was marked, and only those on the list are waited for. In
a busy cloud there is never a moment without any build.

Decision 0021: doc/source/decisions/0021-write-first-look-second
"""

from collections.abc import Collection
from collections.abc import Mapping
import datetime

from nova_reservations import objects
from nova_reservations import ports
from nova_reservations.db import closings
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


class Builds:
    def __init__(self, cloud: ports.Cloud, options: settings.Settings) -> None:
        self.cloud = cloud
        self.options = options

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
        # That hides what they were in the middle of, and does not stop it.
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
        """Return whether its list has been waited for long enough."""
        return (
            closing.listed_at is not None
            and now >= closing.listed_at + self.options.build_wait
        )


def named(servers: Collection[str]) -> str:
    """Name servers to an operator, some of them if they are many."""
    more = len(servers) - MOST_TOLD
    return ', '.join(sorted(servers)[:MOST_TOLD]) + (
        f' and {more} more' if more > 0 else ''
    )
