# SPDX-License-Identifier: Apache-2.0
"""Amounts of resource classes: VCPU in units, MEMORY_MB in MiB, DISK_GB in
GiB, as placement counts them."""

from collections import Counter
from collections import defaultdict
from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
import dataclasses
import datetime

from nova_reservations.objects import interval


class Amounts(Mapping[str, int]):
    """Resource class -> units; 0 of each class that is not named."""

    __slots__ = ('_units',)

    def __init__(self, units: Mapping[str, int] | None = None) -> None:
        self._units = dict(units or {})

    def __getitem__(self, name: str) -> int:
        return self._units.get(name, 0)

    def __contains__(self, name: object) -> bool:
        return name in self._units

    def __iter__(self) -> Iterator[str]:
        return iter(self._units)

    def __len__(self) -> int:
        return len(self._units)

    def __repr__(self) -> str:
        return f'Amounts({self._units})'

    def __hash__(self) -> int:
        return hash(frozenset(self._units.items()))

    def __add__(self, other: Mapping[str, int]) -> 'Amounts':
        return Amounts(
            {
                name: self[name] + other.get(name, 0)
                for name in {**self, **other}
            }
        )

    def __sub__(self, other: Mapping[str, int]) -> 'Amounts':
        """Return the rest; less than nothing if more is taken."""
        return Amounts(
            {
                name: self[name] - other.get(name, 0)
                for name in {**self, **other}
            }
        )

    def __mul__(self, count: int) -> 'Amounts':
        return Amounts(
            {name: units * count for name, units in self._units.items()}
        )

    def lesser(self, other: Mapping[str, int]) -> 'Amounts':
        """Return the lesser amount of each class. If only one of the two names
        a class, its amount counts."""
        return Amounts(
            {
                name: min(
                    units[name] for units in (self, other) if name in units
                )
                for name in {**self, **other}
            }
        )

    def fits(self, into: Mapping[str, int]) -> bool:
        """Return whether there are at least as many units of each class."""
        return all(
            units <= into.get(name, 0) for name, units in self._units.items()
        )

    def times_in(self, room: Mapping[str, int]) -> int:
        """Return how many times these amounts, of one class at least, fit
        into a room together."""
        return max(
            0,
            min(
                room.get(name, 0) // units
                for name, units in self._units.items()
            ),
        )


NOTHING = Amounts()


@dataclasses.dataclass(frozen=True, slots=True)
class Portion:
    """The amounts of a resource that somebody holds, and when."""

    window: interval.Interval
    amounts: Mapping[str, int]


def peak(held: Iterable[Portion], window: interval.Interval) -> Amounts:
    """Return the most that is held at any instant inside the window.

    Each class peaks on its own: together it may be more than was ever held
    at one instant. What only touches the window is not inside.
    """
    most: Counter[str] = Counter()
    for now, changed in instants(held, window):
        for name in changed:
            most[name] = max(most[name], now[name])
    return Amounts(most)


def instants(
    held: Iterable[Portion], window: interval.Interval
) -> Iterator[tuple[Mapping[str, int], Collection[str]]]:
    """Yield what is held from each instant inside the window on at which that
    changes, and the classes that change then; it changes when the next one is
    asked for."""
    changes = defaultdict[datetime.datetime, Counter[str]](Counter)
    for each in held:
        if each.window.overlaps(window):
            changes[max(each.window.start, window.start)].update(each.amounts)
            changes[each.window.end].subtract(each.amounts)
    now: Counter[str] = Counter()
    for time in sorted(changes):
        if time >= window.end:
            break
        now.update(changes[time])
        yield now, changes[time]
