# SPDX-License-Identifier: Apache-2.0
"""python-chi, with Chameleon's fork of Blazar's client, as they are on the
package index."""

from collections.abc import Iterator
import contextlib
import json
import os
import pathlib
import subprocess
from typing import Any

from sandbox import cloud
from sandbox import person
from sandbox.person import body
from sandbox.stories import neutron
from sandbox.story import expect

_PROJECT = pathlib.Path(__file__).parents[2]
_PYTHON = _PROJECT / '.venv-chameleon' / 'bin' / 'python'
#: The name that the library has for the network of servers.
_NETWORK = 'sharednet1'


class Chapter(neutron.Cast):
    """A notebook, cell by cell."""

    resource_type = 'flavor:instance'

    def tell(self, auth_url: str, node_type: str) -> None:
        """Run the notebook.

        :param node_type: the property of one host
        """
        with self.step('python-chi is installed') as seen:
            subprocess.run(
                [_PROJECT / 'tools' / 'venv', 'chameleon'], check=True
            )
            seen(_versions('python-chi', 'chameleon-blazarclient'))
        with self.step('demo has a network and a key'):
            self._prepare()
        environment = {
            **_logged_in(auth_url),
            'NODE_TYPE': node_type,
            'IMAGE': cloud.IMAGE,
            'FLAVOR': cloud.FLAVOR,
            'KEY': 'chi',
        }
        log = self.services.layout.log / 'notebook.log'
        with _notebook(environment, log) as cells:
            self._read(cells, node_type)

    def _prepare(self) -> None:
        network = self.create(self.demo, 'network', name=_NETWORK)
        self.create(
            self.demo,
            'subnet',
            network_id=network,
            ip_version=4,
            cidr='192.0.2.0/24',
        )
        key = {'keypair': {'name': 'chi'}}
        body(self.demo.compute.post('/os-keypairs', json=key), 201)

    def _read(self, cells: Iterator[Any], node_type: str) -> None:
        with self.step('python-chi: a member sees the types of nodes') as seen:
            expect('nodes of the type', 1, next(cells).count(node_type))
            seen(node_type)
        with self.step('Lease.submit() of a node and a flavor, from now on'):
            lease = next(cells)
            expect('status', 'ACTIVE', lease['status'])
        with self.step('get_reserved_flavors() has the flavor') as seen:
            expect('flavors', lease['reserved'], lease['flavors'])
            seen(', '.join(lease['flavors']))
        with self.step('servers are on the node, and of the flavor') as seen:
            servers = next(cells)
            expect('statuses', {'ACTIVE'}, {*servers.values()})
            seen(', '.join(servers))
        with self.step('the lease is found by its name'):
            expect(
                'lease', {'found': 'ACTIVE', 'listed': ['chi']}, next(cells)
            )
        with self.step('too many nodes are refused, and why') as seen:
            raised, *logged = next(cells)
            expect('raised', 'Unable to make lease', raised)
            if not any('not enough' in each for each in logged):
                raise person.Unexpected('not enough', logged)
            seen(' '.join(logged))
        with self.step('the lease is deleted'):
            expect('status', 'DELETED', next(cells))


@contextlib.contextmanager
def _notebook(
    environment: dict[str, str], log: pathlib.Path
) -> Iterator[Iterator[Any]]:
    """Run the notebook; yield what its cells print.

    :param log: gets what the library says
    """
    with (
        log.open('wb') as said,
        subprocess.Popen(
            [_PYTHON, _PROJECT / 'sandbox' / 'notebook.py'],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=said,
        ) as process,
    ):
        try:
            yield _cells(process, log)
        finally:
            process.terminate()


def _cells(
    process: subprocess.Popen[bytes], log: pathlib.Path
) -> Iterator[Any]:
    assert process.stdout
    for line in process.stdout:
        yield json.loads(line)
    raise person.Unexpected('another cell', log.read_text())


def _logged_in(auth_url: str) -> dict[str, str]:
    """Return the environment of a notebook of demo, which has no other
    variable of OpenStack."""
    own = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(('OS_', 'PYTHON'))
    }
    return own | {
        'OS_AUTH_TYPE': 'v3password',
        'OS_AUTH_URL': auth_url,
        'OS_USERNAME': 'demo',
        'OS_PASSWORD': 'demo',
        'OS_PROJECT_NAME': 'demo',
        'OS_USER_DOMAIN_NAME': 'Default',
        'OS_PROJECT_DOMAIN_NAME': 'Default',
    }


def _versions(*packages: str) -> str:
    """Return what is installed beside the notebook."""
    told = subprocess.run(
        [_PYTHON, '-m', 'pip', 'freeze'],
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    return ', '.join(
        line.replace('==', ' ')
        for line in told.splitlines()
        if line.startswith(packages)
    )
