# SPDX-License-Identifier: Apache-2.0
"""Which hosts are emptied for a lease, and whether what is on them has
somewhere to go."""

from collections.abc import Collection
from collections.abc import Hashable
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
from typing import TypeVar

Amounts = Mapping[str, int]
"""Resource class -> units."""

Server = TypeVar('Server', bound=Hashable)
Target = TypeVar('Target', bound=Hashable)


@dataclasses.dataclass(frozen=True, slots=True)
class Want:
    """:ivar count: how many resources are wanted.

    :ivar offers: ids of those that would do.
    """

    count: int
    offers: Collection[int]


def cheapest(wants: Sequence[Want], order: Iterable[int]) -> set[int] | None:
    """Return ids that fulfil all wants together; None if there are none.

    What can be used together is a matroid (the wants are the sides that it
    is matched to): to take each in the order of its cost, if it can be used
    beside those taken before, is best for any costs that add up.

    :param order: ids, the cheapest first
    """
    owner: dict[int, int] = {}
    given = [0] * len(wants)

    def use(one: int, seen: set[int]) -> bool:
        """Give it to a want, even if others must change for it."""
        for index, want in enumerate(wants):
            if index in seen or one not in want.offers:
                continue
            seen.add(index)
            if given[index] < want.count:
                given[index] += 1
                owner[one] = index
                return True
            for other in [key for key, has in owner.items() if has == index]:
                if use(other, seen):
                    # What it leaves is this one's: the count is the same.
                    owner[one] = index
                    return True
        return False

    for one in order:
        use(one, set())
        if sum(given) == sum(want.count for want in wants):
            return set(owner)
    return set() if not sum(want.count for want in wants) else None


def places(
    servers: Mapping[Server, Amounts],
    fits: Mapping[Server, Collection[Target]],
    free: Mapping[Target, Amounts],
) -> dict[Server, Target]:
    """Return server -> a target where it finds room beside those others.

    Those with the least choice first, and the large before the small. No
    search: it may miss one where only an odd arrangement has room for all,
    but where it finds a place there is one.

    :param servers: what each needs
    :param fits: the targets that each could go to
    :param free: target -> what is free there
    """
    left = {target: dict(amounts) for target, amounts in free.items()}
    placed: dict[Server, Target] = {}
    for server in sorted(
        servers,
        key=lambda one: (
            len(fits[one]),
            [-amount for _, amount in sorted(servers[one].items())],
        ),
    ):
        needs = servers[server]
        for target in fits[server]:
            room = left[target]
            if all(room.get(name, 0) >= needs[name] for name in needs):
                for name, amount in needs.items():
                    room[name] -= amount
                placed[server] = target
                break
    return placed
