# SPDX-License-Identifier: Apache-2.0
"""Try nova_reservations on a whole OpenStack on this machine.

Without a command: start the cloud, tell the story host-lease, and serve until
Ctrl-C.
"""

import argparse
import contextlib
import pathlib
import shutil
import signal
import sys
import tempfile
import time
import traceback

from sandbox import cloud
from sandbox import dashboard
from sandbox import layout as lo
from sandbox import person
from sandbox import stories
from sandbox import story

_TRY = """
The cloud serves until Ctrl-C. In another terminal:

  . {directory}/openrc-demo
  openstack lease create mine --hosts 1 --duration 1h --wait
  openstack server create --image {image} --flavor {flavor} --nic none \\
      --hint reservation=mine --wait my-server
  openstack lease calendar
  openstack lease delete mine

openrc-alt is another project's, openrc-admin the operator's:

  . {directory}/openrc-admin
  openstack lease host list
  openstack server list --all-projects --long
"""

_HORIZON = """\
Horizon: {url}/
  Log in as demo with the password demo, as another project's member alt with
  alt, or as the operator admin with admin. Leases: Project, Reservations;
  hosts, for the operator: Admin, Reservation.
"""

_OPENRC = """\
export OS_AUTH_URL={auth_url}
export OS_USERNAME={name} OS_PASSWORD={name} OS_PROJECT_NAME={name}
export OS_USER_DOMAIN_NAME=Default OS_PROJECT_DOMAIN_NAME=Default
export OS_REGION_NAME={region} OS_IDENTITY_API_VERSION=3
export OS_COMPUTE_API_VERSION=2.90
export PATH={bin}:$PATH
"""


def main() -> int:
    parser = argparse.ArgumentParser(
        prog='tools/sandbox',
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        '--keep',
        action='store_true',
        help='leave the folder with configuration, databases and logs behind',
    )
    parser.add_argument(
        '--database-url',
        default='',
        help='run many processes instead of few, on databases made, and in '
        'the end dropped, on this server: mysql+pymysql://root@127.0.0.1',
    )
    parser.add_argument(
        '--transport-url',
        default='',
        help='and on a virtual host made, and in the end deleted, on this '
        'message broker; where rabbitmqctl can not, on the one that is '
        'named, which nobody else may use: rabbit://guest:guest@127.0.0.1/',
    )
    parser.add_argument(
        '--cells',
        type=int,
        default=1,
        metavar='N',
        help='how many cells Nova has, each with a database, a virtual host, '
        'a nova-conductor and computes of its own; several need the two URLs '
        'above (default: 1)',
    )
    parser.add_argument(
        '--with',
        dest='real',
        type=lambda text: text.split(','),
        default=[],
        metavar='NAMES',
        help='services that there are beside, with commas: of '
        f'{", ".join(lo.OPTIONAL)}; a story that needs some has them',
    )
    parser.add_argument(
        '--dashboard',
        action='store_true',
        help='serve Horizon with blazar-dashboard beside the cloud, until '
        'Ctrl-C; it is installed first, once',
    )
    commands = parser.add_subparsers(dest='command')
    commands.add_parser('list', help='name the stories')
    tell = commands.add_parser(
        'story', help='tell stories and exit: 0 if all went as they should'
    )
    tell.add_argument('names', nargs='+', choices=stories.STORIES)
    arguments = parser.parse_args()

    if arguments.command == 'list':
        for name, told in stories.STORIES.items():
            print(f'{name:20}{(told.__doc__ or "").splitlines()[0]}')
        return 0
    _check(parser, arguments)
    # What ends the sandbox lets it clean up first.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda number, _: sys.exit(128 + number))
    if arguments.dashboard:
        try:
            dashboard.install()
        except dashboard.NotInstalled as error:
            print(error, file=sys.stderr)
            return 1
    return _run(arguments)


def _check(
    parser: argparse.ArgumentParser, arguments: argparse.Namespace
) -> None:
    """Exit if some arguments do not go together."""
    if arguments.dashboard and arguments.command:
        parser.error(
            '--dashboard is for a cloud that serves until Ctrl-C: leave out '
            f'"{arguments.command}"'
        )
    if bool(arguments.database_url) != bool(arguments.transport_url):
        parser.error('--database-url and --transport-url need each other')
    if unknown := sorted(set(arguments.real) - lo.OPTIONAL.keys()):
        parser.error(f'--with: there is no {", ".join(unknown)}')
    if arguments.cells < 1:
        parser.error('--cells: there is one at least')
    if arguments.cells > 1 and not arguments.database_url:
        parser.error(
            '--cells needs --database-url and --transport-url: a Nova that is '
            'a single process has one cell'
        )
    for name in arguments.names if arguments.command else ():
        if arguments.cells < stories.CELLS.get(name, 1):
            parser.error(f'story {name} needs --cells {stories.CELLS[name]}')


def _run(arguments: argparse.Namespace) -> int:
    """Tell the stories, one after the other; return the exit status."""
    names = arguments.names if arguments.command else ['host-lease']
    own = stories.CONF.keys() | stories.REAL.keys()
    plain = [name for name in names if name not in own]
    # Stories that need another configuration get a cloud of their own.
    others = [[name] for name in names if name in own]
    groups = [plain, *others] if plain else others
    return max(_run_on_one_cloud(group, arguments) for group in groups)


def _run_on_one_cloud(names: list[str], arguments: argparse.Namespace) -> int:
    """Tell the stories on a cloud of their own; return the exit status."""
    keep = arguments.keep
    directory = pathlib.Path(tempfile.mkdtemp(prefix='nova-reservations-'))
    try:
        print(
            f'starting keystone, placement, glance and nova in {directory}',
            flush=True,
        )
        began = time.monotonic()
        with cloud.brought_up(
            directory,
            arguments.database_url,
            arguments.transport_url,
            extra=stories.CONF.get(names[0]),
            cells=arguments.cells,
            real={
                *arguments.real,
                *stories.REAL.get(names[0], ()),
                *(dashboard.NEEDS if arguments.dashboard else ()),
            },
            install=stories.PACKAGES.get(names[0]),
        ) as services:
            with _horizon(services, arguments.dashboard) as horizon:
                print(f'{time.monotonic() - began:6.1f} s  ready', flush=True)
                ok = all(_tell(name, services) for name in names)
                keep = keep or not ok
                if not arguments.command:
                    _serve(services.layout, horizon)
        return 0 if ok else 1
    except (cloud.NotUp, person.Unexpected) as error:
        keep = True
        print(error)
        print(f'logs: {directory}/log')
        print(f'story {names[0]}: FAILED at the start of the cloud')
        return 1
    finally:
        if not keep:
            shutil.rmtree(directory)


def _horizon(
    services: cloud.Services, wanted: bool
) -> contextlib.AbstractContextManager[str | None]:
    """Run a Horizon, if one is wanted; enter with its URL."""
    if wanted:
        return dashboard.served(services.layout)
    return contextlib.nullcontext()


def _tell(name: str, services: cloud.Services) -> bool:
    """Tell one story; its last line says how it went."""
    layout = services.layout
    timeline = story.Timeline(services)
    try:
        stories.STORIES[name](layout.auth_url, timeline)
    except Exception as error:
        if isinstance(error, person.Unexpected):
            print(f'expected: {error.expected}')
            print(f'seen:     {error.seen}')
        else:
            traceback.print_exception(error, file=sys.stdout)
        print(f'logs:     {layout.log}')
        print(f'story {name}: FAILED at {timeline.current}', flush=True)
        return False
    print(f'story {name}: ok', flush=True)
    return True


def _serve(layout: lo.Layout, horizon: str | None) -> None:
    """Serve until Ctrl-C.

    :param horizon: its URL, if there is one
    """
    for name in ('admin', 'demo', 'alt'):
        (layout.directory / f'openrc-{name}').write_text(
            _OPENRC.format(
                name=name,
                auth_url=layout.auth_url,
                region=lo.REGION,
                bin=pathlib.Path(sys.executable).parent,
            )
        )
    print(
        _TRY.format(
            directory=layout.directory, image=cloud.IMAGE, flavor=cloud.FLAVOR
        ),
        flush=True,
    )
    if horizon:
        print(_HORIZON.format(url=horizon), flush=True)
    signal.pause()


if __name__ == '__main__':
    sys.exit(main())
