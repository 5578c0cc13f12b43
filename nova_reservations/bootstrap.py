# SPDX-License-Identifier: Apache-2.0
"""Puts the parts together, as configured, in any of Nova's processes."""

from collections.abc import Collection
from collections.abc import Mapping
import dataclasses
import datetime
import functools
from importlib import metadata
import os
import socket

from oslo_config import cfg
from oslo_utils import timeutils

from nova_reservations import cloud
from nova_reservations import conf as options
from nova_reservations import exception
from nova_reservations import plugin_loader
from nova_reservations import ports
from nova_reservations.conf import database as database_options
from nova_reservations.db import api
from nova_reservations.engine import access
from nova_reservations.engine import best_effort
from nova_reservations.engine import clocks
from nova_reservations.engine import deleted_servers
from nova_reservations.engine import drainable_hosts
from nova_reservations.engine import healing
from nova_reservations.engine import hosts
from nova_reservations.engine import identity
from nova_reservations.engine import leases
from nova_reservations.engine import monitoring
from nova_reservations.engine import resources
from nova_reservations.engine import retry
from nova_reservations.engine import retry_walk
from nova_reservations.engine import server_leases
from nova_reservations.engine import settings
from nova_reservations.engine.worker import lifecycle
from nova_reservations.engine.worker import periodic
from nova_reservations.engine.worker import worker
from nova_reservations.objects import states
from nova_reservations.plugins.drain_strategies import shipped
from nova_reservations.plugins.monitors import base as monitor
from nova_reservations.plugins.resource_types import base

NAMESPACE = 'nova_reservations.resources'
MONITORS = 'nova_reservations.monitors'


@dataclasses.dataclass(frozen=True, slots=True)
class Services:
    """What the processes of Nova use of us; opens nothing until used."""

    database: api.Database
    clock: clocks.Clock
    leases: leases.Leases
    access: access.Access
    server_leases: server_leases.ServerLeases
    hosts: hosts.Hosts
    resources: resources.Resources
    drainable_hosts: drainable_hosts.DrainableHosts
    walk: retry_walk.Walk
    lifecycle: lifecycle.Lifecycle
    monitoring: monitoring.Monitoring
    healing: healing.Healing
    deleted_servers: deleted_servers.DeletedServers


def build(
    conf: cfg.ConfigOpts,
    nova: ports.Cloud | None = None,
    notify: ports.Notifier | None = None,
) -> Services:
    """Return the services that conf describes.

    :param nova: in place of the Nova that this process is of
    :raises: UnknownResourceType, UnknownEventAction, UnknownDrainStrategy if
        conf names one that is not installed
    :raises: cfg.ConfigFileValueError if one of its values is not allowed
    :raises: DatabaseUnavailable if conf names none that can be used
    """
    options.check(conf)
    timing = _timing(conf)
    database = _database(conf)
    clock = clocks.Clock(database.now, own_time)
    nova = nova or cloud.NovaCloud(
        conf,
        functools.partial(hosts.remember, database),
        functools.partial(identity.of, database),
    )
    notify = notify or cloud.notify
    types = _resource_types(conf, nova)
    inventory = hosts.Hosts(database, nova, timing)
    drainables = drainable_hosts.DrainableHosts(
        database, nova, inventory, timing
    )
    promises = leases.Leases(database, types, timing, notify, drainables)
    accesses = access.Access(database, types)
    queue = retry.Retries(database, types, timing, notify)
    return Services(
        database=database,
        clock=clock,
        leases=promises,
        access=accesses,
        server_leases=server_leases.ServerLeases(promises, accesses, nova),
        hosts=inventory,
        resources=resources.Resources(database),
        drainable_hosts=drainables,
        walk=retry_walk.Walk(queue),
        lifecycle=lifecycle.Lifecycle(
            database,
            types,
            timing,
            notify,
            clock=clock.now,
            queue=queue,
            hunt=best_effort.BestEffort(
                database,
                nova,
                types,
                shipped.load(conf),
                timing,
                notify,
            ),
        ),
        monitoring=monitoring.Monitoring(
            database, _monitors(conf, nova, types), timing, notify
        ),
        healing=healing.Healing(database, types, timing, notify),
        deleted_servers=deleted_servers.DeletedServers(database, nova),
    )


def own_time() -> datetime.datetime:
    """Return the time of this machine, which nothing is decided by but
    whether the database's is believed."""
    return timeutils.utcnow(with_timezone=True)


def check(conf: cfg.ConfigOpts) -> None:
    """See that all can be built that conf describes, for a process that
    builds its services later.

    :raises: UnknownResourceType, UnknownEventAction, UnknownDrainStrategy
    :raises: cfg.ConfigFileValueError
    """
    options.check(conf)
    shipped.load(conf)
    nova = cloud.NovaCloud(conf, moved=_forget, identity=str)
    _monitors(conf, nova, _resource_types(conf, nova))


def _forget(_: Mapping[str, ports.Move]) -> None:
    """Nothing is changed by what is only checked."""


def build_worker(conf: cfg.ConfigOpts, services: Services) -> worker.Worker:
    """Return a worker of this process; call it after the fork."""
    return worker.Worker(
        f'{socket.gethostname()}:{os.getpid()}',
        services.database,
        services.lifecycle,
        periodic.all_of(
            services.hosts,
            services.monitoring,
            services.healing,
            services.deleted_servers,
            services.drainable_hosts,
            services.walk,
            services.lifecycle.options,
        ),
        conf.reservations.engine_threads,
    )


def _database(conf: cfg.ConfigOpts) -> api.Database:
    """Return the database that conf names, as the same group describes it.

    :raises: DatabaseUnavailable
    """
    group = (
        conf.reservations
        if conf.reservations.connection
        else conf.api_database
    )
    if not group.connection:
        raise exception.DatabaseUnavailable(
            reason='no connection is configured'
        )
    return api.Database(
        group.connection,
        # Ours has none: they can stand in its URL.
        group.connection_parameters
        if 'connection_parameters' in group
        else '',
        {option.dest: group[option.dest] for option in database_options.POOL},
    )


def _timing(conf: cfg.ConfigOpts) -> settings.Settings:
    group = conf.reservations
    return settings.Settings(
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
        conductors_guarded=group.conductors_guarded,
        build_wait=datetime.timedelta(seconds=group.build_wait),
        best_effort_aggregate=group.best_effort_aggregate,
        best_effort_timeout=datetime.timedelta(
            seconds=group.best_effort_timeout
        ),
        polling_interval=datetime.timedelta(seconds=group.polling_interval),
        down_after=datetime.timedelta(seconds=group.down_after),
        healing_interval=datetime.timedelta(minutes=group.healing_interval),
        heal_active=states.HealActive(group.heal_active),
        heal_limit=group.heal_limit,
        enable_polling_monitor=group.enable_polling_monitor,
        enable_notification_monitor=group.enable_notification_monitor,
        list_history=datetime.timedelta(days=group.list_history),
    )


def _resource_types(
    conf: cfg.ConfigOpts, nova: ports.Cloud
) -> dict[str, base.ResourceType]:
    return plugin_loader.make(
        NAMESPACE,
        conf.reservations.resource_types,
        base.ResourceType,  # type: ignore[type-abstract]
        '[reservations] resource_types',
        exception.UnknownResourceType,
        nova,
        conf,
    )


def _monitors(
    conf: cfg.ConfigOpts,
    nova: ports.Cloud,
    types: Collection[str],
) -> list[monitor.Monitor]:
    """Return the monitors of the types that can be leased."""
    monitors = plugin_loader.make(
        MONITORS,
        metadata.entry_points(group=MONITORS).names,
        monitor.Monitor,
        'An installed package',
        exception.UnknownResourceType,
        nova,
        conf,
    )
    return [one for one in monitors.values() if one.resource_type in types]
