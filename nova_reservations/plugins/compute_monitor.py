# SPDX-License-Identifier: Apache-2.0
"""Whether compute hosts work, by what Nova knows of their services."""

from collections.abc import Collection
from collections.abc import Mapping
from collections.abc import Sequence
import datetime
from typing import Any
from typing import ClassVar

from nova_reservations import ports
from nova_reservations import values
from nova_reservations.plugins import monitor


class ComputeMonitor(monitor.Monitor):
    """A host has failed if its nova-compute has not reported for
    ``service_down_time``, is disabled, forced down, or gone from Nova.

    A notification says only of which host something has changed: what it is
    now is asked of Nova, so that a late one can't tell what is over.
    """

    resource_type: ClassVar[str] = values.HOST
    event_types: ClassVar[Sequence[str]] = (
        'service.create',
        'service.update',
        'service.delete',
    )

    @property
    def topics(self) -> Sequence[str]:
        configured: Sequence[str] = (
            self.conf.notifications.versioned_notifications_topics
        )
        return configured

    def on_notification(
        self,
        event_type: str,
        payload: Mapping[str, Any],
        now: datetime.datetime,
    ) -> monitor.Changes:
        service = payload.get('nova_object.data', {})
        if service.get('binary') != 'nova-compute':
            return monitor.Changes()
        host = service['host']
        return _changes([host], self.cloud.compute_services(now, host))

    def check_states(
        self, known: Collection[str], now: datetime.datetime
    ) -> monitor.Changes:
        return _changes(known, self.cloud.compute_services(now))


def _changes(
    names: Collection[str], services: Mapping[str, ports.ComputeService]
) -> monitor.Changes:
    working = {
        name
        for name in names
        if name in services and services[name].is_working
    }
    return monitor.Changes(failed=set(names) - working, recovered=working)
