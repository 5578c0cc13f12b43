# SPDX-License-Identifier: Apache-2.0
"""Compute hosts, leases and allocations that are rows in databases only.

A host is a copy of a real one, in all tables of Nova, placement and ours that
have rows of it. Only the scheduler can tell the two apart, because no compute
reports for the copy.
"""

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Mapping
import datetime
from typing import Any
import uuid
import zlib

import sqlalchemy as sa

from nova_reservations import objects
from nova_reservations.db import models
from sandbox import layout as lo

#: The maximum number of rows in one statement.
_BATCH = 2000

#: Number of a copy -> the columns that differ from the original's.
_Changes = Callable[[int], dict[str, Any]]


class Databases:
    """Connections in autocommit mode: each statement is a transaction of its
    own, and sees everything that was committed before it."""

    def __init__(self, layout: lo.Layout) -> None:
        self.layout = layout
        self._engines = {
            name: sa.create_engine(
                layout.database(name), isolation_level='AUTOCOMMIT'
            )
            for name in ('nova', 'nova_api', 'placement')
        }
        # Our tables are in Nova's API database.
        self.ours = self._engines['nova_api']

    def servers(self) -> int:
        """Return how many servers the cell has."""
        with self._engines['nova'].connect() as connection:
            instances = self._table(connection, 'instances')
            return (
                connection.scalar(
                    sa.select(sa.func.count())
                    .select_from(instances)
                    .where(instances.c.deleted == 0)
                )
                or 0
            )

    def copy_host(self, original: str, names: Iterable[str]) -> None:
        """Copy a host in Nova and placement; the copies of an enrolled host
        are enrolled."""
        names = list(names)
        uuids = {name: _uuid(name) for name in names}

        def identity(number: int) -> dict[str, Any]:
            return {'host': names[number]}

        def node(number: int) -> dict[str, Any]:
            name = names[number]
            return identity(number) | {
                'hypervisor_hostname': name,
                'uuid': uuids[name],
                'service_id': None,
            }

        def service(number: int) -> dict[str, Any]:
            return identity(number) | {
                'uuid': _uuid(f'service {number} {names[number]}')
            }

        count = len(names)
        self._copy('nova', 'services', 'host', original, count, service)
        self._copy('nova', 'compute_nodes', 'host', original, count, node)
        for table in ('host_mappings', 'aggregate_hosts'):
            self._copy('nova_api', table, 'host', original, count, identity)
        self._copy_provider(original, names, uuids)
        self._copy_resource(original, names, uuids)

    def _copy_provider(
        self, original: str, names: list[str], uuids: Mapping[str, str]
    ) -> None:
        id_, first = self._ids('placement', 'resource_providers', original)
        if id_ is None:
            return

        def provider(number: int) -> dict[str, Any]:
            name = names[number]
            return {
                'id': first + number,
                'root_provider_id': first + number,
                'uuid': uuids[name],
                'name': name,
            }

        def part(number: int) -> dict[str, Any]:
            return {'resource_provider_id': first + number}

        count = len(names)
        self._copy(
            'placement', 'resource_providers', 'id', id_, count, provider
        )
        for table in (
            'inventories',
            'resource_provider_traits',
            'resource_provider_aggregates',
        ):
            self._copy(
                'placement', table, 'resource_provider_id', id_, count, part
            )

    def _copy_resource(
        self, original: str, names: list[str], uuids: Mapping[str, str]
    ) -> None:
        id_, first = self._ids('nova_api', 'nr_resources', original)
        if id_ is None:
            return

        def resource(number: int) -> dict[str, Any]:
            name = names[number]
            return {
                'id': first + number,
                'name': name,
                'uuid': uuids[name],
                'spread': zlib.crc32(uuids[name].encode()) >> 1,
            }

        def host(number: int) -> dict[str, Any]:
            return part(number) | {'hypervisor_hostname': names[number]}

        def part(number: int) -> dict[str, Any]:
            return {'resource_id': first + number}

        count = len(names)
        self._copy('nova_api', 'nr_resources', 'id', id_, count, resource)
        self._copy('nova_api', 'nr_hosts', 'resource_id', id_, count, host)
        for table in ('nr_host_traits', 'nr_inventories'):
            self._copy('nova_api', table, 'resource_id', id_, count, part)
        with self.ours.connect() as connection:
            connection.exec_driver_sql(
                "UPDATE nr_counters SET value = value + 1 WHERE name = 'pool'"
            )

    def _ids(
        self, database: str, table: str, name: str
    ) -> tuple[int | None, int]:
        """Return the id of a row, and the first free id."""
        with self._engines[database].connect() as connection:
            rows = self._table(connection, table)
            id_ = connection.scalar(
                sa.select(rows.c.id).where(rows.c.name == name)
            )
            last = connection.scalar(sa.select(sa.func.max(rows.c.id)))
            return id_, (last or 0) + 1

    def _copy(
        self,
        database: str,
        name: str,
        column: str,
        value: object,
        count: int,
        changes: _Changes,
    ) -> None:
        with self._engines[database].connect() as connection:
            table = self._table(connection, name)
            originals = connection.execute(
                sa.select(table).where(table.c[column] == value)
            ).mappings()
            # What has an id of its own gets one, unless changes names it.
            keep = {each.name for each in table.c} - {'id'}
            rows = [
                {key: row[key] for key in keep} | changes(number)
                for row in originals
                for number in range(count)
            ]
            _insert(connection, table, rows)

    def _table(self, connection: sa.Connection, name: str) -> sa.Table:
        return sa.Table(name, sa.MetaData(), autoload_with=connection)


def _insert(
    connection: sa.Connection, table: sa.Table, rows: list[dict[str, Any]]
) -> None:
    for start in range(0, len(rows), _BATCH):
        connection.execute(sa.insert(table), rows[start : start + _BATCH])


def _uuid(name: str) -> str:
    return str(uuid.uuid5(uuid.NAMESPACE_DNS, name))


#: The first id of rows that Future creates, by which they are deleted.
_FIRST = 1_000_000

#: The prefixes of the ids of its leases and reservations.
LEASE, RESERVATION = (f'be0c000{which}-0000-4000-8000-' for which in (1, 2))

#: The tables in which it creates rows, children first.
_TABLES = (
    models.AllocationAmount,
    models.Allocation,
    models.Event,
    models.Reservation,
    models.Lease,
    models.Inventory,
    models.HostTrait,
    models.Host,
    models.Resource,
)


class Future:
    """A cloud whose hosts are leased for weeks ahead.

    Each host has a lease of a day every second day. All rows are in our
    database only, because Nova and placement have nothing of leases that have
    not begun.
    """

    #: The number of hosts of a lease.
    size = 10

    def __init__(
        self,
        databases: Databases,
        project_id: str,
        now: datetime.datetime,
        hosts: int,
        leases_of_each: int,
        slots: Mapping[str, Any] | None = None,
    ) -> None:
        """:param slots: params of reservations of slots, one on each host; by
        default whole hosts are reserved."""
        self._ours = databases.ours
        self._project_id = project_id
        self._now = now
        self._hosts = hosts
        self._leases_of_each = leases_of_each
        self._slots = slots

    def create(self, original: str) -> None:
        """Fill the tables, with hosts like the original."""
        ids = range(_FIRST, _FIRST + self._hosts)
        with self._ours.connect() as connection:
            self._create_hosts(connection, original, ids)
            self._create_leases(connection, ids)
            self._analyze(connection)

    def delete(self) -> None:
        with self._ours.connect() as connection:
            for table in map(models.table, _TABLES):
                if 'resource_id' in table.c:
                    mine = table.c.resource_id >= _FIRST
                elif 'allocation_id' in table.c:
                    mine = table.c.allocation_id >= _FIRST
                elif 'lease_id' in table.c:
                    mine = table.c.lease_id.startswith(LEASE)
                elif table.name == 'nr_leases':
                    mine = table.c.id.startswith(LEASE)
                else:
                    mine = table.c.id >= _FIRST
                connection.execute(sa.delete(table).where(mine))
            self._analyze(connection)

    def _create_hosts(
        self, connection: sa.Connection, original: str, ids: range
    ) -> None:
        resource = models.table(models.Resource)
        template = (
            connection.execute(
                sa.select(resource).where(resource.c.name == original)
            )
            .mappings()
            .one()
        )
        _insert(
            connection,
            resource,
            [
                {
                    **template,
                    'id': id_,
                    'name': f'future-{id_}',
                    'uuid': _uuid(f'future-{id_}'),
                    'spread': zlib.crc32(str(id_).encode()) >> 1,
                }
                for id_ in ids
            ],
        )
        for model in (models.Host, models.HostTrait, models.Inventory):
            table = models.table(model)
            parts = (
                connection.execute(
                    sa.select(table).where(
                        table.c.resource_id == template['id']
                    )
                )
                .mappings()
                .all()
            )
            _insert(
                connection,
                table,
                [
                    {**part, 'resource_id': id_}
                    for part in parts
                    for id_ in ids
                ],
            )

    def _create_leases(self, connection: sa.Connection, ids: range) -> None:
        rows: dict[type[models.Base], list[dict[str, Any]]] = {
            model: [] for model in reversed(_TABLES)
        }
        for first in range(0, len(ids), self.size):
            for number in range(self._leases_of_each):
                # Spread over the day.
                start = self._now.replace(
                    minute=0, second=0
                ) + datetime.timedelta(
                    days=1 + 2 * number, hours=(first // self.size) % 24
                )
                self._add_lease(rows, ids[first : first + self.size], start)
        for model, its in rows.items():
            if its:
                _insert(connection, models.table(model), its)

    def _add_lease(
        self,
        rows: Mapping[type[models.Base], list[dict[str, Any]]],
        ids: range,
        start: datetime.datetime,
    ) -> None:
        number = len(rows[models.Lease])
        lease = f'{LEASE}{number:012x}'
        reservation = f'{RESERVATION}{number:012x}'
        end = start + datetime.timedelta(days=1)
        rows[models.Lease].append(
            {
                'id': lease,
                'name': f'future-{number}',
                'project_id': self._project_id,
                'user_id': 'bench',
                'start_date': start,
                'end_date': end,
                'status': 'PENDING',
                'due_at': start - datetime.timedelta(minutes=10),
                'created_at': self._now,
            }
        )
        rows[models.Reservation].append(
            {
                'id': reservation,
                'lease_id': lease,
                'position': 0,
                'resource_type': 'virtual:instance'
                if self._slots
                else 'physical:host',
                'status': 'pending',
                'params': self._params(),
                'created_at': self._now,
            }
        )
        for kind, time in (
            ('start_lease', start),
            ('before_end_lease', end - datetime.timedelta(hours=1)),
            ('end_lease', end),
        ):
            rows[models.Event].append(
                {
                    'id': _uuid(f'{lease} {kind}'),
                    'lease_id': lease,
                    'event_type': kind,
                    'time': time,
                    'status': 'UNDONE',
                    'created_at': self._now,
                }
            )
        for id_ in ids:
            allocation = _FIRST + len(rows[models.Allocation])
            rows[models.Allocation].append(
                {
                    'id': allocation,
                    'reservation_id': reservation,
                    'resource_id': id_,
                    'start_date': start,
                    'end_date': end,
                    'exclusive': not self._slots,
                    'released': False,
                }
            )
            rows[models.AllocationAmount] += [
                {
                    'allocation_id': allocation,
                    'resource_class': name,
                    'amount': amount,
                }
                for name, amount in self._amounts(reservation).items()
            ]

    def _params(self) -> dict[str, Any]:
        if self._slots:
            return {
                **self._slots,
                'amount': self.size,
                'affinity': False,
                'end_action': 'delete',
                'end_grace': 0,
            }
        return {
            'min': self.size,
            'max': self.size,
            'hypervisor_properties': '',
            'resource_properties': '',
            'before_end': '',
        }

    def _amounts(self, reservation: str) -> dict[str, int]:
        """Return what each host gives of its classes."""
        if not self._slots:
            return {}
        return {
            'VCPU': self._slots['vcpus'],
            'MEMORY_MB': self._slots['memory_mb'],
            'DISK_GB': self._slots['disk_gb'],
            objects.slot_class(reservation): 1,
        }

    def _analyze(self, connection: sa.Connection) -> None:
        names = ', '.join(model.__tablename__ for model in _TABLES)
        connection.exec_driver_sql(f'ANALYZE TABLE {names}')
