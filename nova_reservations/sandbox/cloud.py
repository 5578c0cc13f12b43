# SPDX-License-Identifier: Apache-2.0
"""Brings the whole cloud up, and takes it down again."""

from collections.abc import Iterator
import contextlib
import os
import pathlib
import socket
import subprocess
import sys

import requests

from nova_reservations.sandbox import config
from nova_reservations.sandbox import layout as lo
from nova_reservations.sandbox import person

#: Seconds that the services have to come up, all together, and each to go.
_UP = 300
_DOWN = 5

IMAGE = 'sandbox'
FLAVOR = 'sandbox.small'


class NotUp(Exception):
    """A service of the sandbox did not start."""


@contextlib.contextmanager
def running(directory: pathlib.Path) -> Iterator[lo.Layout]:
    """Run a cloud in an empty folder, for as long as the context lasts.

    :raises NotUp: if a service does not answer, with what its log says last.
    """
    sockets = {service: _listen() for service in lo.SERVICES}
    layout = lo.Layout(
        directory,
        {service: each.getsockname()[1] for service, each in sockets.items()},
    )
    layout.save()
    config.write(layout)
    processes = []
    try:
        for service, listener in sockets.items():
            processes.append(_start(layout, service, listener))
            # Theirs alone now: when they die, nobody waits for an answer.
            listener.close()
        for service in lo.SERVICES:
            _wait(layout, service)
        _furnish(layout)
        yield layout
    finally:
        for process in processes:
            process.terminate()
        for process in processes:
            _reap(process)


def _listen() -> socket.socket:
    listener = socket.socket()
    listener.bind(('127.0.0.1', 0))
    listener.listen(1024)
    return listener


def _start(
    layout: lo.Layout, service: str, listener: socket.socket
) -> subprocess.Popen[bytes]:
    with (layout.log / f'{service}.log').open('wb') as log:
        return subprocess.Popen(
            [
                sys.executable,
                '-m',
                'nova_reservations.sandbox.serve',
                service,
                str(layout.directory),
                str(listener.fileno()),
                str(os.getpid()),
            ],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            pass_fds=[listener.fileno()],
            # Ctrl-C is for the sandbox, which then ends its services.
            start_new_session=True,
        )


def _reap(process: subprocess.Popen[bytes]) -> None:
    try:
        process.wait(_DOWN)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _wait(layout: lo.Layout, service: str) -> None:
    """Wait for an answer: the socket is there since before the service."""
    try:
        requests.get(layout.url(service), timeout=_UP)
    except requests.RequestException as error:
        log = layout.log / f'{service}.log'
        last = log.read_text(errors='replace').splitlines()[-20:]
        raise NotUp('\n'.join([*last, f'{service}: {error}'])) from error


def _furnish(layout: lo.Layout) -> None:
    """Create what a server is made of."""
    admin = person.Person(layout.auth_url, 'admin')
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
