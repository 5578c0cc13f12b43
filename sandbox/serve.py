# SPDX-License-Identifier: Apache-2.0
"""One service of the sandbox, in a process that cloud.py starts.

Arguments: the name of the service, the folder of the sandbox, the process id
of cloud.py, and for an API the descriptor of a socket that listens already,
and its number of workers, if not two.
The socket listens before the API is up. So an early client waits, and no
service has to check whether another one is up.
"""

from collections.abc import Callable
import importlib
import importlib.metadata
import multiprocessing
import os
import pathlib
import socket
import sys
import tempfile
from typing import Any

from gunicorn.app import base
import sqlalchemy
import waitress

from sandbox import config
from sandbox import databases
from sandbox import layout as lo
from sandbox.parent import die_with

#: The text that each worker of an API prints when it can answer.
LOADED = 'a worker is loaded'

#: The WSGI module of each API.
_MODULES = {
    'keystone': 'keystone.wsgi.api',
    'placement': 'placement.wsgi.api',
    'glance': 'glance.wsgi.api',
    'network': 'sandbox.network',
    'neutron': 'neutron.wsgi.api',
    'cinder': 'cinder.wsgi.api',
    'heat': 'heat.wsgi.api',
    'nova': 'nova.wsgi.osapi_compute',
}

#: API -> the module that starts its other services in the same process.
_WHOLE = {
    'cinder': 'sandbox.block_storage',
    'heat': 'sandbox.orchestration',
}


def main() -> None:
    service, directory, parent, *descriptor = sys.argv[1:]
    die_with(int(parent))
    layout = lo.Layout.load(pathlib.Path(directory))
    # The services read the command line and these variables.
    sys.argv = [service]
    os.environ |= {
        'OS_KEYSTONE_CONFIG_DIR': str(layout.etc),
        'OS_PLACEMENT_CONFIG_DIR': str(layout.etc),
        'OS_GLANCE_CONFIG_DIR': str(layout.etc),
        'OS_NOVA_CONFIG_DIR': str(layout.etc),
        'OS_NEUTRON_CONFIG_DIR': str(layout.etc),
        'OS_NEUTRON_CONFIG_FILES': 'neutron.conf;ml2.ini',
    }
    os.environ.setdefault('OS_NOVA_DISABLE_EVENTLET_PATCHING', 'true')
    os.environ.setdefault('OS_CINDER_DISABLE_EVENTLET_PATCHING', 'true')
    for real, api in lo.OPTIONAL.items():
        if service == api and real in layout.real:
            service = real
    if (layout.embedded and service == 'nova') or service in lo.OPTIONAL:
        sys.path.insert(0, str(layout.site))
        # stevedore's cache of entry points is deleted with the sandbox.
        os.environ['XDG_CACHE_HOME'] = str(layout.directory / 'cache')
    if service == 'neutron':
        # Neutron writes its start time to a temporary file that is named by
        # the parent process. It must not find the file of an earlier run.
        tempfile.tempdir = tempfile.mkdtemp(dir=layout.directory)
    if not layout.database_url:
        databases.begin_late()
    if not descriptor:
        _be(layout, service)
        return
    # Not again if the service is restarted.
    prepared = layout.directory / f'{service}-is-prepared'
    if service in _PREPARE and not prepared.exists():
        _PREPARE[service](layout)
        prepared.touch()
    if layout.embedded or service in _WHOLE:
        _serve(layout, service, int(descriptor[0]))
    else:
        _Workers(service, *map(int, descriptor)).run()


# Preparation of the APIs, by the commands that an operator would run. They run
# in forks of a process that has already imported most modules.


def _run(command: str, *arguments: str) -> None:
    """Run an installed command."""
    _fork(_call, command, *arguments)


def _call(command: str, *arguments: str) -> None:
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


def _prepare_keystone(layout: lo.Layout) -> None:
    importlib.import_module('keystone.cmd.manage')
    from sandbox import identity

    conf = f'--config-file={layout.etc}/keystone.conf'
    _run('keystone-manage', conf, 'db_sync')
    _run(
        'keystone-manage',
        conf,
        'fernet_setup',
        f'--keystone-user={os.getuid()}',
        f'--keystone-group={os.getgid()}',
    )
    _fork(identity.fill, layout)


def _prepare_placement(layout: lo.Layout) -> None:
    importlib.import_module('placement.cmd.manage')
    conf = f'--config-file={layout.etc}/placement.conf'
    _run('placement-manage', conf, 'db', 'sync')


def _prepare_glance(layout: lo.Layout) -> None:
    importlib.import_module('glance.cmd.manage')
    conf = f'--config-file={layout.etc}/glance-api.conf'
    _run('glance-manage', conf, 'db_sync')


def _prepare_nova(layout: lo.Layout) -> None:
    importlib.import_module('nova.cmd.manage')
    conf = f'--config-file={layout.etc}/nova.conf'
    cell0 = f'--database_connection={layout.database("nova_cell0")}'
    _run('nova-manage', conf, 'api_db', 'sync')
    _run('nova-manage', conf, 'cell_v2', 'map_cell0', cell0)
    own = [
        f'--config-file={layout.etc}/{config.conf_in(layout, cell)}'
        for cell in layout.cells
    ]
    for cell, of_cell in zip(layout.cells, own, strict=True):
        create = ('cell_v2', 'create_cell', f'--name={cell.name}')
        url = f'--database_connection={config.seen_from_above(layout, cell)}'
        _run('nova-manage', conf, of_cell, *create, url)
    _run('nova-manage', conf, 'db', 'sync')
    if layout.has_cells:
        for of_cell in own:
            _run('nova-manage', of_cell, 'db', 'sync', '--local_cell')
    _run('nova-reservations-manage', conf, 'db', 'sync')


def _prepare_neutron(layout: lo.Layout) -> None:
    if layout.database_url:
        _run(
            'neutron-db-manage',
            f'--config-file={layout.etc}/neutron.conf',
            f'--config-file={layout.etc}/ml2.ini',
            *('upgrade', 'head'),
        )
    else:
        _fork(_create_neutron, layout)


def _create_neutron(layout: lo.Layout) -> None:
    """Create Neutron's tables at once: its migrations are not for SQLite."""
    from neutron.db.migration.models import head

    engine = sqlalchemy.create_engine(layout.database('neutron'))
    head.get_metadata().create_all(engine)


def _prepare_cinder(layout: lo.Layout) -> None:
    # Not imported here: the import would make this process use eventlet.
    conf = f'--config-file={layout.etc}/cinder.conf'
    _run('cinder-manage', conf, 'db', 'sync')


def _prepare_heat(layout: lo.Layout) -> None:
    # Not imported here: the API is configured by the state that it finds.
    conf = f'--config-file={layout.etc}/heat.conf'
    _run('heat-manage', conf, 'db_sync')


_PREPARE = {
    'keystone': _prepare_keystone,
    'placement': _prepare_placement,
    'glance': _prepare_glance,
    'neutron': _prepare_neutron,
    'cinder': _prepare_cinder,
    'heat': _prepare_heat,
    'nova': _prepare_nova,
}


def _application(service: str) -> Any:
    application = importlib.import_module(_MODULES[service]).application
    if service == 'keystone':
        # Otherwise the first request would load the rules, and requests at
        # the same time would be refused because the rules are missing.
        from keystone.common import rbac_enforcer

        rbac_enforcer.RBACEnforcer()._enforcer.load_rules()
    return application


def _serve(layout: lo.Layout, service: str, descriptor: int) -> None:
    """Serve an API in this process, together with all other services of Nova
    or of the APIs in _WHOLE."""
    whole = service in _WHOLE and importlib.import_module(_WHOLE[service])
    if whole:
        whole.configure(layout)
    application = _application(service)
    if whole:
        whole.start()
    if service == 'nova':
        from sandbox import embedded

        application = embedded.start(application)
    waitress.serve(
        application,
        sockets=[socket.socket(fileno=descriptor)],
        threads=16,
        ident=None,
    )


class _Workers(base.BaseApplication):
    """Serves an API in several processes."""

    def __init__(
        self, service: str, descriptor: int, workers: int = 2
    ) -> None:
        self._service = service
        self._descriptor = descriptor
        self._workers = workers
        super().__init__()

    def load_config(self) -> None:
        for option, value in {
            'bind': f'fd://{self._descriptor}',
            'workers': self._workers,
            'threads': 8,
            'timeout': 300,
            'graceful_timeout': 2,
            # Nova sends URLs with 100 servers to Neutron.
            'limit_request_line': 8190,
            'control_socket_disable': True,
            'post_worker_init': lambda _: print(LOADED, flush=True),
        }.items():
            self.cfg.set(option, value)

    def load(self) -> Any:
        return _application(self._service)


def _be(layout: lo.Layout, daemon: str) -> None:
    """Become a program of Nova on a host."""
    command, _ = daemon.split('@')
    conf = config.conf_of(layout, daemon)
    if command == 'nova-compute':
        importlib.import_module('nova.cmd.compute')
        from sandbox import driver

        driver.install()
    _call(
        command,
        f'--config-file={layout.etc}/{conf}',
        f'--config-file={layout.etc}/{config.conf_of_host(daemon)}',
    )


if __name__ == '__main__':
    main()
