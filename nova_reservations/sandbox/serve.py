# SPDX-License-Identifier: Apache-2.0
"""One service of the sandbox: makes its database, then serves its API.

cloud.py runs it, with the name of the service, the folder of the sandbox, the
descriptor of a socket that listens already, and its own process id. For the
socket is there before the service: a client that comes early waits, and no
service has to ask whether another one is up yet.
"""

from collections.abc import Callable
import ctypes
import importlib
import importlib.metadata
import multiprocessing
import os
import pathlib
import signal
import socket
import sys
from typing import Any

import waitress

from nova_reservations.sandbox import layout as lo
from nova_reservations.sandbox import sqlite

_PR_SET_PDEATHSIG = 1


def main() -> None:
    service, directory, descriptor, parent = sys.argv[1:]
    # The services read the command line too.
    sys.argv = [service]
    die_with(int(parent))
    sqlite.begin_late()
    layout = lo.Layout.load(pathlib.Path(directory))
    application = _APPLICATIONS[service](layout)
    waitress.serve(
        application,
        sockets=[socket.socket(fileno=int(descriptor))],
        threads=16,
        ident=None,
    )


def die_with(parent: int) -> None:
    """Have this process terminated when its parent ends, however it ends."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != parent:
        sys.exit('the sandbox is gone')


def _run(command: str, *arguments: str) -> None:
    """Run an installed command, as an operator would.

    It runs in a fork of this process, which has imported most of it already.
    """
    _fork(_call, command, arguments)


def _call(command: str, arguments: tuple[str, ...]) -> None:
    (script,) = importlib.metadata.entry_points(
        group='console_scripts', name=command
    )
    sys.argv = [command, *arguments]
    sys.exit(script.load()())


def _fork(target: Callable[..., None], *arguments: object) -> None:
    process = multiprocessing.get_context('fork').Process(
        target=_forked, args=(os.getpid(), target, *arguments)
    )
    process.start()
    process.join()
    if process.exitcode:
        sys.exit(f'{target.__name__}{arguments}: exit {process.exitcode}')


def _forked(
    parent: int, target: Callable[..., None], *arguments: object
) -> None:
    die_with(parent)
    target(*arguments)


def _keystone(layout: lo.Layout) -> Any:
    # Imported here for the forks to find it.
    importlib.import_module('keystone.cmd.manage')
    from nova_reservations.sandbox import identity

    conf = f'--config-file={layout.etc}/keystone.conf'
    _run('keystone-manage', conf, 'db_sync')
    user, group = str(os.getuid()), str(os.getgid())
    _run(
        'keystone-manage',
        conf,
        'fernet_setup',
        f'--keystone-user={user}',
        f'--keystone-group={group}',
    )
    _fork(identity.fill, layout)
    os.environ['OS_KEYSTONE_CONFIG_FILES'] = f'{layout.etc}/keystone.conf'
    return importlib.import_module('keystone.wsgi.api').application


def _placement(layout: lo.Layout) -> Any:
    os.environ['OS_PLACEMENT_CONFIG_DIR'] = str(layout.etc)
    return importlib.import_module('placement.wsgi.api').application


def _glance(layout: lo.Layout) -> Any:
    importlib.import_module('glance.cmd.manage')
    conf = f'--config-file={layout.etc}/glance-api.conf'
    _run('glance-manage', conf, 'db_sync')
    os.environ['OS_GLANCE_CONFIG_DIR'] = str(layout.etc)
    return importlib.import_module('glance.wsgi.api').application


def _network(layout: lo.Layout) -> Any:
    from nova_reservations.sandbox import network

    return network.application


def _nova(layout: lo.Layout) -> Any:
    # nova-manage is the only one that would still choose eventlet by itself.
    os.environ['OS_NOVA_DISABLE_EVENTLET_PATCHING'] = 'true'
    importlib.import_module('nova.cmd.manage')
    from nova_reservations.sandbox import embedded

    conf = f'--config-file={layout.etc}/nova.conf'
    _run('nova-manage', conf, 'api_db', 'sync')
    _run(
        'nova-manage',
        conf,
        'cell_v2',
        'map_cell0',
        f'--database_connection={layout.database("nova_cell0")}',
    )
    _run('nova-manage', conf, 'cell_v2', 'create_cell', '--name=cell1')
    _run('nova-manage', conf, 'db', 'sync')
    os.environ.get('SANDBOX_PLAIN') or _run(
        'nova-reservations-manage', conf, 'db', 'sync'
    )
    return embedded.start(layout)


_APPLICATIONS: dict[str, Callable[[lo.Layout], Any]] = {
    'keystone': _keystone,
    'placement': _placement,
    'glance': _glance,
    'network': _network,
    'nova': _nova,
}


if __name__ == '__main__':
    main()
