# SPDX-License-Identifier: Apache-2.0
"""What the monitors say becomes what we know of our resources.

Healing is another task, which becomes due in the transaction that records a
failure or a recovery: whoever is there does it.
"""

from collections.abc import Collection
from collections.abc import Mapping
from collections.abc import Sequence
import datetime
from typing import Any

from oslo_log import log

from nova_reservations import exception
from nova_reservations.db import api
from nova_reservations.db import counters
from nova_reservations.db import healing
from nova_reservations.db import waiters
from nova_reservations.engine import contention
from nova_reservations.engine import hosts
from nova_reservations.plugins import monitor

LOG = log.getLogger(__name__)


class Monitoring:
    def __init__(
        self, database: api.Database, monitors: Sequence[monitor.Monitor]
    ) -> None:
        self.database = database
        self.monitors = monitors

    def poll(self, now: datetime.datetime) -> None:
        """Have each monitor look at all that it knows."""
        for one in self.monitors:
            with self.database.reader() as session:
                known = healing.known(session, one.resource_type)
            if not known:
                continue
            try:
                changes = one.check_states(
                    sorted({each.resource.name for each in known}), now
                )
            except exception.CloudUnavailable as error:
                LOG.warning(
                    'Nobody knows which resources of type %(type)s work: '
                    '%(reason)s',
                    {'type': one.resource_type, 'reason': error},
                )
                continue
            self.record(one.resource_type, changes, now)

    @property
    def event_types(self) -> set[str]:
        """The notifications that the monitors want."""
        return {
            event_type
            for one in self.monitors
            for event_type in one.event_types
        }

    @property
    def topics(self) -> set[str]:
        """Where these come."""
        return {
            topic
            for one in self.monitors
            if one.event_types
            for topic in one.topics
        }

    def on_notification(
        self,
        event_type: str,
        payload: Mapping[str, Any],
        now: datetime.datetime,
    ) -> None:
        """Have the monitors that want it say what a notification means.

        :raises: CloudUnavailable, DatabaseUnavailable; polling will tell
        """
        for one in self.monitors:
            if event_type in one.event_types:
                self.record(
                    one.resource_type,
                    one.on_notification(event_type, payload, now),
                    now,
                )

    def record(
        self,
        resource_type: str,
        changes: monitor.Changes,
        now: datetime.datetime,
    ) -> None:
        """Write what is news of resources that are ours."""
        names = {*changes.failed, *changes.recovered}
        if names:
            contention.settle(
                lambda _: self._record(resource_type, names, changes, now)
            )

    def _record(
        self,
        resource_type: str,
        names: Collection[str],
        changes: monitor.Changes,
        now: datetime.datetime,
    ) -> None:
        with self.database.reader() as session:
            if not _news(session, resource_type, names, changes):
                return
        with self.database.writer() as session:
            news = _news(session, resource_type, names, changes)
            for down, resources in news.items():
                healing.set_down(
                    session,
                    [each.resource.id for each in resources],
                    now if down else None,
                    now,
                )
            counters.hurry(session, healing.HEAL, now)
            if False in news:
                waiters.wake(session, now)
            # What is known of a host is most often old when it comes back.
            counters.hurry(session, hosts.REFRESH, now)
        for down, resources in news.items():
            LOG.warning(
                'Resources of type %(type)s %(event)s: %(names)s',
                {
                    'type': resource_type,
                    'event': 'have failed' if down else 'are back',
                    'names': ', '.join(
                        sorted(each.resource.name for each in resources)
                    ),
                },
            )


def _news(
    session: Any,
    resource_type: str,
    names: Collection[str],
    changes: monitor.Changes,
) -> Mapping[bool, list[healing.Known]]:
    """Return True -> what has failed, False -> what is back, of those of
    which we know something else."""
    known = healing.known(session, resource_type, names)
    news = {
        True: [
            one
            for one in known
            if one.resource.name in changes.failed and not one.down
        ],
        False: [
            one
            for one in known
            if one.resource.name in changes.recovered and one.down
        ],
    }
    return {down: found for down, found in news.items() if found}
