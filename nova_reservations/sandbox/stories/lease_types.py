# SPDX-License-Identifier: Apache-2.0
"""The ways to ask for a lease: now, for later, or as soon as it can be had."""

import datetime
import time
from typing import Any

import requests

from nova_reservations.sandbox import person
from nova_reservations.sandbox import story
from nova_reservations.sandbox.person import body
from nova_reservations.sandbox.story import expect
from nova_reservations.sandbox.story import until

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


class _LeaseTypes:
    """The chapters, in the order in which they are told."""

    def __init__(self, auth_url: str, timeline: story.Timeline) -> None:
        self.step = timeline.step
        self.operator = person.Operator(auth_url)
        self.demo = person.Person(auth_url, 'demo')
        self.alt = person.Person(auth_url, 'alt')
        self.hosts = self.operator.hosts()
        #: Ids of the leases that there are.
        self.leases: list[str] = []

    def enrol(self) -> None:
        with self.step('the operator enrolls all hosts') as seen:
            known = self.operator.enrolled().values()
            for host in sorted({*self.hosts} - {*known}):
                answer = self.operator.reservation.post(
                    '/os-hosts', json={'name': host}
                )
                body(answer, 201)
            seen(', '.join(self.hosts))

    def at_once(self) -> str:
        with self.step('demo leases all of them, immediately') as seen:
            lease = self._accepted(
                self._ask('now', hours(1), lease_type='immediate')
            )
            expect('type', 'immediate', lease['lease_type'])
            seen(self._wait_for(lease, 'ACTIVE'))
        with self.step('alt gets none now, and learns why') as seen:
            seen(refusal(self._ask('too late', hours(1), 1), 409))
        with self.step('what is immediate does not start later') as seen:
            seen(
                refusal(
                    self._ask(
                        'later',
                        hours(3),
                        start=now() + hours(2),
                        lease_type='immediate',
                    ),
                    400,
                )
            )
        return str(lease['id'])

    def for_later(self, holder: str) -> str:
        start = end_of(self._lease(holder))
        with self.step('demo leases them for the hour after, too') as seen:
            lease = self._accepted(
                self._ask('scheduled', hours(2), start=start)
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
            seen(refusal(self.alt.boot('early', reservation), 409))
        with self.step(
            'demo ends its lease; alt has the host at once'
        ) as seen:
            began = time.monotonic()
            change = {'end_date': 'now'}
            body(self.demo.reservation.put(f'/leases/{holder}', json=change))
            self._wait_for(lease, 'ACTIVE', 10)
            seen(f'ACTIVE {time.monotonic() - began:.1f} s later')
        with self.step('its ten minutes begin now') as seen:
            lease = self._lease(lease['id'])
            left = (end_of(lease) - now()).total_seconds()
            if not 590 <= left <= 600:
                raise person.Unexpected('600 s, of which a few are over', left)
            seen(f'until {end_of(lease):%H:%M:%S}')
        with self.step('and it has a server there') as seen:
            server = body(self.alt.boot('at last', reservation), 202)
            settled = until(
                'ACTIVE',
                lambda: self.operator.server(server['server']['id']),
                lambda it: it['status'] != 'BUILD',
            )
            expect('status', 'ACTIVE', settled['status'])
            seen(settled['OS-EXT-SRV-ATTR:host'])

    def wait_in_order(self, scheduled: str) -> None:
        count = len(self.hosts)
        with self.step('alt waits for all hosts, then demo for one') as seen:
            large = self._accepted(
                self._ask(
                    'large', None, count, lease_type='retry', duration='10m'
                )
            )
            # Wanting as many, it waits; then it is content with less.
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
            seen(self._lease(small['id'])['status_reason'])
            expect('status', 'CREATING', self._lease(small['id'])['status'])
        with self.step('the first gives up; the other has its host') as seen:
            self._delete(large['id'])
            seen(self._wait_for(small, 'ACTIVE', 10))
        with self.step('what was promised for later still is') as seen:
            expect('status', 'PENDING', self._lease(scheduled)['status'])
            seen('PENDING')

    def wait_in_vain(self) -> None:
        with self.step('alt wants all, and is tried once more') as seen:
            lease = self._accepted(
                self._ask(
                    'in vain',
                    hours(1),
                    lease_type='retry',
                    max_retries=1,
                )
            )
            self._wait_for(lease, 'ERROR', 75)
            seen(self._lease(lease['id'])['status_reason'])

    def clean_up(self) -> None:
        with self.step('all leases are deleted'):
            for lease in self.leases:
                self._delete(lease)
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
        """:param length: until the end, from now on; None: a duration"""
        who = self.demo if name in ('now', 'scheduled') else self.alt
        reservation = {
            'resource_type': 'physical:host',
            'min': hosts or len(self.hosts),
            'max': hosts or len(self.hosts),
        }
        end = {} if length is None else {'end_date': str(now() + length)[:19]}
        return who.reservation.post(
            '/leases',
            json={
                'name': name,
                'start_date': start.isoformat() if start else 'now',
                'reservations': [reservation],
                **end,
                **more,
            },
        )

    def _accepted(self, answer: requests.Response) -> Any:
        lease = body(answer, 201)['lease']
        self.leases.append(lease['id'])
        return lease

    def _lease(self, lease: str) -> Any:
        return self.operator.lease(lease)

    def _delete(self, lease: str) -> None:
        if self._lease(lease) is None:
            return
        body(self.operator.reservation.delete(f'/leases/{lease}'), 204)
        until('gone', lambda: self._lease(lease), lambda it: it is None)

    def _wait_for(self, lease: Any, status: str, seconds: float = 30) -> str:
        began = time.monotonic()
        until(
            status,
            lambda: self._lease(lease['id'])['status'],
            lambda seen: seen == status,
            seconds,
        )
        return f'{status} after {time.monotonic() - began:.1f} s'


def now() -> datetime.datetime:
    """Return this second."""
    return datetime.datetime.now(datetime.UTC).replace(microsecond=0)


def hours(count: float) -> datetime.timedelta:
    return datetime.timedelta(hours=count)


def end_of(lease: Any) -> datetime.datetime:
    return datetime.datetime.fromisoformat(lease['end_date']).replace(
        tzinfo=datetime.UTC
    )


def refusal(answer: requests.Response, status: int) -> str:
    """Return the reason of a refusal: ours, or in the form of Nova's."""
    document = body(answer, status)
    if 'error_message' in document:
        return f'{status} {document["error_message"]}'
    (fault,) = document.values()
    return f'{status} {fault["message"]}'
