# SPDX-License-Identifier: Apache-2.0
"""The distribution as users install it: no Nova, all commands loaded."""

import ast
from collections.abc import Iterator
import functools
from importlib import metadata
import importlib.util
import json
import os
import pathlib
import re
import subprocess
import sys
import threading
from typing import Any
from wsgiref import simple_server

import pytest

import osc_nova_reservations

DISTRIBUTION = 'osc-nova-reservations'
LEASE = {
    'name': 'mine',
    'project_id': 'p',
    'start_date': '2040-01-01T10:00:00.000000',
    'end_date': '2040-01-01T12:00:00.000000',
    'reservations': [],
}
OPENSTACK = pathlib.Path(sys.executable).with_name('openstack')
PACKAGE = pathlib.Path(osc_nova_reservations.__file__).parent


def openstack(*words: str) -> subprocess.CompletedProcess[str]:
    """Run ``openstack`` without the credentials of the caller of the tests."""
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith('OS_')
    }
    return subprocess.run(
        [OPENSTACK, *words],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


def imported(module: pathlib.Path) -> Iterator[str]:
    """Yield the top-level names that a module imports."""
    for node in ast.walk(ast.parse(module.read_text())):
        if isinstance(node, ast.Import):
            yield from (each.name.partition('.')[0] for each in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.module
            yield node.module.partition('.')[0]


def test_nova_is_not_installed_where_these_tests_run():
    assert importlib.util.find_spec('nova') is None


def test_only_declared_requirements_are_imported():
    required = {
        re.split(r'[^\w.-]', each)[0]
        for each in metadata.requires(DISTRIBUTION) or ()
        if 'extra ==' not in each
    }
    providers = metadata.packages_distributions()
    used = {
        provider
        for module in PACKAGE.rglob('*.py')
        if 'tests' not in module.relative_to(PACKAGE).parts
        for name in imported(module)
        if name not in sys.stdlib_module_names
        for provider in providers[name]
    }
    assert (
        used - {DISTRIBUTION}
        == required
        == {
            'cliff',
            'icalendar',
            'keystoneauth1',
            'openstacksdk',
            'osc-lib',
            'requests',
            'tzlocal',
            'wcwidth',
        }
    )


def test_the_commands_are_found():
    found = openstack('help', 'lease')
    assert found.stderr == ''
    commands = {line.strip() for line in found.stdout.splitlines()[1:]}
    assert commands == {
        entry.name.replace('_', ' ')
        for entry in metadata.entry_points(group='openstack.lease.v1')
    }
    assert 'lease series add project' in commands


def test_the_commands_explain_their_options():
    explained = openstack('lease', 'create', '--help')
    assert explained.returncode == 0
    assert '--hosts <min>[-<max>]' in explained.stdout


@pytest.fixture
def endpoint() -> Iterator[str]:
    """The endpoint of an API that lists one lease, over HTTP."""

    def app(environ: Any, start_response: Any) -> list[bytes]:
        start_response('200 OK', [('Content-Type', 'application/json')])
        path = environ['PATH_INFO']
        assert path == '/v1/leases'
        return [json.dumps({'leases': [LEASE]}).encode()]

    class Handler(simple_server.WSGIRequestHandler):
        log_message = functools.partialmethod(lambda *_: None)

    server = simple_server.make_server(
        '127.0.0.1', 0, app, handler_class=Handler
    )
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield f'http://127.0.0.1:{server.server_port}/v1'
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_command_talks_to_the_api_over_http(endpoint):
    listed = openstack(
        '--os-auth-type=admin_token',
        *('--os-token=token', f'--os-endpoint={endpoint}'),
        *('lease', 'list', '--format=json'),
    )
    assert listed.stderr == ''
    [row] = json.loads(listed.stdout)
    assert row['Name'] == 'mine'
