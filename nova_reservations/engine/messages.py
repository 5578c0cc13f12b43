# SPDX-License-Identifier: Apache-2.0
"""Messages that tell people or services of an event of a lease: each is sent
until that succeeds, as long as it is true.

Decision 0060: doc/source/decisions/0060-leases-wait-for-no-message
"""

from collections.abc import Callable
import dataclasses
import datetime

from oslo_log import log

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations import ports
from nova_reservations.db import api
from nova_reservations.db.leases import leases
from nova_reservations.db.leases import messages
from nova_reservations.engine import notifications
from nova_reservations.engine import transactions
from nova_reservations.objects import states
from nova_reservations.plugins.event_actions import offered

LOG = log.getLogger(__name__)

PAUSES = tuple(
    datetime.timedelta(minutes=minutes) for minutes in (1, 5, 15, 60)
)
"""The pauses after the first attempts that have failed; the last one is the
pause after all others, too."""

_AFTER_END = frozenset(
    {states.Lease.TERMINATING, states.Lease.TERMINATED, states.Lease.ERROR}
)


@dataclasses.dataclass(eq=False)
class Messages:
    """:ivar actions: the event actions that send messages.

    :ivar clock: returns the time of the database.
    """

    database: api.Database
    actions: offered.Actions
    notify: ports.Notifier
    clock: Callable[[], datetime.datetime]

    def send(
        self,
        message_id: str,
        attempt: int,
        answered: Callable[[], None] = lambda: None,
    ) -> None:
        """Send a message that the caller has claimed, or give it up.

        :param attempt: of the claim
        :param answered: is called when the message is sent, and only the
            record of that is left to do
        :raises: Contended; DatabaseUnavailable
        """
        with self.database.causal_reader() as session:
            found = messages.get(session, message_id, attempt)
            if found is None:
                return
            message, reason = found
            lease = _lease(session, message)
        now = self.clock()
        if lease is None or not _is_true(message, lease, now):
            self.remove(message_id, attempt)
            LOG.info(
                'A message of lease %s is not sent: it is not true any more',
                message.lease_id,
            )
            return
        # One that was written late is tried once all the same.
        if attempt > 1 and now >= message.end_date:
            self._give_up(message, attempt, reason)
            return
        try:
            self.actions.named(message.action).send(message, now)
        except (exception.CloudRefused, exception.CloudUnavailable) as error:
            self.put_off(message_id, attempt, error.public)
            return
        answered()
        self.remove(message_id, attempt)

    def put_off(
        self, message_id: str, attempt: int, reason: str | None = None
    ) -> None:
        """Try to send a message again after a pause, or give it up at the end
        of its lease.

        :param reason: why it could not be sent
        """
        now = self.clock()
        pause = PAUSES[min(attempt, len(PAUSES)) - 1]
        with self.database.writer() as session:
            found = messages.get(session, message_id, attempt)
            if found is None:
                return
            message, _ = found
            until = min(now + pause, max(now, message.end_date))
            messages.put_off(session, message_id, attempt, until, reason)
        LOG.warning(
            'A message of lease %(lease)s could not be sent, and is tried '
            'again at %(time)s: %(reason)s',
            {
                'lease': message.lease_id,
                'time': until,
                'reason': reason or 'see above',
            },
        )

    def remove(self, message_id: str, attempt: int) -> None:
        """Record that nothing is left to do for a message.

        :raises: Contended, DatabaseUnavailable
        """
        transactions.write(self.database, messages.remove, message_id, attempt)

    def _give_up(
        self, message: objects.Message, attempt: int, reason: str | None
    ) -> None:
        """Record that nobody could be told of the event."""
        lease = transactions.retry(
            lambda _: self._record_failure(message, attempt, reason)
        )
        if lease is None:
            return
        LOG.error(
            'A message of lease %(lease)s could not be sent before its end: '
            '%(reason)s',
            {'lease': lease.id, 'reason': reason},
        )
        self.notify(
            notifications.failed(message.event_type),
            notifications.payload(lease),
        )

    def _record_failure(
        self, message: objects.Message, attempt: int, reason: str | None
    ) -> objects.Lease | None:
        now = self.clock()
        with self.database.writer() as session:
            if not messages.remove(session, message.id, attempt):
                return None
            lease = _lease(session, message)
            if lease is None or not _is_true(message, lease, now):
                return None
            messages.set_untold(
                session,
                [message.reservation_id],
                reason or 'A message could not be sent before the end',
                now,
            )
            leases.change(
                session,
                lease,
                now,
                events={message.event_type: states.Event.ERROR},
            )
            return leases.get(session, lease.id)


def _lease(
    session: api.Session, message: objects.Message
) -> objects.Lease | None:
    try:
        return leases.get(session, message.lease_id)
    except exception.NotFound:
        return None


def _is_true(
    message: objects.Message, lease: objects.Lease, now: datetime.datetime
) -> bool:
    """Return whether what the message says still holds, and is still what its
    reservation asks for."""
    event = lease.event(message.event_type)
    asks = any(
        item.id == message.reservation_id
        and item.params.get('before_end') == message.chosen
        for item in lease.reservations
    )
    if lease.status in _AFTER_END:
        goes_on = now >= message.end_date
    else:
        goes_on = lease.status == states.Lease.ACTIVE
    return (
        asks
        and goes_on
        and lease.end_date == message.end_date
        and event is not None
        and event.time == message.event_time
        and event.status in (states.Event.DONE, states.Event.ERROR)
    )
