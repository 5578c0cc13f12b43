# SPDX-License-Identifier: Apache-2.0
"""Puts the parts together, as configured, in any of Nova's processes."""

from collections.abc import Collection
from collections.abc import Iterable
import dataclasses
import datetime
import os
import socket
from typing import Any

from oslo_config import cfg
from stevedore import extension
from stevedore import named

from nova_reservations import cloud
from nova_reservations import exception
from nova_reservations import ports
from nova_reservations.db import api
from nova_reservations.engine import healing
from nova_reservations.engine import hosts
from nova_reservations.engine import leases
from nova_reservations.engine import lifecycle
from nova_reservations.engine import monitoring
from nova_reservations.engine import settings
from nova_reservations.engine import tasks
from nova_reservations.engine import waiting
from nova_reservations.engine import worker
from nova_reservations.plugins import base
from nova_reservations.plugins import monitor

NAMESPACE = 'nova_reservations.resources'
MONITORS = 'nova_reservations.monitors'


@dataclasses.dataclass(frozen=True, slots=True)
class Services:
    """What the processes of Nova use of us; opens nothing until used."""

    database: api.Database
    leases: leases.Leases
    hosts: hosts.Hosts
    lifecycle: lifecycle.Lifecycle
    monitoring: monitoring.Monitoring
    healing: healing.Healing


def build(
    conf: cfg.ConfigOpts,
    nova: ports.Cloud | None = None,
    notify: ports.Notifier | None = None,
) -> Services:
    """Return the services that conf describes.

    :param nova: in place of the Nova that this process is of
    :raises: UnknownResourceType if conf names one that is not installed
    :raises: DatabaseUnavailable if conf names none that can be used
    """
    group = conf.reservations
    options = settings.Settings(
        cleaning_time=datetime.timedelta(minutes=group.cleaning_time),
        prepare_ahead=datetime.timedelta(minutes=group.prepare_ahead),
        before_end=datetime.timedelta(minutes=group.minutes_before_end_lease),
        end_timeout=datetime.timedelta(seconds=group.end_timeout),
        host_refresh_interval=datetime.timedelta(
            seconds=group.host_refresh_interval
        ),
        create_retry_interval=datetime.timedelta(
            seconds=group.create_retry_interval
        ),
        max_create_retries=group.max_create_retries,
        polling_interval=datetime.timedelta(seconds=group.polling_interval),
        healing_interval=datetime.timedelta(minutes=group.healing_interval),
        enable_polling_monitor=group.enable_polling_monitor,
        enable_notification_monitor=group.enable_notification_monitor,
    )
    connection = group.connection or conf.api_database.connection
    if not connection:
        raise exception.DatabaseUnavailable(
            reason='no connection is configured'
        )
    database = api.Database(connection)
    nova = nova or cloud.NovaCloud(conf)
    notify = notify or cloud.notify
    types = _resource_types(conf, nova)
    promises = leases.Leases(database, types, options, notify)
    return Services(
        database=database,
        leases=promises,
        hosts=hosts.Hosts(database, nova, options),
        lifecycle=lifecycle.Lifecycle(
            database,
            types,
            options,
            notify,
            clock=database.now,
            queue=waiting.Queue(database, promises.book, options, notify),
        ),
        monitoring=monitoring.Monitoring(
            database, _monitors(conf, nova, types)
        ),
        healing=healing.Healing(database, types, options, notify),
    )


def build_worker(conf: cfg.ConfigOpts, services: Services) -> worker.Worker:
    """Return a worker of this process; call it after the fork."""
    return worker.Worker(
        f'{socket.gethostname()}:{os.getpid()}',
        services.database,
        services.lifecycle,
        tasks.all_of(
            services.hosts,
            services.monitoring,
            services.healing,
            services.lifecycle.options,
        ),
        conf.reservations.engine_threads,
    )


def _resource_types(
    conf: cfg.ConfigOpts, nova: ports.Cloud
) -> dict[str, base.ResourceType]:
    names = conf.reservations.resource_types

    def missing(unknown: Iterable[str]) -> None:
        raise exception.UnknownResourceType(
            f'[reservations] resource_types names {", ".join(sorted(unknown))}'
            f', which no installed package offers in {NAMESPACE}'
        )

    def broken(_: Any, entry_point: Any, error: BaseException) -> None:
        raise exception.UnknownResourceType(
            f'The resource type {entry_point.name} can not be loaded: {error}'
        )

    manager = named.NamedExtensionManager(
        NAMESPACE,
        names,
        invoke_on_load=True,
        invoke_args=(nova, conf),
        on_missing_entrypoints_callback=missing,
        on_load_failure_callback=broken,
    )
    return {one.name: one.obj for one in manager if one.obj is not None}


def _monitors(
    conf: cfg.ConfigOpts,
    nova: ports.Cloud,
    types: Collection[str],
) -> list[monitor.Monitor]:
    """Return the monitors of the types that can be leased."""

    def broken(_: Any, entry_point: Any, error: BaseException) -> None:
        raise exception.UnknownResourceType(
            f'The monitor {entry_point.name} can not be loaded: {error}'
        )

    manager = extension.ExtensionManager(
        MONITORS,
        invoke_on_load=True,
        invoke_args=(nova, conf),
        on_load_failure_callback=broken,
    )
    monitors = [one.obj for one in manager if one.obj is not None]
    return [one for one in monitors if one.resource_type in types]
