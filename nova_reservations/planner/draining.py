# SPDX-License-Identifier: Apache-2.0
"""The choice of hosts that are emptied for a lease, and of room for the
servers on them."""

from collections.abc import Collection
from collections.abc import Hashable
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
from typing import TypeVar

from nova_reservations.objects import amounts

Server = TypeVar('Server', bound=Hashable)
Target = TypeVar('Target', bound=Hashable)


@dataclasses.dataclass(frozen=True, slots=True)
class Want:
    """:ivar count: how many resources are wanted.

    :ivar offers: ids of the resources that suit.
    """

    count: int
    offers: Collection[int]


def cheapest(wants: Sequence[Want], order: Iterable[int]) -> set[int] | None:
    """Return ids that fulfil all wants together; None if there are none.

    The sets of resources that can be matched to the wants together form a
    matroid. A greedy choice is therefore the cheapest for any costs that add
    up: take each resource in the order of cost, if it can be matched beside
    those taken before.

    :param order: ids, the cheapest first
    """
    owner: dict[int, int] = {}
    given = [0] * len(wants)

    def use(resource_id: int, seen: set[int]) -> bool:
        """Give the resource to a want, even if others must change for it."""
        for index, want in enumerate(wants):
            if index in seen or resource_id not in want.offers:
                continue
            seen.add(index)
            if given[index] < want.count:
                given[index] += 1
                owner[resource_id] = index
                return True
            for other in [key for key, has in owner.items() if has == index]:
                if use(other, seen):
                    # It takes the place of ``other``: ``given`` stays.
                    owner[resource_id] = index
                    return True
        return False

    for resource_id in order:
        use(resource_id, set())
        if sum(given) == sum(want.count for want in wants):
            return set(owner)
    return set() if not sum(want.count for want in wants) else None


def places(
    servers: Mapping[Server, amounts.Amounts],
    fits: Mapping[Server, Collection[Target]],
    free: Mapping[Target, amounts.Amounts],
) -> dict[Server, Target]:
    """Return server -> a target where it finds room beside the others.

    Servers with the fewest targets go first, and large ones before small ones.
    There is no backtracking: a server may be left out although some
    arrangement has room for all, but each place returned does have room.

    :param servers: what each needs
    :param fits: the targets that each could go to
    :param free: target -> what is free there
    """
    left = dict(free)
    placed: dict[Server, Target] = {}
    for server in sorted(
        servers,
        key=lambda server: (
            len(fits[server]),
            [-amount for _, amount in sorted(servers[server].items())],
        ),
    ):
        needs = servers[server]
        for target in fits[server]:
            if needs.fits(left[target]):
                left[target] -= needs
                placed[server] = target
                break
    return placed
