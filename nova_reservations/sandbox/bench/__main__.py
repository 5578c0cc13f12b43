# SPDX-License-Identifier: Apache-2.0
"""Measure nova_reservations beside Nova, on a cloud of many processes."""

import argparse
from collections.abc import Callable
from collections.abc import Mapping
import pathlib
import shutil
import signal
import sys
import tempfile
import time

from nova_reservations.sandbox import cloud
from nova_reservations.sandbox.bench import healing
from nova_reservations.sandbox.bench import lifecycle
from nova_reservations.sandbox.bench import processes
from nova_reservations.sandbox.bench import report
from nova_reservations.sandbox.bench import requests
from nova_reservations.sandbox.bench import subject

ROWS: Mapping[str, Callable[[subject.Subject], report.Row]] = {
    'create': requests.create,
    'clients': requests.clients,
    'scale': requests.scale,
    'memory': processes.memory,
    'start': lifecycle.start,
    'many-hosts': lifecycle.many_hosts,
    'end': lifecycle.end,
    'heal': healing.heal,
    # Last: it fills the cloud.
    'cpu': processes.cpu,
}

#: So many hosts are enrolled at least.
_HOSTS = 100


def main() -> int:
    parser = argparse.ArgumentParser(
        prog='tools/bench',
        description=__doc__,
        epilog='rows: '
        + '; '.join(
            f'{name}: {(row.__doc__ or "").splitlines()[0]}'
            for name, row in ROWS.items()
        ),
    )
    parser.add_argument('names', nargs='*', metavar='NAME', help='rows; all')
    parser.add_argument(
        '--quick', action='store_true', help='measure less, in some minutes'
    )
    parser.add_argument(
        '--database-url',
        default='mysql+pymysql://root@127.0.0.1:3306',
        help='the server to make databases on: %(default)s',
    )
    parser.add_argument(
        '--transport-url',
        default='rabbit://guest:guest@127.0.0.1:5672/',
        help='a virtual host that nobody else uses: %(default)s',
    )
    parser.add_argument(
        '--json', type=pathlib.Path, help='write the report here too'
    )
    parser.add_argument(
        '--rst',
        type=pathlib.Path,
        nargs='?',
        const=_DOCUMENT,
        help='put the report into this document: %(const)s',
    )
    arguments = parser.parse_args()
    unknown = sorted({*arguments.names} - {*ROWS})
    if unknown:
        parser.error(f'no rows: {", ".join(unknown)}')
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda number, _: sys.exit(128 + number))
    measured = _run(arguments)
    print(measured.table())
    print(f'on {report.machine()}')
    for name, row in measured.rows.items():
        for title, text in row.details.items():
            print(f'\n{name}: {title}\n\n{text}')
    if arguments.json:
        arguments.json.write_text(measured.json())
    if arguments.rst:
        report.paste(measured, arguments.rst)
    for what in measured.missed:
        print(f'not reached: {what}')
    return 1 if measured.missed else 0


_DOCUMENT = pathlib.Path('doc/source/contributor/performance.rst')


def _run(arguments: argparse.Namespace) -> report.Report:
    """Measure on a cloud of its own."""
    directory = pathlib.Path(tempfile.mkdtemp(prefix='nova-reservations-'))
    began = time.monotonic()
    try:
        print('starting the cloud', file=sys.stderr, flush=True)
        with cloud.running(
            directory, arguments.database_url, arguments.transport_url
        ) as layout:
            measured = subject.Subject(layout, arguments.quick)
            measured.furnish()
            measured.populate(_HOSTS)
            rows = {}
            for name in arguments.names or ROWS:
                rows[name] = ROWS[name](measured)
                print(
                    f'{time.monotonic() - began:6.1f} s  {name}',
                    file=sys.stderr,
                    flush=True,
                )
            return report.Report(arguments.quick, subject.now(), rows)
    finally:
        shutil.rmtree(directory)


if __name__ == '__main__':
    sys.exit(main())
