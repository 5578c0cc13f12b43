# SPDX-License-Identifier: Apache-2.0
"""A Nova whose computes track resources with plugins."""

import pathlib
from typing import Any

from nova import context as nova_context
from nova import objects
import nova.conf

from nova_reservations.compute import notifier
from nova_reservations.tests.functional.nova import shared
from nova_reservations.tracking import stats

CONF = nova.conf.CONF


class TrackingTestCase(shared.SharedNova):
    """:cvar compute_resources: the plugins that nova.conf of each compute
        names.

    :cvar units: how many compute units each host has by its configuration.
    """

    hosts = ('host1', 'host2')
    compute_resources: tuple[str, ...] = ()
    units: float = 0

    def _install(self, directory: pathlib.Path) -> None:
        super()._install(directory)
        # The notification driver would do this; Nova's fixtures replace the
        # driver.
        notifier.install('compute')
        self.flags(compute_resources=list(self.compute_resources))
        self.flags(cu_capacity=self.units, group='resource_plugins')

    def node(self, host: str) -> objects.ComputeNode:
        """Return the record of the host's node in Nova's database."""
        [node] = objects.ComputeNodeList.get_all_by_host(
            nova_context.get_admin_context(), host
        )
        return node

    def figures(self, node: objects.ComputeNode, plugin: str) -> Any:
        """Return the figures that a scheduler reads."""
        report = stats.decode(node.stats, plugin)
        assert report is not None, node.stats
        return report.figures

    def plugins(self, host: str) -> stats.Plugins:
        told = stats.plugins(self.node(host).stats)
        assert told is not None
        return told
