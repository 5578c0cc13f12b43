# SPDX-License-Identifier: Apache-2.0
"""Periodic tasks: each is done by one worker of the cloud at a time."""

from collections.abc import Callable
import dataclasses
import datetime

from oslo_log import log

from nova_reservations import exception
from nova_reservations.db import capacity
from nova_reservations.db import closings
from nova_reservations.db import drainable_hosts as donor_rows
from nova_reservations.db import healing as rows
from nova_reservations.engine import deleted_servers
from nova_reservations.engine import drainable_hosts
from nova_reservations.engine import healing
from nova_reservations.engine import hosts
from nova_reservations.engine import leftovers
from nova_reservations.engine import monitoring
from nova_reservations.engine import retry_walk
from nova_reservations.engine import settings

LOG = log.getLogger(__name__)

NEVER = datetime.timedelta(days=36500)
"""Until somebody hurries it."""


@dataclasses.dataclass(frozen=True, slots=True)
class Task:
    """:ivar interval: from one time to the next.

    :ivar patience: how long it may take until another worker begins it anew,
        because the one that had it may be dead.
    """

    name: str
    interval: datetime.timedelta
    patience: datetime.timedelta
    run: Callable[[datetime.datetime], None]


PATIENCE = datetime.timedelta(seconds=30)

LONG = datetime.timedelta(minutes=5)
"""The patience where a whole cloud is looked at, page by page."""


def all_of(
    inventory: hosts.Hosts,
    monitors: monitoring.Monitoring,
    healing: healing.Healing,
    deleted: deleted_servers.DeletedServers,
    giver: drainable_hosts.DrainableHosts,
    walker: retry_walk.Walk,
    options: settings.Settings,
) -> list[Task]:
    def look_at_cloud(now: datetime.datetime) -> None:
        try:
            inventory.refresh(now)
            leftovers.sweep(inventory.database, inventory.cloud)
        except exception.CloudUnavailable as error:
            LOG.warning('What is known of hosts may be old: %s', error)

    def complete_enrolments(now: datetime.datetime) -> None:
        inventory.enrolment.complete_all(now)

    def look_at_failures(now: datetime.datetime) -> None:
        if options.enable_polling_monitor:
            monitors.poll(now)
        try:
            healing.check_replaced(now)
        except exception.CloudUnavailable as error:
            LOG.warning('What failed hosts hold is not known: %s', error)

    def heal(now: datetime.datetime) -> None:
        healing.heal(now)

    def look_at_leased_servers(now: datetime.datetime) -> None:
        try:
            deleted.look(now)
        except exception.CloudUnavailable as error:
            LOG.warning('Which servers were deleted is not known: %s', error)

    def look_at_donors(now: datetime.datetime) -> None:
        giver.give_back(now)
        try:
            giver.refresh(now)
            giver.mend()
        except exception.CloudUnavailable as error:
            LOG.warning('What is known of donors may be old: %s', error)

    return [
        Task(
            hosts.REFRESH,
            options.host_refresh_interval,
            # It reads what has changed of a whole cloud.
            max(options.host_refresh_interval, PATIENCE),
            look_at_cloud,
        ),
        Task(
            closings.TASK,
            options.host_refresh_interval,
            PATIENCE,
            complete_enrolments,
        ),
        Task(
            rows.MONITOR, options.polling_interval, PATIENCE, look_at_failures
        ),
        Task(
            deleted_servers.TASK,
            options.polling_interval,
            LONG,
            look_at_leased_servers,
        ),
        Task(
            donor_rows.TASK,
            options.host_refresh_interval,
            PATIENCE,
            look_at_donors,
        ),
        Task(capacity.QUEUE, NEVER, retry_walk.PATIENCE, walker.run),
        Task(rows.HEAL, options.healing_interval or NEVER, PATIENCE, heal),
    ]
