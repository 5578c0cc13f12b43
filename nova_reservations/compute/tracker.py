# SPDX-License-Identifier: Apache-2.0
"""Calls resource plugins where Nova counts its own figures.

Each change that the resource tracker makes to its own figures is made to the
usage of plugins at the same place, under the same lock. So none is missed, as
it could be with a list of events.

Decision 0011: doc/source/decisions/0011-usage-follows-nova
"""

# Nova's objects get their names only when the process registers them.
from __future__ import annotations

from collections.abc import Callable
import functools
import types
from typing import Any
import weakref

from nova import exception as nova_exception
from nova import objects
from nova import utils
from nova.compute import claims
from nova.compute import manager
from nova.compute import resource_tracker
import nova.conf
from oslo_log import log
import wrapt

from nova_reservations import hooks
from nova_reservations import plugin_loader
from nova_reservations.compute import node_plugins
from nova_reservations.compute import resources
from nova_reservations.compute import wrapping
from nova_reservations.tracking import stats

CONF = nova.conf.CONF
LOG = log.getLogger(__name__)

NAMESPACE = 'nova.compute.resources'

USAGE = 'nova_reservations'
"""A key in Nova's usage dicts, which Nova does not look at."""

_PLUGINS: weakref.WeakKeyDictionary[Any, TrackerPlugins] = (
    weakref.WeakKeyDictionary()
)
"""Resource tracker -> what we keep beside it."""


class TrackerPlugins:
    """The plugins of a resource tracker, for each of its nodes."""

    def __init__(
        self, plugins: plugin_loader.Loaded[resources.Resource]
    ) -> None:
        self._plugins = plugins
        self._reported: dict[str, dict[str, Any]] = {}
        self._nodes: dict[str, node_plugins.NodePlugins] = {}

    def of(self, node: str) -> node_plugins.NodePlugins:
        if node not in self._nodes:
            self._nodes[node] = node_plugins.NodePlugins(self._plugins, CONF)
        return self._nodes[node]

    def report(self, reported: dict[str, Any]) -> None:
        self._reported[reported['hypervisor_hostname']] = dict(reported)

    def reset(self, node: objects.ComputeNode, driver: Any) -> None:
        name = node.hypervisor_hostname
        self.of(name).reset(
            resources.Host(
                name=name,
                reported=types.MappingProxyType(self._reported[name]),
                cpu_allocation_ratio=node.cpu_allocation_ratio,
                ram_allocation_ratio=node.ram_allocation_ratio,
                driver=driver,
            )
        )

    def remove(self, node: str) -> None:
        self._nodes.pop(node, None)
        self._reported.pop(node, None)

    def restart(self) -> None:
        for node in self._nodes.values():
            node.restart()


def plugins_of(
    tracker: resource_tracker.ResourceTracker,
) -> TrackerPlugins | None:
    """Return the plugins of a resource tracker; None if none is configured."""
    return _PLUGINS.get(tracker)


def install() -> None:
    """Follow every resource tracker; once per process."""
    tracker = resource_tracker.ResourceTracker
    for target, name, wrapper in (
        (tracker, '__init__', _init),
        (tracker, '_init_compute_node', wrapping.before(plugins_of, _report)),
        (
            tracker,
            '_update_usage_from_instances',
            wrapping.before(plugins_of, _reset),
        ),
        (tracker, '_get_usage_dict', _get_usage_dict),
        (tracker, '_update_usage', wrapping.after(plugins_of, _count)),
        (tracker, '_update', wrapping.before(plugins_of, _write)),
        (tracker, 'remove_node', wrapping.after(plugins_of, _remove)),
        (claims.Claim, '_claim_test', _claim_test),
        (
            manager.ComputeManager,
            'check_can_live_migrate_destination',
            _check_can_live_migrate,
        ),
    ):
        wrapt.wrap_function_wrapper(target, name, wrapper)
    CONF.register_mutate_hook(_restart)


def _restart(_: Any, __: Any) -> None:
    for plugins in list(_PLUGINS.values()):
        plugins.restart()


def _init(
    wrapped: Callable[..., None],
    tracker: resource_tracker.ResourceTracker,
    args: Any,
    kwargs: Any,
) -> None:
    wrapped(*args, **kwargs)
    if not CONF.compute_resources:
        return
    loaded = plugin_loader.load(
        NAMESPACE,
        CONF.compute_resources,
        resources.Resource,  # type: ignore[type-abstract]
        '[DEFAULT] compute_resources',
        is_name=stats.is_name,
    )
    plugins = _PLUGINS[tracker] = TrackerPlugins(loaded)
    _offer_inventories(tracker.driver, plugins)


def _report(
    plugins: TrackerPlugins,
    tracker: resource_tracker.ResourceTracker,
    call: wrapping.Call,
) -> None:
    plugins.report(call['resources'])


def _reset(
    plugins: TrackerPlugins,
    tracker: resource_tracker.ResourceTracker,
    call: wrapping.Call,
) -> None:
    plugins.reset(tracker.compute_nodes[call['nodename']], tracker.driver)


def _get_usage_dict(
    wrapped: Callable[..., dict[str, Any]],
    tracker: resource_tracker.ResourceTracker,
    args: Any,
    kwargs: Any,
) -> dict[str, Any]:
    usage = wrapped(*args, **kwargs)
    if plugins_of(tracker) is not None:
        call = hooks.arguments(wrapped, args, kwargs)
        usage[USAGE] = _whose(call['object_or_dict'], call['instance'])
    return usage


def _whose(object_or_dict: Any, instance: objects.Instance) -> resources.Usage:
    if isinstance(object_or_dict, objects.Flavor):
        return _usage(object_or_dict, instance)
    return _usage(instance.flavor, instance)


def _usage(
    flavor: objects.Flavor, instance: objects.Instance
) -> resources.Usage:
    """Return copies of the facts for plugins: they can't change Nova's."""
    # Missing extra specs must not be loaded: nova-compute has no database.
    known = flavor.obj_attr_is_set('extra_specs')
    return resources.Usage(
        server=instance.uuid,
        project=instance.project_id,
        flavor=flavor.name,
        vcpus=flavor.vcpus,
        memory_mb=flavor.memory_mb,
        root_gb=flavor.root_gb,
        ephemeral_gb=flavor.ephemeral_gb,
        swap_mb=flavor.swap,
        extra_specs=types.MappingProxyType(
            dict(flavor.extra_specs) if known else {}
        ),
    )


def _count(
    plugins: TrackerPlugins,
    tracker: resource_tracker.ResourceTracker,
    call: wrapping.Call,
) -> None:
    whose = call['usage'].get(USAGE)
    if whose is None:
        return
    node = plugins.of(call['nodename'])
    if call['sign'] > 0:
        node.add(whose)
    else:
        node.remove(whose)


def _write(
    plugins: TrackerPlugins,
    tracker: resource_tracker.ResourceTracker,
    call: wrapping.Call,
) -> None:
    compute_node = call['compute_node']
    node = compute_node.hypervisor_hostname
    figures = tracker.stats[node]
    for key in [key for key in figures if key.startswith(stats.PREFIX)]:
        del figures[key]
    figures.update(plugins.of(node).report())
    # The node keeps a copy of the figures, as text, which must be set again.
    compute_node.stats = figures


def _remove(
    plugins: TrackerPlugins,
    tracker: resource_tracker.ResourceTracker,
    call: wrapping.Call,
) -> None:
    plugins.remove(call['nodename'])


def _claim_test(
    wrapped: Callable[..., None],
    claim: claims.Claim,
    args: Any,
    kwargs: Any,
) -> None:
    wrapped(*args, **kwargs)
    plugins = plugins_of(claim.tracker)
    if plugins is None:
        return
    moved = isinstance(claim, claims.MoveClaim)
    flavor = claim.flavor if moved else claim.instance.flavor
    reasons = plugins.of(claim.nodename).test(_usage(flavor, claim.instance))
    if reasons:
        text = '; '.join(reasons)
        LOG.info('Failed to claim: %s', text, instance=claim.instance)
        raise nova_exception.ComputeResourcesUnavailable(reason=text)


def _check_can_live_migrate(
    wrapped: Callable[..., Any],
    compute: manager.ComputeManager,
    args: Any,
    kwargs: Any,
) -> Any:
    plugins = plugins_of(compute.rt)
    if plugins is None:
        return wrapped(*args, **kwargs)
    instance = hooks.arguments(wrapped, args, kwargs)['instance']
    return _let_in(
        compute, plugins, instance, functools.partial(wrapped, *args, **kwargs)
    )


def _let_in(
    compute: manager.ComputeManager,
    plugins: TrackerPlugins,
    instance: objects.Instance,
    check: Callable[[], Any],
) -> Any:
    """Test a live migration on its destination, and keep room for it: Nova
    claims nothing there, except for NUMA."""
    usage = _usage(instance.flavor, instance)
    node = plugins.of(compute._get_nodename(instance))

    @_one_at_a_time
    def promise() -> list[str]:
        reasons = node.test(usage)
        if not reasons:
            node.promise(usage)
        return reasons

    reasons = promise()
    if reasons:
        raise nova_exception.MigrationPreCheckError(reason='; '.join(reasons))
    try:
        return check()
    except Exception:
        _one_at_a_time(node.withdraw)(usage.server)
        raise


_one_at_a_time = utils.synchronized(
    resource_tracker.COMPUTE_RESOURCE_SEMAPHORE, fair=True
)


def _offer_inventories(driver: Any, plugins: TrackerPlugins) -> None:
    """Add our inventories to those that this driver gives placement.

    Drivers write the whole inventory of a node each time.
    """
    tell = driver.update_provider_tree

    def update_provider_tree(
        provider_tree: Any, nodename: str, allocations: Any = None
    ) -> None:
        found = provider_tree.data(nodename)
        before = resources.Inventory(
            dict(found.inventory), frozenset(found.traits)
        )
        tell(provider_tree, nodename, allocations=allocations)
        node = plugins.of(nodename)
        offered = node.inventory(before)
        provider_tree.update_inventory(
            nodename,
            {
                **provider_tree.data(nodename).inventory,
                **offered.resources,
            },
        )
        provider_tree.remove_traits(nodename, *(node.traits - offered.traits))
        provider_tree.add_traits(nodename, *offered.traits)

    driver.update_provider_tree = update_provider_tree
