# SPDX-License-Identifier: Apache-2.0
"""Slots for servers are leased, shared, used and given back."""

import time
from typing import Any

import requests

from sandbox import person
from sandbox import story
from sandbox.person import body
from sandbox.polls import until
from sandbox.stories import cast
from sandbox.story import expect

_SIZE = {'vcpus': 1, 'memory_mb': 256, 'disk_gb': 1}


def tell(auth_url: str, timeline: story.Timeline) -> None:
    """Lease slots: from enrolment to clean-up."""
    told = _InstanceLease(auth_url, timeline)
    told.enrol()
    slots, first = told.lease_by_size()
    servers = told.use(slots, first)
    other = told.lease_by_flavor()
    told.keep_apart(slots)
    told.resize(slots, servers)
    told.grow(slots)
    told.use_without_asking()
    told.end(slots, servers)
    told.clean_up(other)


class _InstanceLease(cast.Cast):
    """The chapters, in the order in which they are told."""

    def __init__(self, auth_url: str, timeline: story.Timeline) -> None:
        super().__init__(auth_url, timeline)
        #: The flavor that everybody has, before there are others.
        self.plain = self.operator.ingredients['flavorRef']
        #: All hosts but the last are enrolled.
        *self.hosts, self.ordinary = self.operator.hosts()

    def enrol(self) -> None:
        with self.step('the operator enrolls all hosts but one') as seen:
            self.enrol_all_of(self.hosts)
            seen(', '.join(self.hosts))

    def lease_by_size(self) -> tuple[Any, str]:
        """Return the lease, and a server that was asked for in the request
        after the one for the lease."""
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
            body(self.demo.compute.get(f'/flavors/{_key(lease)}'))
            server = self._boot(self.demo, lease)
            seen('its flavor is there, and has a server in the next request')
            self.wait_for(lease['id'], 'ACTIVE')
            seen(f'ACTIVE after {time.monotonic() - began:.2f} s')
        with self.step('placement counts them, below the hosts') as seen:
            offered = self._offered(lease)
            expect('slots', 3, sum(offered.values()))
            seen(str(offered))
        return lease, server

    def use(self, lease: Any, first: str) -> list[str]:
        with self.step('its servers take the slots') as seen:
            others = [self._boot(self.demo, lease) for _ in range(2)]
            servers = [first, *others]
            for server in servers:
                seen(self.expect_on(server, self.hosts))
        with self.step('a fourth finds none') as seen:
            seen(self.expect_no_host(self._ask_server(self.demo, lease)))
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
            self.wait_for(lease['id'], 'ACTIVE')
            slots = dict.fromkeys(self.hosts, 1)
            expect('slots', slots, self._offered(lease))
            seen('one on each host')
        with self.step('and has a server on each') as seen:
            hosts = {
                self.expect_on(self._boot(self.alt, lease), self.hosts)
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
            seen(self.expect_no_host(answer))
        with self.step('nobody gets these hosts as a whole') as seen:
            whole = {'resource_type': 'physical:host', 'min': 1, 'max': 1}
            seen(cast.refusal(self._ask(self.alt, whole), 400))
        with self.step('an ordinary server goes elsewhere') as seen:
            answer = self.demo.boot('plain', flavorRef=self.plain)
            server = cast.accepted(answer)
            seen(self.expect_on(server, [self.ordinary]))
            body(self.demo.compute.delete(f'/servers/{server}'), 204)

    def resize(self, lease: Any, servers: list[str]) -> None:
        with self.step('a server is resized out of its slot') as seen:
            cast.act(
                self.demo, servers[0], {'resize': {'flavorRef': self.plain}}
            )
            self._wait_for_server(servers[0], 'VERIFY_RESIZE')
            cast.act(self.demo, servers[0], {'confirmResize': None})
            self._wait_for_server(servers[0], 'ACTIVE')
            seen(self.expect_on(servers[0], [self.ordinary]))
        with self.step('which the next one takes') as seen:
            servers.append(self._boot(self.demo, lease))
            seen(self.expect_on(servers[-1], self.hosts))

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

    def use_without_asking(self) -> None:
        with self.step('demo leases an open slot of the plain flavor') as seen:
            lease = self._accepted(
                self._ask(
                    self.demo,
                    {
                        'resource_type': 'flavor:instance',
                        'flavor_id': self.plain,
                        'amount': 1,
                        'affinity': None,
                        'consume': 'open',
                    },
                )
            )
            self.wait_for(lease['id'], 'ACTIVE')
            seen(str(self._offered(lease)))
        with self.step('an ordinary server of demo takes it') as seen:
            server = self._boot_plain(self.demo)
            seen(self.expect_on(server, self.hosts))
            (shown,) = self.demo.lease(lease['id'])['reservations']
            expect('servers', [server], shown['servers'])
        others = [self._boot_plain(who) for who in (self.demo, self.alt)]
        with self.step('the next one, and one of alt, go elsewhere') as seen:
            for other in others:
                seen(self.expect_on(other, [self.ordinary]))
        with self.step('it goes with the lease, and they do not') as seen:
            self.delete_lease(lease['id'])
            expect('server', None, self.demo.server(server))
            for other in others:
                seen(self.expect_on(other, [self.ordinary]))
                body(self.operator.compute.delete(f'/servers/{other}'), 204)
            self._expect_no_trace(lease)

    def _boot_plain(self, who: person.Person) -> str:
        return cast.accepted(who.boot('plain', flavorRef=self.plain))

    def end(self, lease: Any, servers: list[str]) -> None:
        resized, *others = servers
        with self.step('the lease is ended: its servers go') as seen:
            body(
                self.demo.reservation.put(
                    f'/leases/{lease["id"]}', json={'end_date': 'now'}
                )
            )
            self.wait_for(lease['id'], 'TERMINATED')
            left = [
                server
                for server in others
                if self.demo.server(server) is not None
            ]
            expect('servers', [], left)
            seen(f'{len(others)} servers')
        with self.step('the one that was resized away lives on') as seen:
            seen(self.expect_on(resized, [self.ordinary]))
            body(self.demo.compute.delete(f'/servers/{resized}'), 204)
        with self.step('and nothing of it is left') as seen:
            self._expect_no_trace(lease)
            seen('no flavor, no aggregate, no class')

    def clean_up(self, lease: Any) -> None:
        with self.step("alt's servers run on; its lease is deleted") as seen:
            (shown,) = self.alt.lease(lease['id'])['reservations']
            expect('used', len(self.hosts), shown['used'])
            body(self.alt.reservation.delete(f'/leases/{lease["id"]}'), 204)
            self.wait_until_gone(lease['id'])
            self._expect_no_trace(lease)
            seen('gone')
        with self.step('and the hosts can be had as a whole') as seen:
            whole = {
                'resource_type': 'physical:host',
                'min': len(self.hosts),
                'max': len(self.hosts),
            }
            after = self._accepted(self._ask(self.alt, whole))
            self.wait_for(after['id'], 'ACTIVE')
            self.delete_lease(after['id'])
            seen(', '.join(self.hosts))

    # What the chapters are made of.

    def _ask(
        self, who: person.Person, reservation: dict[str, Any]
    ) -> requests.Response:
        return who.reservation.post(
            '/leases',
            json={
                'name': 'slots',
                'start_date': 'now',
                'end_date': (cast.now() + cast.hours(1)).isoformat(),
                'reservations': [reservation],
            },
        )

    def _accepted(self, answer: requests.Response) -> Any:
        return body(answer, 201)['lease']

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
        return cast.accepted(self._ask_server(who, lease))

    def _wait_for_server(self, server: str, status: str) -> None:
        until(
            status,
            lambda: self.demo.server(server)['status'],
            lambda seen: seen == status,
        )

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
