# SPDX-License-Identifier: Apache-2.0
"""Hooks that have Nova call the consumers whenever it makes or changes a host
state.

Any of our filters in ``[filter_scheduler] available_filters`` brings this
into nova-scheduler.
"""

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Iterator
import functools
from typing import Any

import nova.conf
from nova.scheduler import host_manager
from nova.scheduler import manager
import wrapt

from nova_reservations import hooks
from nova_reservations.scheduler.consumers import handler

_consumers = handler.Consumers()


def consumers() -> handler.Consumers:
    """Return the consumers of this process."""
    return _consumers


@functools.cache
def install() -> None:
    """Load and call consumers from now on.

    Nova imports this module while it makes its host manager. It calls the
    manager's ``_choose_host_filters`` next, before it forks.
    """
    for owner, name, wrapper in (
        (host_manager.HostManager, '_choose_host_filters', _load),
        (host_manager.HostState, '_update_from_compute_node', _read),
        (host_manager.HostState, '_locked_consume_from_request', _consume),
        (manager.SchedulerManager, '_get_all_host_states', _survey),
    ):
        wrapt.wrap_function_wrapper(owner, name, wrapper)


def _load(wrapped: Callable[..., Any], _: Any, args: Any, kwargs: Any) -> Any:
    global _consumers
    _consumers = handler.load(nova.conf.CONF)
    return wrapped(*args, **kwargs)


def _read(
    wrapped: Callable[..., None],
    host_state: host_manager.HostState,
    args: Any,
    kwargs: Any,
) -> None:
    wrapped(*args, **kwargs)
    # A compute node that has not reported yet has no stats.
    found = getattr(host_state, 'stats', None)
    if found is not None:
        _consumers.read(host_state, found)


def _consume(
    wrapped: Callable[..., None],
    host_state: host_manager.HostState,
    args: Any,
    kwargs: Any,
) -> None:
    wrapped(*args, **kwargs)
    call = hooks.arguments(wrapped, args, kwargs)
    _consumers.consume(host_state, call['spec_obj'])


def _survey(
    wrapped: Callable[..., Iterable[host_manager.HostState]],
    _: Any,
    args: Any,
    kwargs: Any,
) -> Iterator[host_manager.HostState]:
    host_states = list(wrapped(*args, **kwargs))
    call = hooks.arguments(wrapped, args, kwargs)
    _consumers.survey(
        host_states, call['spec_obj'], call['provider_summaries']
    )
    return iter(host_states)
