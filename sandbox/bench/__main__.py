# SPDX-License-Identifier: Apache-2.0
"""Measure nova_reservations beside Nova, on a cloud of many processes."""

import argparse
from collections.abc import Callable
from collections.abc import Mapping
import os
import pathlib
import shutil
import signal
import sys
import tempfile
import time

from sandbox import cloud
from sandbox import ini
from sandbox import person
from sandbox.bench import acceptance
from sandbox.bench import asked
from sandbox.bench import ends
from sandbox.bench import fresh
from sandbox.bench import healing
from sandbox.bench import lifecycle
from sandbox.bench import limits
from sandbox.bench import million
from sandbox.bench import processes
from sandbox.bench import refusers
from sandbox.bench import replan
from sandbox.bench import report
from sandbox.bench import requests
from sandbox.bench import subject
from sandbox.bench import waiting

ROWS: Mapping[str, Callable[[subject.Subject], report.Row]] = {
    'create': requests.create,
    'limits': limits.limits,
    'clients': requests.clients,
    'fresh': fresh.fresh,
    'scale': requests.scale,
    'slots': requests.slots,
    'list': requests.listed,
    'memory': processes.memory,
    'start': lifecycle.start,
    'many-hosts': lifecycle.many_hosts,
    'end': lifecycle.end,
    'waiting': waiting.waiting,
    'million': million.million,
    'heal': healing.heal,
    'replan': replan.replan,
    'refusers': refusers.refusers,
    'acceptance': acceptance.acceptance,
    # The last fill the cloud.
    'fleet': asked.fleet,
    'cpu': processes.cpu,
    'ends': ends.ends,
}

#: So many hosts are enrolled at least.
_HOSTS = 100

_CONF: ini.Sections = {
    # Some hosts are in our tables only: they would count as failed, or lost.
    'reservations': {
        'enable_polling_monitor': False,
        'host_refresh_interval': 24 * 60 * 60,
    },
}


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
        help='the message broker to make a virtual host on; where '
        'rabbitmqctl can not, one that nobody else uses: %(default)s',
    )
    parser.add_argument(
        '--json',
        type=pathlib.Path,
        help='write the report here too; rows that are there already and '
        'not measured now stay as they are',
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
    before: dict[str, report.Run] = {}
    if arguments.json and arguments.json.exists():
        before = report.read(arguments.json.read_text()).runs
    runs = _run(arguments)
    measured = report.Report(runs)
    print(measured.table())
    print(f'on {report.machine()}')
    for name, run in runs.items():
        for title, text in run.row.details.items():
            print(f'\n{name}: {title}\n\n{text}')
    either = before | runs
    together = report.Report(
        {name: either[name] for name in ROWS if name in either}
    )
    if arguments.json:
        arguments.json.write_text(together.json())
    if arguments.rst:
        report.paste(together, arguments.rst)
    for what in measured.missed:
        print(f'not reached: {what}')
    return 1 if measured.missed else 0


_DOCUMENT = pathlib.Path('doc/source/contributor/performance.rst')


def _run(arguments: argparse.Namespace) -> dict[str, report.Run]:
    """Measure on a cloud of its own; return row by row."""
    directory = pathlib.Path(tempfile.mkdtemp(prefix='nova-reservations-'))
    began = time.monotonic()
    try:
        print('starting the cloud', file=sys.stderr, flush=True)
        with cloud.brought_up(
            directory,
            arguments.database_url,
            arguments.transport_url,
            extra=_CONF,
        ) as services:
            measured = subject.Subject(services.layout, arguments.quick)
            measured.ensure_slots()
            measured.populate(_HOSTS)
            runs = {}
            for name in arguments.names or ROWS:
                date, load = subject.now(), os.getloadavg()[0]
                try:
                    row = ROWS[name](measured)
                except person.Unexpected as error:
                    row = report.Row([], failure=str(error))
                runs[name] = report.Run(row, arguments.quick, date, load)
                print(
                    f'{time.monotonic() - began:6.1f} s  {name}',
                    file=sys.stderr,
                    flush=True,
                )
            return runs
    finally:
        shutil.rmtree(directory)


if __name__ == '__main__':
    sys.exit(main())
