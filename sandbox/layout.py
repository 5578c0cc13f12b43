# SPDX-License-Identifier: Apache-2.0
"""The layout of one sandbox: folder, endpoints, databases."""

from collections.abc import Collection
from collections.abc import Mapping
import dataclasses
import json
import pathlib
from typing import Self
import uuid

import sqlalchemy.engine

#: The services that listen in each sandbox, by the name that serve.py knows
#: them by.
APIS = ('keystone', 'placement', 'glance', 'network', 'nova')

#: Beside those of the cells.
_DATABASES = (
    'keystone',
    'placement',
    'glance',
    'nova_api',
    'nova_cell0',
)

#: Optional service -> its API. Without Neutron there is a network API that is
#: always empty; without the others there is no such API.
OPTIONAL = {
    'neutron': 'network',
    'cinder': 'volume',
    'heat': 'orchestration',
}

#: Everybody's password is their name: the sandbox listens on loopback only.
USERS = {
    # user: (project, roles)
    'nova': ('service', ('admin', 'service')),
    'glance': ('service', ('admin', 'service')),
    'placement': ('service', ('admin', 'service')),
    'neutron': ('service', ('admin', 'service')),
    'cinder': ('service', ('admin', 'service')),
    'heat': ('service', ('admin', 'service')),
    'demo': ('demo', ('member',)),
    'demo-reader': ('demo', ('reader',)),
    'alt': ('alt', ('member',)),
}

#: Pool of Cinder -> its size in GiB.
POOLS = {'fast': 100, 'slow': 100, 'open': 1000}

#: Users with the role reader on the system: they see the limits of all
#: projects.
READERS_OF_ALL = ('nova',)

#: Users with an inherited role in each project, so that they can act for it.
MEMBERS_OF_ALL = ('nova',)

REGION = 'RegionOne'

HOSTS = ('compute-1', 'compute-2', 'compute-3', 'compute-4')

#: The number of hosts of each cell but the first.
_HOSTS_OF_A_CELL = 3

#: The programs of a Nova that is not a single process. If there are several
#: cells, each has a nova-conductor in addition.
CONTROLLERS = (
    'nova-conductor@controller-1',
    'nova-scheduler@controller-1',
    'nova-scheduler@controller-2',
)

SCHEDULERS = tuple(
    service for service in CONTROLLERS if 'nova-scheduler' in service
)

#: Names of this machine that a database's URL may have.
LOCAL = ('127.0.0.1', '::1', 'localhost')


@dataclasses.dataclass(frozen=True)
class Cell:
    """A cell of Nova.

    :ivar database: the name of its database in Layout.database().
    :ivar database_url: its database server, if that is not the layout's.
    :ivar transport_url: its message bus, if that is not the layout's.
    """

    name: str
    hosts: tuple[str, ...]
    database: str
    database_url: str = ''
    transport_url: str = ''


#: A single cell, which has no database server or bus of its own.
ONE_CELL = (Cell('cell1', HOSTS, 'nova'),)


def apis(real: Collection[str]) -> tuple[str, ...]:
    """Return the APIs of a sandbox with these services of OPTIONAL."""
    return tuple(
        dict.fromkeys((*APIS, *(OPTIONAL[each] for each in sorted(real))))
    )


def folder_of_pools(state_path: str | pathlib.Path) -> pathlib.Path:
    """Return the folder of Cinder's pools, below Cinder's state path."""
    return pathlib.Path(state_path, 'pools')


def node_uuid(host: str) -> str:
    """Return the UUID that the compute node of a host has at first."""
    return str(uuid.uuid5(uuid.NAMESPACE_DNS, host))


def identity(directory: str | pathlib.Path, host: str) -> pathlib.Path:
    """Return the file with the UUID of the compute node of a host.

    :param directory: of the layout
    """
    return pathlib.Path(directory, 'etc', host, 'compute_id')


def hosts_of_cells(count: int) -> dict[str, tuple[str, ...]]:
    """Return name of a cell -> its compute hosts, for several cells."""
    found: dict[str, tuple[str, ...]] = {'cell1': HOSTS}
    for number in range(2, count + 1):
        first = sum(map(len, found.values())) + 1
        found[f'cell{number}'] = tuple(
            f'compute-{host}'
            for host in range(first, first + _HOSTS_OF_A_CELL)
        )
    return found


@dataclasses.dataclass(frozen=True)
class Layout:
    """The layout of a sandbox. It is fixed before anything starts, and is the
    same in each process."""

    #: Everything that the sandbox writes is in here.
    directory: pathlib.Path
    #: TCP port on 127.0.0.1 per API.
    ports: Mapping[str, int]
    #: The database server, as an SQLAlchemy URL; none for SQLite.
    database_url: str = ''
    #: The message broker; none for a Nova that is a single process.
    transport_url: str = ''
    #: API -> the port in the catalog, if that is a proxy's.
    fronts: Mapping[str, int] = dataclasses.field(default_factory=dict)
    cells: tuple[Cell, ...] = ONE_CELL
    #: Those of OPTIONAL that are there.
    real: tuple[str, ...] = ()

    @property
    def hosts(self) -> tuple[str, ...]:
        return tuple(host for cell in self.cells for host in cell.hosts)

    @property
    def has_cells(self) -> bool:
        """Return whether there are several cells, with their own databases and
        buses."""
        return len(self.cells) > 1

    @property
    def databases(self) -> tuple[str, ...]:
        return (
            *_DATABASES,
            *self.real,
            *(cell.database for cell in self.cells),
        )

    @property
    def controllers(self) -> tuple[str, ...]:
        """Return the programs of Nova beside its API and the computes."""
        if not self.has_cells:
            return CONTROLLERS
        return (
            *CONTROLLERS,
            *(f'nova-conductor@{cell.name}' for cell in self.cells),
        )

    @property
    def computes(self) -> tuple[str, ...]:
        return tuple(f'nova-compute@{host}' for host in self.hosts)

    def cell_of(self, host: str) -> Cell:
        """Return the cell of a compute host, or of the host of its
        nova-conductor."""
        (found,) = (
            cell
            for cell in self.cells
            if host == cell.name or host in cell.hosts
        )
        return found

    @property
    def embedded(self) -> bool:
        """Return whether all of Nova is one process."""
        return not self.transport_url

    @property
    def etc(self) -> pathlib.Path:
        return self.directory / 'etc'

    @property
    def site(self) -> pathlib.Path:
        """The folder of packages that are installed in this sandbox only."""
        return self.directory / 'site'

    @property
    def log(self) -> pathlib.Path:
        return self.directory / 'log'

    @property
    def auth_url(self) -> str:
        return f'{self.url("keystone")}/v3'

    def url(self, api: str) -> str:
        return f'http://127.0.0.1:{self.ports[api]}'

    @property
    def shown(self) -> 'Layout':
        """The layout as Nova and users see it: with what stands before the
        APIs."""
        return dataclasses.replace(self, ports={**self.ports, **self.fronts})

    def catalog(self) -> dict[str, str]:
        """Return the URL of each service type."""
        shown = self.shown
        urls = {
            'compute': f'{shown.url("nova")}/v2.1',
            'image': shown.url('glance'),
            'network': shown.url('network'),
            'placement': shown.url('placement'),
            'reservation': f'{shown.url("nova")}/v2.1/os-reservations/v1',
        }
        if 'cinder' in self.real:
            urls['volumev3'] = f'{shown.url("volume")}/v3'
        if 'heat' in self.real:
            orchestration = shown.url('orchestration')
            urls['orchestration'] = f'{orchestration}/v1/$(project_id)s'
        return urls

    def database_name(self, name: str) -> str:
        """Return the name of a database on the server."""
        return f'{self.directory.name}_{name}'.replace('-', '_')

    def database(self, name: str) -> str:
        """Return the SQLAlchemy URL of a database.

        SQLite allows one writer at a time: the others wait for up to a minute.
        """
        if not self.database_url:
            return f'sqlite:///{self.directory}/{name}.db?timeout=60'
        own = {cell.database: cell.database_url for cell in self.cells}
        url = sqlalchemy.engine.make_url(own.get(name) or self.database_url)
        if (
            url.drivername == 'mysql+pymysql'
            and url.host in LOCAL
            and not any(name.startswith('ssl') for name in url.query)
        ):
            # By default PyMySQL offers TLS, and loads the certificates of the
            # system for it. That takes 28 ms of CPU, a connection only 1 ms.
            url = url.update_query_pairs([('ssl_disabled', 'true')])
        return url.set(database=self.database_name(name)).render_as_string(
            hide_password=False
        )

    def save(self) -> None:
        """Make the folders, and write the layout there for other processes."""
        for folder in (self.etc, self.log):
            folder.mkdir()
        (self.directory / 'layout.json').write_text(
            json.dumps(dataclasses.asdict(self), default=str)
        )

    @classmethod
    def load(cls, directory: pathlib.Path) -> Self:
        fields = json.loads((directory / 'layout.json').read_text())
        cells = tuple(
            Cell(**cell | {'hosts': tuple(cell['hosts'])})
            for cell in fields['cells']
        )
        made = {'directory': directory, 'cells': cells}
        return cls(**fields | made | {'real': tuple(fields['real'])})
