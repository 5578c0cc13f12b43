# SPDX-License-Identifier: Apache-2.0
"""Runs Horizon with Blazar's panels, unmodified, beside a cloud."""

from collections.abc import Iterator
import contextlib
import json
import os
import pathlib
import socket
import subprocess

import requests

from sandbox import cloud
from sandbox import layout as lo
from sandbox import person
from sandbox import polls

#: What the cloud must have for Horizon.
NEEDS = ('neutron',)

_PROJECT = pathlib.Path(__file__).parents[1]
_HINT = _PROJECT / 'etc/glance/metadefs/nova-reservations.json'

#: Seconds that it has to start, with the style of its first page.
_UP = 120


class NotInstalled(Exception):
    """Horizon could not be installed."""


def install() -> None:
    """Make .venv-dashboard.

    :raises NotInstalled:
    """
    try:
        subprocess.run([_PROJECT / 'tools/venv', 'dashboard'], check=True)
    except subprocess.CalledProcessError as error:
        raise NotInstalled(
            f'Horizon can not be installed: tools/venv dashboard failed, with '
            f'status {error.returncode}'
        ) from error


@contextlib.contextmanager
def served(layout: lo.Layout) -> Iterator[str]:
    """Run the Horizon that is installed; yield its URL when it answers.

    :raises NotUp: if it does not start, with what its log says last.
    """
    _furnish(person.Operator(layout.auth_url))
    with socket.create_server(('127.0.0.1', 0)) as free:
        port = free.getsockname()[1]
    url = f'http://127.0.0.1:{port}'
    log = layout.log / 'horizon.log'
    with log.open('wb') as written:
        process = subprocess.Popen(
            [
                _PROJECT / '.venv-dashboard/bin/python',
                *('-m', 'sandbox.horizon_server'),
                *(str(port), str(os.getpid())),
            ],
            env={
                **os.environ,
                'DJANGO_SETTINGS_MODULE': 'sandbox.horizon',
                'PYTHONPATH': str(_PROJECT),
                'OS_AUTH_URL': layout.auth_url,
                'STATIC_ROOT': str(layout.directory / 'static'),
            },
            stdin=subprocess.DEVNULL,
            stdout=written,
            stderr=written,
            # Ctrl-C is for the sandbox, which then ends Horizon.
            start_new_session=True,
        )
    try:
        polls.until(
            "Horizon's page to log in",
            lambda: process.poll() is not None or _answers(url),
            bool,
            _UP,
        )
        if process.poll() is not None:
            lines = log.read_text(errors='replace').splitlines()
            raise cloud.NotUp('\n'.join([*lines[-20:], 'horizon: ended']))
        yield url
    finally:
        process.terminate()
        process.wait()


def _furnish(operator: person.Operator) -> None:
    """Create what Horizon wants to launch a server: a network, and the
    definition of the hint."""
    network = person.body(
        operator.network.post(
            '/v2.0/networks',
            json={'network': {'name': 'sandbox', 'shared': True}},
        ),
        201,
    )['network']
    subnet = {
        'network_id': network['id'],
        'ip_version': 4,
        'cidr': '10.0.0.0/24',
    }
    person.body(
        operator.network.post('/v2.0/subnets', json={'subnet': subnet}), 201
    )
    person.body(
        operator.image.post(
            '/v2/metadefs/namespaces', json=json.loads(_HINT.read_text())
        ),
        201,
    )


def _answers(url: str) -> bool:
    with contextlib.suppress(requests.ConnectionError):
        return requests.get(f'{url}/auth/login/', timeout=_UP).ok
    return False
