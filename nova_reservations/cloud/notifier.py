# SPDX-License-Identifier: Apache-2.0
"""Notifications, where Nova's own go: ``[oslo_messaging_notifications]``."""

from collections.abc import Mapping
import functools
from typing import Any

from nova import context as nova_context
from nova import rpc
import nova.conf

from nova_reservations.cloud import outbox

CONF = nova.conf.CONF

PUBLISHER = 'blazar.lease'
"""Consumers tell ours by it from Nova's, and know it from Blazar."""

OUTBOX = outbox.Outbox()
"""The outbox of this process: oslo.messaging waits for a bus that is down."""


PATIENCE = 5
"""Seconds for which a task waits for its notifications to be sent."""


def sent() -> bool:
    """Wait until all that is in the outbox is sent; return whether it is."""
    return OUTBOX.flush(PATIENCE)


def notify(event_type: str, payload: Mapping[str, Any]) -> None:
    """Emit a notification, in a moment; oslo.messaging logs it if that fails.

    Not through Nova's get_notifier(), which warns of each event that is
    none of Nova's.
    """
    # The other one of Nova's says nothing where only one format is wanted.
    versioned = CONF.notifications.notification_format == 'versioned'
    sender = rpc.NOTIFIER if versioned else rpc.LEGACY_NOTIFIER
    notifier = sender.prepare(publisher_id=PUBLISHER)
    context = nova_context.get_admin_context()
    OUTBOX.put(
        functools.partial(notifier.info, context, event_type, dict(payload))
    )
