# SPDX-License-Identifier: Apache-2.0
"""A mail server that accepts connections, and does not answer.

A fault is over when its function returns.
"""

from collections.abc import Iterator
from collections.abc import Mapping
import contextlib
import datetime
import socketserver
import threading
import time

from sandbox import layout as lo
from sandbox import person
from sandbox import polls
from sandbox import story
from sandbox.faults import faults

#: Seconds in which a lease must start beside mails that can not be sent.
_START = 10

#: Seconds after which a mail that failed is sent again, with some to spare.
_AGAIN = 90

_CONF = """
[reservations]
engine_threads = 1
default_before_end = email
email_server = 127.0.0.1
email_port = {port}
email_starttls = false
email_from = leases@example.org
email_to = {{user_id}}@example.org
"""


class MailServer(socketserver.ThreadingTCPServer):
    """:ivar mails: the texts of those that it has accepted.

    :ivar answers: whether it answers. A connection that was made while it did
        not stays silent.
    """

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(('127.0.0.1', 0), _Conversation)
        self.mails: list[str] = []
        self.answers = threading.Event()
        self.silent = 0
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def port(self) -> int:
        return int(self.server_address[1])

    def close(self) -> None:
        self.shutdown()
        self.server_close()

    def count(self, words: str) -> int:
        """Return how many of the mails have these words."""
        return sum(words in mail for mail in self.mails)


class _Conversation(socketserver.StreamRequestHandler):
    server: MailServer

    def handle(self) -> None:
        with contextlib.suppress(OSError):
            if self.server.answers.is_set():
                self._talk()
            else:
                self.server.silent += 1
                self.rfile.read()

    def _talk(self) -> None:
        self._say('220 here')
        while line := self.rfile.readline():
            match line.split()[0].upper():
                case b'DATA':
                    self._say('354 go on')
                    lines = iter(self.rfile.readline, b'.\r\n')
                    self.server.mails.append(b''.join(lines).decode())
                    self._say('250 it is kept')
                case b'QUIT':
                    self._say('221 bye')
                    return
                case _:
                    self._say('250 well')

    def _say(self, answer: str) -> None:
        self.wfile.write(f'{answer}\r\n'.encode())


def smtp_silent(scene: faults.Scene) -> None:
    """The mail server accepts connections and never answers; when it is back,
    those connections stay open."""
    who = person.Person(scene.services.layout.auth_url, 'demo')
    with contextlib.closing(MailServer()) as server:
        with _telling(scene, server):
            lease = _told_lease(who)
            polls.until(
                'a mail that is not answered', lambda: server.silent, bool, 60
            )
            deadline = time.monotonic() + scene.seconds
            while time.monotonic() < deadline:
                _start_one(who)
            server.answers.set()
            polls.until(
                'the mail of a lease that is sent again',
                lambda: server.count(lease),
                bool,
                _AGAIN,
            )
            person.body(who.reservation.delete(f'/leases/{lease}'), 204)
            story.expect('its mails', 1, server.count(lease))


@contextlib.contextmanager
def _telling(scene: faults.Scene, server: MailServer) -> Iterator[None]:
    """Have nova-schedulers with one thread each tell of the ends of leases."""
    conf = scene.services.layout.etc / 'nova.conf'
    before = conf.read_text()
    conf.write_text(before + _CONF.format(port=server.port))
    try:
        for service in lo.SCHEDULERS:
            scene.kill_and_restart(service)
        yield
    finally:
        conf.write_text(before)
        for service in lo.SCHEDULERS:
            scene.kill_and_restart(service)


def _told_lease(who: person.Person) -> str:
    """Return a lease of half an hour, whose mail is due at once."""
    now = datetime.datetime.now(datetime.UTC).replace(microsecond=0)
    end = now + datetime.timedelta(minutes=30)

    def ask() -> str:
        answer = who.ask_lease('told', None, end, 1)
        if person.no_room(answer):
            return ''
        return str(person.body(answer, 201)['lease']['id'])

    return polls.until('a lease of half an hour', ask, bool, 60)


def _start_one(who: person.Person) -> None:
    """Check that a lease starts, if a host is free."""
    now = datetime.datetime.now(datetime.UTC).replace(microsecond=0)
    end = now + datetime.timedelta(seconds=30)
    answer = who.ask_lease('beside', None, end, 1)
    if person.no_room(answer):
        time.sleep(0.5)
        return
    lease = person.body(answer, 201)['lease']['id']
    polls.until(
        'a lease to start beside mails that are not answered',
        lambda: who.lease(lease),
        lambda seen: bool(seen) and seen['status'] == 'ACTIVE',
        _START,
    )
    person.body(who.reservation.delete(f'/leases/{lease}'), 204)


FAULTS: Mapping[str, faults.Fault] = {'smtp-silent': smtp_silent}
