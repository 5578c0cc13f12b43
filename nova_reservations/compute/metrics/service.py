# SPDX-License-Identifier: Apache-2.0
"""Where metrics meet nova-compute: they follow its computes and trackers.

Nothing of it does anything while ``[metrics_plugins] enabled`` is empty.
"""

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Mapping
from typing import Any
import weakref

from nova.compute import manager
from nova.compute import resource_tracker
import nova.conf
from nova.objects import instance as instance_objects
import wrapt

from nova_reservations.compute import audits
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
    """Return what measures there; None if nothing does."""
    return _COLLECTORS.get(tracker)


def install() -> None:
    """Follow every compute manager; once per process."""
    compute = manager.ComputeManager
    tracker = resource_tracker.ResourceTracker
    for target, name, wrapper in (
        (compute, 'cleanup_host', _cleanup_host),
        (compute, '_update_volume_usage_cache', _volume_usage),
        (tracker, '_update_usage_from_instances', _from_instances),
        (tracker, '_update_usage_from_instance', _from_instance),
        (tracker, 'remove_node', _remove_node),
        (
            instance_objects.InstanceList,
            'get_by_host_and_node',
            _get_by_host_and_node,
        ),
    ):
        wrapt.wrap_function_wrapper(target, name, wrapper)
    audits.at_start(start)


def start(compute: manager.ComputeManager) -> None:
    """Measure on the host of this compute, if the configuration says so."""
    if not CONF.metrics_plugins.enabled:
        return
    found = collector.Collector(
        compute.host, compute.driver, servers.Roster(), CONF
    )
    _COLLECTORS[compute.rt] = found
    audits.listen(compute.rt, found.hand_on_resources)
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


def _volume_usage(
    wrapped: Callable[..., None],
    compute: manager.ComputeManager,
    args: Any,
    kwargs: Any,
) -> None:
    found = of(compute.rt)
    if found is not None:
        found.hand_on_volumes(_usages(*args, **kwargs))
    wrapped(*args, **kwargs)


def _usages(
    context: Any, vol_usages: Iterable[Mapping[str, Any]]
) -> Iterable[Mapping[str, Any]]:
    return vol_usages


def _from_instances(
    wrapped: Callable[..., Any],
    tracker: resource_tracker.ResourceTracker,
    args: Any,
    kwargs: Any,
) -> Any:
    result = wrapped(*args, **kwargs)
    found = of(tracker)
    if found is not None:
        _replace(found, tracker, *args, **kwargs)
    return result


def _replace(
    found: collector.Collector,
    tracker: resource_tracker.ResourceTracker,
    context: Any,
    instances: Iterable[Any],
    nodename: str,
) -> None:
    found.roster.replace(
        nodename,
        (each for each in instances if each.uuid in tracker.tracked_instances),
    )


def _from_instance(
    wrapped: Callable[..., None],
    tracker: resource_tracker.ResourceTracker,
    args: Any,
    kwargs: Any,
) -> None:
    wrapped(*args, **kwargs)
    found = of(tracker)
    if found is not None:
        _follow(found, tracker, *args, **kwargs)


def _follow(
    found: collector.Collector,
    tracker: resource_tracker.ResourceTracker,
    context: Any,
    instance: Any,
    nodename: str,
    is_removed: bool = False,
) -> None:
    # Nova has decided whether it counts; it is told so also when it boots.
    if instance.uuid in tracker.tracked_instances:
        found.roster.add(nodename, instance)
    else:
        found.roster.discard(instance.uuid)


def _remove_node(
    wrapped: Callable[..., None],
    tracker: resource_tracker.ResourceTracker,
    args: Any,
    kwargs: Any,
) -> None:
    wrapped(*args, **kwargs)
    found = of(tracker)
    if found is not None:
        _forget(found, *args, **kwargs)


def _forget(found: collector.Collector, nodename: str) -> None:
    found.roster.replace(nodename, ())


def _get_by_host_and_node(
    wrapped: Callable[..., Any], _: Any, args: Any, kwargs: Any
) -> Any:
    """Have an audit read the metadata of its servers with them.

    Nobody tells a nova-compute that they have changed, and to ask for them
    would be one more request.
    """
    return _with_metadata(wrapped, *args, **kwargs)


def _with_metadata(
    wrapped: Callable[..., Any],
    context: Any,
    host: str,
    node: str,
    expected_attrs: list[str] | None = None,
) -> Any:
    if expected_attrs is not None and any(
        found.host == host and found.wants_metadata
        for found in list(_COLLECTORS.values())
    ):
        expected_attrs = [*expected_attrs, 'metadata']
    return wrapped(context, host, node, expected_attrs=expected_attrs)
