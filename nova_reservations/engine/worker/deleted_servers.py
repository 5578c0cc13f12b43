# SPDX-License-Identifier: Apache-2.0
"""Servers that users delete, shelve or have moved. They use their reservation
no more; a lease ends when no server that carries it is left."""

from collections.abc import Collection
import dataclasses
import datetime

from oslo_log import log

from nova_reservations import ports
from nova_reservations.db import api
from nova_reservations.db.leases import due_leases
from nova_reservations.db.leases import leased_servers
from nova_reservations.db.record import server_usage
from nova_reservations.engine import claimed_leases

LOG = log.getLogger(__name__)

TASK = 'deleted_servers'
"""The periodic task that looks for such servers."""

PAGE = 500
"""The number of servers that Nova is asked about at once."""


@dataclasses.dataclass(eq=False)
class DeletedServers:
    database: api.Database
    cloud: ports.Cloud

    def look(self, now: datetime.datetime) -> None:
        """Take servers that are gone out of their leases. End the usage
        records of servers that are gone or on no host of their reservation. A
        lease without any server left to carry it is due to end.

        :raises: CloudUnavailable
        """
        self._look_at_carriers(now)
        self._look_at_others(now)

    def _look_at_others(self, now: datetime.datetime) -> None:
        after = ''
        while True:
            with self.database.reader() as session:
                watched = server_usage.watched(session, after, PAGE)
            if not watched:
                return
            self._look_at([stay for stay in watched if not stay.carries], now)
            after = watched[-1].server_uuid

    def _look_at(
        self, stays: Collection[server_usage.Stay], now: datetime.datetime
    ) -> None:
        """:param stays: read before Nova is asked, so that the usage of a
        server that is let in again later is not ended"""
        seen = self.cloud.servers.heard_servers(
            [stay.server_uuid for stay in stays]
        )
        gone = self.cloud.servers.gone_servers(
            [
                stay.server_uuid
                for stay in stays
                if stay.server_uuid not in seen
            ]
        )
        settled = [
            stay
            for stay in stays
            if stay.server_uuid in seen and seen[stay.server_uuid].is_settled
        ]
        with self.database.reader() as session:
            places = server_usage.places(
                session, {stay.reservation_id for stay in settled}
            )
        back = {
            stay.id
            for stay in settled
            if seen[stay.server_uuid].flavor not in (None, stay.flavor)
            and self._has_come_back(stay, seen[stay.server_uuid], now)
        }
        elsewhere = [
            stay
            for stay in settled
            if stay.id not in back
            and seen[stay.server_uuid].host
            not in places.get(stay.reservation_id, ())
        ]
        if gone or elsewhere:
            with self.database.writer() as session:
                server_usage.leave(session, gone, now)
                server_usage.move_out(session, elsewhere, now)

    def _has_come_back(
        self,
        stay: server_usage.Stay,
        server: ports.Server,
        now: datetime.datetime,
    ) -> bool:
        """Return whether the server's last resize was reverted, after having
        recorded that; False, too, if it was let in again meanwhile."""
        assert server.flavor is not None
        return claimed_leases.try_change(
            self.database,
            server_usage.come_back,
            stay,
            server.flavor,
            server.host,
            now,
        )

    def _look_at_carriers(self, now: datetime.datetime) -> None:
        after = ''
        while True:
            with self.database.reader() as session:
                watched = leased_servers.watched(session, after, PAGE)
            if not watched:
                return
            lease_of = dict(watched)
            gone = self.cloud.servers.gone_servers(lease_of.keys())
            if gone:
                self._release({uuid: lease_of[uuid] for uuid in gone}, now)
            after, _ = watched[-1]

    def _release(
        self, lease_of: dict[str, str], now: datetime.datetime
    ) -> None:
        with self.database.writer() as session:
            leased_servers.release(session, lease_of.keys(), now)
            server_usage.leave(session, lease_of.keys(), now)
            due_leases.hurry(session, sorted(set(lease_of.values())), now)
        for server, lease_id in sorted(lease_of.items()):
            LOG.info(
                'Server %(server)s of lease %(lease)s is gone',
                {'server': server, 'lease': lease_id},
            )
