# SPDX-License-Identifier: Apache-2.0
"""Loads the consumers that are configured, and calls them.

A consumer that raises harms neither the others nor Nova.
"""

# Nova's objects get their names only when the process registers them.
from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any
from typing import TypeVar

from nova import objects
from nova.scheduler import host_manager
from oslo_config import cfg
from oslo_log import log

from nova_reservations import exception
from nova_reservations import plugin_loader
from nova_reservations.scheduler.consumers import base
from nova_reservations.tracking import breaker
from nova_reservations.tracking import stats

LOG = log.getLogger(__name__)

NAMESPACE = 'nova.scheduler.consumers'

T = TypeVar('T')

LIMIT = 10
"""The number of failures in a row that turn a consumer off."""


def load(conf: cfg.ConfigOpts) -> Consumers:
    """Return the consumers that ``scheduler_consumers`` names, in its
    order."""
    consumers = []
    for name, consumer in find(conf).found.items():
        try:
            consumers.append(consumer(name, conf))
        # Whatever the error, the other consumers and Nova go on.
        except (Exception, SystemExit):
            LOG.exception('Consumer %s can not be used', name)
    return Consumers(consumers)


def find(conf: cfg.ConfigOpts) -> plugin_loader.Loaded[base.Consumer]:
    return plugin_loader.load(
        NAMESPACE,
        conf.scheduler_consumers,
        base.Consumer,  # type: ignore[type-abstract]
        option='[DEFAULT] scheduler_consumers',
        is_name=stats.is_name,
    )


class Consumers:
    """:ivar running: name -> consumer, without those that are turned off"""

    def __init__(self, loaded: Iterable[base.Consumer] = ()) -> None:
        self.running = {consumer.name: consumer for consumer in loaded}
        self._guards: dict[tuple[str, str], breaker.CircuitBreaker] = {}
        # The logged reasons why a consumer holds nothing of a host.
        self._told: dict[tuple[str, str, str], str] = {}

    def read(
        self, host_state: host_manager.HostState, found: Mapping[str, Any]
    ) -> None:
        """Let each consumer read what the host reports now; log what is
        missing."""
        for name, why_not in self.look(host_state, found):
            self._tell(host_state, name, why_not)

    def look(
        self, host_state: host_manager.HostState, found: Mapping[str, Any]
    ) -> Iterator[tuple[str, str | None]]:
        """Let each consumer read what the host reports now.

        :returns: names, and why nothing is held; without those that failed
        """
        held: dict[str, Any] = {}
        setattr(host_state, base.HELD, held)
        for name, consumer in tuple(self.running.items()):
            why_not = None
            try:
                if not self.call(name, consumer.read, host_state, found):
                    held.pop(name, None)
                    continue
            except exception.UnreadableStats as error:
                held.pop(name, None)
                why_not = str(error)
            if consumer.reads_stats and name not in held:
                why_not = why_not or _silence(found, name)
            yield name, why_not

    def survey(
        self,
        host_states: Sequence[host_manager.HostState],
        request_spec: objects.RequestSpec,
        summaries: Mapping[str, Any] | None,
    ) -> None:
        """Let each consumer look at all hosts of a run together."""
        for name, consumer in tuple(self.running.items()):
            self.call(
                name, consumer.survey, host_states, request_spec, summaries
            )

    def consume(
        self,
        host_state: host_manager.HostState,
        request_spec: objects.RequestSpec,
    ) -> None:
        """Let each consumer take a server of the request off what it holds.

        A consumer that fails holds nothing of the host any more: the amounts
        that it held would now be too high.
        """
        for name, consumer in tuple(self.running.items()):
            try:
                if self.call(name, consumer.consume, host_state, request_spec):
                    continue
            except exception.InvalidInput as error:
                LOG.warning(
                    'A server that goes to %(host)s is not counted: %(error)s',
                    {'host': host_state.host, 'error': error},
                )
                continue
            getattr(host_state, base.HELD, {}).pop(name, None)

    def call(
        self, name: str, function: Callable[..., T], *args: Any
    ) -> list[T]:
        """Return the consumer's result in a list; an empty list if it failed.

        :raises: InvalidInput, UnreadableStats: these are no failures
        """
        where = function.__name__
        guard = self._guard(name, where)
        result = guard.call(where, [], lambda: [function(*args)])
        if result:
            guard.restart()
        elif guard.off is not None:
            self.running.pop(name, None)
        return result

    def _guard(self, name: str, where: str) -> breaker.CircuitBreaker:
        """Return the circuit breaker of one method of a consumer. Each method
        has its own: one that works must not reset the failures of another."""
        if (name, where) not in self._guards:
            self._guards[name, where] = breaker.CircuitBreaker(
                f'Consumer {name}',
                LIMIT,
                'nova-scheduler is restarted, and no host will do for a '
                f'flavor that asks for reservations:{name}',
                passed=(exception.InvalidInput, exception.UnreadableStats),
            )
        return self._guards[name, where]

    def _tell(
        self,
        host_state: host_manager.HostState,
        name: str,
        why_not: str | None,
    ) -> None:
        """Log why a consumer knows nothing of a host; once, until that
        changes."""
        key = host_state.host, host_state.nodename, name
        if why_not is None:
            self._told.pop(key, None)
        elif self._told.get(key) != why_not:
            self._told[key] = why_not
            LOG.warning(
                'Consumer %(name)s knows nothing of host %(host)s: '
                '%(why_not)s',
                {
                    'name': name,
                    'host': host_state.host,
                    'why_not': why_not,
                },
            )


def _silence(found: Mapping[str, Any], name: str) -> str:
    """Return why a host reports nothing of a plugin, as far as it says."""
    try:
        plugins = stats.plugins(found)
    except exception.UnreadableStats as error:
        return str(error)
    if plugins is None:
        return 'it runs no plugins, or has not reported yet'
    if name in plugins.off:
        return f'its plugin is off: {plugins.off[name]}'
    if name not in plugins.running:
        return 'its compute_resources does not name the plugin'
    return 'its plugin runs, and has reported nothing'
