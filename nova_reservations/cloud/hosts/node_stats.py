# SPDX-License-Identifier: Apache-2.0
"""Reports of compute nodes, from their stats."""

# Nova's objects get their names only when the process registers them.
from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses

from nova import objects

from nova_reservations.cloud import cells


@dataclasses.dataclass(frozen=True, slots=True)
class Report:
    """:ivar host: the name of the node's nova-compute service.

    :ivar nodename: the name of the node itself.
    """

    host: str
    nodename: str
    stats: Mapping[str, str]


def of_nodes() -> Sequence[Report]:
    """Return the reported stats of each node of each enabled cell.

    :raises: CloudUnavailable
    """
    found = cells.ask(
        cells.everywhere(),
        lambda context, _: list(objects.ComputeNodeList.get_all(context)),
    )
    return [
        Report(node.host, node.hypervisor_hostname, node.stats or {})
        for node in found.all()
    ]
