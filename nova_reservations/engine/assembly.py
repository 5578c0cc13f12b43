# SPDX-License-Identifier: Apache-2.0
"""The use cases, assembled: each is made once, and gets what it needs."""

from collections.abc import Sequence
import dataclasses
import time

from nova_reservations import ports
from nova_reservations.db import api
from nova_reservations.engine import clocks
from nova_reservations.engine import messages
from nova_reservations.engine import notifications
from nova_reservations.engine import resource_types
from nova_reservations.engine import settings
from nova_reservations.engine.audit import audit
from nova_reservations.engine.booking import allocations
from nova_reservations.engine.booking import lease_requests
from nova_reservations.engine.booking import limits
from nova_reservations.engine.booking import means as booking_means
from nova_reservations.engine.emptying import best_effort
from nova_reservations.engine.emptying import drainable_hosts
from nova_reservations.engine.healing import healing
from nova_reservations.engine.healing import monitoring
from nova_reservations.engine.healing import server_failures
from nova_reservations.engine.leases import access
from nova_reservations.engine.leases import at_once
from nova_reservations.engine.leases import enforcement as enforcements
from nova_reservations.engine.leases import lease_changes
from nova_reservations.engine.leases import lease_lists
from nova_reservations.engine.leases import lease_offers
from nova_reservations.engine.leases import leases
from nova_reservations.engine.leases import maintenance
from nova_reservations.engine.leases import openings
from nova_reservations.engine.leases import series
from nova_reservations.engine.leases import server_leases
from nova_reservations.engine.leases import sharing
from nova_reservations.engine.leases import short_waits
from nova_reservations.engine.outlook import capacity
from nova_reservations.engine.outlook import refused_demand
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
from nova_reservations.engine.worker import unused_leases
from nova_reservations.plugins.drain_strategies import base as drain
from nova_reservations.plugins.enforcement import base as enforcing
from nova_reservations.plugins.event_actions import offered
from nova_reservations.plugins.monitors import base as monitor
from nova_reservations.plugins.rating import base as rated


@dataclasses.dataclass(frozen=True, slots=True)
class Services:
    """The use cases that Nova's processes call; none opens a connection before
    it is used.

    :ivar tasks: the periodic tasks of workers.
    """

    database: api.Database
    means: booking_means.Means
    clock: clocks.Clock
    leases: leases.Leases
    offers: lease_offers.LeaseOffers
    demand: refused_demand.RefusedDemand
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


def assemble(parts: Parts) -> Services:
    """Return the services of these parts: each use case is made once, and gets
    what it needs.

    Nothing is opened, and no option is read.
    """
    booking = _booking(parts)
    means = booking.means
    pool = _pool(parts, means)
    leasing = _leasing(parts, booking, pool)
    work = _work(parts, means, pool, leasing)
    database, nova, plugins = parts.database, parts.nova, parts.plugins
    installed = resource_types.Types({**plugins.switched_off, **means.types})
    return Services(
        database=database,
        means=means,
        clock=parts.clock,
        leases=leasing.leases,
        offers=leasing.offers,
        demand=leasing.demand,
        lease_lists=lease_lists.LeaseLists(database, means.types),
        series=leasing.series,
        access=leasing.access,
        short_waits=_short_waits(parts),
        server_leases=leasing.server_leases,
        hosts=pool.hosts,
        resources=pool.resources,
        places=places.Places(database, installed, pool.resources),
        drainable_hosts=pool.drainable_hosts,
        lifecycle=work.lifecycle,
        messages=messages.Messages(
            database, plugins.event_actions, means.notify, parts.clock.now
        ),
        audit=audit.Audit(
            database,
            nova,
            work.lifecycle.bookings,
            installed,
        ),
        monitoring=pool.monitoring,
        healing=pool.healing,
        replay=replay.Replay(database, means.types, means.options),
        maintenance=leasing.maintenance,
        metrics=service_metrics.ServiceMetrics(
            database, parts.clock, pool.capacity
        ),
        purge=work.purge,
        usage_reports=usage_reports.UsageReports(
            database, plugins.rating, means.options.rating_digits
        ),
        sharing=sharing.Sharing(
            database, means.types, means.options, means.notify
        ),
        tasks=work.tasks,
    )


@dataclasses.dataclass(frozen=True, slots=True)
class _Booking:
    means: booking_means.Means
    change_writer: lease_changes.ChangeWriter
    enforcement: enforcements.Enforcement


def _booking(parts: Parts) -> _Booking:
    database, options = parts.database, parts.options
    types = parts.plugins.types
    requests = lease_requests.LeaseRequests(types, options)
    plans = allocations.Allocations(types, options)
    change_writer = lease_changes.ChangeWriter(types, options, requests, plans)
    enforcement = enforcements.Enforcement(
        database, parts.plugins.enforcement, plans, change_writer
    )
    notify = notifications.telling_held(
        database, enforcement.with_ends(parts.notify, parts.later)
    )
    project_limits = limits.ProjectLimits(
        database,
        types,
        parts.limits or _configured(options),
        options.end_timeout,
    )
    means = booking_means.Means(
        database, types, options, notify, requests, plans, project_limits
    )
    return _Booking(means, change_writer, enforcement)


def _configured(options: settings.Settings) -> ports.LimitSource | None:
    """Return the limits of the options, the same for all projects; None if
    the options have none."""
    if not options.limits.is_any:
        return None
    return lambda project_id: options.limits


@dataclasses.dataclass(frozen=True, slots=True)
class _Pool:
    capacity: capacity.Capacity
    monitoring: monitoring.Monitoring
    healing: healing.Healing
    cordons: cordons.Cordons
    hosts: hosts.Hosts
    resources: resources.Resources
    drainable_hosts: drainable_hosts.DrainableHosts


def _pool(parts: Parts, means: booking_means.Means) -> _Pool:
    database, types, options = means.database, means.types, means.options
    nova = parts.nova
    counts = capacity.Capacity(means)
    monitors = monitoring.Monitoring(
        database, parts.plugins.monitors, options, means.notify
    )
    repairs = healing.Healing(means)
    cordoning = cordons.Cordons(database, repairs)
    pool = hosts.Hosts(database, nova, options, types, monitors, counts)
    return _Pool(
        counts,
        monitors,
        repairs,
        cordoning,
        pool,
        resources.Resources(database, types, cordoning, counts),
        drainable_hosts.DrainableHosts(database, nova, pool, options),
    )


@dataclasses.dataclass(frozen=True, slots=True)
class _Leasing:
    leases: leases.Leases
    offers: lease_offers.LeaseOffers
    demand: refused_demand.RefusedDemand
    series: series.Series
    access: access.Access
    server_leases: server_leases.ServerLeases
    maintenance: maintenance.Maintenance


def _leasing(parts: Parts, booking: _Booking, pool: _Pool) -> _Leasing:
    means, enforcement = booking.means, booking.enforcement
    database, types, options = means.database, means.types, means.options
    looks = openings.Openings(means, booking.change_writer)
    demand = refused_demand.RefusedDemand(database, options)
    soon = at_once.AtOnce(database, types, options, parts.in_time)
    single = leases.Leases(
        means,
        booking.change_writer,
        looks,
        enforcement,
        soon,
        demand,
        pool.drainable_hosts,
    )
    accesses = access.Access(database, types)
    return _Leasing(
        single,
        lease_offers.LeaseOffers(means, looks),
        demand,
        series.Series(means, single, enforcement, soon),
        accesses,
        server_leases.ServerLeases(
            means, single, enforcement, accesses, parts.nova
        ),
        maintenance.Maintenance(means, single, pool.cordons, parts.nova),
    )


@dataclasses.dataclass(frozen=True, slots=True)
class _Work:
    lifecycle: lifecycle.Lifecycle
    purge: purge.Purge
    tasks: Sequence[periodic.Task]


def _work(
    parts: Parts, means: booking_means.Means, pool: _Pool, leasing: _Leasing
) -> _Work:
    database, nova = parts.database, parts.nova
    types, options, notify = means.types, means.options, means.notify
    queue = retry.Retries(means)
    purges = purge.Purge(database, options)
    tasks = periodic.Tasks(
        database=database,
        options=options,
        hosts=pool.hosts,
        enrolment=pool.hosts.enrolment,
        sweep=leftovers.Sweep(database, nova),
        monitoring=pool.monitoring,
        healing=pool.healing,
        deleted_servers=deleted_servers.DeletedServers(database, nova),
        unused_leases=unused_leases.UnusedLeases(
            database, nova, types, options, notify
        ),
        server_failures=server_failures.ServerFailures(
            database, nova, options, notify
        ),
        drainable_hosts=pool.drainable_hosts,
        walk=retry_walk.Walk(means, queue),
        demand=leasing.demand,
        # It says itself what leases hold.
        exists=lease_exists.LeaseExists(database, parts.notify, parts.sent),
        purge=purges,
        late_servers=late_servers.LateServers(database),
    )
    return _Work(_lifecycle(parts, means, pool, queue), purges, tasks.all())


def _lifecycle(
    parts: Parts,
    means: booking_means.Means,
    pool: _Pool,
    queue: retry.Retries,
) -> lifecycle.Lifecycle:
    return lifecycle.Lifecycle(
        means,
        clock=parts.clock.now,
        queue=queue,
        best_effort_leases=best_effort.BestEffort(
            means, parts.nova, parts.plugins.drain_strategy
        ),
        actions=parts.plugins.event_actions,
        monitors=pool.monitoring,
        healer=pool.healing,
    )


def _short_waits(parts: Parts) -> short_waits.ShortWaits:
    return short_waits.ShortWaits(
        parts.database,
        parts.database.now,
        short_waits.Timer(time.monotonic, time.sleep),
        parts.may_wait,
    )
