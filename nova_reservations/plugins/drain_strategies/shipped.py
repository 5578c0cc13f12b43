# SPDX-License-Identifier: Apache-2.0
"""Drain strategies, by name.

Some come with the package; others are entry points of
``nova_reservations.drain.strategies``.
"""

from oslo_config import cfg

from nova_reservations import exception
from nova_reservations import plugin_loader
from nova_reservations import ports
from nova_reservations.plugins.drain_strategies import base
from nova_reservations.plugins.drain_strategies.base import Cost
from nova_reservations.plugins.drain_strategies.base import DrainableHost

NAMESPACE = 'nova_reservations.drain.strategies'


class FewestServers(base.DrainStrategy):
    """Moves as few servers as possible."""

    def cost(self, drainable: DrainableHost) -> Cost:
        return (len(drainable.servers), _memory(drainable))


class LeastMemory(base.DrainStrategy):
    """Moves as little memory as possible, counting stopped servers, too."""

    def cost(self, drainable: DrainableHost) -> Cost:
        return (_memory(drainable), len(drainable.servers))


class ByState(base.DrainStrategy):
    """Moves stopped servers rather than running ones, and small ones rather
    than large ones; never servers with pinned CPUs or passthrough devices."""

    def cost(self, drainable: DrainableHost) -> Cost | None:
        if any(
            placed.pinned or placed.passthrough for placed in drainable.servers
        ):
            return None
        running = [
            placed
            for placed in drainable.servers
            if placed.server.state != ports.ServerState.STOPPED
        ]
        return (
            len(running),
            sum(placed.flavor.memory_mb for placed in running),
            len(drainable.servers),
            _memory(drainable),
        )


def _memory(drainable: DrainableHost) -> int:
    return sum(placed.flavor.memory_mb for placed in drainable.servers)


SHIPPED: dict[str, type[base.DrainStrategy]] = {
    'fewest_servers': FewestServers,
    'least_memory': LeastMemory,
    'by_state': ByState,
}


def load(conf: cfg.ConfigOpts) -> base.DrainStrategy:
    """Return the strategy that conf names.

    :raises: UnknownDrainStrategy if it is not installed
    """
    name = conf.reservations.best_effort_strategy
    if name in SHIPPED:
        return SHIPPED[name](conf)
    return plugin_loader.make(
        NAMESPACE,
        [name],
        base.DrainStrategy,  # type: ignore[type-abstract]
        '[reservations] best_effort_strategy',
        exception.UnknownDrainStrategy,
        conf,
    )[name]
