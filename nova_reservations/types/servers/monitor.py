# SPDX-License-Identifier: Apache-2.0
"""Monitor of compute hosts, by the records of Nova's services."""

from collections.abc import Collection
from collections.abc import Mapping
from collections.abc import Sequence
import datetime
from typing import Any

from nova_reservations import objects
from nova_reservations import ports
from nova_reservations.plugins.monitors import base

EVENT_TYPES = ('service.create', 'service.update', 'service.delete')


class ComputeMonitor(base.Monitor):
    """A host has failed if its nova-compute is forced down. It is down if its
    nova-compute has not reported for ``service_down_time``, was disabled by
    Nova itself, or is gone from Nova. A host that an administrator has
    disabled still works, unless one of these is the case. Nothing is reported
    of hosts in a cell that does not answer.

    A notification only names the host. Nova is asked for the state of that
    host, because a late notification would report an old state.
    """

    resource_type = objects.HOST

    @property
    def subscriptions(self) -> Sequence[base.Subscription]:
        return [
            base.Subscription(topic, EVENT_TYPES)
            for topic in self.conf.notifications.versioned_notifications_topics
        ]

    def on_notification(
        self,
        event_type: str,
        payload: Mapping[str, Any],
        now: datetime.datetime,
    ) -> base.Changes:
        service = payload.get('nova_object.data', {})
        if service.get('binary') != 'nova-compute':
            return base.Changes()
        host = service['host']
        return _changes(self.cloud.hosts.compute_services(now, [host]))

    def check_states(
        self, known: Collection[str], now: datetime.datetime
    ) -> base.Changes:
        return _changes(self.cloud.hosts.compute_services(now, known))

    def domains(self, names: Collection[str]) -> Mapping[str, str]:
        return self.cloud.hosts.cells_of(names)


def _changes(seen: Mapping[str, ports.ComputeService]) -> base.Changes:
    failed = {name for name, service in seen.items() if service.forced_down}
    down = {name for name, service in seen.items() if service.is_down} - failed
    return base.Changes(
        failed=failed,
        recovered=seen.keys() - failed - down,
        down=down,
        disabled={
            name
            for name, service in seen.items()
            if service.disabled and not service.gave_up
        },
    )
