# SPDX-License-Identifier: Apache-2.0
"""Measure what metric plugins cost a nova-compute with many servers.

No cloud is started: rounds run in this process, with Nova's fake driver,
beside a thread that stands for Nova's periodic tasks.
"""

import argparse
from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Sequence
import contextlib
import datetime
import functools
import os
import pathlib
import socket
import statistics
import sys
import threading
import time
import uuid

from nova import objects
from nova import rpc
import nova.conf
from nova.objects import flavor as flavor_objects
from nova.virt import fake
import oslo_messaging

from nova_reservations import conf
from nova_reservations.compute.metrics import collector
from nova_reservations.compute.metrics import samples
from nova_reservations.compute.metrics import servers
from sandbox.bench import measure
from sandbox.bench import report

CONF = nova.conf.CONF

SERVERS = 200

LIMIT = 0.05
"""Seconds of CPU that a round may take in nova-compute."""

PLUGINS = ('threshold', 'statsd', 'prometheus', 'ceilometer', 'udp')

_DOCUMENT = pathlib.Path('doc/source/beyond/metrics.rst')

#: Seconds between two wake-ups of Nova's thread.
_TICK = 0.001

LIMITS = (
    'cpu.percent over 95 until 80 for 300',
    'ram.percent over 98 for 600 where flavor=m1.*',
    'bandwidth.out_bytes_rate over 5Gbit until 4Gbit for 60',
    'host cpu.percent over 90 for 300',
)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--rounds', type=int, default=50)
    parser.add_argument('--servers', type=int, default=SERVERS)
    parser.add_argument(
        '--rst',
        type=pathlib.Path,
        nargs='?',
        const=_DOCUMENT,
        help='put the table into this document: %(const)s',
    )
    arguments = parser.parse_args()
    date, load = datetime.datetime.now(datetime.UTC), os.getloadavg()[0]
    with prepared():
        rows = {
            name: row(names, arguments.servers, arguments.rounds)
            for name, names in (
                ('alone', ()),
                *((name, (name,)) for name in PLUGINS),
                ('usual', ('threshold', 'prometheus')),
                ('all', PLUGINS),
            )
        }
        rows['delay'] = delay(arguments.servers, arguments.rounds)
    measured = report.Report(
        {
            name: report.Run(row, False, date, load)
            for name, row in rows.items()
        }
    )
    print(measured.table())
    print(f'on {report.machine()}')
    if arguments.rst:
        report.paste(measured, arguments.rst)
    return 1 if measured.missed else 0


@contextlib.contextmanager
def prepared() -> Iterator[None]:
    """Configure Nova, and open receivers for what plugins send."""
    objects.register_all()
    conf.register_opts(CONF)
    CONF([], default_config_files=[])
    rpc.NOTIFICATION_TRANSPORT = oslo_messaging.get_notification_transport(
        CONF, url='fake:/'
    )
    with contextlib.ExitStack() as stack:
        for group in ('metrics_statsd', 'metrics_udp'):
            receiver = stack.enter_context(
                socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            )
            receiver.bind(('127.0.0.1', 0))
            CONF.set_override('port', receiver.getsockname()[1], group)
        with socket.socket() as free:
            free.bind(('127.0.0.1', 0))
            port = free.getsockname()[1]
        CONF.set_override('port', port, 'metrics_prometheus')
        # This driver makes JSON of messages, like RabbitMQ's, and drops them.
        CONF.set_override('driver', 'log', 'metrics_ceilometer')
        CONF.set_override('limit', list(LIMITS), 'metrics_threshold')
        yield


def instances(count: int) -> list[objects.Instance]:
    """Return new instance objects, as each audit reads them."""
    return [
        objects.Instance(
            id=number,
            uuid=str(uuid.UUID(int=number)),
            display_name=f'server-{number}',
            project_id='project',
            user_id='user',
            host='host',
            image_ref='image',
            vm_state='active',
            metadata={'team': 'a'},
            flavor=flavor_objects.Flavor(
                flavorid='3',
                name='m1.large',
                vcpus=4,
                memory_mb=8192,
                root_gb=80,
                ephemeral_gb=0,
                extra_specs={'hw:cpu_policy': 'shared'},
            ),
        )
        for number in range(1, count + 1)
    ]


class Measured:
    """A collector whose rounds are run by hand, with plugins in threads."""

    def __init__(self, names: Sequence[str], count: int) -> None:
        CONF.set_override('enabled', list(names), 'metrics_plugins')
        self._count = count
        self._moment = time.monotonic()
        self.collector = collector.Collector(
            'host', fake.FakeDriver(None), servers.Servers(), CONF
        )
        self.collector.choose()

    def audit(self) -> None:
        self.collector.servers.replace('node', instances(self._count))

    def round(self) -> None:
        self._moment += 60
        self.collector.round(samples.Moment(time.time(), self._moment))
        for thread in self.collector.threads.values():
            thread.wait()

    def close(self) -> None:
        for thread in self.collector.threads.values():
            thread.stop()


def row(names: Sequence[str], count: int, rounds: int) -> report.Row:
    """Return the cost of a round with these plugins, in the whole process."""
    measured = Measured(names, count)
    try:
        taken = []
        for _ in range(rounds + 1):
            measured.audit()
            before = time.process_time()
            measured.round()
            taken.append(time.process_time() - before)
    finally:
        measured.close()
    # Without the first round, which has one-time costs.
    taken = taken[1:]
    everything = len(names) == len(PLUGINS)
    with_what = ' and '.join(names) or 'no plugin'
    if everything:
        with_what = 'all five plugins'
    what = f'a round of {count} servers, {with_what}'
    return report.Row(
        [
            report.Figure(
                f'{what}, CPU p50',
                statistics.median(taken),
                's',
                # No limit for all plugins: nobody sends the same to four
                # places.
                limit=None if everything else LIMIT,
            ),
            report.Figure(
                f'{what}, CPU p95', measure.percentile(taken, 95), 's'
            ),
        ]
    )


def delay(count: int, rounds: int) -> report.Row:
    """Return by how much another thread is late that wants to run each
    millisecond, during rounds and, as the floor, without rounds."""
    measured = Measured(PLUGINS, count)
    try:
        measured.audit()
        measured.round()
        late, floor = [], []
        for _ in range(rounds):
            began = time.monotonic()
            late += _lateness(measured.round)
            took = time.monotonic() - began
            floor += _lateness(functools.partial(time.sleep, took))
    finally:
        measured.close()
    return report.Row(
        [
            report.Figure(
                f'lateness of another thread, {name}',
                measure.percentile(late, percent),
                's',
                floor=measure.percentile(floor, percent),
            )
            for name, percent in (('p50', 50), ('p99', 99), ('at most', 100))
        ]
    )


def _lateness(work: Callable[[], object]) -> list[float]:
    """Return the lateness of each tick of a thread during some work."""
    late: list[float] = []
    done = threading.Event()

    def tick() -> None:
        while not done.is_set():
            due = time.perf_counter() + _TICK
            time.sleep(_TICK)
            late.append(time.perf_counter() - due)

    thread = threading.Thread(target=tick)
    thread.start()
    try:
        work()
    finally:
        done.set()
        thread.join()
    return late


if __name__ == '__main__':
    sys.exit(main())
