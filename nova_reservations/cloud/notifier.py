# SPDX-License-Identifier: Apache-2.0
"""Notifications, sent where Nova's own are sent, by
``[oslo_messaging_notifications]``."""

from collections.abc import Mapping
import functools
from typing import Any

from nova import context as nova_context
from nova import rpc
import nova.conf

from nova_reservations.cloud import outbox

CONF = nova.conf.CONF

PUBLISHER = 'blazar.lease'
"""The publisher_id, which Blazar uses, too; by it consumers distinguish our
notifications from Nova's."""

OUTBOX = outbox.Outbox()
"""The outbox of this process. It is needed because oslo.messaging blocks while
the message bus is down."""


PATIENCE = 5
"""Seconds that a task waits for its notifications to be sent."""


def sent() -> bool:
    """Wait until everything in the outbox is sent; return whether it is."""
    return OUTBOX.flush(PATIENCE)


def notify(event_type: str, payload: Mapping[str, Any]) -> None:
    """Emit a notification soon; oslo.messaging logs a failure.

    Nova's get_notifier() is not used, because it logs a warning for each event
    type that is not Nova's.
    """
    # If only one format is configured, Nova's notifier of the other one emits
    # nothing.
    versioned = CONF.notifications.notification_format == 'versioned'
    sender = rpc.NOTIFIER if versioned else rpc.LEGACY_NOTIFIER
    notifier = sender.prepare(publisher_id=PUBLISHER)
    context = nova_context.get_admin_context()
    OUTBOX.put(
        functools.partial(notifier.info, context, event_type, dict(payload))
    )
