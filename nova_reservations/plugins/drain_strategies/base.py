# SPDX-License-Identifier: Apache-2.0
"""Base class of drain strategies, which estimate the cost of emptying a host.

Entry points of ``nova_reservations.drain.strategies`` are classes of this
kind.
"""

import abc
import dataclasses

from oslo_config import cfg

from nova_reservations import objects
from nova_reservations import ports

Cost = tuple[float, ...]
"""Costs are compared number by number, from the first on. The cost of several
hosts is the sum of each number."""


@dataclasses.dataclass(frozen=True, slots=True)
class DrainableHost:
    """A host that could be emptied.

    :ivar servers: the servers on the host, with their states and flavors; all
        of them are in a state in which Nova can move them.
    """

    resource: objects.Resource
    servers: tuple[ports.PlacedServer, ...]


class DrainStrategy(abc.ABC):
    """Tells which hosts are cheap to empty. It keeps no state."""

    def __init__(self, conf: cfg.ConfigOpts) -> None:
        self.conf = conf

    @abc.abstractmethod
    def cost(self, drainable: DrainableHost) -> Cost | None:
        """Return the cost of emptying the host, None if it must not be
        emptied.

        All costs of a strategy have the same length. Among the sets of hosts
        that suffice, the one with the least total cost is emptied.
        """
