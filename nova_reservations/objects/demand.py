# SPDX-License-Identifier: Apache-2.0
"""What a reservation asks for, in terms that every resource type shares."""

from collections.abc import Mapping
import dataclasses

from nova_reservations.objects import requirements as expressions


@dataclasses.dataclass(frozen=True, slots=True)
class Demand:
    """Between minimum and maximum whole resources of one type.

    :ivar requirements: what each of them must be; None asks nothing.
    """

    resource_type: str
    minimum: int
    maximum: int
    requirements: expressions.Expression | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class Share:
    """So many slots, each of them a share of one resource, all alike.

    :ivar slots: how many are wanted, no fewer.
    :ivar amounts: placement resource class -> units that each slot holds;
        one class at least.
    :ivar affinity: True: all on one resource; False: each on another one;
        None: as it comes.
    :ivar requirements: what each resource must be; None asks nothing.
    """

    resource_type: str
    slots: int
    amounts: Mapping[str, int]
    affinity: bool | None = None
    requirements: expressions.Expression | None = None

    @property
    def maximum(self) -> int:
        """On how many resources it may be, at most."""
        return 1 if self.affinity else self.slots

    def holds(self, amounts: Mapping[str, int]) -> bool:
        """Whether so much fits into one slot."""
        return all(
            units <= self.amounts.get(name, 0)
            for name, units in amounts.items()
        )


Ask = Demand | Share
