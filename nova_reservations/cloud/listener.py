# SPDX-License-Identifier: Apache-2.0
"""Notifications of Nova, from a pool of our own.

Each message is for one of our processes, and each other listener has its
own copy.
"""

from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Mapping
import re
from typing import Any

import oslo_messaging

from nova_reservations.cloud import errors

POOL = 'nova-reservations'

Receive = Callable[[str, Mapping[str, Any]], None]
"""Takes the type of an event, and its payload."""


class Listener:
    """Opens nothing before it starts, which is after the fork."""

    def __init__(
        self,
        transport: oslo_messaging.Transport,
        topics: Collection[str],
        event_types: Collection[str],
        receive: Receive,
    ) -> None:
        self._server = oslo_messaging.get_notification_listener(
            transport,
            [oslo_messaging.Target(topic=topic) for topic in sorted(topics)],
            [_Endpoint(event_types, receive)],
            executor='threading',
            pool=POOL,
        )

    @errors.translated()
    def start(self) -> None:
        """:raises: CloudUnavailable"""
        self._server.start()

    def stop(self) -> None:
        """Wait for what is being read, and read no more."""
        self._server.stop()
        self._server.wait()


class _Endpoint:
    def __init__(self, event_types: Collection[str], receive: Receive) -> None:
        wanted = '|'.join(map(re.escape, sorted(event_types)))
        self.filter_rule = oslo_messaging.NotificationFilter(
            event_type=f'^({wanted})$'
        )
        self._receive = receive

    def info(
        self,
        context: Mapping[str, Any],
        publisher_id: str,
        event_type: str,
        payload: Mapping[str, Any],
        metadata: Mapping[str, Any],
    ) -> None:
        self._receive(event_type, payload)
