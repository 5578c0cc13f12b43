# SPDX-License-Identifier: Apache-2.0
"""Servers that carry their own lease, on a whole Nova with a real Glance."""

import datetime
import json
from typing import Any

import requests

from sandbox import story
from sandbox.person import body
from sandbox.polls import until
from sandbox.stories import cast
from sandbox.story import expect

#: Seconds until the start of a server in the future: it has to be built and
#: shelved before.
_AHEAD = 20

OFFLOADED = 'SHELVED_OFFLOADED'


def tell(auth_url: str, timeline: story.Timeline) -> None:
    """Servers exist for a window of time, and come with their lease."""
    told = _ServerLease(auth_url, timeline)
    told.refuse()
    server = told.ask_for_later()
    told.start(server)
    told.end_with_an_image(server)
    told.suspend_at_the_end()
    told.delete_before_the_end()
    told.fail_to_build()
    told.find_no_room()
    told.guarantee()


class _ServerLease(cast.Cast):
    """The chapters, in the order in which they are told."""

    def __init__(self, auth_url: str, timeline: story.Timeline) -> None:
        super().__init__(auth_url, timeline)
        self.hosts = self.operator.hosts()

    def refuse(self) -> None:
        wrong = {
            'no JSON': 'tomorrow',
            'an unknown key': json.dumps(
                {'name': 'wrong', 'end': _soon(60), 'colour': 'red'}
            ),
            'a window that is over': json.dumps(
                {
                    'name': 'wrong',
                    'start': _soon(-7200),
                    'end': _soon(-3600),
                }
            ),
        }
        for title, text in wrong.items():
            with self.step(f'{title} is refused') as seen:
                answer = self._post('wrong', text)
                seen(cast.refusal(answer, 400))
        with self.step('and no server is left of it'):
            expect('servers', [], self._servers('wrong'))

    def ask_for_later(self) -> str:
        with self.step(f'a server is asked for in {_AHEAD} s') as seen:
            server = self._ask(
                'later',
                start=_soon(_AHEAD),
                on_end=['create_image', 'delete'],
            )
            seen(f'lease {self._lease_of(server)["status"]}')
        with self.step('it is built, shelved, and taken off its host') as seen:
            shown = self._wait_for(server, OFFLOADED)
            seen(shown['status'])
            until(
                'no host',
                lambda: self._host(server),
                lambda host: host is None,
            )
            lease = self._lease_of(server)
            expect('lease', 'PENDING', lease['status'])
            (reservation,) = lease['reservations']
            expect('type', 'virtual:instance', reservation['resource_type'])
            expect('resource_id', server, reservation['resource_id'])
        return server

    def start(self, server: str) -> None:
        with self.step('at its time it runs') as seen:
            self._wait_for(server, 'ACTIVE')
            self._wait_for_lease(server, 'ACTIVE')
            seen(f'on {self._host(server)}')

    def end_with_an_image(self, server: str) -> None:
        with self.step('at the end there is an image of it') as seen:
            self._end(server)
            self._wait_for_lease(server, 'TERMINATED')
            (image,) = self._images('reserved_later')
            expect('status', 'active', image['status'])
            seen(f'{image["name"]}, {image["visibility"]}')
        with self.step('and no server any more'):
            expect('server', None, self.demo.server(server))
            body(self.demo.image.delete(f'/v2/images/{image["id"]}'), 204)

    def suspend_at_the_end(self) -> None:
        with self.step('a server from now on just runs') as seen:
            server = self._ask('now', on_end=['suspend'])
            self._wait_for(server, 'ACTIVE')
            self._wait_for_lease(server, 'ACTIVE')
            seen(f'on {self._host(server)}')
        with self.step('at its end it is suspended, as it asked') as seen:
            self._end(server)
            self._wait_for_lease(server, 'TERMINATED')
            seen(self._wait_for(server, 'SUSPENDED')['status'])
            self._delete(server)

    def delete_before_the_end(self) -> None:
        with self.step('who deletes the server, ends the lease') as seen:
            server = self._ask('deleted')
            self._wait_for_lease(server, 'ACTIVE')
            self._delete(server)
            seen(self._wait_for_lease(server, 'TERMINATED')['status'])

    def fail_to_build(self) -> None:
        with self.step('a server that finds no host ends its lease') as seen:
            self._enable([])
            server = self._ask('homeless')
            seen(self._wait_for_lease(server, 'ERROR')['status_reason'])
            self._enable(self.hosts)
            self._delete(server)

    def find_no_room(self) -> None:
        with self.step('a server is shelved until its time'):
            server = self._ask('unlucky', start=_soon(_AHEAD))
            self._wait_for(server, OFFLOADED)
        with self.step('when there is no room, its lease says so') as seen:
            self._enable([])
            seen(self._wait_for_lease(server, 'ERROR')['status_reason'])
        with self.step('and the server is shelved still, and safe') as seen:
            seen(self._wait_for(server, OFFLOADED)['status'])
            self._enable(self.hosts)
        with self.step('its owner unshelves it') as seen:
            answer = self.demo.compute.post(
                f'/servers/{server}/action', json={'unshelve': None}
            )
            body(answer, 202)
            seen(self._wait_for(server, 'ACTIVE')['status'])
            self._delete(server)

    def guarantee(self) -> None:
        with self.step('the operator enrolls a host') as seen:
            host = self.hosts[0]
            before = self.operator.enrolled()
            self.enrol_all_of([host])
            mine = self.operator.enrolled().keys() - before.keys()
            seen(host)
        with self.step('a server is guaranteed a place on it') as seen:
            server = self._ask('sure', guaranteed=True)
            self._wait_for(server, 'ACTIVE')
            lease = self._wait_for_lease(server, 'ACTIVE')
            places = self.operator.enrolled().values()
            seen(f'on {self.expect_on(server, places)}')
            shown = self.reservation(lease['id'])
            expect('guaranteed', True, shown['guaranteed'])
            expect('used', 1, shown['used'])
        with self.step('more than there is room for is refused') as seen:
            answer = self._post(
                'unsure', _params('unsure', guaranteed=True), max_count=1000
            )
            seen(cast.refusal(answer, 409))
            expect('servers', [], self._servers('unsure'))
        with self.step('at its end the server and its place are gone') as seen:
            self._end(server)
            seen(self.wait_for(lease['id'], 'TERMINATED'))
            expect('server', None, self.demo.server(server))
        with self.step('another one is brought into its place later') as seen:
            server = self._ask('later', start=_soon(_AHEAD), guaranteed=True)
            self._wait_for(server, OFFLOADED)
            lease = self._wait_for_lease(server, 'ACTIVE')
            seen(f'on {self.expect_on(server, places)}')
        with self.step('deleted with its lease it leaves nothing') as seen:
            self.delete_lease(lease['id'])
            expect('server', None, self.demo.server(server))
            for one in mine:
                body(self.operator.reservation.delete(f'/os-hosts/{one}'), 204)
            seen('nor is the host in the pool any more')

    # What the chapters are made of.

    def _post(
        self, name: str, lease_params: str, **more: object
    ) -> requests.Response:
        server = {
            **self.demo.ingredients,
            'name': name,
            'networks': 'none',
            **more,
        }
        return self.demo.compute.post(
            '/servers',
            json={
                'server': server,
                'os:scheduler_hints': {'lease_params': lease_params},
            },
        )

    def _ask(self, name: str, **params: object) -> str:
        return cast.accepted(self._post(name, _params(name, **params)))

    def _servers(self, name: str) -> list[Any]:
        answer = self.demo.compute.get(f'/servers?name={name}')
        return list(body(answer)['servers'])

    def _lease_of(self, server: str) -> Any:
        leases = body(self.demo.reservation.get('/leases'))['leases']
        (lease,) = (
            lease
            for lease in leases
            if lease['reservations'][0]['resource_id'] == server
        )
        return lease

    def _end(self, server: str) -> None:
        lease = self._lease_of(server)['id']
        body(
            self.demo.reservation.put(
                f'/leases/{lease}', json={'end_date': 'now'}
            )
        )

    def _delete(self, server: str) -> None:
        body(self.demo.compute.delete(f'/servers/{server}'), 204)
        until(
            'gone', lambda: self.demo.server(server), lambda shown: not shown
        )

    def _enable(self, hosts: list[str]) -> None:
        for host in self.hosts:
            self.operator.set_compute(
                host, 'enabled' if host in hosts else 'disabled'
            )

    def _host(self, server: str) -> Any:
        return self.operator.server(server)['OS-EXT-SRV-ATTR:host']

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

    def _wait_for_lease(self, server: str, status: str) -> Any:
        return until(
            status,
            lambda: self._lease_of(server),
            lambda shown: shown['status'] == status,
            60,
        )


def _params(name: str, **params: object) -> str:
    """Return the hint for a lease of an hour from now on."""
    return json.dumps(
        {'name': name, 'start': 'now', 'end': _soon(3600), **params}
    )


def _at(seconds: float) -> datetime.datetime:
    return cast.now() + datetime.timedelta(seconds=seconds)


def _soon(seconds: float) -> str:
    return _at(seconds).isoformat()
