# SPDX-License-Identifier: Apache-2.0
"""Puts the parts together, as configured, in any of Nova's processes."""

from collections.abc import Sequence
import dataclasses
import datetime
import os
import socket
import time

from oslo_config import cfg
from oslo_utils import timeutils

from nova_reservations import cloud
from nova_reservations import conf as configuration
from nova_reservations import exception
from nova_reservations import plugin_loader
from nova_reservations import ports
from nova_reservations.cloud import api_threads
from nova_reservations.cloud import in_time
from nova_reservations.cloud import outbox
from nova_reservations.cloud import unified_limits
from nova_reservations.conf import database as database_options
from nova_reservations.conf import limits as limit_options
from nova_reservations.db import api
from nova_reservations.engine import clocks
from nova_reservations.engine import fenced_cloud
from nova_reservations.engine import messages
from nova_reservations.engine import notifications
from nova_reservations.engine import resource_types
from nova_reservations.engine import settings
from nova_reservations.engine.audit import audit
from nova_reservations.engine.booking import limits
from nova_reservations.engine.emptying import best_effort
from nova_reservations.engine.emptying import drainable_hosts
from nova_reservations.engine.healing import healing
from nova_reservations.engine.healing import monitoring
from nova_reservations.engine.healing import server_failures
from nova_reservations.engine.leases import access
from nova_reservations.engine.leases import at_once
from nova_reservations.engine.leases import enforcement as enforcements
from nova_reservations.engine.leases import lease_lists
from nova_reservations.engine.leases import leases
from nova_reservations.engine.leases import maintenance
from nova_reservations.engine.leases import series
from nova_reservations.engine.leases import server_leases
from nova_reservations.engine.leases import sharing
from nova_reservations.engine.leases import short_waits
from nova_reservations.engine.outlook import replay
from nova_reservations.engine.pool import cordons
from nova_reservations.engine.pool import hosts
from nova_reservations.engine.pool import places
from nova_reservations.engine.pool import resources
from nova_reservations.engine.record import late_servers
from nova_reservations.engine.record import lease_exists
from nova_reservations.engine.record import purge
from nova_reservations.engine.record import service_metrics
from nova_reservations.engine.record import usage_reports
from nova_reservations.engine.waiting import retry
from nova_reservations.engine.waiting import retry_walk
from nova_reservations.engine.worker import deleted_servers
from nova_reservations.engine.worker import leftovers
from nova_reservations.engine.worker import lifecycle
from nova_reservations.engine.worker import periodic
from nova_reservations.engine.worker import senders
from nova_reservations.engine.worker import unused_leases
from nova_reservations.engine.worker import worker
from nova_reservations.plugins.drain_strategies import base as drain
from nova_reservations.plugins.drain_strategies import shipped
from nova_reservations.plugins.enforcement import base as enforcing
from nova_reservations.plugins.event_actions import offered
from nova_reservations.plugins.monitors import base as monitor
from nova_reservations.plugins.rating import base as rated

ENFORCEMENT = 'nova_reservations.enforcement'
RATING = 'nova_reservations.rating'
MONITORS = 'nova_reservations.monitors'


@dataclasses.dataclass(frozen=True, slots=True)
class Services:
    """The use cases that Nova's processes call; none opens a connection before
    it is used.

    :ivar tasks: the periodic tasks of workers.
    """

    database: api.Database
    clock: clocks.Clock
    leases: leases.Leases
    lease_lists: lease_lists.LeaseLists
    series: series.Series
    access: access.Access
    short_waits: short_waits.ShortWaits
    server_leases: server_leases.ServerLeases
    hosts: hosts.Hosts
    resources: resources.Resources
    places: places.Places
    drainable_hosts: drainable_hosts.DrainableHosts
    lifecycle: lifecycle.Lifecycle
    messages: messages.Messages
    audit: audit.Audit
    monitoring: monitoring.Monitoring
    healing: healing.Healing
    replay: replay.Replay
    maintenance: maintenance.Maintenance
    metrics: service_metrics.ServiceMetrics
    purge: purge.Purge
    usage_reports: usage_reports.UsageReports
    sharing: sharing.Sharing
    tasks: Sequence[periodic.Task]


@dataclasses.dataclass(frozen=True, slots=True)
class Plugins:
    """The plugins that conf names.

    :ivar enforcement: plugins that must allow a lease, in this order.
    :ivar rating: says what leases cost; None: nothing.
    :ivar types: name -> type of resource that can be leased.
    :ivar monitors: the monitors of these types.
    :ivar event_actions: what can be done before a lease ends.
    :ivar switched_off: other types that are installed: what they have left is
        found by audits, and can be removed.
    """

    types: resource_types.Types
    monitors: Sequence[monitor.Monitor]
    drain_strategy: drain.DrainStrategy
    event_actions: offered.Actions
    enforcement: Sequence[enforcing.Enforcement] = ()
    rating: rated.Rating | None = None
    switched_off: resource_types.Types = dataclasses.field(
        default_factory=resource_types.Types
    )


@dataclasses.dataclass(frozen=True, slots=True)
class Parts:
    """The parts of all services; nothing of them is read before use.

    :ivar later: takes calls of plugins that nobody waits for.
    :ivar limits: the limits of projects; None: as the options say.
    :ivar sent: waits for what ``notify`` was given to be sent; returns whether
        all of it is.
    :ivar may_wait: how many requests of this process may wait for the start of
        a lease at the same time.
    :ivar in_time: makes calls to the cloud that a request does not wait for
        any longer if it is silent.
    """

    database: api.Database
    nova: ports.Cloud
    plugins: Plugins
    options: settings.Settings
    notify: ports.Notifier
    clock: clocks.Clock
    limits: ports.LimitSource | None = None
    later: enforcements.Later = lambda call: call()
    sent: ports.Sent = lambda: True
    may_wait: int = 0
    in_time: at_once.InTime = at_once.wait


def build(
    conf: cfg.ConfigOpts,
    nova: ports.Cloud | None = None,
    notify: ports.Notifier | None = None,
) -> Services:
    """Return the services that conf describes.

    :param nova: used in place of the Nova of this process
    :raises: UnknownResourceType, UnknownEventAction, UnknownDrainStrategy,
        UnknownEnforcement, UnknownRating if conf names one that is not
        installed
    :raises: cfg.ConfigFileValueError if one of its values is not allowed
    :raises: DatabaseUnavailable if conf names none that can be used
    """
    configuration.check(conf)
    database = _database(conf)
    nova = fenced_cloud.fenced(nova or cloud.NovaCloud(conf))
    return assemble(
        Parts(
            database,
            nova,
            _plugins(conf, nova),
            settings.Settings.of(conf),
            notify or cloud.notify,
            clocks.Clock(database.now, own_time),
            _unified_limits(conf),
            outbox.Outbox().put,
            cloud.sent,
            api_threads.may_wait(conf.reservations.api_threads),
            in_time.InTime(),
        )
    )


def _unified_limits(conf: cfg.ConfigOpts) -> ports.LimitSource | None:
    """Return keystone's limits if conf says to use them, else None."""
    group = conf.reservations
    if group.limits != limit_options.UNIFIED:
        return None
    return unified_limits.UnifiedLimits(group.limits_cache_time)


def assemble(parts: Parts) -> Services:
    """Return the services of these parts: each use case gets its own.

    Nothing is opened, and no option is read.
    """
    database, nova, options = parts.database, parts.nova, parts.options
    types = parts.plugins.types
    installed = resource_types.Types({**parts.plugins.switched_off, **types})
    enforced = enforcements.Enforcement(
        database, parts.plugins.enforcement, types, options
    )
    notify = notifications.telling_held(
        database, enforced.with_ends(parts.notify, parts.later)
    )
    exists = lease_exists.LeaseExists(database, parts.notify, parts.sent)
    parts = dataclasses.replace(parts, notify=notify)
    monitors = monitoring.Monitoring(
        database, parts.plugins.monitors, options, notify
    )
    pool = hosts.Hosts(database, nova, options, parts.plugins.types, monitors)
    drainables = drainable_hosts.DrainableHosts(database, nova, pool, options)
    project_limits = limits.ProjectLimits(
        database,
        types,
        parts.limits or _configured(options),
        options.end_timeout,
    )
    booking = leases.Leases(
        database,
        types,
        options,
        notify,
        drainables,
        project_limits,
        enforced,
        at_once.AtOnce(database, types, options, parts.in_time),
    )
    accesses = access.Access(database, types)
    queue = retry.Retries(database, types, options, notify, project_limits)
    purges = purge.Purge(database, options)
    repairs = healing.Healing(database, types, options, notify)
    cordoning = cordons.Cordons(database, repairs)
    known = resources.Resources(database, types, options, cordoning)
    steps = _lifecycle(parts, queue, project_limits, monitors, repairs)
    return Services(
        database=database,
        clock=parts.clock,
        leases=booking,
        lease_lists=lease_lists.LeaseLists(database, types),
        series=series.Series(booking),
        access=accesses,
        short_waits=short_waits.ShortWaits(
            database,
            database.now,
            short_waits.Timer(time.monotonic, time.sleep),
            parts.may_wait,
        ),
        server_leases=server_leases.ServerLeases(booking, accesses, nova),
        hosts=pool,
        resources=known,
        places=places.Places(database, installed, known),
        replay=replay.Replay(database, parts.plugins.types, options),
        messages=messages.Messages(
            database, parts.plugins.event_actions, notify, parts.clock.now
        ),
        lifecycle=steps,
        audit=audit.Audit(
            database,
            nova,
            steps.bookings,
            installed,
        ),
        drainable_hosts=drainables,
        monitoring=monitors,
        healing=repairs,
        maintenance=maintenance.Maintenance(
            database, booking, cordoning, nova
        ),
        metrics=service_metrics.ServiceMetrics(database, parts.clock, pool),
        purge=purges,
        usage_reports=usage_reports.UsageReports(
            database, parts.plugins.rating, options.rating_digits
        ),
        sharing=sharing.Sharing(database, types, options, notify),
        tasks=periodic.Tasks(
            pool,
            leftovers.Sweep(database, nova),
            monitors,
            repairs,
            deleted_servers.DeletedServers(database, nova),
            unused_leases.UnusedLeases(database, nova, types, options, notify),
            server_failures.ServerFailures(database, nova, options, notify),
            drainables,
            retry_walk.Walk(queue),
            booking.repeats,
            booking.demand,
            exists,
            purges,
            late_servers.LateServers(database),
            options,
        ).all(),
    )


def _configured(options: settings.Settings) -> ports.LimitSource | None:
    """Return the limits of the options, the same for all projects; None if
    the options have none."""
    if not options.limits.is_any:
        return None
    return lambda project_id: options.limits


def _lifecycle(
    parts: Parts,
    queue: retry.Retries,
    project_limits: limits.ProjectLimits,
    monitors: monitoring.Monitoring,
    repairs: healing.Healing,
) -> lifecycle.Lifecycle:
    best_effort_leases = best_effort.BestEffort(
        parts.database,
        parts.nova,
        parts.plugins.types,
        parts.plugins.drain_strategy,
        parts.options,
        parts.notify,
        project_limits,
    )
    return lifecycle.Lifecycle(
        parts.database,
        parts.plugins.types,
        parts.options,
        parts.notify,
        clock=parts.clock.now,
        queue=queue,
        best_effort_leases=best_effort_leases,
        actions=parts.plugins.event_actions,
        monitors=monitors,
        healer=repairs,
    )


def own_time() -> datetime.datetime:
    """Return the time of this machine. It only serves to check whether the
    database's time can be believed."""
    return timeutils.utcnow(with_timezone=True)


def check(conf: cfg.ConfigOpts) -> None:
    """Check that all that conf describes can be built, for a process that
    builds its services later.

    :raises: UnknownResourceType, UnknownEventAction, UnknownDrainStrategy,
        UnknownEnforcement, UnknownRating
    :raises: cfg.ConfigFileValueError
    """
    configuration.check(conf)
    _plugins(conf, cloud.NovaCloud(conf))


def build_worker(conf: cfg.ConfigOpts, services: Services) -> worker.Worker:
    """Return a worker of this process; call it after the fork."""
    return worker.Worker(
        f'{socket.gethostname()}:{os.getpid()}',
        services.database,
        services.lifecycle,
        services.tasks,
        conf.reservations.engine_threads,
        senders.Senders(services.messages),
    )


def _database(conf: cfg.ConfigOpts) -> api.Database:
    """Return the database that conf names, with the options of the group that
    names it.

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
        # Our group has no such option: its URL can have the parameters.
        group.connection_parameters
        if 'connection_parameters' in group
        else '',
        {option.dest: group[option.dest] for option in database_options.POOL},
    )


def _plugins(conf: cfg.ConfigOpts, nova: ports.Cloud) -> Plugins:
    """Load the plugins that conf names.

    :raises: UnknownResourceType, UnknownEventAction, UnknownDrainStrategy,
        UnknownEnforcement, UnknownRating
    """
    types = resource_types.switched_on(conf, nova)
    return Plugins(
        types,
        _monitors(conf, nova, types),
        shipped.load(conf),
        offered.Actions(nova, conf),
        _enforcement(conf),
        _rating(conf),
        resource_types.switched_off(conf, nova),
    )


def _rating(conf: cfg.ConfigOpts) -> rated.Rating | None:
    name = conf.reservations.rating
    if not name:
        return None
    [found] = plugin_loader.make(
        RATING,
        [name],
        rated.Rating,  # type: ignore[type-abstract]
        '[reservations] rating',
        exception.UnknownRating,
        conf,
    ).values()
    return found


def _enforcement(conf: cfg.ConfigOpts) -> list[enforcing.Enforcement]:
    return [
        *plugin_loader.make(
            ENFORCEMENT,
            conf.reservations.enforcement,
            enforcing.Enforcement,
            '[reservations] enforcement',
            exception.UnknownEnforcement,
            conf,
        ).values()
    ]


def _monitors(
    conf: cfg.ConfigOpts,
    nova: ports.Cloud,
    types: resource_types.Types,
) -> list[monitor.Monitor]:
    """Return the monitors of types of resources that can be leased."""
    monitors = plugin_loader.make(
        MONITORS,
        plugin_loader.installed(MONITORS),
        monitor.Monitor,
        'An installed package',
        exception.UnknownResourceType,
        nova,
        conf,
    )
    known = types.of_resources()
    return [
        monitor
        for monitor in monitors.values()
        if monitor.resource_type in known
    ]
