# SPDX-License-Identifier: Apache-2.0
"""Break a cloud, one thing at a time, while leases start and end.

After each fault all must be as if it had not been: no lease lost, no host
doubled, nothing left behind in Nova or placement.
"""

import argparse
from collections.abc import Iterator
import contextlib
import pathlib
import random
import shutil
import signal
import sys
import tempfile
import time

import sqlalchemy as sa

from sandbox import cloud
from sandbox import person
from sandbox import proxies
from sandbox.faults import cells
from sandbox.faults import faults
from sandbox.faults import load
from sandbox.faults import mails
from sandbox.faults import replaced
from sandbox.faults import signals
from sandbox.faults import verdict

_FAULTS = {
    **faults.FAULTS,
    **signals.FAULTS,
    **mails.FAULTS,
    **replaced.FAULTS,
    **cells.FAULTS,
}

#: Seconds for which something is down.
_QUICK, _LONG = 8, 60


def main() -> int:
    parser = argparse.ArgumentParser(
        prog='tools/faults',
        description=__doc__,
        epilog='faults: '
        + '; '.join(
            f'{name}: {(fault.__doc__ or "").rstrip(".")}'
            for name, fault in _FAULTS.items()
        ),
    )
    parser.add_argument(
        'names', nargs='*', metavar='NAME', help='the faults; by default all'
    )
    parser.add_argument(
        '--quick', action='store_true', help='the most telling, and shorter'
    )
    parser.add_argument(
        '--seed', default=str(time.time_ns()), help='chooses what is by chance'
    )
    parser.add_argument(
        '--database-url',
        default='mysql+pymysql://root@127.0.0.1:3306',
        help='the server to make databases on: %(default)s',
    )
    parser.add_argument(
        '--transport-url',
        default='rabbit://guest:guest@127.0.0.1:5672/',
        help='the message broker to make a virtual host on; where '
        'rabbitmqctl can not, one that nobody else uses: %(default)s',
    )
    parser.add_argument(
        '--keep', action='store_true', help='leave the folder with the logs'
    )
    arguments = parser.parse_args()
    names = arguments.names or [
        *(faults.QUICK if arguments.quick else _FAULTS)
    ]
    unknown = sorted({*names} - {*_FAULTS})
    if unknown:
        parser.error(f'no faults: {", ".join(unknown)}')
    # What ends the suite lets it clean up first.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda number, _: sys.exit(128 + number))
    return _run(names, arguments)


def _run(names: list[str], arguments: argparse.Namespace) -> int:
    print(f'--seed {arguments.seed}', flush=True)
    failed = sum(
        _run_on_one_cloud(group, arguments, of_cells)
        for of_cells in (False, True)
        if (group := [n for n in names if (n in cells.FAULTS) == of_cells])
    )
    print(
        f'faults: {failed} of {len(names)} FAILED' if failed else 'faults: ok'
    )
    return 1 if failed else 0


def _run_on_one_cloud(
    names: list[str], arguments: argparse.Namespace, of_cells: bool
) -> int:
    """Try faults on a cloud of their own; return how many failed."""
    directory = pathlib.Path(tempfile.mkdtemp(prefix='nova-reservations-'))
    began = time.monotonic()
    failed = 0
    try:
        with _scene(directory, arguments, of_cells) as scene:
            print(f'{time.monotonic() - began:6.1f} s  ready', flush=True)
            for name in names:
                try:
                    outcome = _try(name, scene, f'{arguments.seed} {name}')
                except (person.Unexpected, cloud.NotUp) as error:
                    failed += 1
                    outcome = f'FAILED: {error}'
                elapsed = time.monotonic() - began
                print(f'{elapsed:6.1f} s  {name}: {outcome}', flush=True)
    except (person.Unexpected, cloud.NotUp) as error:
        failed += 1
        print(f'FAILED: {error}')
    finally:
        if failed or arguments.keep:
            print(f'logs: {directory}/log')
        else:
            shutil.rmtree(directory)
    return failed


@contextlib.contextmanager
def _scene(
    directory: pathlib.Path, arguments: argparse.Namespace, of_cells: bool
) -> Iterator[faults.Scene]:
    """Bring up a cloud that can be broken, with hosts to lease, and with one
    or two cells."""
    database = sa.make_url(arguments.database_url)
    broker = sa.make_url(arguments.transport_url)
    fronts: dict[str, proxies.Front] = {}

    def front(api: str, port: int) -> int:
        if api not in ('keystone', 'placement'):
            return port
        fronts[api] = stack.enter_context(
            contextlib.closing(proxies.Front(port))
        )
        return fronts[api].port

    with contextlib.ExitStack() as stack:
        wires = {
            url: stack.enter_context(
                contextlib.closing(
                    proxies.Wire(url.host or '127.0.0.1', url.port or port)
                )
            )
            for url, port in ((database, 3306), (broker, 5672))
        }
        through = {
            url: url.set(host='127.0.0.1', port=wire.port).render_as_string(
                hide_password=False
            )
            for url, wire in wires.items()
        }
        services = stack.enter_context(
            cloud.brought_up(
                directory,
                through[database],
                through[broker],
                front,
                cells.CONF if of_cells else None,
                2 if of_cells else 1,
            )
        )
        layout = services.layout
        seen = stack.enter_context(
            contextlib.closing(
                verdict.Verdict(
                    layout,
                    database.set(database=layout.database_name('nova_api')),
                )
            )
        )
        for host in seen.enrolled:
            person.body(
                person.Operator(layout.auth_url).reservation.post(
                    '/os-hosts', json={'name': host}
                ),
                201,
            )
        yield faults.Scene(
            services,
            fronts['placement'],
            fronts['keystone'],
            wires[database],
            wires[broker],
            seen,
            random.Random(),  # noqa: S311
            _QUICK if arguments.quick else _LONG,
        )


def _try(name: str, scene: faults.Scene, seed: str) -> str:
    """Run one fault while users work; return the result.

    :param seed: the seed of random choices
    :raises Unexpected: if something is wrong in the end
    """
    # So that a fault behaves the same alone as after others.
    scene.chance.seed(seed)
    with scene.verdict.watching():
        users = load.Load(scene.services.layout.auth_url, name, seed)
        try:
            time.sleep(scene.chance.uniform(1, 3))
            _FAULTS[name](scene)
            time.sleep(2)
        finally:
            users.stop()
        healed = time.monotonic()
        scene.verdict.settle()
    settled = time.monotonic() - healed
    outcome = scene.verdict.pronounce(name, users.promises)
    return f'{outcome}; settled after {settled:.1f} s'


if __name__ == '__main__':
    sys.exit(main())
