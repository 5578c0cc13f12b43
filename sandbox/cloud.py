# SPDX-License-Identifier: Apache-2.0
"""Brings the whole cloud up, and takes it down again."""

from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import contextlib
import errno
import os
import pathlib
import signal
import socket
import subprocess
import sys
import time

import requests

from sandbox import broker
from sandbox import cells as cells_
from sandbox import config
from sandbox import databases
from sandbox import ini
from sandbox import layout as lo
from sandbox import person
from sandbox import polls

#: Seconds that the services have to start, and to stop.
_UP = 300
_DOWN = 10

IMAGE = 'sandbox'
FLAVOR = 'sandbox.small'


class NotUp(Exception):
    """A service of the sandbox did not start."""


@contextlib.contextmanager
def brought_up(
    directory: pathlib.Path,
    database_url: str = '',
    transport_url: str = '',
    front: Callable[[str, int], int] = lambda api, port: port,
    extra: ini.Sections | None = None,
    cells: int = 1,
    real: Collection[str] = (),
    install: Callable[[lo.Layout], None] | None = None,
) -> Iterator['Services']:
    """Run a cloud in an empty folder, for as long as the context lasts.

    :param database_url: the server for the databases; empty: SQLite
    :param transport_url: the message broker; empty for a Nova that is a single
        process
    :param front: gets the name of an API and its port; returns the port for
        the catalog
    :param extra: see config.write
    :param cells: the number of cells; several need both URLs
    :param real: the services of layout.OPTIONAL that it has
    :param install: installs packages in this sandbox only
    :raises NotUp: if a service does not start, with what its log says last.
    :raises Unexpected: if there is no message broker to use
    """
    with contextlib.ExitStack() as stack:
        of_cells, wires = stack.enter_context(
            cells_.lent(cells, directory.name, database_url, transport_url)
        )
        transport_url = stack.enter_context(
            broker.lent(transport_url, directory.name)
        )
        sockets = {api: _listen() for api in lo.apis(real)}
        ports = {api: each.getsockname()[1] for api, each in sockets.items()}
        layout = lo.Layout(
            directory,
            ports,
            database_url,
            transport_url,
            {api: front(api, port) for api, port in ports.items()},
            of_cells,
            tuple(sorted(real)),
        )
        layout.save()
        config.write(layout, extra)
        if install:
            install(layout)
        stack.enter_context(databases.lent(layout))
        services = stack.enter_context(_services(layout, wires))
        for api, listener in sockets.items():
            services.start(api, listener)
        for api in sockets:
            services.wait_for_answer(api)
        operator = person.Operator(layout.auth_url)
        if not layout.embedded:
            _start_programs(services, layout, operator)
        services.wait_for(
            'all hosts',
            lambda: _hosts(layout, operator),
            len(layout.hosts),
        )
        _furnish(operator)
        yield services


def _start_programs(
    services: 'Services', layout: lo.Layout, operator: person.Operator
) -> None:
    """Start the programs of a Nova that is more than its API."""
    for service in layout.controllers:
        services.start(service)
    # Conductors first: a compute that finds none tries again only after 10 s.
    conductors = [
        service
        for service in layout.controllers
        if service.startswith('nova-conductor')
    ]
    services.wait_for('conductors', operator.conductors, len(conductors))
    for service in layout.computes:
        services.start(service)


def _hosts(layout: lo.Layout, operator: person.Operator) -> list[str]:
    """Return the hosts that there are by now."""
    if layout.has_cells:
        subprocess.run(
            [
                pathlib.Path(sys.executable).with_name('nova-manage'),
                f'--config-file={layout.etc}/nova.conf',
                *('cell_v2', 'discover_hosts'),
            ],
            check=True,
            capture_output=True,
        )
    return operator.hosts()


def _listen(port: int = 0) -> socket.socket:
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(('127.0.0.1', port))
    listener.listen(1024)
    return listener


def _listen_again(port: int) -> socket.socket:
    """Listen on the port of a service that was killed.

    Its workers hold the socket until the last of them is gone. On a busy
    machine that may be some time after their master.
    """

    def listen() -> socket.socket | None:
        try:
            return _listen(port)
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                raise
            return None

    listener = polls.until(f'port {port} to be free', listen, bool)
    assert listener is not None
    return listener


class Services:
    """The processes of one cloud.

    :ivar wires: of each cell by its name, where there are several.
    """

    def __init__(
        self, layout: lo.Layout, wires: Mapping[str, cells_.Wires]
    ) -> None:
        self.layout = layout
        self.wires = wires
        self._processes: dict[str, subprocess.Popen[bytes]] = {}

    def start(
        self,
        service: str,
        listener: socket.socket | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        """Start a service; from now on only the service has the listener.

        :param environment: variables that it has in addition to ours
        """
        descriptors = [listener.fileno()] if listener else []
        with self._log(service).open('ab') as log:
            self._processes[service] = subprocess.Popen(
                [
                    sys.executable,
                    '-m',
                    'sandbox.serve',
                    service,
                    str(self.layout.directory),
                    str(os.getpid()),
                    *map(str, descriptors),
                ],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                pass_fds=descriptors,
                env={**os.environ, **(environment or {})},
                # Ctrl-C is for the sandbox, which then ends its services.
                start_new_session=True,
            )
        if listener:
            # If this process kept the socket, clients would wait for answers
            # of a service that has died.
            listener.close()

    def process(self, service: str) -> subprocess.Popen[bytes]:
        """Return the service's first process, the parent of its workers."""
        return self._processes[service]

    def kill(self, service: str) -> None:
        """End a service and all its workers, without a chance to clean up."""
        process = self._processes[service]
        # If it has ended by itself, the process group may be gone.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()

    def restart(
        self, service: str, environment: Mapping[str, str] | None = None
    ) -> None:
        """Start a service again that was killed, on the same port."""
        port = self.layout.ports.get(service)
        listener = _listen_again(port) if port else None
        self.start(service, listener, environment)

    def wait_for_answer(self, api: str) -> None:
        """Wait until an API answers; its socket listens already before that.

        :raises NotUp:
        """
        try:
            requests.get(self.layout.url(api), timeout=_UP)
        except requests.RequestException as error:
            raise self._not_up(api, str(error)) from error

    def wait_for(
        self, what: str, look: Callable[[], Sequence[object]], count: int
    ) -> None:
        """Wait until look() returns so many items.

        :raises NotUp:
        """

        def look_at_processes_too() -> Sequence[object]:
            for service, process in self._processes.items():
                if process.poll() is not None:
                    raise self._not_up(service, 'ended')
            return look()

        polls.until(
            what, look_at_processes_too, lambda seen: len(seen) == count, _UP
        )

    def stop(self) -> None:
        """End all services: terminate them, and kill those that do not end."""
        for process in self._processes.values():
            process.terminate()
        deadline = time.monotonic() + _DOWN
        for process in self._processes.values():
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(max(0, deadline - time.monotonic()))
            # It may have left workers behind.
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()

    def _log(self, service: str) -> pathlib.Path:
        return self.layout.log / f'{service}.log'

    def _not_up(self, service: str, reason: str) -> NotUp:
        lines = self._log(service).read_text(errors='replace').splitlines()
        return NotUp('\n'.join([*lines[-20:], f'{service}: {reason}']))


@contextlib.contextmanager
def _services(
    layout: lo.Layout, wires: Mapping[str, cells_.Wires]
) -> Iterator[Services]:
    services = Services(layout, wires)
    try:
        yield services
    finally:
        services.stop()


def _furnish(admin: person.Person) -> None:
    """Create the flavor and the image for servers."""
    person.body(
        admin.compute.post(
            '/flavors',
            json={
                'flavor': {'name': FLAVOR, 'vcpus': 1, 'ram': 512, 'disk': 1}
            },
        ),
        200,
    )
    image = person.body(
        admin.image.post(
            '/v2/images',
            json={
                'name': IMAGE,
                'visibility': 'public',
                'disk_format': 'raw',
                'container_format': 'bare',
            },
        ),
        201,
    )
    person.body(
        admin.image.put(
            f'/v2/images/{image["id"]}/file',
            data=b'\0' * 512,
            headers={'Content-Type': 'application/octet-stream'},
        ),
        204,
    )
