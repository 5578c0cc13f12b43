# SPDX-License-Identifier: Apache-2.0
"""Tells metric plugins when nova-compute is ready, and of each audit."""

from collections.abc import Callable
from collections.abc import Mapping
from typing import Any
from typing import TypeAlias
import weakref

from nova.compute import manager
from nova.compute import resource_tracker
from oslo_log import log
import wrapt

from nova_reservations import hooks

LOG = log.getLogger(__name__)

Start: TypeAlias = Callable[[manager.ComputeManager], None]
Listener: TypeAlias = Callable[
    [str, Mapping[str, Any], Mapping[str, Any]], None
]

CLAIMED = ('vcpus_used', 'memory_mb_used', 'local_gb_used', 'running_vms')

_STARTS: list[Start] = []
_LISTENERS: weakref.WeakKeyDictionary[Any, list[Listener]] = (
    weakref.WeakKeyDictionary()
)


def at_start(start: Start) -> None:
    """Call start with each compute manager that is ready.

    Its driver and resource tracker can be used then; the first audit and the
    first request come after it. Call this once per process, before any compute
    manager is made.
    """
    _STARTS.append(start)


def listen(
    tracker: resource_tracker.ResourceTracker, listener: Listener
) -> None:
    """Call listener after each audit of the tracker.

    It gets the node's name; what the hypervisor reports, as the virt driver's
    ``get_available_resource`` returns it; and what servers and migrations
    claim, with the same names for the same things: ``vcpus_used``,
    ``memory_mb_used`` (MiB), ``local_gb_used`` (GiB), ``running_vms``.
    The lock of the tracker is not held.
    """
    _LISTENERS.setdefault(tracker, []).append(listener)


def install() -> None:
    """Follow every compute manager; once per process."""
    wrapt.wrap_function_wrapper(
        manager.ComputeManager, 'pre_start_hook', _pre_start_hook
    )
    wrapt.wrap_function_wrapper(
        resource_tracker.ResourceTracker,
        '_update_available_resource',
        _update_available_resource,
    )


def _pre_start_hook(
    wrapped: Callable[..., None],
    compute: manager.ComputeManager,
    args: Any,
    kwargs: Any,
) -> None:
    for start in _STARTS:
        try:
            start(compute)
        except Exception:
            LOG.exception('%s could not start', start.__module__)
    wrapped(*args, **kwargs)


def _update_available_resource(
    wrapped: Callable[..., None],
    tracker: resource_tracker.ResourceTracker,
    args: Any,
    kwargs: Any,
) -> None:
    listeners = _LISTENERS.get(tracker, ())
    if not listeners:
        wrapped(*args, **kwargs)
        return
    # A copy, because Nova removes entries that it has used.
    reported = dict(hooks.arguments(wrapped, args, kwargs)['resources'])
    wrapped(*args, **kwargs)
    node = tracker.compute_nodes.get(reported['hypervisor_hostname'])
    if node is None:
        return
    claimed = {name: getattr(node, name) for name in CLAIMED}
    for listener in listeners:
        try:
            listener(node.hypervisor_hostname, reported, claimed)
        except Exception:
            LOG.exception('%s failed after an audit', listener.__module__)
