# SPDX-License-Identifier: Apache-2.0
"""Puts the parts together, as configured, in any of Nova's processes."""

import datetime
import os
import socket

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
from nova_reservations.engine import assembly
from nova_reservations.engine import clocks
from nova_reservations.engine import fenced_cloud
from nova_reservations.engine import resource_types
from nova_reservations.engine import settings
from nova_reservations.engine.worker import senders
from nova_reservations.engine.worker import worker
from nova_reservations.plugins.drain_strategies import shipped
from nova_reservations.plugins.enforcement import base as enforcing
from nova_reservations.plugins.event_actions import offered
from nova_reservations.plugins.monitors import base as monitor
from nova_reservations.plugins.rating import base as rated

ENFORCEMENT = 'nova_reservations.enforcement'
RATING = 'nova_reservations.rating'
MONITORS = 'nova_reservations.monitors'


def build(
    conf: cfg.ConfigOpts,
    nova: ports.Cloud | None = None,
    notify: ports.Notifier | None = None,
) -> assembly.Services:
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
    return assembly.assemble(
        assembly.Parts(
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
    """Return keystone's limits if conf says to use them, else None.

    :raises: cfg.ConfigFileValueError if oslo.limit is too old for them
    """
    group = conf.reservations
    if group.limits != limit_options.UNIFIED:
        return None
    return unified_limits.UnifiedLimits(group.limits_cache_time)


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
    _unified_limits(conf)


def build_worker(
    conf: cfg.ConfigOpts, services: assembly.Services
) -> worker.Worker:
    """Return a worker of this process; call it after the fork."""
    return worker.Worker(
        f'{socket.gethostname()}:{os.getpid()}',
        services.database,
        services.lifecycle,
        services.tasks,
        conf.reservations.engine_threads,
        senders.Senders(services.database, services.messages),
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


def _plugins(conf: cfg.ConfigOpts, nova: ports.Cloud) -> assembly.Plugins:
    """Load the plugins that conf names.

    :raises: UnknownResourceType, UnknownEventAction, UnknownDrainStrategy,
        UnknownEnforcement, UnknownRating
    """
    types = resource_types.switched_on(conf, nova)
    return assembly.Plugins(
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
