# SPDX-License-Identifier: Apache-2.0
"""Actions on servers before and at the end of a lease, on a whole Nova with a
real Glance."""

import datetime
from typing import Any

from sandbox import person
from sandbox import story
from sandbox.person import body
from sandbox.polls import until
from sandbox.stories import cast
from sandbox.story import expect


def tell(auth_url: str, timeline: story.Timeline) -> None:
    """Servers are copied, stopped, shelved and moved around the end."""
    told = _EndActions(auth_url, timeline)
    told.enrol()
    told.refuse()
    told.snapshot_and_shelve()
    told.unshelve()
    told.migrate()
    told.strand()


class _EndActions(cast.Cast):
    """The chapters, in the order in which they are told."""

    def __init__(self, auth_url: str, timeline: story.Timeline) -> None:
        super().__init__(auth_url, timeline)
        self.leased, *self.ordinary = self.operator.hosts()
        #: Id of a server that was shelved.
        self.shelved = ''

    def enrol(self) -> None:
        with self.step('the operator enrolls one host') as seen:
            self.enrol_all_of([self.leased])
            seen(self.leased)

    def refuse(self) -> None:
        for key, value in (('end_action', 'burn'), ('before_end', 'email')):
            with self.step(f'{key} {value} is not offered') as seen:
                answer = self._ask(**{key: value})
                seen(cast.refusal(answer, 400))

    def snapshot_and_shelve(self) -> None:
        with self.step('a lease asks for a snapshot, and to be shelved'):
            lease = self._lease(
                before_end='snapshot', end_action='shelve', end_grace=1
            )
            server = self._boot(lease, 'precious')
        with self.step('shortly before its end there is an image') as seen:
            soon = cast.now() + datetime.timedelta(seconds=2)
            self._change(lease, before_end_date=soon.isoformat())
            until(
                'DONE',
                lambda: self._event(lease, 'before_end_lease'),
                lambda status: status == 'DONE',
            )
            (image,) = self._images('reserved_precious')
            expect('status', 'active', image['status'])
            seen(f'{image["name"]}, {image["visibility"]}')
        with self.step('of which a server can be made') as seen:
            copy = cast.accepted(self.demo.boot('copy', imageRef=image['id']))
            seen(self._wait_for(copy, 'ACTIVE')['status'])
            body(self.demo.compute.delete(f'/servers/{copy}'), 204)
        with self.step('and which its project can delete'):
            body(self.demo.image.delete(f'/v2/images/{image["id"]}'), 204)
        with self.step('at the end the server stops, and is shelved') as seen:
            self._end(lease)
            shown = self._wait_for(server, 'SHELVED_OFFLOADED')
            self.shelved = server
            seen(shown['status'])

    def unshelve(self) -> None:
        with self.step('after the lease it is unshelved elsewhere') as seen:
            cast.act(self.demo, self.shelved, {'unshelve': None})
            self._wait_for(self.shelved, 'ACTIVE')
            seen(self._expect_ordinary(self.shelved))

    def migrate(self) -> None:
        with self.step('a lease asks for its servers to be migrated'):
            lease = self._lease(end_action='migrate')
            running = self._boot(lease, 'running')
            stopped = self._boot(lease, 'stopped')
            cast.act(self.demo, stopped, {'os-stop': None})
            self._wait_for(stopped, 'SHUTOFF')
        with self.step('at its end they are outside of the pool') as seen:
            self._end(lease)
            for server, status in ((running, 'ACTIVE'), (stopped, 'SHUTOFF')):
                self._wait_for(server, status)
                seen(f'{status} on {self._expect_ordinary(server)}')

    def strand(self) -> None:
        with self.step('where there is no place they are shelved') as seen:
            lease = self._lease(end_action='migrate')
            server = self._boot(lease, 'stranded')
            for host in self.ordinary:
                self.operator.set_compute(host, 'disabled')
            self._end(lease)
            seen(self._wait_for(server, 'SHELVED_OFFLOADED')['status'])
            for host in self.ordinary:
                self.operator.set_compute(host, 'enabled')

    # What the chapters are made of.

    def _ask(self, **asked: object) -> Any:
        return self.demo.reservation.post(
            '/leases',
            json={
                'name': 'story',
                'start_date': 'now',
                'duration': '3h',
                'reservations': [
                    {'resource_type': 'physical:host', 'min': 1, 'max': 1}
                    | asked
                ],
            },
        )

    def _lease(self, **asked: object) -> Any:
        """Return a lease that has begun."""
        lease = body(self._ask(**asked), 201)['lease']
        self.wait_for(lease['id'], 'ACTIVE')
        return lease

    def _boot(self, lease: Any, name: str) -> str:
        (reservation,) = lease['reservations']
        server = cast.accepted(self.demo.boot(name, reservation['id']))
        self._wait_for(server, 'ACTIVE')
        return server

    def _change(self, lease: Any, **changes: str) -> None:
        body(self.demo.reservation.put(f'/leases/{lease["id"]}', json=changes))

    def _end(self, lease: Any) -> None:
        self._change(lease, end_date='now')
        self.wait_for(lease['id'], 'TERMINATED', 90)
        servers = self.operator.servers_on(self.leased)
        expect(f'servers on {self.leased}', [], servers)

    def _event(self, lease: Any, kind: str) -> str:
        events = self.demo.lease(lease['id'])['events']
        (status,) = (
            event['status'] for event in events if event['event_type'] == kind
        )
        return str(status)

    def _images(self, name: str) -> list[Any]:
        answer = self.demo.image.get(f'/v2/images?name={name}')
        return list(body(answer)['images'])

    def _wait_for(self, server: str, status: str) -> Any:
        return until(
            status,
            lambda: self.demo.server(server),
            lambda shown: shown['status'] == status,
            60,
        )

    def _expect_ordinary(self, server: str) -> str:
        host = str(self.operator.server(server)['OS-EXT-SRV-ATTR:host'])
        if host not in self.ordinary:
            raise person.Unexpected(f'one of {self.ordinary}', host)
        return host
