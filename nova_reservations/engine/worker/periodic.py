# SPDX-License-Identifier: Apache-2.0
"""Periodic tasks: each is done by one worker of the cloud at a time."""

from collections.abc import Callable
from collections.abc import Iterator
import contextlib
import dataclasses
import datetime

from oslo_log import log

from nova_reservations import exception
from nova_reservations import ports
from nova_reservations.db import tasks
from nova_reservations.db.holdings import healing as rows
from nova_reservations.db.leases import freed_capacity
from nova_reservations.db.leases import server_failures as server_rows
from nova_reservations.db.resources import closings
from nova_reservations.db.resources import drainable_hosts as drainable_rows
from nova_reservations.db.resources import hosts as host_rows
from nova_reservations.engine.booking import means
from nova_reservations.engine.emptying import drainable_hosts
from nova_reservations.engine.healing import healing
from nova_reservations.engine.healing import monitoring
from nova_reservations.engine.healing import server_failures
from nova_reservations.engine.leases import idempotency
from nova_reservations.engine.outlook import refused_demand
from nova_reservations.engine.pool import hosts
from nova_reservations.engine.record import late_servers
from nova_reservations.engine.record import lease_exists
from nova_reservations.engine.upkeep import purge as purges
from nova_reservations.engine.waiting import retry_walk
from nova_reservations.engine.worker import deleted_servers
from nova_reservations.engine.worker import leftovers
from nova_reservations.engine.worker import unused_leases

LOG = log.getLogger(__name__)

NEVER = datetime.timedelta(days=36500)
"""The interval of a task that runs only when something hurries it."""


@dataclasses.dataclass(frozen=True, slots=True)
class Task:
    """:ivar interval: the time from one run to the next.

    :ivar on_the_hour: whether it is due at whole intervals of the clock.
    :ivar patience: how long its claim is renewed: a thread that waits for an
        answer which will never come must not keep the task for ever.
    """

    name: str
    interval: datetime.timedelta
    patience: datetime.timedelta
    run: Callable[[datetime.datetime], object]
    on_the_hour: bool = False

    def next_at(self, now: datetime.datetime) -> datetime.datetime:
        """Return when the task is due next if it runs now."""
        if not self.on_the_hour:
            return now + self.interval
        return now - (now - _MIDNIGHT) % self.interval + self.interval


_MIDNIGHT = datetime.datetime(2000, 1, 1, tzinfo=datetime.UTC)

PATIENCE = datetime.timedelta(minutes=10)

LONG = datetime.timedelta(hours=1)
"""The patience for tasks that look at a whole cloud, page by page."""


@dataclasses.dataclass(eq=False)
class Tasks(means.UseCase):
    """The tasks of one cloud, and the use cases that perform them."""

    cloud: ports.Cloud
    hosts: hosts.Hosts
    monitoring: monitoring.Monitoring
    healing: healing.Healing
    drainable_hosts: drainable_hosts.DrainableHosts
    walk: retry_walk.Walk
    demand: refused_demand.RefusedDemand
    exists: lease_exists.LeaseExists
    purge: purges.Purge

    def __post_init__(self, means: means.Means) -> None:
        super().__post_init__(means)
        database, cloud, options = self.database, self.cloud, self.options
        self.sweep = leftovers.Sweep(database, cloud)
        self.deleted_servers = deleted_servers.DeletedServers(database, cloud)
        self.unused_leases = unused_leases.UnusedLeases(
            database, cloud, self.types, options, self.notify
        )
        self.server_failures = server_failures.ServerFailures(
            database, cloud, options, self.notify
        )

    def all(self) -> list[Task]:
        refresh = self.options.host_refresh_interval
        polling = self.options.polling_interval
        # Without polling, the task is due only when it is hurried: by a
        # notification, or by itself while a host is down.
        watching = polling if self.options.enable_polling_monitor else NEVER
        heal = self.options.healing_interval or NEVER
        return [
            Task(host_rows.REFRESH, refresh, LONG, self._refresh_hosts),
            Task(
                closings.TASK,
                refresh,
                PATIENCE,
                self.hosts.enrolment.complete_all,
            ),
            Task(rows.MONITOR, polling, PATIENCE, self._look_at_failures),
            Task(deleted_servers.TASK, polling, LONG, self._look_at_servers),
            Task(
                server_rows.TASK,
                watching,
                PATIENCE,
                self._look_at_their_hosts,
            ),
            Task(
                drainable_rows.TASK, refresh, PATIENCE, self._look_at_drainable
            ),
            Task(freed_capacity.QUEUE, NEVER, PATIENCE, self.walk.run),
            Task(rows.HEAL, heal, PATIENCE, self.healing.heal),
            Task(idempotency.TASK, refresh, PATIENCE, self._forget),
            Task(
                lease_exists.TASK,
                lease_exists.HOUR,
                LONG,
                self._tell_of_leases,
                on_the_hour=True,
            ),
            Task(purges.TASK, purges.INTERVAL, LONG, self._purge),
        ]

    def _forget(self, now: datetime.datetime) -> None:
        idempotency.forget(self.database, now)
        self.demand.forget(now)

    def _purge(self, now: datetime.datetime) -> None:
        # First, because purged leases can not tell any more when they ended.
        late_servers.end(self.database, now)
        self.purge.run(now)

    def _tell_of_leases(self, now: datetime.datetime) -> None:
        if not self.options.lease_exists_notifications:
            return
        try:
            self.exists.tell(now)
        except exception.CloudUnavailable as error:
            LOG.warning('Active leases are told of later: %s', error)
            with self.database.writer() as session:
                tasks.hurry(
                    session, lease_exists.TASK, now + lease_exists.PAUSE
                )

    def _refresh_hosts(self, now: datetime.datetime) -> None:
        with _if_silent('The facts of hosts may be old'):
            self.hosts.refresh(now)
            self.sweep.run()

    def _look_at_failures(self, now: datetime.datetime) -> None:
        self.monitoring.poll(
            now, held_only=not self.options.enable_polling_monitor
        )
        with _if_silent('Resources that leases have left are not looked at'):
            self.healing.check_replaced(now)

    def _look_at_servers(self, now: datetime.datetime) -> None:
        with _if_silent('Deleted servers are not looked for'):
            self.deleted_servers.look(now)
        with _if_silent('Leases that nobody uses are left'):
            self.unused_leases.look(now)

    def _look_at_their_hosts(self, now: datetime.datetime) -> None:
        with _if_silent(
            'Hosts of servers with a lease of their own are not looked at'
        ):
            self.server_failures.look(now)

    def _look_at_drainable(self, now: datetime.datetime) -> None:
        self.drainable_hosts.give_back(now)
        with _if_silent('Drainable hosts are not updated'):
            self.drainable_hosts.refresh(now)
            self.drainable_hosts.mend()


@contextlib.contextmanager
def _if_silent(told: str) -> Iterator[None]:
    """Go on after what follows if the cloud does not answer.

    :param told: what operators are told then
    """
    try:
        yield
    except exception.CloudUnavailable as error:
        LOG.warning('%s: %s', told, error)
