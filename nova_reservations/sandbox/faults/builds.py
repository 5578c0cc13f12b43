# SPDX-License-Identifier: Apache-2.0
"""Ordinary servers whose builds fail, while hosts are enrolled beside them.

A build that fails goes on to an alternate. That may have been enrolled, and
leased, since it was named.
"""

from collections.abc import Iterator
import contextlib
import time
from typing import Any

from nova_reservations.sandbox import driver
from nova_reservations.sandbox import layout as lo
from nova_reservations.sandbox import person
from nova_reservations.sandbox import story

#: Of a hundred builds.
_SHARE = 60

_NAME = 'ordinary'
_SERVERS = 4

_GUARDED = """
[reservations]
conductors_guarded = true
[oslo_messaging_notifications]
driver = nova_reservations
"""


@contextlib.contextmanager
def failing(layout: lo.Layout) -> Iterator[None]:
    """Have a share of all builds fail."""
    share = driver.share_of_failures(layout.directory)
    share.write_text(str(_SHARE))
    try:
        yield
    finally:
        share.unlink()


@contextlib.contextmanager
def guarded(layout: lo.Layout) -> Iterator[None]:
    """Have nova.conf say that nova-conductors are guarded; they, and
    nova-api, have to be restarted."""
    conf = layout.etc / 'nova.conf'
    before = conf.read_text()
    conf.write_text(before + _GUARDED)
    try:
        yield
    finally:
        conf.write_text(before)


class Builds:
    """:ivar operator: who enrolls and removes hosts.

    :ivar user: whose servers are ordinary ones.
    """

    def __init__(self, auth_url: str) -> None:
        self.operator = person.Operator(auth_url)
        self.user = person.Person(auth_url, 'demo')

    def round(self, leased: Any) -> None:
        """Enroll a host while servers are being built that may go there.

        :param leased: returns the hosts of active leases
        :raises Unexpected: if a server is on a leased host, or is lost
        """
        host = self._remove()
        servers = [self._boot() for _ in range(_SERVERS)]
        # They have hosts by then, and fail after that.
        time.sleep(1)
        answer = self.operator.reservation.post(
            '/os-hosts', json={'name': host}
        )
        story.until(
            'ordinary servers that are built, or have failed',
            lambda: self._look(servers, leased),
            lambda states: states <= {'ACTIVE', 'ERROR'},
            60,
        )
        for server in servers:
            self.user.compute.delete(f'/servers/{server}')
        story.until(
            'no ordinary server',
            lambda: [one for one in servers if self.user.server(one)],
            lambda left: not left,
            60,
        )
        if answer.status_code == 409:
            # A server was there already.
            person.body(
                self.operator.reservation.post(
                    '/os-hosts', json={'name': host}
                ),
                201,
            )
        story.until(
            f'{host} is reservable', lambda: self._host(host), bool, 60
        )

    def _look(self, servers: list[str], leased: Any) -> set[str]:
        for host in leased():
            story.expect(
                f'strangers on {host}, which is leased',
                [],
                [
                    name
                    for name in self.operator.servers_on(host)
                    if name == _NAME
                ],
            )
        shown = [self.user.server(server) for server in servers]
        story.expect('ordinary servers that are lost', 0, shown.count(None))
        return {server['status'] for server in shown}

    def _boot(self) -> str:
        answer = self.user.boot(_NAME, metadata={'build_seconds': '3'})
        server: str = person.body(answer, 202)['server']['id']
        return server

    def _remove(self) -> str:
        """Remove a host that no lease has; return its name."""

        def remove() -> str | None:
            for number, name in self.operator.enrolled().items():
                answer = self.operator.reservation.delete(
                    f'/os-hosts/{number}'
                )
                if answer.status_code == 204:
                    return name
            return None

        host = story.until('a host is removed', remove, bool, 120)
        assert host is not None
        return host

    def _host(self, host: str) -> bool:
        # nova-api may just be closing a connection that was idle.
        answer = self.operator.reservation.get('/os-hosts', connect_retries=2)
        hosts = person.body(answer)
        return any(
            each['reservable']
            for each in hosts['hosts']
            if each['hypervisor_hostname'] == host
        )
