# SPDX-License-Identifier: Apache-2.0
"""The people of the stories, and steps that several stories have."""

from collections.abc import Iterable
import datetime
import time
from typing import Any

import requests

from sandbox import person
from sandbox import story
from sandbox.person import body
from sandbox.polls import until
from sandbox.story import expect


class Cast:
    """An operator and users of two projects; a story is a subclass."""

    def __init__(self, auth_url: str, timeline: story.Timeline) -> None:
        self.step = timeline.step
        self.operator = person.Operator(auth_url)
        self.demo = person.Person(auth_url, 'demo')
        self.alt = person.Person(auth_url, 'alt')

    def enrol_all_of(self, hosts: Iterable[str]) -> None:
        """Enrol the hosts that earlier stories have not enrolled."""
        known = self.operator.enrolled().values()
        for host in sorted({*hosts} - {*known}):
            answer = self.operator.reservation.post(
                '/os-hosts', json={'name': host}
            )
            body(answer, 201)

    def wait_for(self, lease: str, status: str, seconds: float = 30) -> str:
        """Wait until a lease has a status; return how long it took."""
        began = time.monotonic()
        until(
            status,
            lambda: self.operator.lease(lease)['status'],
            lambda seen: seen == status,
            seconds,
        )
        return f'{status} after {time.monotonic() - began:.2f} s'

    def wait_until_gone(self, lease: str, seconds: float = 30) -> None:
        until(
            'gone',
            lambda: self.operator.lease(lease),
            lambda seen: seen is None,
            seconds,
        )

    def delete_lease(self, lease: str, seconds: float = 30) -> None:
        body(self.operator.reservation.delete(f'/leases/{lease}'), 204)
        self.wait_until_gone(lease, seconds)

    def reservation(self, lease: str) -> Any:
        """Return the only reservation of a lease."""
        (reservation,) = self.operator.lease(lease)['reservations']
        return reservation

    def settled(self, server: str, seconds: float = 30) -> Any:
        """Wait until a server is built, or has failed; return it."""
        return until(
            'ACTIVE or ERROR',
            lambda: self.operator.server(server),
            lambda seen: seen['status'] != 'BUILD',
            seconds,
        )

    def expect_on(
        self, server: str, hosts: Iterable[str], seconds: float = 30
    ) -> str:
        """Check that the server runs on one of the hosts; return that host."""
        seen = self.settled(server, seconds)
        expect('status', 'ACTIVE', seen['status'])
        host = str(seen['OS-EXT-SRV-ATTR:host'])
        if host not in hosts:
            raise person.Unexpected(f'one of {hosts}', host)
        return host

    def expect_no_host(self, answer: requests.Response) -> str:
        """Check that a requested server can't be built; return the reason."""
        server = accepted(answer)
        expect('status', 'ERROR', self.settled(server)['status'])
        # Nova writes the reason a moment later.
        seen = until(
            'a fault',
            lambda: self.operator.server(server),
            lambda seen: 'fault' in seen,
        )
        body(self.operator.compute.delete(f'/servers/{server}'), 204)
        return str(seen['fault']['message'])


def now() -> datetime.datetime:
    """Return the current time in whole seconds."""
    return datetime.datetime.now(datetime.UTC).replace(microsecond=0)


def hours(count: float) -> datetime.timedelta:
    return datetime.timedelta(hours=count)


def end_of(lease: Any) -> datetime.datetime:
    return datetime.datetime.fromisoformat(lease['end_date']).replace(
        tzinfo=datetime.UTC
    )


def accepted(answer: requests.Response) -> str:
    """Check that a request for a server was accepted; return the id."""
    return str(body(answer, 202)['server']['id'])


def refusal(answer: requests.Response, status: int) -> str:
    """Return the reason of a refusal, in our format or in Nova's."""
    document = body(answer, status)
    if 'error_message' in document:
        return f'{status} {document["error_message"]}'
    (fault,) = document.values()
    return f'{status} {fault["message"]}'


def act(who: person.Person, server: str, action: dict[str, Any]) -> None:
    answer = who.compute.post(f'/servers/{server}/action', json=action)
    if answer.status_code not in (202, 204):
        raise person.Unexpected('202 or 204', answer.text)
