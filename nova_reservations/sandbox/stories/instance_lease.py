# SPDX-License-Identifier: Apache-2.0
"""Slots for servers are leased, shared, used and given back."""

import datetime
import time
from typing import Any

import requests

from nova_reservations.sandbox import person
from nova_reservations.sandbox import story
from nova_reservations.sandbox.person import body
from nova_reservations.sandbox.story import expect
from nova_reservations.sandbox.story import until

_SIZE = {'vcpus': 1, 'memory_mb': 256, 'disk_gb': 1}


def tell(auth_url: str, timeline: story.Timeline) -> None:
    """Lease slots: from enrolment to clean-up."""
    told = _InstanceLease(auth_url, timeline)
    told.enrol()
    slots = told.lease_by_size()
    servers = told.use(slots)
    other = told.lease_by_flavor()
    told.keep_apart(slots)
    told.resize(slots, servers)
    told.grow(slots)
    told.end(slots, servers)
    told.clean_up(other)


class _InstanceLease:
    """The chapters, in the order in which they are told."""

    def __init__(self, auth_url: str, timeline: story.Timeline) -> None:
        self.step = timeline.step
        self.operator = person.Operator(auth_url)
        self.demo = person.Person(auth_url, 'demo')
        self.alt = person.Person(auth_url, 'alt')
        #: The flavor that everybody has, before there are others.
        self.plain = self.operator.ingredients['flavorRef']
        #: All hosts but the last are enrolled.
        *self.hosts, self.ordinary = self.operator.hosts()

    def enrol(self) -> None:
        with self.step('the operator enrolls all hosts but one') as seen:
            known = self.operator.enrolled().values()
            for host in sorted({*self.hosts} - {*known}):
                answer = self.operator.reservation.post(
                    '/os-hosts', json={'name': host}
                )
                body(answer, 201)
            seen(', '.join(self.hosts))

    def lease_by_size(self) -> Any:
        with self.step('demo leases 3 slots of a size, from now') as seen:
            began = time.monotonic()
            lease = self._accepted(
                self._ask(
                    self.demo,
                    {
                        'resource_type': 'virtual:instance',
                        **_SIZE,
                        'amount': 3,
                        'affinity': None,
                        'resource_properties': '',
                    },
                )
            )
            seen(f'created in {time.monotonic() - began:.2f} s')
            self._wait_for(self.demo, lease, 'ACTIVE')
            seen(f'ACTIVE after {time.monotonic() - began:.2f} s')
        with self.step('placement counts them, below the hosts') as seen:
            offered = self._offered(lease)
            expect('slots', 3, sum(offered.values()))
            seen(str(offered))
        return lease

    def use(self, lease: Any) -> list[str]:
        with self.step('its servers take the slots') as seen:
            servers = [self._boot(self.demo, lease) for _ in range(3)]
            for server in servers:
                seen(self._expect_on(server, self.hosts))
        with self.step('a fourth finds none') as seen:
            seen(self._expect_no_host(self._ask_server(self.demo, lease)))
        with self.step('the lease says who has them') as seen:
            (shown,) = self.demo.lease(lease['id'])['reservations']
            expect('used', 3, shown['used'])
            expect('servers', sorted(servers), shown['servers'])
            seen('3 of 3 used')
        return servers

    def lease_by_flavor(self) -> Any:
        with self.step('alt leases slots of a flavor beside them') as seen:
            lease = self._accepted(
                self._ask(
                    self.alt,
                    {
                        'resource_type': 'flavor:instance',
                        'flavor_id': self.plain,
                        'amount': len(self.hosts),
                        'affinity': False,
                    },
                )
            )
            self._wait_for(self.alt, lease, 'ACTIVE')
            slots = dict.fromkeys(self.hosts, 1)
            expect('slots', slots, self._offered(lease))
            seen('one on each host')
        with self.step('and has a server on each') as seen:
            hosts = {
                self._expect_on(self._boot(self.alt, lease), self.hosts)
                for _ in self.hosts
            }
            expect('hosts', set(self.hosts), hosts)
            seen(', '.join(sorted(hosts)))
        return lease

    def keep_apart(self, lease: Any) -> None:
        with self.step("alt does not even see demo's flavor") as seen:
            answer = self.alt.compute.get(f'/flavors/{_key(lease)}')
            seen(f'{answer.status_code}')
            expect('status', 404, answer.status_code)
        with self.step('an administrator gets no slot of it either') as seen:
            answer = self._ask_server(self.operator, lease)
            seen(self._expect_no_host(answer))
        with self.step('nobody gets these hosts as a whole') as seen:
            whole = {'resource_type': 'physical:host', 'min': 1, 'max': 1}
            seen(_refusal(self._ask(self.alt, whole), 409))
        with self.step('an ordinary server goes elsewhere') as seen:
            answer = self.demo.boot('plain', flavorRef=self.plain)
            server = str(body(answer, 202)['server']['id'])
            seen(self._expect_on(server, [self.ordinary]))
            body(self.demo.compute.delete(f'/servers/{server}'), 204)

    def resize(self, lease: Any, servers: list[str]) -> None:
        with self.step('a server is resized out of its slot') as seen:
            self._act(servers[0], {'resize': {'flavorRef': self.plain}})
            self._wait_for_server(servers[0], 'VERIFY_RESIZE')
            self._act(servers[0], {'confirmResize': None})
            self._wait_for_server(servers[0], 'ACTIVE')
            seen(self._expect_on(servers[0], [self.ordinary]))
        with self.step('which the next one takes') as seen:
            servers.append(self._boot(self.demo, lease))
            seen(self._expect_on(servers[-1], self.hosts))

    def grow(self, lease: Any) -> None:
        with self.step('the lease gets a fourth slot while it runs') as seen:
            change = {'reservations': [{'id': _key(lease), 'amount': 4}]}
            body(
                self.demo.reservation.put(
                    f'/leases/{lease["id"]}', json=change
                )
            )
            until(
                '4 slots',
                lambda: sum(self._offered(lease).values()),
                lambda count: count == 4,
            )
            seen(str(self._offered(lease)))

    def end(self, lease: Any, servers: list[str]) -> None:
        with self.step('the lease is ended: all its servers go') as seen:
            body(
                self.demo.reservation.put(
                    f'/leases/{lease["id"]}', json={'end_date': 'now'}
                )
            )
            self._wait_for(self.demo, lease, 'TERMINATED')
            left = [
                server
                for server in servers
                if self.demo.server(server) is not None
            ]
            expect('servers', [], left)
            seen('also the one that was resized away')
        with self.step('and nothing of it is left') as seen:
            self._expect_no_trace(lease)
            seen('no flavor, no aggregate, no class')

    def clean_up(self, lease: Any) -> None:
        with self.step("alt's servers run on; its lease is deleted") as seen:
            (shown,) = self.alt.lease(lease['id'])['reservations']
            expect('used', len(self.hosts), shown['used'])
            body(self.alt.reservation.delete(f'/leases/{lease["id"]}'), 204)
            until(
                'gone',
                lambda: self.alt.lease(lease['id']),
                lambda it: it is None,
            )
            self._expect_no_trace(lease)
            seen('gone')
        with self.step('and the hosts can be had as a whole') as seen:
            whole = {
                'resource_type': 'physical:host',
                'min': len(self.hosts),
                'max': len(self.hosts),
            }
            after = self._accepted(self._ask(self.alt, whole))
            self._wait_for(self.alt, after, 'ACTIVE')
            body(self.alt.reservation.delete(f'/leases/{after["id"]}'), 204)
            until(
                'gone',
                lambda: self.alt.lease(after['id']),
                lambda it: it is None,
            )
            seen(', '.join(self.hosts))

    # What the chapters are made of.

    def _ask(
        self, who: person.Person, reservation: dict[str, Any]
    ) -> requests.Response:
        end = datetime.datetime.now(datetime.UTC).replace(microsecond=0)
        end += datetime.timedelta(hours=1)
        return who.reservation.post(
            '/leases',
            json={
                'name': 'slots',
                'start_date': 'now',
                'end_date': end.isoformat(),
                'reservations': [reservation],
            },
        )

    def _accepted(self, answer: requests.Response) -> Any:
        return body(answer, 201)['lease']

    def _wait_for(self, who: person.Person, lease: Any, status: str) -> None:
        until(
            status,
            lambda: who.lease(lease['id'])['status'],
            lambda seen: seen == status,
        )

    def _offered(self, lease: Any) -> dict[str, int]:
        """Return host -> slots, as placement has them."""
        resource_class = _class(lease)
        offered = {}
        for host in self.hosts:
            name = f'reservations_{host}'
            known = body(
                self.operator.placement.get(f'/resource_providers?name={name}')
            )['resource_providers']
            if known:
                inventories = self.operator.provider(name, 'inventories')
                if resource_class in inventories:
                    offered[host] = inventories[resource_class]['total']
        return offered

    def _ask_server(self, who: person.Person, lease: Any) -> requests.Response:
        return who.boot('slot', flavorRef=_key(lease))

    def _boot(self, who: person.Person, lease: Any) -> str:
        answer = self._ask_server(who, lease)
        return str(body(answer, 202)['server']['id'])

    def _act(self, server: str, action: dict[str, Any]) -> None:
        answer = self.demo.compute.post(
            f'/servers/{server}/action', json=action
        )
        if answer.status_code not in (202, 204):
            raise person.Unexpected('202 or 204', answer.text)

    def _wait_for_server(self, server: str, status: str) -> None:
        until(
            status,
            lambda: self.demo.server(server)['status'],
            lambda seen: seen == status,
        )

    def _settled(self, server: str) -> Any:
        """Return a server when it is built, or is not going to be."""
        return until(
            'ACTIVE or ERROR',
            lambda: self.operator.server(server),
            lambda seen: seen['status'] != 'BUILD',
        )

    def _expect_on(self, server: str, hosts: list[str]) -> str:
        seen = self._settled(server)
        expect('status', 'ACTIVE', seen['status'])
        host = str(seen['OS-EXT-SRV-ATTR:host'])
        if host not in hosts:
            raise person.Unexpected(f'one of {hosts}', host)
        return host

    def _expect_no_host(self, answer: requests.Response) -> str:
        server = body(answer, 202)['server']['id']
        seen = self._settled(server)
        expect('status', 'ERROR', seen['status'])
        body(self.operator.compute.delete(f'/servers/{server}'), 204)
        return str(seen['fault']['message'])

    def _expect_no_trace(self, lease: Any) -> None:
        expect('slots', {}, self._offered(lease))
        flavor = self.operator.compute.get(f'/flavors/{_key(lease)}')
        expect('flavor', 404, flavor.status_code)
        known = self.operator.placement.get(
            f'/resource_classes/{_class(lease)}'
        )
        expect('class', 404, known.status_code)
        if _key(lease) in self.operator.aggregates():
            raise person.Unexpected('no aggregate', _key(lease))


def _key(lease: Any) -> str:
    """Return the id of the lease's only reservation."""
    (reservation,) = lease['reservations']
    return str(reservation['id'])


def _class(lease: Any) -> str:
    return 'CUSTOM_RESERVATION_' + _key(lease).upper().replace('-', '_')


def _refusal(answer: requests.Response, status: int) -> str:
    return f'{status} {body(answer, status)["error_message"]}'
