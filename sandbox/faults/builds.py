# SPDX-License-Identifier: Apache-2.0
"""Ordinary servers whose builds fail, while hosts are enrolled beside them.

A build that fails is rescheduled to an alternate host. This host may have been
enrolled, and leased, since nova-scheduler chose it as an alternate.
"""

from collections.abc import Iterator
from collections.abc import Sequence
import contextlib
import datetime
import re
import time

from sandbox import driver
from sandbox import layout as lo
from sandbox import person
from sandbox import polls
from sandbox import story

#: The percentage of builds that fail.
_SHARE = 60

#: The name of all ordinary servers, which are in no lease.
NAME = 'ordinary'
_SERVERS = 4

#: Seconds after which a build counts as lost: its conductor or its nova-api
#: was killed, and nobody goes on with it.
_LOST = 30

_UUID = re.compile('[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}')

_GUARDED = """
[reservations]
conductors_guarded = true
[oslo_messaging_notifications]
driver = nova_reservations
"""


@contextlib.contextmanager
def failing(layout: lo.Layout) -> Iterator[None]:
    """Make a share of all builds fail."""
    share = driver.share_of_failures(layout.directory)
    share.write_text(str(_SHARE))
    try:
        yield
    finally:
        share.unlink()


@contextlib.contextmanager
def guarded(layout: lo.Layout) -> Iterator[None]:
    """Set conductors_guarded in nova.conf; nova-conductors and nova-api then
    have to be restarted."""
    conf = layout.etc / 'nova.conf'
    before = conf.read_text()
    conf.write_text(before + _GUARDED)
    try:
        yield
    finally:
        conf.write_text(before)


class Builds:
    """A user of ordinary servers, and an operator who removes hosts from the
    pool and enrols them again while the servers are built.

    :ivar accepted: the servers that Nova has accepted, and that nobody has
        deleted.
    :ivar lost: accepted servers that Nova does not know any more.
    """

    def __init__(self, auth_url: str, hosts: Sequence[str]) -> None:
        """:param hosts: the hosts that are enrolled at the beginning, and must
        be at the end"""
        self._operator = person.Operator(auth_url)
        self._user = person.Person(auth_url, 'demo')
        self._hosts = hosts
        self.accepted: set[str] = set()
        self.lost: set[str] = set()

    def round(self) -> None:
        """Enroll a host while servers are built that may land on it.

        :raises Unexpected: if a server is lost, or the host is not reservable
        """
        host = polls.until('a host is removed', self._remove, bool, 120)
        assert host is not None
        self.build()
        self._enrol(host)
        polls.until(
            'ordinary servers that are built, or have failed',
            self._statuses,
            lambda statuses: statuses <= {'ACTIVE', 'ERROR'},
            60,
        )
        self.tidy()

    def build(self) -> None:
        """Ask for servers; return when hosts were chosen for them."""
        for _ in range(_SERVERS):
            answer = self._user.boot(NAME, metadata={'build_seconds': '3'})
            self.accepted.add(person.body(answer, 202)['server']['id'])
        # Hosts are chosen within this time; builds fail only after that.
        time.sleep(1)

    def disturb(self) -> None:
        """Do the work of a round, as far as a broken cloud allows it."""
        self._statuses()
        self._delete()
        host = self._remove()
        self.build()
        if host is not None:
            self._enrol(host)

    def tidy(self) -> None:
        """Delete the servers, and enrol all hosts that are not enrolled.

        :raises Unexpected: if a server is lost, or a host is not reservable
        """
        self._statuses()
        story.expect('ordinary servers that are lost', set(), self.lost)
        polls.until(
            'no ordinary server', self._delete, lambda left: not left, 120
        )
        for host in {*self._hosts} - {*self._operator.enrolled().values()}:
            self._enrol(host)
        polls.until(
            'all hosts are reservable',
            self._unreservable,
            lambda left: not left,
            60 + _LOST,
        )

    def _statuses(self) -> set[str]:
        """Return the statuses of the accepted servers."""
        shown = {server: self._user.server(server) for server in self.accepted}
        self.lost |= {uuid for uuid, server in shown.items() if server is None}
        return {server['status'] for server in shown.values() if server}

    def _delete(self) -> list[str]:
        """Delete all ordinary servers; return those that still exist."""
        answer = self._user.compute.get(f'/servers?name={NAME}')
        left = [server['id'] for server in person.body(answer)['servers']]
        for server in left:
            self.accepted.discard(server)
            self._user.compute.delete(f'/servers/{server}')
        return left

    def _remove(self) -> str | None:
        """Remove a host that no lease has; return its name."""
        for number, name in self._operator.enrolled().items():
            answer = self._operator.reservation.delete(f'/os-hosts/{number}')
            if answer.status_code == 204:
                return name
        return None

    def _enrol(self, host: str) -> None:
        """Enroll a host; this is refused if it has a server already."""
        self._operator.reservation.post('/os-hosts', json={'name': host})

    def _unreservable(self) -> set[str]:
        """Return the hosts that are not reservable. Delete the lost builds for
        which they wait, as their status reasons say."""
        # A retry is needed: nova-api may be closing an idle connection.
        answer = self._operator.reservation.get(
            '/os-hosts?detail=True', connect_retries=2
        )
        shown = person.body(answer)['hosts']
        for each in shown:
            for server in _UUID.findall(each['status_reason'] or ''):
                if self._is_lost(server):
                    self._operator.compute.delete(f'/servers/{server}')
        return {*self._hosts} - {
            each['hypervisor_hostname'] for each in shown if each['reservable']
        }

    def _is_lost(self, server: str) -> bool:
        shown = self._operator.server(server)
        if shown is None or shown['status'] != 'BUILD':
            return False
        age = datetime.datetime.now(
            datetime.UTC
        ) - datetime.datetime.fromisoformat(shown['created'])
        return age.total_seconds() > _LOST
