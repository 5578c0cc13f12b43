# SPDX-License-Identifier: Apache-2.0
"""Notifications, where Nova's own go: ``[oslo_messaging_notifications]``."""

from collections.abc import Callable
from collections.abc import Mapping
from typing import Any

from nova import context as nova_context
from nova import rpc
import nova.conf

CONF = nova.conf.CONF

Notify = Callable[[str, str, Mapping[str, Any]], None]
"""Called with the publisher, the type of the event, and its payload."""


def notify(
    publisher: str, event_type: str, payload: Mapping[str, Any]
) -> None:
    """Emit a notification of priority WARN; if that fails, it is logged.

    Nova's get_notifier() is not used, because it warns of each event that is
    not Nova's own.
    """
    # Nova's other notifier sends nothing if only one format is configured.
    versioned = CONF.notifications.notification_format == 'versioned'
    sender = rpc.NOTIFIER if versioned else rpc.LEGACY_NOTIFIER
    notifier = sender.prepare(publisher_id=publisher)
    notifier.warn(nova_context.get_admin_context(), event_type, dict(payload))
