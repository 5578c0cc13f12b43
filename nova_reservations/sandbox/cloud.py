# SPDX-License-Identifier: Apache-2.0
"""Brings the whole cloud up, and takes it down again."""

from collections.abc import Iterator
import contextlib
import os
import pathlib
import signal
import socket
import subprocess
import sys
import time

import requests

from nova_reservations.sandbox import config
from nova_reservations.sandbox import databases
from nova_reservations.sandbox import layout as lo
from nova_reservations.sandbox import person
from nova_reservations.sandbox import story

#: Seconds that the services have to come up, and to go.
_UP = 300
_DOWN = 10

IMAGE = 'sandbox'
FLAVOR = 'sandbox.small'


class NotUp(Exception):
    """A service of the sandbox did not start."""


@contextlib.contextmanager
def running(
    directory: pathlib.Path, database_url: str = '', transport_url: str = ''
) -> Iterator[lo.Layout]:
    """Run a cloud in an empty folder, for as long as the context lasts.

    :param database_url: of the server to create databases on; none for SQLite
    :param transport_url: of the message broker; none for a Nova that is a
        single process
    :raises NotUp: if a service does not answer, with what its log says last.
    """
    sockets = {api: _listen() for api in lo.APIS}
    layout = lo.Layout(
        directory,
        {api: each.getsockname()[1] for api, each in sockets.items()},
        database_url,
        transport_url,
    )
    layout.save()
    config.write(layout)
    with databases.lent(layout), _processes() as processes:
        for api, listener in sockets.items():
            processes.append(_start(layout, api, listener))
            # Theirs alone now: when they die, nobody waits for an answer.
            listener.close()
        for api in lo.APIS:
            _wait(layout, api)
        operator = person.Operator(layout.auth_url)
        if not layout.embedded:
            processes += [_start(layout, each) for each in lo.CONTROLLERS]
            # A compute that finds no conductor waits for 10 s.
            story.until('a conductor', operator.conductors, bool, _UP)
            processes += [_start(layout, each) for each in lo.COMPUTES]
        story.until(
            'all hosts',
            operator.hosts,
            lambda hosts: len(hosts) == len(lo.HOSTS),
            _UP,
        )
        _furnish(operator)
        yield layout


@contextlib.contextmanager
def _processes() -> Iterator[list[subprocess.Popen[bytes]]]:
    """Collect processes, and end them in the end."""
    processes: list[subprocess.Popen[bytes]] = []
    try:
        yield processes
    finally:
        for process in processes:
            process.terminate()
        deadline = time.monotonic() + _DOWN
        for process in processes:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(max(0, deadline - time.monotonic()))
            with contextlib.suppress(ProcessLookupError):
                # And workers that their parent has left behind.
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def _listen() -> socket.socket:
    listener = socket.socket()
    listener.bind(('127.0.0.1', 0))
    listener.listen(1024)
    return listener


def _start(
    layout: lo.Layout, service: str, listener: socket.socket | None = None
) -> subprocess.Popen[bytes]:
    descriptors = [listener.fileno()] if listener else []
    with (layout.log / f'{service}.log').open('wb') as log:
        return subprocess.Popen(
            [
                sys.executable,
                '-m',
                'nova_reservations.sandbox.serve',
                service,
                str(layout.directory),
                str(os.getpid()),
                *map(str, descriptors),
            ],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            pass_fds=descriptors,
            # Ctrl-C is for the sandbox, which then ends its services.
            start_new_session=True,
        )


def _wait(layout: lo.Layout, api: str) -> None:
    """Wait for an answer: the socket is there since before the service."""
    try:
        requests.get(layout.url(api), timeout=_UP)
    except requests.RequestException as error:
        log = layout.log / f'{api}.log'
        last = log.read_text(errors='replace').splitlines()[-20:]
        raise NotUp('\n'.join([*last, f'{api}: {error}'])) from error


def _furnish(admin: person.Person) -> None:
    """Create what servers are made of."""
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
