# SPDX-License-Identifier: Apache-2.0
"""The time limits of all calls that leave the process.

By default Nova, keystoneauth and the drivers of databases wait for ever for a
peer that holds the connection open and says nothing. The limits are set where
all such calls pass, so that no client can be forgotten: in ``requests``, at
the connections that SQLAlchemy opens (see ``db/time_limits.py``), and in the
clients of the message bus.
Whatever an operator has configured, or a caller asks for, comes first.

That a call took too long says nothing of whether it was done.

Decision 0059: doc/source/decisions/0059-nothing-is-waited-for-for-ever
"""

from collections.abc import Callable
from collections.abc import Iterator
import contextlib
import functools
from typing import Any

import oslo_messaging
import requests
from requests import adapters
import wrapt

from nova_reservations.db import time_limits as connections

SECONDS = 60.0
"""For how long each call waits: for the connection, and then for each part of
the answer."""

BUS_RETRIES = 5
"""How often a message is tried again that the bus does not take. The pauses
are of 1, 3, 5, 7 and 9 seconds; oslo.messaging gives each try a limit of its
own, ``[oslo_messaging_rabbit] heartbeat_timeout_threshold``."""

_seconds: float | None = SECONDS


@functools.cache
def install() -> None:
    """Set the limits of this process."""
    wrapt.wrap_function_wrapper(adapters.HTTPAdapter, 'send', _send)
    connections.install(lambda: _seconds)


@functools.cache
def install_for_bus() -> None:
    """Set the limits of the messages that this process sends.

    Only nova-scheduler needs it, in which no other messages than ours wait for
    the bus. Nova's own requests in nova-api are better late than lost.
    """
    wrapt.wrap_function_wrapper(oslo_messaging, 'get_rpc_client', _client)


@contextlib.contextmanager
def limited_to(seconds: float | None) -> Iterator[None]:
    """Let the process have other limits inside of the block.

    :param seconds: None: without any, for statements that take as long as the
        tables are large
    """
    global _seconds
    before, _seconds = _seconds, seconds
    try:
        yield
    finally:
        _seconds = before


def _send(
    wrapped: Callable[..., requests.Response],
    adapter: adapters.HTTPAdapter,
    args: Any,
    kwargs: dict[str, Any],
) -> requests.Response:
    # requests passes all but the request by their names.
    if kwargs.get('timeout') is None:
        kwargs['timeout'] = _seconds
    try:
        return wrapped(*args, **kwargs)
    except requests.Timeout:
        # An outage that leaves this connection half open has left those half
        # open that are idle: the next requests would each wait as long, though
        # the service is back.
        adapter.close()
        raise


def _client(
    wrapped: Callable[..., Any], _: Any, args: Any, kwargs: dict[str, Any]
) -> Any:
    if kwargs.get('retry') is None:
        kwargs['retry'] = BUS_RETRIES
    return wrapped(*args, **kwargs)
