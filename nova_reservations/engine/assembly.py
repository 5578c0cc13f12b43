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
from nova_reservations.engine.leases import access
from nova_reservations.engine.leases import at_once
from nova_reservations.engine.leases import enforcement as enforcements
from nova_reservations.engine.leases import lease_changes
from nova_reservations.engine.leases import lease_lists
from nova_reservations.engine.leases import lease_offers
from nova_reservations.engine.leases import leases
from nova_reservations.engine.leases import maintenance
from nova_reservations.engine.leases import named_leases
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
from nova_reservations.engine.record import lease_exists
from nova_reservations.engine.record import usage_reports
from nova_reservations.engine.upkeep import purge
from nova_reservations.engine.upkeep import service_metrics
from nova_reservations.engine.waiting import retry
from nova_reservations.engine.waiting import retry_walk
from nova_reservations.engine.worker import lifecycle
from nova_reservations.engine.worker import periodic
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
    named_leases: named_leases.NamedLeases
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
    database, nova, clock = parts.database, parts.nova, parts.clock
    plugins, options = parts.plugins, parts.options
    types = plugins.types
    installed = resource_types.Types({**plugins.switched_off, **types})

    # Booking
    requests = lease_requests.LeaseRequests(types, options)
    plans = allocations.Allocations(types, options)
    change_writer = lease_changes.ChangeWriter(types, options, requests, plans)
    enforcement = enforcements.Enforcement(
        database, plugins.enforcement, plans, change_writer
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

    # The pool
    counts = capacity.Capacity(means)
    monitors = monitoring.Monitoring(
        database, plugins.monitors, options, notify
    )
    healer = healing.Healing(means)
    cordoning = cordons.Cordons(database, healer)
    pool = hosts.Hosts(database, nova, options, types, monitors, counts)
    others = resources.Resources(database, types, cordoning, counts)
    drainable = drainable_hosts.DrainableHosts(database, nova, pool, options)

    # Leases
    looks = openings.Openings(means, change_writer)
    demand = refused_demand.RefusedDemand(database, options)
    soon = at_once.AtOnce(database, types, options, parts.in_time)
    single = leases.Leases(
        means, change_writer, looks, enforcement, soon, demand, drainable
    )
    accesses = access.Access(database, types)

    # The work on leases
    queue = retry.Retries(means)
    runner = lifecycle.Lifecycle(
        means,
        clock=clock.now,
        queue=queue,
        best_effort_leases=best_effort.BestEffort(
            means, nova, plugins.drain_strategy
        ),
        actions=plugins.event_actions,
        monitors=monitors,
        healer=healer,
    )
    purges = purge.Purge(database, options)
    tasks = periodic.Tasks(
        means,
        nova,
        hosts=pool,
        monitoring=monitors,
        healing=healer,
        drainable_hosts=drainable,
        walk=retry_walk.Walk(means, queue),
        demand=demand,
        # It says itself what leases hold.
        exists=lease_exists.LeaseExists(database, parts.notify, parts.sent),
        purge=purges,
    )

    return Services(
        database=database,
        means=means,
        clock=clock,
        leases=single,
        offers=lease_offers.LeaseOffers(means, looks),
        demand=demand,
        lease_lists=lease_lists.LeaseLists(database, types),
        series=series.Series(means, single, enforcement, soon),
        access=accesses,
        named_leases=named_leases.NamedLeases(database, types),
        short_waits=short_waits.ShortWaits(
            database,
            database.now,
            short_waits.Timer(time.monotonic, time.sleep),
            parts.may_wait,
        ),
        server_leases=server_leases.ServerLeases(
            means, single, enforcement, accesses, nova
        ),
        hosts=pool,
        resources=others,
        places=places.Places(database, installed, others),
        drainable_hosts=drainable,
        lifecycle=runner,
        messages=messages.Messages(
            database, plugins.event_actions, notify, clock.now
        ),
        audit=audit.Audit(database, nova, runner.bookings, installed),
        monitoring=monitors,
        healing=healer,
        replay=replay.Replay(database, types, options),
        maintenance=maintenance.Maintenance(means, single, cordoning, nova),
        metrics=service_metrics.ServiceMetrics(database, clock, counts),
        purge=purges,
        usage_reports=usage_reports.UsageReports(
            database, plugins.rating, options.rating_digits
        ),
        sharing=sharing.Sharing(database, types, options, notify),
        tasks=tasks.all(),
    )


def _configured(options: settings.Settings) -> ports.LimitSource | None:
    """Return the limits of the options, the same for all projects; None if
    the options have none."""
    if not options.limits.is_any:
        return None
    return lambda project_id: options.limits
