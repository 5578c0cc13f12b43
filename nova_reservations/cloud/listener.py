# SPDX-License-Identifier: Apache-2.0
"""Listener for notifications of Nova and other services.

It uses listener pools of its own: each message goes to one of our processes,
and all other listeners of the cloud get their own copy.
"""

from collections import defaultdict
from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Mapping
import contextlib
import re
from typing import Any

import oslo_messaging

from nova_reservations.cloud import errors
from nova_reservations.plugins.monitors import base

POOL = 'nova-reservations'

Receive = Callable[[str, Mapping[str, Any], str | None, str], None]
"""Takes the event type, the payload, the exchange from which the notification
came (None: Nova's own), and the priority."""


class Listener:
    """Opens no connection before start(), which is called after the fork.

    Each exchange has a pool of its own: a message does not tell from which
    exchange it came, and several services may have events of the same type.
    """

    def __init__(
        self,
        transport: oslo_messaging.Transport,
        subscriptions: Collection[base.Subscription],
        receive: Receive,
    ) -> None:
        by_exchange: dict[str | None, list[base.Subscription]]
        by_exchange = defaultdict(list)
        for subscription in subscriptions:
            by_exchange[subscription.exchange].append(subscription)
        self._servers = [
            _server(transport, exchange, wanted, receive)
            for exchange, wanted in by_exchange.items()
        ]
        self._started = contextlib.ExitStack()

    @errors.translated()
    def start(self) -> None:
        """Start to listen to all exchanges; on an error, to none.

        :raises: CloudUnavailable
        """
        with contextlib.ExitStack() as started:
            for server in self._servers:
                server.start()
                started.callback(_stop, server)
            self._started = started.pop_all()

    def stop(self) -> None:
        """Stop, after waiting for the notifications that are being handled."""
        self._started.close()


def _server(
    transport: oslo_messaging.Transport,
    exchange: str | None,
    subscriptions: Collection[base.Subscription],
    receive: Receive,
) -> Any:
    topics = {subscription.topic for subscription in subscriptions}
    event_types: dict[str, set[str]] = defaultdict(set)
    for subscription in subscriptions:
        for priority in subscription.priorities:
            event_types[priority].update(subscription.event_types)
    return oslo_messaging.get_notification_listener(
        transport,
        [
            oslo_messaging.Target(topic=topic, exchange=exchange)
            for topic in sorted(topics)
        ],
        [
            _Endpoint(exchange, priority, wanted, receive)
            for priority, wanted in sorted(event_types.items())
        ],
        executor='threading',
        pool=POOL if exchange is None else f'{POOL}-{exchange}',
    )


def _stop(server: Any) -> None:
    server.stop()
    server.wait()


class _Endpoint:
    """Has one method, whose name is the priority of its notifications, as
    oslo.messaging requires."""

    def __init__(
        self,
        exchange: str | None,
        priority: str,
        event_types: Collection[str],
        receive: Receive,
    ) -> None:
        wanted = '|'.join(map(re.escape, sorted(event_types)))
        self.filter_rule = oslo_messaging.NotificationFilter(
            event_type=f'^({wanted})$'
        )
        self._exchange = exchange
        self._priority = priority
        self._receive = receive
        setattr(self, priority, self._hear)

    def _hear(
        self,
        context: Mapping[str, Any],
        publisher_id: str,
        event_type: str,
        payload: Mapping[str, Any],
        metadata: Mapping[str, Any],
    ) -> None:
        self._receive(event_type, payload, self._exchange, self._priority)
