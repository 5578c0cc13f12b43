# SPDX-License-Identifier: Apache-2.0
"""The usage of servers is measured, limited and passed on, without a
restart."""

from collections.abc import Mapping
import functools
import json
import operator
import pathlib
import socket
from typing import Any

from prometheus_client import parser
import requests

from sandbox import load
from sandbox import person
from sandbox import story
from sandbox.person import body
from sandbox.polls import until
from sandbox.stories import cast
from sandbox.story import expect

#: A packet of statsd that fits any network.
_PACKET_SIZE = 512

_EVENT = 'oslo.messaging.notification.server.metric.'


def tell(auth_url: str, timeline: story.Timeline) -> None:
    """Measure servers: limits, notifications, statsd and Prometheus."""
    told = _Metrics(auth_url, timeline)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as statsd:
        statsd.bind(('127.0.0.1', 0))
        statsd.settimeout(10)
        try:
            told.hand_on(statsd)
            told.stay_below()
            told.exceed()
            told.raise_the_limit()
            told.limit_the_pipe()
            told.look_at_packets(statsd)
            told.leave()
        finally:
            told.put_back()


class _Metrics:
    """The chapters, in the order in which they are told."""

    def __init__(self, auth_url: str, timeline: story.Timeline) -> None:
        self.step = timeline.step
        self.directory = timeline.directory
        self.demo = person.Person(auth_url, 'demo')
        self.server = ''
        self._file = self.directory / 'etc' / 'nova.conf'
        self._before = self._file.read_text()
        with socket.socket() as free:
            free.bind(('127.0.0.1', 0))
            self._page = free.getsockname()[1]
        self._statsd = 0
        #: The number of crossings by servers of earlier stories.
        self._others = len(self._crossings())

    def hand_on(self, statsd: socket.socket) -> None:
        with self.step('statsd and prometheus are added in the file') as seen:
            self._statsd = statsd.getsockname()[1]
            self._configure('cpu.percent over 80 until 70 for 2')
            until('a page', self._metrics, lambda page: page is not None)
            seen('nova-compute serves /metrics, and was not restarted')
        with self.step('demo has a server') as seen:
            self.server = cast.accepted(self.demo.boot('busy'))
            until('measured', self._percent, lambda known: known is not None)
            seen('it is measured')

    def stay_below(self) -> None:
        with self.step('at half its load') as seen:
            self._do(cpu_percent=50)
            seen(f'{self._percent_near(50):.0f} %')
        with self.step('nobody is told of it'):
            self._let_rounds_pass(4)
            expect('crossings', [], self._crossings()[self._others :])

    def exceed(self) -> None:
        with self.step('it exceeds the limit of 80 % for 2 seconds') as seen:
            self._do(cpu_percent=95)
            [crossing] = until(
                'a notification', self._new_crossings, lambda them: bool(them)
            )
            expect('event', 'exceeded', crossing['event'])
            expect('server', self.server, crossing['instance_id'])
            expect('limit', 80.0, crossing['limit'])
            seen(f'one notification, at {crossing["value"]:.0f} %')
        with self.step('and goes on, which is told of no more'):
            self._let_rounds_pass(5)
            expect('crossings', 1, len(self._new_crossings()))

    def raise_the_limit(self) -> None:
        with self.step('the limit is raised to 99 % in the file') as seen:
            self._configure('cpu.percent over 99 until 98 for 2')
            _, crossing = until(
                'a second notification',
                self._new_crossings,
                lambda them: len(them) == 2,
            )
            expect('event', 'cleared', crossing['event'])
            expect('limit', 99.0, crossing['limit'])
            seen('cleared, without a restart')

    def limit_the_pipe(self) -> None:
        with self.step('a pipe of 5 Gbit/s has 20') as seen:
            self._configure(
                'cpu.percent over 99 until 98 for 2',
                'bandwidth.out_bytes_rate over 5Gbit until 4Gbit for 2 '
                'where name=bus?',
            )
            self._do(out_bytes_rate=20e9 / 8)
            *_, crossing = until(
                'a third notification',
                self._new_crossings,
                lambda them: len(them) == 3,
            )
            expect('event', 'exceeded', crossing['event'])
            seen(f'told of at {crossing["value"] * 8 / 1e9:.1f} Gbit/s')

    def look_at_packets(self, statsd: socket.socket) -> None:
        with self.step('statsd gets gauges in packets') as seen:
            project = body(self.demo.compute.get('/servers/detail'))[
                'servers'
            ][0]['tenant_id']
            wanted = f'.{project}.{self.server}.bandwidth.out_bytes_rate:'
            sizes = []
            while True:
                packet = statsd.recv(65536)
                sizes.append(len(packet))
                lines = packet.decode('ascii').splitlines()
                found = [line for line in lines if wanted in line]
                # The first packets are from before the load.
                if found and not found[0].endswith(':0.0|g'):
                    break
            if not max(sizes) <= _PACKET_SIZE:
                raise person.Unexpected(_PACKET_SIZE, max(sizes))
            seen(f'{len(sizes)}, of {max(sizes)} bytes at most')
            seen(found[0].partition(wanted)[0] + wanted.partition('.band')[0])

    def leave(self) -> None:
        with self.step('the server is deleted, and off the page'):
            answer = self.demo.compute.delete(f'/servers/{self.server}')
            body(answer, 204)
            until('gone', self._percent, lambda known: known is None)

    def put_back(self) -> None:
        self._file.write_text(self._before)
        load.write(self.directory, {})

    # What the chapters are made of.

    def _configure(self, *limits: str) -> None:
        """Write the file as an operator would."""
        lines = [
            '[metrics_plugins]',
            'enabled = threshold, statsd, prometheus',
            'interval = 1',
            '[metrics_statsd]',
            f'port = {self._statsd}',
            f'packet_size = {_PACKET_SIZE}',
            '[metrics_prometheus]',
            f'port = {self._page}',
            '[metrics_threshold]',
            *(f'limit = {each}' for each in limits),
            '',
        ]
        self._file.write_text('\n'.join([self._before, *lines]))

    def _do(self, **what: float) -> None:
        load.write(self.directory, {self.server: what})

    def _metrics(self) -> Mapping[tuple[str, str], float] | None:
        """Return (name, server) -> value from the page, None if there is no
        page.

        :raises ValueError: if it does not parse.
        """
        try:
            answer = requests.get(
                f'http://127.0.0.1:{self._page}/metrics', timeout=10
            )
        except requests.ConnectionError:
            return None
        return {
            (sample.name, sample.labels.get('server', '')): sample.value
            for family in parser.text_string_to_metric_families(answer.text)
            for sample in family.samples
        }

    def _percent(self) -> float | None:
        return (self._metrics() or {}).get(
            ('nova_server_cpu_percent', self.server)
        )

    def _percent_near(self, percent: float) -> float:
        seen = until(
            f'about {percent} %',
            self._percent,
            lambda known: known is not None and abs(known - percent) < 10,
        )
        assert seen is not None
        return seen

    def _let_rounds_pass(self, rounds: int) -> None:
        """Wait until the server was measured so many times."""
        key = 'nova_server_cpu_seconds_total', self.server
        for _ in range(rounds):
            before = (self._metrics() or {}).get(key, 0.0)
            until(
                'another round',
                lambda: (self._metrics() or {}).get(key, 0.0),
                functools.partial(operator.lt, before),
            )

    def _new_crossings(self) -> list[Mapping[str, Any]]:
        return self._crossings()[self._others :]

    def _crossings(self) -> list[Mapping[str, Any]]:
        """Return the payloads of threshold's notifications, with the event."""
        found = []
        for line in _lines(self.directory / 'log'):
            _, event, rest = line.partition(_EVENT)
            if event:
                message = json.loads(rest[rest.index('{') :])
                what = message['event_type'].rpartition('.')[2]
                found.append(message['payload'] | {'event': what})
        return found


def _lines(directory: pathlib.Path) -> list[str]:
    return [
        line
        for file in sorted(directory.glob('nova*'))
        for line in file.read_text().splitlines()
    ]
