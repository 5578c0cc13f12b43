# SPDX-License-Identifier: Apache-2.0
"""Demands of reservations, in terms that every resource type shares."""

from collections.abc import Mapping
import dataclasses
from typing import ClassVar
from typing import Literal

from nova_reservations.objects import amounts as quantities
from nova_reservations.objects import requirements as expressions


@dataclasses.dataclass(frozen=True, slots=True)
class Demand:
    """Between minimum and maximum whole resources of one type.

    :ivar requirements: what each of them must be; None asks nothing.
    :ivar named: the names of resources that must be among them.
    """

    exclusive: ClassVar[Literal[True]] = True
    amounts: ClassVar[None] = None
    slot: ClassVar[None] = None
    affinity: ClassVar[Literal[False]] = False

    resource_type: str
    minimum: int
    maximum: int
    requirements: expressions.Expression | None = None
    named: frozenset[str] = frozenset()

    @property
    def least(self) -> int:
        """On how many resources it is at least."""
        return self.minimum

    def sized(self, slots: int) -> 'Demand':
        """Return the same demand for this number of resources."""
        return dataclasses.replace(self, minimum=slots, maximum=slots)


@dataclasses.dataclass(frozen=True, slots=True)
class Share:
    """A number of slots, each of them a share of one resource, all alike.

    :ivar slots: how many are wanted, no fewer.
    :ivar amounts: name of a shape -> units that each slot holds; one at
        least.
    :ivar affinity: True: all on one resource; False: each on another one;
        None: as it comes.
    :ivar requirements: what each resource must be; None asks nothing.
    """

    exclusive: ClassVar[Literal[False]] = False
    named: ClassVar[frozenset[str]] = frozenset()

    resource_type: str
    slots: int
    amounts: Mapping[str, int]
    affinity: bool | None = None
    requirements: expressions.Expression | None = None

    @property
    def slot(self) -> quantities.Amounts:
        """The amounts of one slot."""
        return quantities.Amounts(self.amounts)

    @property
    def least(self) -> int:
        """On how many resources it is at least."""
        return self.slots if self.affinity is False else 1

    @property
    def maximum(self) -> int:
        """The most resources that it may be on."""
        return 1 if self.affinity else self.slots

    @property
    def together(self) -> int:
        """The number of slots for which a resource must have room to be of
        use."""
        return self.slots if self.affinity else 1

    def sized(self, slots: int) -> 'Share':
        """Return the same demand for this number of slots."""
        return dataclasses.replace(self, slots=slots)


Ask = Demand | Share
