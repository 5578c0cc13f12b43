# SPDX-License-Identifier: Apache-2.0
"""Base class of strategies, which estimate the cost of emptying a host.

Entry points of ``nova_reservations.drain.strategies`` are classes of this
kind.
"""

import abc
import dataclasses

from debtcollector import removals
from oslo_config import cfg

from nova_reservations import objects
from nova_reservations import ports

Cost = tuple[float, ...]
"""Compared from the first number on; of several hosts each number adds up."""


@dataclasses.dataclass(frozen=True, slots=True)
class DrainableHost:
    """A host that could be emptied.

    :ivar servers: the servers on it, with their states and flavors; none of
        them is in a state in which Nova could not move it.
    """

    resource: objects.Resource
    servers: tuple[ports.PlacedServer, ...]

    @removals.removed_property(message='Use servers.', removal_version='0.3')
    def tenants(self) -> tuple[ports.PlacedServer, ...]:
        return self.servers


class DrainStrategy(abc.ABC):
    """Says which hosts are cheap to empty. It keeps no state."""

    def __init__(self, conf: cfg.ConfigOpts) -> None:
        self.conf = conf

    @abc.abstractmethod
    def cost(self, drainable: DrainableHost) -> Cost | None:
        """Return the cost of emptying the host, None if it must not be
        emptied.

        All costs of a strategy are of the same length. Of the hosts that
        would do those are emptied whose costs together are the least.
        """
