# SPDX-License-Identifier: Apache-2.0
"""Hosts are filled by their compute units, and Nova tracks the usage."""

import json
from typing import Any

import requests
import sqlalchemy as sa

from nova_reservations.tracking import stats
from sandbox import config
from sandbox import layout as lo
from sandbox import person
from sandbox import story
from sandbox.person import body
from sandbox.polls import until
from sandbox.stories import cast
from sandbox.story import expect

#: Seconds in which Nova's audit runs on every host.
_AUDIT = 90

_LARGE = 100
_SMALL = 50


def tell(auth_url: str, timeline: story.Timeline) -> None:
    """Track compute units: boots, a resize, live migrations, a bad plugin."""
    told = _Resources(auth_url, timeline)
    told.report()
    told.make_flavors()
    told.fill()
    told.resize()
    told.live_migrate()
    told.force()
    told.look_at_the_faulty_one()
    told.clean_up()


class _Resources:
    """The chapters, in the order in which they are told."""

    def __init__(self, auth_url: str, timeline: story.Timeline) -> None:
        self.step = timeline.step
        self.operator = person.Operator(auth_url)
        layout = lo.Layout.load(timeline.directory)
        self._nova = sa.create_engine(layout.database('nova'))
        self.hosts = self.operator.hosts()
        self.flavors: dict[int, str] = {}
        #: Ids of all servers that there are, by host.
        self.servers: dict[str, list[str]] = {host: [] for host in self.hosts}

    def report(self) -> None:
        with self.step('each host reports the compute units it has') as seen:
            for host in self.hosts:
                expect(
                    f'units of {host}',
                    {'total': config.UNITS[host], 'used': 0},
                    self._figures(host, 'cu'),
                )
            expect(
                'CPUs',
                {16},
                {self._node(host)['vcpus'] for host in self.hosts},
            )
            seen(_listed(config.UNITS))
            seen('all of 16 CPUs')

    def make_flavors(self) -> None:
        with self.step('flavors ask for units, not for vCPUs') as seen:
            for units in (_LARGE, _SMALL):
                flavor = body(
                    self.operator.compute.post(
                        '/flavors',
                        json={
                            'flavor': {
                                'name': f'cu.{units}',
                                'vcpus': 2,
                                'ram': 128,
                                'disk': 1,
                            }
                        },
                    )
                )['flavor']['id']
                self.flavors[units] = flavor
                body(
                    self.operator.compute.post(
                        f'/flavors/{flavor}/os-extra_specs',
                        json={
                            'extra_specs': {
                                'resources:VCPU': '0',
                                'reservations:cu': str(units),
                            }
                        },
                    )
                )
            seen(f'2 vCPUs each, and {_LARGE} or {_SMALL} units')

    def fill(self) -> None:
        room = {host: units // _LARGE for host, units in config.UNITS.items()}
        count = sum(room.values())
        with self.step(f'{count} servers fill the hosts by units') as seen:
            for _ in range(count):
                self._boot(_LARGE)
            expect('servers', room, _lengths(self.servers))
            self._expect_used(config.UNITS)
            seen(_listed(room))
        with self.step('there is no host for one more') as seen:
            seen(self._expect_refused())

    def resize(self) -> None:
        big, _, third, _ = self.hosts
        (moved,) = self.servers[third]
        with self.step(f'a server on {big} goes') as seen:
            self._delete(self.servers[big].pop())
            self._expect_used({big: config.UNITS[big] - _LARGE})
            seen(f'{_LARGE} units are free there')
        with self.step(f'one of {third} is resized to {_SMALL}') as seen:
            self._resize(moved, _SMALL)
            both = {big: config.UNITS[big] - _SMALL, third: _LARGE}
            self._expect_used(both)
            seen(f'both hosts hold it: {_listed(both)}')
        with self.step('meanwhile no host has room for a large one') as seen:
            seen(self._expect_refused())
        with self.step('the resize is reverted') as seen:
            cast.act(self.operator, moved, {'revertResize': None})
            self._settled(moved, 'ACTIVE')
            back = {big: config.UNITS[big] - _LARGE, third: _LARGE}
            self._expect_used(back)
            seen(_listed(back))
        with self.step('and done again, and confirmed') as seen:
            self._resize(moved, _SMALL)
            cast.act(self.operator, moved, {'confirmResize': None})
            self._settled(moved, 'ACTIVE')
            self.servers[big].append(moved)
            self.servers[third].remove(moved)
            done = {big: config.UNITS[big] - _SMALL, third: 0}
            self._expect_used(done)
            seen(_listed(done))

    def live_migrate(self) -> None:
        _, second, third, fourth = self.hosts
        (moved,) = self.servers[fourth]
        with self.step(f'the server on {fourth} moves while it runs') as seen:
            self._live_migrate(moved, third, 'completed')
            self.servers[fourth].remove(moved)
            self.servers[third].append(moved)
            self._expect_used({fourth: 0})
            seen(f'to {third}; {fourth} is free')
        with self.step('no other follows it, before any audit') as seen:
            other = self.servers[second][0]
            self._live_migrate(other, third, 'error')
            server = self.operator.server(other)
            expect('host', second, server['OS-EXT-SRV-ATTR:host'])
            expect('status', 'ACTIVE', server['status'])
            seen(f'the other is still on {second}')
        with self.step("the books are right by the next of Nova's audits"):
            self._expect_used({third: _LARGE, fourth: 0}, _AUDIT)
        with self.step(f'a new server fits on {fourth} only') as seen:
            seen(self._boot(_LARGE))

    def force(self) -> None:
        third = self.hosts[2]
        with self.step(f'an operator forces one onto {third}') as seen:
            seen(
                self._expect_refused(availability_zone=f'nova:{third}')
                + ': the host itself refuses'
            )

    def look_at_the_faulty_one(self) -> None:
        with self.step('a plugin has failed all the time') as seen:
            for host in self.hosts:
                told = stats.plugins(_text(self._node(host)))
                assert told is not None
                expect('running', {'cu', 'memory', 'vcpu'}, {*told.running})
                expect('off', {'faulty'}, {*told.off})
                seen(f'{host}: {told.off["faulty"]}')
            services = body(
                self.operator.compute.get('/os-services?binary=nova-compute')
            )['services']
            expect('up', {'up'}, {each['state'] for each in services})
            seen('all of nova-compute are up')

    def clean_up(self) -> None:
        with self.step('all servers go') as seen:
            for servers in self.servers.values():
                while servers:
                    self._delete(servers.pop())
            for flavor in self.flavors.values():
                body(self.operator.compute.delete(f'/flavors/{flavor}'), 202)
            self._expect_used(dict.fromkeys(self.hosts, 0), _AUDIT)
            self._nova.dispose()
            seen('no unit is in use')

    # What the chapters are made of.

    def _node(self, host: str) -> Any:
        """Return the host's row in Nova's database, which schedulers read."""
        nodes = sa.table(
            'compute_nodes',
            *map(
                sa.column,
                ('host', 'stats', 'vcpus', 'vcpus_used', 'memory_mb_used'),
            ),
        )
        with self._nova.connect() as connection:
            return (
                connection.execute(sa.select(nodes).filter_by(host=host))
                .mappings()
                .one()
            )

    def _figures(self, host: str, plugin: str) -> Any:
        """Return the figures of a plugin; those of vcpu and memory are
        Nova's own."""
        node = self._node(host)
        for name, column in (
            ('vcpu', 'vcpus_used'),
            ('memory', 'memory_mb_used'),
        ):
            told = stats.decode(_text(node), name)
            assert told is not None
            expect(f'{name} of {host}', node[column], told.figures['used'])
        told = stats.decode(_text(node), plugin)
        return told and told.figures

    def _expect_used(self, units: dict[str, int], seconds: float = 30) -> None:
        for host, used in units.items():
            until(
                f'{used} units used on {host}',
                lambda host=host: self._figures(host, 'cu'),  # type: ignore[misc]
                lambda seen, used=used: seen['used'] == used,  # type: ignore[misc]
                seconds,
            )

    def _ask(self, units: int, **fields: str) -> requests.Response:
        return self.operator.boot(
            f'cu-{units}', flavorRef=self.flavors[units], **fields
        )

    def _boot(self, units: int) -> str:
        """Boot a server; return its host."""
        server = cast.accepted(self._ask(units))
        host = str(self._settled(server, 'ACTIVE')['OS-EXT-SRV-ATTR:host'])
        self.servers[host].append(server)
        return host

    def _expect_refused(self, **fields: str) -> str:
        server = cast.accepted(self._ask(_LARGE, **fields))
        self._settled(server, 'ERROR')
        # Nova writes the reason a moment later.
        seen = until(
            'a fault',
            lambda: self.operator.server(server),
            lambda seen: 'fault' in seen,
        )
        self._delete(server)
        return str(seen['fault']['message'])

    def _settled(self, server: str, status: str) -> Any:
        seen = until(
            status,
            lambda: self.operator.server(server),
            lambda seen: (
                seen['OS-EXT-STS:task_state'] is None
                and seen['status'] in (status, 'ERROR')
            ),
            60,
        )
        expect('status', status, seen['status'])
        return seen

    def _delete(self, server: str) -> None:
        body(self.operator.compute.delete(f'/servers/{server}'), 204)
        until(
            'gone',
            lambda: self.operator.server(server),
            lambda seen: seen is None,
        )

    def _resize(self, server: str, units: int) -> None:
        cast.act(
            self.operator,
            server,
            {'resize': {'flavorRef': self.flavors[units]}},
        )
        self._settled(server, 'VERIFY_RESIZE')

    def _live_migrate(self, server: str, host: str, outcome: str) -> None:
        cast.act(
            self.operator,
            server,
            {'os-migrateLive': {'host': host, 'block_migration': 'auto'}},
        )
        path = (
            f'/os-migrations?instance_uuid={server}'
            '&migration_type=live-migration'
        )
        until(
            f'a live migration that is {outcome}',
            lambda: body(self.operator.compute.get(path))['migrations'],
            lambda seen: [each['status'] for each in seen] == [outcome],
            60,
        )
        self._settled(server, 'ACTIVE')


def _text(node: Any) -> Any:
    return json.loads(node['stats'])


def _lengths(servers: dict[str, list[str]]) -> dict[str, int]:
    return {host: len(each) for host, each in servers.items()}


def _listed(figures: Any) -> str:
    return ', '.join(f'{host} {count}' for host, count in figures.items())
