# SPDX-License-Identifier: Apache-2.0
"""The amounts that are left of a resource, and of the providers below it.

Placement gives a server any provider of a host that has enough, and can not be
told to leave one for others. So there is room for a group of a request only if
there is room for it however all other groups are spread over the providers.

Decision 0052: doc/source/decisions/0052-whoever-comes-first
"""

from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Mapping
import dataclasses
import math

from nova_reservations.objects import amounts
from nova_reservations.objects import host
from nova_reservations.objects import interval
from nova_reservations.objects import shapes


@dataclasses.dataclass(frozen=True, slots=True)
class Pool:
    """The providers of a host that have some of one resource class."""

    providers: tuple[host.Inventory, ...]

    def left(self, name: str, used: Mapping[str, int]) -> int:
        """Return for how many more units of this shape there is room,
        wherever all others are.

        Other groups block a group of u units if they leave less than u units
        on each of the P providers that would do. For that they need C - u + 1
        units of each provider, of capacity C; with one unit less there is
        room. So all groups together, with this one, may have the sum of all C,
        less (P - 1)(u - 1). All amounts are counted in the greatest common
        divisor of the sizes of these groups.

        :param used: shape -> units, also of other classes
        """
        wanted = shapes.parse(name)
        held = {wanted: 0}
        for other, units in used.items():
            shape = shapes.parse(other)
            if units and shape.resource_class == wanted.resource_class:
                held[shape] = held.get(shape, 0) + units
        would_do = {shape: self._would_do(shape) for shape in held}
        rooms = [
            self._rest(shape, held, would_do)
            for shape in held
            if would_do[shape] and _meet(would_do[shape], would_do[wanted])
        ]
        if not would_do[wanted]:
            return -held[wanted]
        return min(rooms) // wanted.units * wanted.units

    def _rest(
        self,
        shape: shapes.Shape,
        held: Mapping[shapes.Shape, int],
        would_do: Mapping[shapes.Shape, frozenset[int]],
    ) -> int:
        """Return how many units may come to the providers of a shape so that
        there still is room for all groups of that shape."""
        rivals = {
            other: units
            for other, units in held.items()
            # A group that would fit nowhere by now may be on any provider.
            if not would_do[other] or _meet(would_do[other], would_do[shape])
        }
        unit = math.gcd(*(other.units for other in rivals))
        capacities = [
            self.providers[index].capacity // unit for index in would_do[shape]
        ]
        most = sum(capacities) - (len(capacities) - 1) * (
            shape.units // unit - 1
        )
        return most * unit - sum(rivals.values())

    def _would_do(self, shape: shapes.Shape) -> frozenset[int]:
        if len(self.providers) == 1 and shape.is_plain:
            # There is only this provider, so all units are of it.
            return frozenset({0})
        return frozenset(
            index
            for index, provider in enumerate(self.providers)
            if provider.allows(shape.units) and _has_traits(provider, shape)
        )


def _meet(some: frozenset[int], others: frozenset[int]) -> bool:
    return not some.isdisjoint(others)


def _has_traits(provider: host.Inventory, shape: shapes.Shape) -> bool:
    traits = provider.traits
    if not traits.isdisjoint(shape.forbidden):
        return False
    return shape.required <= (
        traits | provider.beside if shape.anywhere else traits
    )


class Stock(amounts.Amounts):
    """The amounts that are left. Those of classes that only the host itself
    has are plain numbers; others are computed by shape when they are asked
    for.
    """

    __slots__ = ('_busy', '_pools')

    def __init__(
        self,
        units: Mapping[str, int],
        pools: Mapping[str, Pool],
        busy: Collection[Mapping[str, int]] = ({},),
    ) -> None:
        """:param busy: what is used at each instant, by shape."""
        super().__init__(units)
        self._pools = pools
        self._busy = busy

    def __getitem__(self, name: str) -> int:
        pool = self._pools.get(shapes.class_of(name))
        if pool is None:
            return super().__getitem__(name)
        return min(pool.left(name, used) for used in self._busy)

    def __sub__(self, other: Mapping[str, int]) -> 'Stock':
        pooled = self._pooled(other)
        plain = {name: other[name] for name in other if name not in pooled}
        return Stock(
            amounts.Amounts(self._units) - plain,
            self._pools,
            [_sum(used, pooled) for used in self._busy],
        )

    def less(
        self, held: Iterable[amounts.Portion], window: interval.Interval
    ) -> 'Stock':
        """Return what is left at the busiest instant of a window."""
        held = list(held)
        busiest = amounts.peak(held, window)
        plain = {name: busiest[name] for name in self._units}
        return Stock(
            amounts.Amounts(self._units) - plain,
            self._pools,
            self._instants(held, window),
        )

    def _pooled(self, units: Mapping[str, int]) -> dict[str, int]:
        return {
            name: amount
            for name, amount in units.items()
            if shapes.class_of(name) in self._pools
        }

    def _instants(
        self, held: Iterable[amounts.Portion], window: interval.Interval
    ) -> Collection[Mapping[str, int]]:
        pooled = [
            amounts.Portion(each.window, units)
            for each in held
            if (units := self._pooled(each.amounts))
        ]
        found: dict[frozenset[tuple[str, int]], Mapping[str, int]] = {}
        for used, _ in amounts.instants(pooled, window):
            now = {name: units for name, units in used.items() if units}
            found[frozenset(now.items())] = now
        return list(found.values()) or ({},)


def _sum(used: Mapping[str, int], more: Mapping[str, int]) -> dict[str, int]:
    return {
        name: used.get(name, 0) + more.get(name, 0)
        for name in {**used, **more}
    }


def of(inventories: Iterable[host.Inventory]) -> Stock:
    """Return the stock of a resource of which nothing is held."""
    units: dict[str, int] = {}
    pools: dict[str, list[host.Inventory]] = {}
    for inventory in inventories:
        name = inventory.resource_class
        if name not in shapes.OF_HOSTS:
            pools.setdefault(name, []).append(inventory)
        elif not inventory.provider:
            units[name] = inventory.capacity
    return Stock(
        units, {name: Pool(tuple(found)) for name, found in pools.items()}
    )


def left(
    inventories: Iterable[host.Inventory],
    held: Iterable[amounts.Portion],
    window: interval.Interval,
) -> Stock:
    """Return the rest of the inventories at the busiest instant of a window;
    less than nothing if more is held than there is."""
    return of(inventories).less(held, window)


def is_slot(
    wanted: Mapping[str, int], inventories: Collection[host.Inventory]
) -> bool:
    """Return whether placement would allocate these amounts, of an empty host
    with such inventories, to one consumer."""
    own = {
        inventory.resource_class: inventory
        for inventory in inventories
        if not inventory.provider
    }
    below = {
        inventory.resource_class
        for inventory in inventories
        if inventory.provider
    } - shapes.OF_HOSTS
    known = of(inventories)
    return all(
        known[name] >= units
        if name not in own or name in below
        else own[name].allows(units)
        for name, units in wanted.items()
    )
