# SPDX-License-Identifier: Apache-2.0
"""The servers on this host, as Nova's resource tracker knows them.

No query is made for it: it keeps what the tracker reads for its audits, and
what the tracker is told at claims.
"""

from collections.abc import Iterable
from collections.abc import Mapping
import threading
from typing import Any

from nova_reservations.compute.metrics import base


class Servers:
    """The servers of one host; threads of nova-compute write them, our thread
    reads them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        #: Node -> UUID -> Nova's Instance.
        self._instances: dict[str, dict[str, Any]] = {}
        #: UUID -> an Instance, and the Server that was made of it.
        self._servers: dict[str, tuple[Any, base.Server]] = {}

    def replace(self, node: str, instances: Iterable[Any]) -> None:
        """Take over the servers of an audit."""
        found = {instance.uuid: instance for instance in instances}
        with self._lock:
            self._instances[node] = found

    def add(self, node: str, instance: Any) -> None:
        with self._lock:
            self._instances.setdefault(node, {})[instance.uuid] = instance

    def discard(self, uuid: str) -> None:
        with self._lock:
            for instances in self._instances.values():
                instances.pop(uuid, None)

    def servers(self) -> dict[str, tuple[Any, base.Server]]:
        """Return UUID -> Nova's Instance, and the facts that plugins get of
        it.

        Only one thread may call it.
        """
        with self._lock:
            present = {
                uuid: (instance, node)
                for node, instances in self._instances.items()
                for uuid, instance in instances.items()
            }
        known, self._servers = self._servers, {}
        for uuid, (instance, node) in present.items():
            if uuid in known and known[uuid][0] is instance:
                self._servers[uuid] = known[uuid]
                continue
            # A claim's Instance may lack what an audit has read before.
            before = known[uuid][1].metadata if uuid in known else None
            self._servers[uuid] = (instance, describe(instance, node, before))
        return dict(self._servers)


def describe(
    instance: Any, node: str, metadata: Mapping[str, str] | None = None
) -> base.Server:
    """Return the facts of an Instance that plugins get; loads nothing.

    :param metadata: if the Instance does not have it
    """
    flavor = instance.flavor
    if 'metadata' in instance:
        metadata = dict(instance.metadata)
    return base.Server(
        uuid=instance.uuid,
        name=instance.name,
        display_name=instance.display_name or '',
        project_id=instance.project_id or '',
        user_id=instance.user_id or '',
        host=instance.host or '',
        node=node,
        image_ref=instance.image_ref or '',
        vm_state=instance.vm_state or '',
        flavor=base.Flavor(
            id=flavor.flavorid,
            name=flavor.name,
            vcpus=flavor.vcpus,
            memory_mb=flavor.memory_mb,
            root_gb=flavor.root_gb,
            ephemeral_gb=flavor.ephemeral_gb,
            extra_specs=dict(flavor.extra_specs or {})
            if 'extra_specs' in flavor
            else {},
        ),
        metadata=metadata,
    )
