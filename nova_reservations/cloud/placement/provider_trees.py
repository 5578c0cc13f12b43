# SPDX-License-Identifier: Apache-2.0
"""The child providers of hosts, such as physical GPUs and PCI devices.

One request to placement returns the providers of a tree with their
generations, and no more. The inventories of a provider are requested only when
its generation has changed.

Decision 0052: doc/source/decisions/0052-whoever-comes-first
"""

from collections import defaultdict
from collections.abc import Iterable
from collections.abc import Mapping
import dataclasses
import hashlib
from typing import Any
import uuid

from nova_reservations import objects
from nova_reservations.cloud.placement import placement


@dataclasses.dataclass(frozen=True, slots=True)
class Below:
    """:ivar tree: a digest of the generations of the providers."""

    inventories: tuple[objects.Inventory, ...] = ()
    tree: str = ''


def our_child(host: str) -> str:
    """Return the UUID of our own child provider of a host."""
    return str(uuid.uuid5(uuid.UUID(host), 'reservations'))


def exists(provider: str) -> bool:
    answer = placement.request('get', f'/resource_providers/{provider}', 404)
    return bool(answer.status_code == 200)


def trees() -> dict[str, str]:
    """Return root -> digest of the generations below it, of all providers of
    the cloud, by one request."""
    found: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for known in placement.request('get', '/resource_providers').json()[
        'resource_providers'
    ]:
        found[known['root_provider_uuid']].append(known)
    return {root: _tree(_below(root, nodes)) for root, nodes in found.items()}


def _below(root: str, nodes: Iterable[dict[str, Any]]) -> dict[str, int]:
    """Return UUID -> generation of the providers below a root, without our
    own."""
    return {
        node['uuid']: node['generation']
        for node in nodes
        if node['uuid'] not in (root, our_child(root))
    }


def _tree(below: Mapping[str, int]) -> str:
    if not below:
        return ''
    said = ' '.join(f'{key}:{below[key]}' for key in sorted(below))
    return hashlib.blake2b(said.encode(), digest_size=16).hexdigest()


class Trees:
    """A cache of the inventories below hosts; a provider's entry is valid as
    long as its generation."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[int, tuple[objects.Inventory, ...]]] = {}

    def below(self, root: str) -> Below:
        """Return the inventories below a host's provider.

        :raises: CloudUnavailable
        """
        url = f'/resource_providers?in_tree={root}'
        nodes = placement.request('get', url).json()['resource_providers']
        # The generations are read first, so a change from here on is noticed
        # the next time.
        below = _below(root, nodes)
        inventories = [
            inventory
            for provider in sorted(below)
            for inventory in self._of(provider, below[provider])
        ]
        return Below(tuple(inventories), _tree(below))

    def _of(
        self, provider: str, generation: int
    ) -> tuple[objects.Inventory, ...]:
        known = self._known.get(provider)
        if known is not None and known[0] == generation:
            return known[1]
        found = placement.provider(provider, with_usages=False)
        if found is None:
            self._known.pop(provider, None)
            return ()
        inventories = tuple(
            dataclasses.replace(
                inventory, provider=provider, traits=found.traits
            )
            for inventory in found.inventories
        )
        self._known[provider] = (generation, inventories)
        return inventories
