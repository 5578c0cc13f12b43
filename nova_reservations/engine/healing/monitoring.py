# SPDX-License-Identifier: Apache-2.0
"""Monitoring: records the conditions of resources as monitors report them.

Healing is another task. The transaction that records a failure or a recovery
makes that task due, and the next free worker does it.
"""

from collections import defaultdict
from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import datetime
import functools
from typing import Any

from oslo_log import log

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations import ports
from nova_reservations.db import api
from nova_reservations.db import tasks
from nova_reservations.db.holdings import healing
from nova_reservations.db.leases import freed_capacity
from nova_reservations.db.leases import server_failures
from nova_reservations.db.resources import conditions
from nova_reservations.db.resources import hosts
from nova_reservations.engine import settings
from nova_reservations.engine import transactions
from nova_reservations.engine.healing import mass_failure
from nova_reservations.objects import holds
from nova_reservations.objects import states
from nova_reservations.planner import failures
from nova_reservations.plugins.monitors import base

LOG = log.getLogger(__name__)


@dataclasses.dataclass(frozen=True, slots=True)
class _News:
    """A resource whose condition has changed."""

    resource: objects.Resource
    was: objects.Condition
    condition: objects.Condition

    @property
    def fails_or_is_back(self) -> bool:
        return self.was.failed != self.condition.failed

    @property
    def is_found(self) -> bool:
        """True if it was lost; whether it works, its monitor tells."""
        return self.was.lost is not None and self.condition.lost is None

    @property
    def is_bookable(self) -> bool:
        return not holds.forbidding(self.condition, holds.Use.RETURN)


_Judge = Callable[[conditions.KnownResource], objects.Condition]
"""Returns the condition that a resource has by now."""


@dataclasses.dataclass(eq=False)
class Monitoring:
    database: api.Database
    monitors: Sequence[base.Monitor]
    options: settings.Settings
    notify: ports.Notifier

    def poll(self, now: datetime.datetime, held_only: bool = False) -> None:
        """Let each monitor look at all that it knows.

        :param held_only: only at what has failed, is down or is disabled: that
            it works again, or stays down for too long, no notification may
            tell
        """
        for monitor in self.monitors:
            with self.database.reader() as session:
                known = conditions.known(
                    session, monitor.resource_type, held_only=held_only
                )
            if not known:
                continue
            changes = base.Changes()
            try:
                changes = monitor.check_held(
                    sorted({row.resource.name for row in known}),
                    functools.partial(
                        self._holders, monitor.resource_type, now
                    ),
                    now,
                )
            except exception.CloudUnavailable as error:
                LOG.warning(
                    'The conditions of resources of type %(type)s are not '
                    'known: %(reason)s',
                    {'type': monitor.resource_type, 'reason': error},
                )
            seen = changes.names
            self._wait_anew(
                [row for row in known if row.resource.name not in seen], now
            )
            self.record(monitor, changes, now)

    def _holders(
        self, resource_type: str, now: datetime.datetime
    ) -> Mapping[str, Collection[str]]:
        with self.database.reader() as session:
            return conditions.holders(session, resource_type, now)

    def _wait_anew(
        self,
        unheard: Collection[conditions.KnownResource],
        now: datetime.datetime,
    ) -> None:
        """Let the time for which resources are down count from now on: nobody
        can tell whether they still are."""
        waiting = sorted(
            row.resource.id
            for row in unheard
            if row.condition.hold == states.Hold.DOWN
        )
        if not waiting:
            return
        with self.database.writer() as session:
            conditions.wait_anew(session, waiting, now)

    @property
    def subscriptions(self) -> list[base.Subscription]:
        """The notifications that monitors want."""
        return [
            subscription
            for monitor in self.monitors
            for subscription in monitor.subscriptions
        ]

    def on_notification(
        self,
        event_type: str,
        payload: Mapping[str, Any],
        now: datetime.datetime,
        exchange: str | None = None,
        priority: str = 'info',
    ) -> None:
        """Let the monitors that subscribe to a notification interpret it.

        :param exchange: the exchange that it came by, as subscriptions name it
        :raises: CloudUnavailable, DatabaseUnavailable; the next poll will find
            what was missed
        """
        for monitor in self.monitors:
            if any(
                subscription.has(event_type, exchange, priority)
                for subscription in monitor.subscriptions
            ):
                changes = monitor.on_notification(event_type, payload, now)
                self.record(monitor, changes, now)
                if monitor.resource_type == objects.HOST and changes.names:
                    # Servers with a lease of their own may be on the host.
                    with self.database.writer() as session:
                        tasks.hurry(session, server_failures.TASK, now)

    def record(
        self,
        monitor: base.Monitor,
        changes: base.Changes,
        now: datetime.datetime,
    ) -> None:
        """Write the changed conditions of our resources."""
        resource_type = monitor.resource_type

        def judge(row: conditions.KnownResource) -> objects.Condition:
            name = row.resource.name
            return failures.condition(
                row.condition,
                failures.Sighting(
                    failed=name in changes.failed,
                    down=name in changes.down,
                    disabled=name in changes.disabled,
                ),
                now,
                self.options.down_after,
            )

        with self.database.reader() as session:
            seen = conditions.known(session, resource_type, changes.names)
        if not _news(seen, judge) and not any(row.braked_at for row in seen):
            return
        news, masses = self._record(
            resource_type,
            changes.names,
            judge,
            self._domains(monitor),
            now,
        )
        _log(resource_type, news)
        for mass in masses:
            mass_failure.tell(resource_type, mass, self.notify)

    def set_lost(
        self, reasons: Mapping[str, str | None], now: datetime.datetime
    ) -> None:
        """Record that hosts can not be used, whatever their monitor sees, or
        that they can again: then its next look tells whether they work.

        :param reasons: name of a host -> why Nova or placement can not use
            it; None: they can
        :raises: CloudUnavailable, Contended
        """

        def judge(row: conditions.KnownResource) -> objects.Condition:
            return failures.lost(
                row.condition, reasons[row.resource.name], now
            )

        of_hosts = [
            monitor
            for monitor in self.monitors
            if monitor.resource_type == objects.HOST
        ]
        domain_of = self._domains(of_hosts[0]) if of_hosts else {}
        news, masses = self._record(
            objects.HOST, [*reasons], judge, domain_of, now
        )
        for item in news:
            LOG.warning(
                'Host %(name)s (host %(id)d) %(what)s',
                {
                    'name': item.resource.name,
                    'id': item.resource.id,
                    'what': 'can be used again'
                    if item.condition.lost is None
                    else f'counts as failed: {item.condition.lost}',
                },
            )
        for mass in masses:
            mass_failure.tell(objects.HOST, mass, self.notify)

    def _record(
        self,
        resource_type: str,
        names: Collection[str],
        judge: _Judge,
        domain_of: Mapping[str, str],
        now: datetime.datetime,
    ) -> tuple[list[_News], Collection[mass_failure.Told]]:
        """Write the conditions of these resources as they are judged; return
        those that have changed, and the new mass failures."""

        def write(
            session: api.Session,
        ) -> tuple[list[_News], Collection[mass_failure.Told]]:
            news = _news(
                conditions.known(session, resource_type, names), judge
            )
            for item in sorted(news, key=lambda item: item.resource.id):
                conditions.set_condition(
                    session, item.resource.id, item.condition, now
                )
            healing.mark_unprepared(
                session,
                [item.resource.id for item in news if item.fails_or_is_back],
                now,
            )
            verdict = mass_failure.apply(
                session,
                resource_type,
                domain_of,
                [item.resource.name for item in news if item.condition.works],
                self.options,
                now,
            )
            if news or verdict.released:
                tasks.hurry(session, healing.HEAL, now)
            if news:
                # Facts of a host that is back are most often out of date.
                tasks.hurry(session, hosts.REFRESH, now)
            back = [item.resource.id for item in news if item.is_bookable]
            if back:
                freed_capacity.freed(session, now, back)
            if any(item.is_found for item in news):
                tasks.hurry(session, healing.MONITOR, now)
            return news, verdict.told

        return transactions.write(self.database, write)

    def _domains(self, monitor: base.Monitor) -> Mapping[str, str]:
        """Return name -> domain, of all resources of the monitor's type."""
        with self.database.reader() as session:
            known = conditions.known(session, monitor.resource_type)
        try:
            return monitor.domains([row.resource.name for row in known])
        except exception.CloudUnavailable as error:
            LOG.warning(
                'The cells of hosts are not known, all count as one cell: %s',
                error,
            )
            return {}


def _news(
    known: Collection[conditions.KnownResource], judge: _Judge
) -> list[_News]:
    """Return the resources whose conditions have changed."""
    return [
        _News(row.resource, row.condition, condition)
        for row in known
        if (condition := judge(row)) != row.condition
    ]


def _log(resource_type: str, news: Collection[_News]) -> None:
    by_words = defaultdict(list)
    for item in news:
        by_words[_words(item.condition)].append(item.resource.name)
    for words, names in by_words.items():
        LOG.warning(
            'Resources of type %(type)s %(words)s: %(names)s',
            {
                'type': resource_type,
                'words': words,
                'names': ', '.join(sorted(names)),
            },
        )


def _words(condition: objects.Condition) -> str:
    match condition:
        case objects.Condition(forced_down=True):
            return 'have failed: they are forced down'
        case objects.Condition(failed=True):
            return 'have failed'
        case objects.Condition(hold=states.Hold.DISABLED):
            return 'are disabled: no new lease gets them'
        case objects.Condition(hold=states.Hold.DOWN):
            return 'are down, and fail if they stay so'
    return 'are back'
