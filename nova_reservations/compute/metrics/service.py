# SPDX-License-Identifier: Apache-2.0
"""The metrics of nova-compute, which follow its computes and trackers.

Nothing is measured while ``[metrics_plugins] enabled`` is empty.
"""

from collections.abc import Callable
from typing import Any
import weakref

from nova.compute import manager
from nova.compute import resource_tracker
import nova.conf
from nova.objects import instance as instance_objects
import wrapt

from nova_reservations import hooks
from nova_reservations.compute import service_hooks
from nova_reservations.compute import wrapping
from nova_reservations.compute.metrics import collector
from nova_reservations.compute.metrics import servers

CONF = nova.conf.CONF

_COLLECTORS: weakref.WeakKeyDictionary[Any, collector.Collector] = (
    weakref.WeakKeyDictionary()
)
"""Resource tracker -> what measures on its host."""


def of(
    tracker: resource_tracker.ResourceTracker,
) -> collector.Collector | None:
    """Return the collector of a resource tracker; None if nothing is
    measured."""
    return _COLLECTORS.get(tracker)


def install() -> None:
    """Follow every compute manager; once per process."""
    compute = manager.ComputeManager
    tracker = resource_tracker.ResourceTracker
    for target, name, wrapper in (
        (compute, 'cleanup_host', _cleanup_host),
        (
            compute,
            '_update_volume_usage_cache',
            wrapping.before(lambda compute: of(compute.rt), _hand_on),
        ),
        (
            tracker,
            '_update_usage_from_instances',
            wrapping.after(of, _replace),
        ),
        (
            tracker,
            '_update_usage_from_instance',
            wrapping.after(of, _follow),
        ),
        (tracker, 'remove_node', wrapping.after(of, _forget)),
        (
            instance_objects.InstanceList,
            'get_by_host_and_node',
            _get_by_host_and_node,
        ),
    ):
        wrapt.wrap_function_wrapper(target, name, wrapper)
    service_hooks.at_start(start)


def start(compute: manager.ComputeManager) -> None:
    """Measure on the host of this compute, if the configuration says so."""
    if not CONF.metrics_plugins.enabled:
        return
    found = collector.Collector(
        compute.host, compute.driver, servers.Servers(), CONF
    )
    _COLLECTORS[compute.rt] = found
    service_hooks.listen(compute.rt, found.hand_on_resources)
    found.start()


def _cleanup_host(
    wrapped: Callable[..., None],
    compute: manager.ComputeManager,
    args: Any,
    kwargs: Any,
) -> None:
    found = _COLLECTORS.pop(compute.rt, None)
    if found is not None:
        found.stop()
    wrapped(*args, **kwargs)


def _hand_on(
    found: collector.Collector,
    compute: manager.ComputeManager,
    call: wrapping.Call,
) -> None:
    found.hand_on_volumes(call['vol_usages'])


def _replace(
    found: collector.Collector,
    tracker: resource_tracker.ResourceTracker,
    call: wrapping.Call,
) -> None:
    found.servers.replace(
        call['nodename'],
        (
            instance
            for instance in call['instances']
            if instance.uuid in tracker.tracked_instances
        ),
    )


def _follow(
    found: collector.Collector,
    tracker: resource_tracker.ResourceTracker,
    call: wrapping.Call,
) -> None:
    instance = call['instance']
    # Nova has just decided whether the server counts here, as it does at each
    # change of a server, its boot included.
    if instance.uuid in tracker.tracked_instances:
        found.servers.add(call['nodename'], instance)
    else:
        found.servers.discard(instance.uuid)


def _forget(
    found: collector.Collector,
    tracker: resource_tracker.ResourceTracker,
    call: wrapping.Call,
) -> None:
    found.servers.replace(call['nodename'], ())


def _get_by_host_and_node(
    wrapped: Callable[..., Any], _: Any, args: Any, kwargs: Any
) -> Any:
    """Make an audit read the metadata of its servers with them.

    Nothing tells nova-compute that metadata has changed, and to ask for it
    separately would be one more request.
    """
    call = hooks.arguments(wrapped, args, kwargs)
    asked = call['expected_attrs']
    if asked is not None and any(
        found.host == call['host'] and found.wants_metadata
        for found in list(_COLLECTORS.values())
    ):
        return wrapped(**{**call, 'expected_attrs': [*asked, 'metadata']})
    return wrapped(*args, **kwargs)
