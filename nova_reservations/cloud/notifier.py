# SPDX-License-Identifier: Apache-2.0
"""Notifications, where Nova's own go: ``[oslo_messaging_notifications]``."""

from collections.abc import Mapping
from typing import Any

from nova import context as nova_context
from nova import rpc

PUBLISHER = 'blazar.lease'
"""Consumers tell ours by it from Nova's, and know it from Blazar."""


def notify(event_type: str, payload: Mapping[str, Any]) -> None:
    """Emit a notification; oslo.messaging logs it if that fails.

    Not through Nova's get_notifier(), which warns of each event that is
    none of Nova's.
    """
    notifier = rpc.LEGACY_NOTIFIER.prepare(publisher_id=PUBLISHER)
    notifier.info(nova_context.get_admin_context(), event_type, dict(payload))
