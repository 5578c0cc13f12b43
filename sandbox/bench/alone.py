# SPDX-License-Identifier: Apache-2.0
"""Our services on a database of their own, which the workers of the cloud do
not use: they would do a part of the measured work."""

from collections.abc import Iterator
import contextlib
import uuid

from oslo_config import cfg
import sqlalchemy as sa

from nova_reservations import bootstrap
from nova_reservations import conf as options
from nova_reservations import objects
from nova_reservations.db import migration
from nova_reservations.engine import assembly
from sandbox.bench import subject as su


@contextlib.contextmanager
def services(subject: su.Subject, what: str) -> Iterator[assembly.Services]:
    """Yield services on an empty database, which is dropped in the end.

    :param what: a part of the name of the database
    """
    name = subject.layout.database_name(what)
    ours = subject.databases.ours
    with ours.connect() as connection:
        connection.exec_driver_sql(f'CREATE DATABASE {name}')
    lent = on(subject.layout.database(what))
    try:
        migration.sync(lent.database)
        yield lent
    finally:
        lent.database.dispose()
        with ours.connect() as connection:
            connection.execute(sa.text(f'DROP DATABASE IF EXISTS {name}'))


def on(url: str) -> assembly.Services:
    """Return services on a database."""
    conf = cfg.ConfigOpts()
    options.register_opts(conf)
    conf([], default_config_files=[])
    conf.set_override('connection', url, group='reservations')
    conf.set_override(
        'resource_types',
        ['physical:host', 'virtual:instance'],
        group='reservations',
    )
    return bootstrap.build(conf, notify=lambda event_type, payload: None)


def facts(name: str) -> objects.HostFacts:
    """Return the facts that Nova would have of a host."""
    return objects.HostFacts(
        uuid=str(uuid.uuid4()),
        service_host=name,
        hypervisor_hostname=name,
        vcpus=16,
        memory_mb=65536,
        local_gb=1000,
        free_memory_mb=65536,
        free_disk_gb=1000,
        cpu_info='{}',
        hypervisor_type='QEMU',
        hypervisor_version=8002000,
        availability_zone='nova',
        provider_generation=1,
        traits=frozenset({'HW_CPU_X86_VMX'}),
        inventories=(
            objects.Inventory('MEMORY_MB', 65536, 512, 1, 65536, 1, 1.0),
            objects.Inventory('VCPU', 16, 0, 1, 16, 1, 4.0),
        ),
    )
