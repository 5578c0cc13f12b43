# SPDX-License-Identifier: Apache-2.0
"""A cloud that reclaims forgotten servers: every server has a lease."""

import datetime
from typing import Any

from sandbox import ini
from sandbox import person
from sandbox import story
from sandbox.person import body
from sandbox.polls import until
from sandbox.stories import cast
from sandbox.story import expect

#: The flavor whose servers need no lease.
_EXEMPT = 'sandbox.exempt'

#: What the operator has in nova.conf beside.
CONF: ini.Sections = {
    'reservations': {
        'default_reservation': True,
        'reservation_length_days': 0,
        'reservation_length_hours': 12,
        'default_reservation_exempt_flavors': _EXEMPT,
    }
}


def tell(auth_url: str, timeline: story.Timeline) -> None:
    """Every server gets a lease, and is reclaimed at its end."""
    told = _DefaultReservation(auth_url, timeline)
    server = told.boot()
    told.extend(server)
    told.forget(server)
    taken = told.exempt()
    told.lease_a_host(taken)


class _DefaultReservation:
    """The chapters, in the order in which they are told."""

    def __init__(self, auth_url: str, timeline: story.Timeline) -> None:
        self.step = timeline.step
        self.operator = person.Operator(auth_url)
        self.demo = person.Person(auth_url, 'demo')

    def boot(self) -> str:
        with self.step('demo asks for a server, and for no lease'):
            server = cast.accepted(self.demo.boot('forgotten'))
            self._wait_for(server, 'ACTIVE')
        with self.step('it has one, of the length of the cloud') as seen:
            lease = until(
                'ACTIVE',
                lambda: self._lease_of(server),
                lambda shown: shown and shown['status'] == 'ACTIVE',
            )
            length = cast.end_of(lease) - datetime.datetime.fromisoformat(
                lease['start_date']
            ).replace(tzinfo=datetime.UTC)
            expect('length', cast.hours(12), length)
            seen(f'until {lease["end_date"]}')
        return server

    def extend(self, server: str) -> None:
        with self.step('its owner extends it as any lease') as seen:
            lease = self._lease_of(server)
            later = cast.end_of(lease) + cast.hours(24)
            self._change(lease, end_date=later.isoformat())
            seen(self._lease_of(server)['end_date'])

    def forget(self, server: str) -> None:
        with self.step('at its end the server is reclaimed') as seen:
            self._change(self._lease_of(server), end_date='now')
            until(
                'gone',
                lambda: self.demo.server(server),
                lambda shown: shown is None,
            )
            until(
                'TERMINATED',
                lambda: self._lease_of(server),
                lambda shown: shown['status'] == 'TERMINATED',
            )
            seen('gone')

    def exempt(self) -> str:
        """Boot an exempt server; return its host."""
        with self.step('servers of an exempt flavor have none') as seen:
            flavor = {
                'id': _EXEMPT,
                'name': _EXEMPT,
                'ram': 64,
                'vcpus': 1,
                'disk': 1,
            }
            body(
                self.operator.compute.post('/flavors', json={'flavor': flavor})
            )
            answer = self.demo.boot('exempt', flavorRef=_EXEMPT)
            server = cast.accepted(answer)
            self._wait_for(server, 'ACTIVE')
            expect('lease', None, self._lease_of(server))
            seen('ACTIVE, no lease')
        return str(self.operator.server(server)['OS-EXT-SRV-ATTR:host'])

    def lease_a_host(self, taken: str) -> None:
        with self.step('nor have those that ask for a reservation') as seen:
            host, *_ = sorted({*self.operator.hosts()} - {taken})
            body(
                self.operator.reservation.post(
                    '/os-hosts', json={'name': host}
                ),
                201,
            )
            answer = self.demo.ask_lease(
                'host', None, cast.now() + cast.hours(1), 1
            )
            lease = body(answer, 201)['lease']
            until(
                'ACTIVE',
                lambda: self.demo.lease(lease['id'])['status'],
                lambda status: status == 'ACTIVE',
            )
            (reservation,) = lease['reservations']
            server = cast.accepted(self.demo.boot('leased', reservation['id']))
            self._wait_for(server, 'ACTIVE')
            expect('lease', None, self._lease_of(server))
            seen(f'on {host}')

    # What the chapters are made of.

    def _lease_of(self, server: str) -> Any:
        """Return the lease that the server carries, None if it has none."""
        leases = body(self.demo.reservation.get('/leases'))['leases']
        for lease in leases:
            if lease['reservations'][0]['resource_id'] == server:
                return lease
        return None

    def _change(self, lease: Any, **changes: str) -> None:
        body(self.demo.reservation.put(f'/leases/{lease["id"]}', json=changes))

    def _wait_for(self, server: str, status: str) -> Any:
        return until(
            status,
            lambda: self.demo.server(server),
            lambda shown: shown['status'] == status,
            60,
        )
