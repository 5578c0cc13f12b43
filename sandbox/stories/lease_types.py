# SPDX-License-Identifier: Apache-2.0
"""The ways to ask for a lease: now, for later, as soon as it can be had, or
with hosts that are emptied for it."""

import datetime
import functools
import time
from typing import Any

import requests

from sandbox import person
from sandbox import story
from sandbox.person import body
from sandbox.polls import until
from sandbox.stories import cast
from sandbox.story import expect

HOST = 'OS-EXT-SRV-ATTR:host'

DRAINABLE = 'drainable'
"""The aggregate that the sandbox's nova.conf names."""

#: Seconds that a lease may be late.
_LATE = 2.0


def tell(auth_url: str, timeline: story.Timeline) -> None:
    """Lease hosts in each of the ways."""
    told = _LeaseTypes(auth_url, timeline)
    told.enrol()
    immediate = told.at_once()
    scheduled = told.for_later(immediate)
    told.wait_for_capacity(immediate)
    told.wait_in_order(scheduled)
    told.wait_in_vain()
    told.clean_up()
    told.divide_hosts()
    told.empty_hosts()
    told.give_up()
    told.clean_up()


class _LeaseTypes(cast.Cast):
    """The chapters, in the order in which they are told."""

    def __init__(self, auth_url: str, timeline: story.Timeline) -> None:
        super().__init__(auth_url, timeline)
        self.hosts = self.operator.hosts()
        #: Ids of the leases that there are.
        self.leases: list[str] = []
        #: Ids of the servers of demo that have no lease.
        self.servers: list[str] = []

    def enrol(self) -> None:
        with self.step('the operator enrolls all hosts') as seen:
            self.enrol_all_of(self.hosts)
            seen(', '.join(self.hosts))

    def at_once(self) -> str:
        with self.step('demo leases all of them, immediately') as seen:
            lease = self._accepted(
                self._ask('now', cast.hours(1), lease_type='immediate')
            )
            expect('type', 'immediate', lease['lease_type'])
            seen(self.wait_for(lease['id'], 'ACTIVE'))
        with self.step('alt gets none now, and learns why') as seen:
            seen(cast.refusal(self._ask('too late', cast.hours(1), 1), 400))
        with self.step('what is immediate does not start later') as seen:
            seen(
                cast.refusal(
                    self._ask(
                        'later',
                        cast.hours(3),
                        start=cast.now() + cast.hours(2),
                        lease_type='immediate',
                    ),
                    400,
                )
            )
        return str(lease['id'])

    def for_later(self, holder: str) -> str:
        start = cast.end_of(self.operator.lease(holder))
        with self.step('demo leases them for the hour after, too') as seen:
            lease = self._accepted(
                self._ask('scheduled', cast.hours(2), start=start)
            )
            expect('type', 'scheduled', lease['lease_type'])
            expect('status', 'PENDING', lease['status'])
            seen(f'PENDING from {start:%H:%M:%S}')
        return str(lease['id'])

    def wait_for_capacity(self, holder: str) -> None:
        with self.step('alt waits for a host, for ten minutes of it') as seen:
            lease = self._accepted(
                self._ask(
                    'patience', None, 1, lease_type='retry', duration='10m'
                )
            )
            expect('status', 'CREATING', lease['status'])
            seen(lease['status_reason'])
        with self.step('it can not be used yet') as seen:
            reservation = lease['reservations'][0]['id']
            seen(cast.refusal(self.alt.boot('early', reservation), 409))
        with self.step(
            'demo ends its lease; alt has the host at once'
        ) as seen:
            began = time.monotonic()
            change = {'end_date': 'now'}
            body(self.demo.reservation.put(f'/leases/{holder}', json=change))
            self.wait_for(lease['id'], 'ACTIVE', 10)
            seen(f'ACTIVE {time.monotonic() - began:.1f} s later')
        with self.step('its ten minutes begin now') as seen:
            lease = self.operator.lease(lease['id'])
            left = (cast.end_of(lease) - cast.now()).total_seconds()
            if not 590 <= left <= 600:
                raise person.Unexpected('600 s, of which a few are over', left)
            seen(f'until {cast.end_of(lease):%H:%M:%S}')
        with self.step('and it has a server there') as seen:
            server = cast.accepted(self.alt.boot('at last', reservation))
            seen(self.expect_on(server, self.hosts))

    def wait_in_order(self, scheduled: str) -> None:
        count = len(self.hosts)
        with self.step('alt waits for all hosts, then demo for one') as seen:
            large = self._accepted(
                self._ask(
                    'large', None, count, lease_type='retry', duration='10m'
                )
            )
            # A lease that wants too many hosts waits; then it is changed to
            # want fewer.
            small = self._accepted(
                self._ask(
                    'small', None, count, lease_type='retry', duration='10m'
                )
            )
            (asked,) = small['reservations']
            body(
                self.alt.reservation.put(
                    f'/leases/{small["id"]}',
                    json={
                        'reservations': [
                            {'id': asked['id'], 'min': 1, 'max': 1}
                        ]
                    },
                )
            )
            time.sleep(_LATE)
            small = self.operator.lease(small['id'])
            seen(small['status_reason'])
            expect('status', 'CREATING', small['status'])
        with self.step('the first gives up; the other has its host') as seen:
            self.delete_lease(large['id'])
            seen(self.wait_for(small['id'], 'ACTIVE', 10))
        with self.step('what was promised for later still is') as seen:
            lease = self.operator.lease(scheduled)
            expect('status', 'PENDING', lease['status'])
            seen('PENDING')

    def wait_in_vain(self) -> None:
        with self.step('alt wants all, and is tried once more') as seen:
            lease = self._accepted(
                self._ask(
                    'in vain',
                    cast.hours(1),
                    lease_type='retry',
                    max_retries=1,
                )
            )
            self.wait_for(lease['id'], 'ERROR', 75)
            seen(self.operator.lease(lease['id'])['status_reason'])

    def divide_hosts(self) -> None:
        *pool, drainable, place = self.hosts
        with self.step(f'{drainable} may be emptied for leases') as seen:
            for key, name in self.operator.enrolled().items():
                if name not in pool:
                    body(
                        self.operator.reservation.delete(f'/os-hosts/{key}'),
                        204,
                    )
            made = body(
                self.operator.compute.post(
                    '/os-aggregates', json={'aggregate': {'name': DRAINABLE}}
                )
            )['aggregate']
            body(
                self.operator.compute.post(
                    f'/os-aggregates/{made["id"]}/action',
                    json={'add_host': {'host': drainable}},
                )
            )
            seen(f"the pool is {', '.join(pool)}; {place} is everybody's")
        with self.step(
            f'demo has two servers on {drainable}, one stopped'
        ) as seen:
            self.operator.set_compute(place, 'disabled')
            self.servers = [self._boot(f'old-{each}') for each in range(2)]
            self.operator.set_compute(place, 'enabled')
            for server in self.servers:
                expect('host', drainable, self._server(server)[HOST])
            cast.act(self.demo, self.servers[1], {'os-stop': None})
            self._wait_for_server(self.servers[1], 'SHUTOFF')
            seen(', '.join(self.servers))

    def empty_hosts(self) -> None:
        *pool, drainable, place = self.hosts
        with self.step('alt asks for more hosts than there are') as seen:
            asked = self._ask(
                'too many',
                cast.hours(1),
                len(pool) + 2,
                lease_type='best_effort',
            )
            seen(cast.refusal(asked, 400))
        with self.step('alt asks for one more than the pool has') as seen:
            lease = self._accepted(
                self._ask(
                    'effort',
                    None,
                    len(pool) + 1,
                    lease_type='best_effort',
                    duration='10m',
                )
            )
            expect('status', 'IN_PROGRESS', lease['status'])
            seen(lease['status_reason'])
        with self.step('it starts when the host is empty') as seen:
            seen(self.wait_for(lease['id'], 'ACTIVE', 60))
        with self.step(f'the servers of demo are on {place} now') as seen:
            for server, status in zip(
                self.servers, ('ACTIVE', 'SHUTOFF'), strict=True
            ):
                shown = self._wait_for_server(server, status)
                expect('host', place, shown[HOST])
            seen('one runs, one is stopped, as before')
        with self.step(
            f'alt has a server on {drainable}, where demo gets none'
        ):
            traits = self.operator.provider(drainable, 'traits')
            expect('trait', True, person.POOL_TRAIT in traits)
            reservation = lease['reservations'][0]['id']
            for number in range(len(pool) + 1):
                mine = cast.accepted(
                    self.alt.boot(f'mine-{number}', reservation)
                )
                self.expect_on(mine, [*pool, drainable])
            self.servers.append(self._boot('new'))
            expect('host', place, self._server(self.servers[-1])[HOST])
        with self.step(f"when it is over {drainable} is everybody's") as seen:
            self.delete_lease(lease['id'])
            until(
                'no trait',
                lambda: self.operator.provider(drainable, 'traits'),
                lambda traits: person.POOL_TRAIT not in traits,
            )
            expect(
                'hosts that can be leased',
                {*pool},
                {
                    each['hypervisor_hostname']
                    for each in body(
                        self.operator.reservation.get('/os-hosts')
                    )['hosts']
                    if each['reservable']
                },
            )
            seen('and no host of the pool')

    def give_up(self) -> None:
        *pool, drainable, place = self.hosts
        with self.step('demo has a server there, which has no place to go'):
            self.operator.set_compute(place, 'disabled')
            self.servers.append(self._boot('settled'))
            expect('host', drainable, self._server(self.servers[-1])[HOST])
        with self.step('so alt waits, and nothing is moved') as seen:
            lease = self._accepted(
                self._ask(
                    'in vain',
                    cast.hours(1),
                    len(pool) + 1,
                    lease_type='best_effort',
                )
            )
            until(
                'the reason',
                lambda: self.operator.lease(lease['id'])['status_reason'],
                lambda reason: 'nowhere to go' in reason,
            )
            seen(self.operator.lease(lease['id'])['status_reason'])
        with self.step('until its time is up') as seen:
            self.wait_for(lease['id'], 'TIMEDOUT', 90)
            seen(self.operator.lease(lease['id'])['status_reason'])
            traits = self.operator.provider(drainable, 'traits')
            expect('trait', False, person.POOL_TRAIT in traits)
            expect('host', drainable, self._server(self.servers[-1])[HOST])
        with self.step('demo deletes its servers'):
            self.operator.set_compute(place, 'enabled')
            for server in self.servers:
                body(self.demo.compute.delete(f'/servers/{server}'), 204)
                until(
                    'gone',
                    functools.partial(self.operator.server, server),
                    lambda it: it is None,
                )

    def _boot(self, name: str) -> str:
        """Return a server of demo's, once it runs."""
        server = cast.accepted(self.demo.boot(name))
        self.expect_on(server, self.hosts)
        return server

    def _server(self, server: str) -> Any:
        return self.operator.server(server)

    def _wait_for_server(self, server: str, status: str) -> Any:
        return until(
            status,
            lambda: self._server(server),
            lambda it: it['status'] == status,
        )

    def clean_up(self) -> None:
        with self.step('all leases are deleted'):
            for lease in self.leases:
                if self.operator.lease(lease) is not None:
                    self.delete_lease(lease)
        with self.step('and the hosts are empty and free'):
            for host in self.hosts:
                expect(
                    f'servers on {host}', [], self.operator.servers_on(host)
                )
            for host in body(
                self.operator.reservation.get('/os-hosts/allocations')
            )['allocations']:
                expect('reservations', [], host['reservations'])

    # What the chapters are made of.

    def _ask(
        self,
        name: str,
        length: datetime.timedelta | None,
        hosts: int | None = None,
        start: datetime.datetime | None = None,
        **more: object,
    ) -> requests.Response:
        """:param length: from now to the end; None: a duration is given"""
        who = self.demo if name in ('now', 'scheduled') else self.alt
        reservation = {
            'resource_type': 'physical:host',
            'min': hosts or len(self.hosts),
            'max': hosts or len(self.hosts),
        }
        if length is not None:
            more['end_date'] = (cast.now() + length).isoformat()
        return who.reservation.post(
            '/leases',
            json={
                'name': name,
                'start_date': start.isoformat() if start else 'now',
                'reservations': [reservation],
                **more,
            },
        )

    def _accepted(self, answer: requests.Response) -> Any:
        lease = body(answer, 201)['lease']
        self.leases.append(lease['id'])
        return lease
