# SPDX-License-Identifier: Apache-2.0
"""``lease.exists``: hourly notifications of the leases that are active, or
have active parts, and of what they hold, for consumers that do the metering.

The progress is written before the notifications of a page of leases are sent:
a worker that goes on after another one died notifies of no lease twice.
"""

import dataclasses
import datetime

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations import ports
from nova_reservations.db import api
from nova_reservations.db.holdings import held_resources
from nova_reservations.db.leases import lease_pages
from nova_reservations.db.record import lease_exists as rows
from nova_reservations.engine import notifications
from nova_reservations.objects import states

TASK = 'lease_exists'

HOUR = datetime.timedelta(hours=1)

PAUSE = datetime.timedelta(minutes=1)
"""The time until the next attempt while notifications can't be sent."""

PAGE = 100
"""The number of leases that are told of together; no more notifications than
these wait to be sent."""


_TOLD = (states.Lease.ACTIVE, states.Lease.STARTING)
"""The states in which a lease may hold something that counts: parts count
before the rest of their lease has started."""


@dataclasses.dataclass(eq=False)
class LeaseExists:
    """:ivar sent: waits for notifications to be sent; returns whether all
    were"""

    database: api.Database
    notify: ports.Notifier
    sent: ports.Sent

    def tell(self, now: datetime.datetime) -> None:
        """Notify of all leases that count and were not told of in this hour.

        :raises: CloudUnavailable if notifications can't be sent
        """
        hour = now.replace(minute=0, second=0, microsecond=0)
        while (page := self._next_page(hour)) is not None:
            for payload in page:
                self.notify(notifications.EXISTS, payload)

    def _next_page(
        self, hour: datetime.datetime
    ) -> list[dict[str, object]] | None:
        """Return the payloads of the next leases; None if no leases are left,
        or another worker has taken these.

        :raises: CloudUnavailable if earlier notifications are not sent yet
        """
        with self.database.reader() as session:
            seen = rows.progress(session)
            if seen.hour > hour or (seen.hour == hour and seen.after is None):
                return None
            found, after = lease_pages.page(
                session,
                objects.LeaseQuery(statuses=_TOLD, limit=PAGE),
                seen.after if seen.hour == hour else None,
            )
            payloads = [
                notifications.payload(lease)
                for lease in found
                if lease.status == states.Lease.ACTIVE or lease.recorded
            ]
            held = held_resources.of(
                session,
                [
                    key
                    for payload in payloads
                    for key in notifications.active(payload)
                ],
                notifications.MOST_NAMES,
            )
        if payloads and not self.sent():
            raise exception.CloudUnavailable(
                service='The message bus',
                reason='notifications are not sent in time',
            )
        with self.database.writer() as session:
            told = rows.Progress(hour, after, seen.version)
            if not rows.advance(session, seen, told):
                return None
        return [
            {
                **notifications.with_held(payload, held),
                **notifications.audit_period(hour - HOUR, hour),
            }
            for payload in payloads
        ]
