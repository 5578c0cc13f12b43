# SPDX-License-Identifier: Apache-2.0
"""Where the parts of one sandbox are: folder, endpoints, databases."""

from collections.abc import Mapping
import dataclasses
import json
import pathlib
import sqlite3
from typing import Self

#: The services that listen, by the name that serve.py knows them by.
SERVICES = ('keystone', 'placement', 'glance', 'network', 'nova')

#: Everybody's password is their name: the sandbox listens on loopback only.
USERS = {
    # user: (project, roles)
    'nova': ('service', ('admin', 'service')),
    'glance': ('service', ('admin', 'service')),
    'placement': ('service', ('admin', 'service')),
    'demo': ('demo', ('member',)),
    'demo-reader': ('demo', ('reader',)),
    'alt': ('alt', ('member',)),
}

REGION = 'RegionOne'


@dataclasses.dataclass(frozen=True)
class Layout:
    """What is decided before anything starts; the same in each process."""

    #: Everything that the sandbox writes is in here.
    directory: pathlib.Path
    #: TCP port on 127.0.0.1 per service.
    ports: Mapping[str, int]
    #: Names of the compute hosts.
    computes: tuple[str, ...] = (
        'compute-1',
        'compute-2',
        'compute-3',
        'compute-4',
    )

    @property
    def etc(self) -> pathlib.Path:
        return self.directory / 'etc'

    @property
    def log(self) -> pathlib.Path:
        return self.directory / 'log'

    @property
    def auth_url(self) -> str:
        return f'{self.url("keystone")}/v3'

    def url(self, service: str) -> str:
        return f'http://127.0.0.1:{self.ports[service]}'

    def catalog(self) -> dict[str, str]:
        """Return the URL of each service type."""
        return {
            'compute': f'{self.url("nova")}/v2.1',
            'image': self.url('glance'),
            'network': self.url('network'),
            'placement': self.url('placement'),
            'reservation': f'{self.url("nova")}/v2.1/os-reservations/v1',
        }

    def database(self, name: str) -> str:
        """Return the SQLAlchemy URL of a database.

        One writer at a time is SQLite's rule: the others wait, for up to a
        minute.
        """
        return f'sqlite:///{self.directory}/{name}.db?timeout=60'

    def save(self) -> None:
        """Write it for the other processes, and make what it names."""
        for folder in (self.etc, self.log):
            folder.mkdir()
        for name in (
            'keystone',
            'placement',
            'glance',
            'nova_api',
            'nova_cell0',
            'nova',
        ):
            # A file keeps this mode, in which readers never wait.
            database = sqlite3.connect(self.directory / f'{name}.db')
            database.execute('PRAGMA journal_mode=WAL')
            database.close()
        (self.directory / 'layout.json').write_text(
            json.dumps(dataclasses.asdict(self), default=str)
        )

    @classmethod
    def load(cls, directory: pathlib.Path) -> Self:
        fields = json.loads((directory / 'layout.json').read_text())
        return cls(
            directory=directory,
            ports=fields['ports'],
            computes=tuple(fields['computes']),
        )
