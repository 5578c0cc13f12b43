# SPDX-License-Identifier: Apache-2.0
"""Hosts are taken out: cordoned, kept free for a window, drained."""

from typing import Any

import requests

from sandbox.person import body
from sandbox.polls import until
from sandbox.stories import cast
from sandbox.stories import planned
from sandbox.story import expect

HOST = 'OS-EXT-SRV-ATTR:host'


class Upkeep(planned.Planned):
    """The chapters, in the order in which they are told."""

    def tell(self) -> None:
        self.cordon()
        self.maintain()
        self.clean_up()
        self.drain()
        self.clean_up()
        self.drain_with_servers()
        self.clean_up()

    def cordon(self) -> None:
        with self.step('a host is cordoned: its promise moves') as seen:
            lease = self.lease(self.demo, 1, 2, 1)
            (host,) = self.hosts_of(lease)
            expect('leases', [], self._done(host, {'cordon': None})['leases'])
            (other,) = self.hosts_of(lease)
            seen(f'from {host} to {other}')
        with self.step('nobody gets it') as seen:
            seen(cast.refusal(self.ask(self.alt, 5, 6, 1, host=host), 400))
        with self.step('it fails and recovers, and stays cordoned') as seen:
            self.operator.force_down(host, True)
            self._until_held(host, 'failed')
            self.operator.force_down(host, False)
            held = self._until_held(host, 'cordoned')
            seen(', '.join(held))
            seen(cast.refusal(self.ask(self.alt, 5, 6, 1, host=host), 400))
        with self.step('uncordoned, it can be leased'):
            self._done(host, {'uncordon': None})
            self.lease(self.alt, 5, 6, 1, host)

    def _until_held(self, host: str, why: str) -> list[str]:
        """Wait until these are the only holds of a host, beside 'cordoned',
        which it has all the time."""
        return until(
            why,
            lambda: self._holds(host),
            lambda seen: sorted(seen) == sorted({why, 'cordoned'}),
            90,
        )

    def _holds(self, host: str) -> list[str]:
        answer = self.operator.reservation.get('/os-hosts/allocations')
        names = self.operator.enrolled()
        (held,) = (
            each['holds']
            for each in body(answer)['allocations']
            if names[each['resource_id']] == host
        )
        return [each['reason'] for each in held]

    def maintain(self) -> None:
        lease = self.lease(self.demo, 3, 4, 1)
        (host,) = self.hosts_of(lease)
        window = {
            'maintain': {
                'from': f'{self.at(3):%Y-%m-%d %H:%M}',
                'until': f'{self.at(3.5):%Y-%m-%d %H:%M}',
            }
        }
        with self.step('a window without leases: a promise moves') as seen:
            self.leases.append(self._done(host, window)['lease_id'])
            (other,) = self.hosts_of(lease)
            seen(f'from {host} to {other}')
        with self.step('nobody gets the host in it, but after it') as seen:
            seen(cast.refusal(self.ask(self.alt, 3, 4, 1, host=host), 400))
            self.lease(self.alt, 3.5, 4, 1, host)
        with self.step('there is no second one') as seen:
            seen(cast.refusal(self._act(host, window), 409))

    def drain(self) -> None:
        with self.step('demo has a server in a lease') as seen:
            lease, host, server = self._leased_server()
            reservation = self.reservation(lease)['id']
            seen(host)
        with self.step('its host is drained: it has another') as seen:
            (left,) = self._done(host, {'drain': None})['leases']
            expect('leaving', (lease, True), (left['id'], left['leaving']))
            new = self.hosts_of(lease) - {host}
            until(
                f'{new} in its aggregate',
                lambda: self.operator.aggregates()[reservation]['hosts'],
                lambda hosts: new <= {*hosts},
            )
            seen(', '.join(new))
        with self.step('on which its new server is') as seen:
            young = cast.accepted(self.demo.boot('new', reservation))
            seen(self.expect_on(young, new))
        with self.step('the operator migrates the old one there') as seen:
            cast.act(
                self.operator,
                server,
                {'os-migrateLive': {'host': None, 'block_migration': 'auto'}},
            )
            until(
                f'on {new}',
                lambda: self.operator.server(server),
                lambda it: it[HOST] in new and it['status'] == 'ACTIVE',
            )
            seen(', '.join(new))
        with self.step('nobody has the host any more'):
            until(
                'no lease',
                lambda: self._done(host, {'drain': None})['leases'],
                lambda seen: not seen,
                60,
            )
            self._done(host, {'uncordon': None})

    def drain_with_servers(self) -> None:
        with self.step('demo has a server in a lease again') as seen:
            lease, host, server = self._leased_server()
            seen(host)
        with self.step('its host is drained with its servers') as seen:
            action = {'drain': {'servers': 'migrate'}}
            shown = self._done(host, action)
            expect('servers', [server], shown['servers'])
            (new,) = self.hosts_of(lease) - {host}
            until(
                f'on {new}',
                lambda: self.operator.server(server),
                lambda it: it[HOST] == new and it['status'] == 'ACTIVE',
                60,
            )
            seen(f'it is on {new}')
        with self.step('nobody has it any more'):
            until(
                'no lease',
                lambda: self._done(host, {'cordon': None})['leases'],
                lambda seen: not seen,
                60,
            )
            self._done(host, {'uncordon': None})

    def _leased_server(self) -> tuple[str, str, str]:
        """Return a lease of demo, its host and its server."""
        answer = self.demo.ask_lease(
            'drained', None, cast.now() + cast.hours(1), 1
        )
        lease = str(body(answer, 201)['lease']['id'])
        self.leases.append(lease)
        self.wait_for(lease, 'ACTIVE')
        (host,) = self.hosts_of(lease)
        reservation = self.reservation(lease)['id']
        server = cast.accepted(self.demo.boot('old', reservation))
        self.expect_on(server, [host])
        return lease, host, server

    def _act(self, host: str, action: dict[str, Any]) -> requests.Response:
        (key,) = (
            key
            for key, name in self.operator.enrolled().items()
            if name == host
        )
        return self.operator.reservation.post(
            f'/os-hosts/{key}/action', json=action
        )

    def _done(self, host: str, action: dict[str, Any]) -> Any:
        return body(self._act(host, action))
