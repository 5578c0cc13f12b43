# SPDX-License-Identifier: Apache-2.0
"""The resource plugins of one node, and their usage."""

from collections.abc import Callable
from collections.abc import Mapping
import dataclasses
import operator
import re
from typing import Any

import jsonschema
from oslo_config import cfg
from oslo_log import log

from nova_reservations import exception
from nova_reservations import plugin_loader
from nova_reservations.compute import plugin_breaker
from nova_reservations.compute import resources
from nova_reservations.tracking import breaker
from nova_reservations.tracking import stats

LOG = log.getLogger(__name__)

MAX_INT = 2**31 - 1

DEFAULTS = {
    'reserved': 0,
    'min_unit': 1,
    'max_unit': MAX_INT,
    'step_size': 1,
    'allocation_ratio': 1.0,
}
"""Placement's defaults. They are given each time, because a value that is left
out is not put back to its default."""

_POSITIVE = {'type': 'integer', 'minimum': 1, 'maximum': MAX_INT}
_AMOUNTS = {
    'type': 'object',
    'properties': {
        'total': _POSITIVE,
        'reserved': {'type': 'integer', 'minimum': 0, 'maximum': MAX_INT},
        'min_unit': _POSITIVE,
        'max_unit': _POSITIVE,
        'step_size': _POSITIVE,
        'allocation_ratio': {
            'type': 'number',
            'exclusiveMinimum': 0,
            'maximum': 3.40282e38,
        },
    },
    'required': ['total'],
    'additionalProperties': False,
}
_NAME = '^CUSTOM_[A-Z0-9_]{1,248}$'
_CUSTOM = {'pattern': _NAME}
_INVENTORY = jsonschema.Draft202012Validator(
    {
        'type': 'object',
        'properties': {
            'resources': {
                'type': 'object',
                'propertyNames': _CUSTOM,
                'additionalProperties': _AMOUNTS,
            },
            'traits': {
                'type': 'array',
                'items': {'type': 'string', **_CUSTOM},
            },
        },
    }
)
"""An inventory as placement takes it; any other fails each audit of Nova."""

_FAILED: Any = object()


@dataclasses.dataclass(slots=True)
class _PluginState:
    """The state of one plugin.

    :ivar plugin: None until it could be made.
    :ivar trouble: why its figures are not reliable; None if they are.
    """

    kind: type[resources.Resource]
    guard: breaker.CircuitBreaker
    plugin: resources.Resource | None = None
    trouble: str | None = 'it has not begun'

    def change(
        self, where: str, function: Callable[..., Any], *args: Any
    ) -> Any:
        """Return the result of a method of the plugin, or _FAILED.

        If it failed in the middle, its figures are unknown until it is reset.
        """
        answer = self.guard.call(where, _FAILED, function, *args)
        if answer is _FAILED:
            self.trouble = f'it failed in {where}'
        return answer

    def reset(self, conf: cfg.ConfigOpts, host: resources.Host) -> None:
        self.guard.new_round()
        self.trouble = None
        if self.plugin is None:
            plugin = self.change('__init__', self.kind, conf)
            if plugin is _FAILED:
                return
            self.plugin = plugin
        lacking = self.change('reset', _reset, self.plugin, host)
        if lacking is not _FAILED:
            self.trouble = lacking

    def count(self, method: str, usage: resources.Usage) -> None:
        """Have the plugin count a server, or count it no more."""
        if plugin := self.current:
            self.change(method, operator.methodcaller(method, usage), plugin)

    @property
    def current(self) -> resources.Resource | None:
        """The plugin, if its usage is in step with Nova's."""
        if self.guard.off is not None or self.trouble is not None:
            return None
        return self.plugin

    @property
    def why_not(self) -> str:
        return (self.guard.off or self.trouble or 'it does not report')[:100]


AUDITS = 2
"""The number of audits for which a promise is kept that Nova has not counted.

An audit counts an accepted server once the record of its migration names this
host, a moment after it was accepted; an audit in between sees nothing.
"""


@dataclasses.dataclass(slots=True)
class _Promise:
    usage: resources.Usage
    audits: int = AUDITS


class NodePlugins:
    def __init__(
        self,
        plugins: plugin_loader.Loaded[resources.Resource],
        conf: cfg.ConfigOpts,
    ) -> None:
        # Server -> a live migration that was let in, and that Nova does not
        # count yet.
        self._promised: dict[str, _Promise] = {}
        self._conf = conf
        self._missing = dict(plugins.missing)
        self._states: dict[str, _PluginState] = {}
        for name, kind in plugins.found.items():
            if _declares(kind.resource_classes) and _declares(kind.traits):
                self._states[name] = _PluginState(
                    kind, plugin_breaker.of(name)
                )
            else:
                self._missing[name] = (
                    'its resource_classes or traits are no CUSTOM_ names'
                )
                LOG.error('Plugin %s: %s', name, self._missing[name])

    def restart(self) -> None:
        """Switch plugins that are off on again, from the next audit on."""
        for state in self._states.values():
            state.guard.restart()

    def reset(self, host: resources.Host) -> None:
        for server, promise in [*self._promised.items()]:
            promise.audits -= 1
            if not promise.audits:
                del self._promised[server]
        for state in self._states.values():
            state.reset(self._conf, host)

    def promise(self, usage: resources.Usage) -> None:
        """Keep room for a live migration until Nova counts it."""
        self._promised[usage.server] = _Promise(usage)

    def withdraw(self, server: str) -> None:
        self._promised.pop(server, None)

    def add(self, usage: resources.Usage) -> None:
        self.withdraw(usage.server)
        for state in self._states.values():
            state.count('add_instance', usage)

    def remove(self, usage: resources.Usage) -> None:
        for state in self._states.values():
            state.count('remove_instance', usage)

    def test(self, usage: resources.Usage) -> list[str]:
        """Return why it does not fit, each reason with its plugin's name."""
        reasons = []
        for name, state in self._states.items():
            reason = self._test(state, usage)
            if reason is not None:
                reasons.append(f'{name}: {reason}')
        return reasons

    def _test(self, state: _PluginState, usage: resources.Usage) -> str | None:
        promised = [
            promise.usage
            for server, promise in self._promised.items()
            if server != usage.server
        ]
        for pending in promised:
            state.count('add_instance', pending)
        reason = None
        if plugin := state.current:
            reason = state.guard.call('test', None, _reason, plugin, usage)
        for pending in promised:
            state.count('remove_instance', pending)
        return reason

    def report(self) -> dict[str, str]:
        """Return our part of the node's stats."""
        reports: dict[str, stats.Report] = {}
        for name, state in self._states.items():
            if plugin := state.current:
                report = state.guard.call('write', None, _report, name, plugin)
                if report is not None:
                    reports[name] = report
        while True:
            try:
                return stats.encode(reports, self._told(reports))
            except exception.InvalidFigures as error:
                name = error.values['plugin']
                if name not in reports:
                    LOG.error('Nothing is reported: %s', error)
                    return {}
                del reports[name]
                self._states[name].guard.call('write', None, _refuse, error)

    def _told(self, reports: Mapping[str, stats.Report]) -> stats.Plugins:
        return stats.Plugins(
            {name: report.version for name, report in reports.items()},
            self._missing
            | {
                name: state.why_not
                for name, state in self._states.items()
                if name not in reports
            },
        )

    def inventory(self, before: resources.Inventory) -> resources.Inventory:
        """Return our part of the node's inventories in placement.

        :param before: all that placement has of the node
        """
        amounts: dict[str, Mapping[str, Any]] = {}
        traits: set[str] = set()
        for state in self._states.values():
            offered = None
            if plugin := state.current:
                offered = state.guard.call(
                    'inventory', None, _inventory, plugin
                )
            if offered is None:
                # The plugin can't tell: what placement has of it stays.
                offered = resources.Inventory(
                    {
                        name: before.resources[name]
                        for name in state.kind.resource_classes
                        if name in before.resources
                    },
                    state.kind.traits & before.traits,
                )
            amounts |= offered.resources
            traits |= offered.traits
        return resources.Inventory(amounts, frozenset(traits))

    @property
    def traits(self) -> frozenset[str]:
        """All traits that the plugins may add or remove."""
        return frozenset().union(
            *(state.kind.traits for state in self._states.values())
        )


def _declares(names: Any) -> bool:
    return isinstance(names, frozenset) and all(
        isinstance(name, str) and re.search(_NAME, name) for name in names
    )


def _reset(plugin: resources.Resource, host: resources.Host) -> str | None:
    """Return what the host lacks."""
    try:
        plugin.reset(host)
    except resources.Unavailable as error:
        return str(error)
    return None


def _reason(plugin: resources.Resource, usage: resources.Usage) -> str | None:
    reason: Any = plugin.test(usage)
    if reason is None or isinstance(reason, str):
        return reason
    raise TypeError(f'{reason!r} is neither None nor text')


def _report(name: str, plugin: resources.Resource) -> stats.Report:
    """:raises: InvalidFigures"""
    report = stats.Report(plugin.version, plugin.write())
    stats.encode({name: report}, stats.Plugins({}, {}))
    return report


def _refuse(error: Exception) -> None:
    raise error


def _inventory(plugin: resources.Resource) -> resources.Inventory:
    """Return what the plugin offers, with defaults for what it has left out.

    :raises: any exception, because a plugin may return anything
    """
    offered = plugin.inventory()
    amounts = {
        name: {**DEFAULTS, **given}
        for name, given in offered.resources.items()
    }
    traits = frozenset(offered.traits)
    _INVENTORY.validate({'resources': amounts, 'traits': sorted(traits)})
    foreign = (amounts.keys() - plugin.resource_classes) | (
        traits - plugin.traits
    )
    if foreign:
        raise ValueError(
            f'{", ".join(sorted(foreign))} is not declared as its own'
        )
    return resources.Inventory(amounts, traits)
