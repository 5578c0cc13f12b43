# SPDX-License-Identifier: Apache-2.0
"""Which resources give shares of themselves to the reservations of a lease.

What is left of a resource is what its inventory has, less the peak of what
others hold while the window lasts: exact at every instant, for each resource
class. All slots of a lease have one window, so what one of its reservations
takes is taken from the others for all of it.
"""

from collections import Counter
from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import datetime
import hashlib
from typing import Any

from nova_reservations import objects
from nova_reservations.objects import demand
from nova_reservations.objects import interval


@dataclasses.dataclass(frozen=True, slots=True)
class Held:
    """What somebody holds of a resource, and when."""

    window: interval.Interval
    amounts: Mapping[str, int]


@dataclasses.dataclass(frozen=True, slots=True)
class Room:
    """What is left of a resource at the busiest instant of a window.

    :ivar generation: as it was when the resource was looked at; the booking
        compares and sets it.
    :ivar left: resource class -> units, of the classes that are asked for.
    :ivar shared: whether others hold shares of it at that time.
    :ivar kept: how many slots the reservation has there already.
    """

    resource: objects.Resource
    generation: int
    left: Mapping[str, int]
    shared: bool = False
    kept: int = 0

    def slots(
        self, amounts: Mapping[str, int], taken: Mapping[str, int]
    ) -> int:
        """Return how many slots of these amounts fit beside what is taken
        by others of the same lease."""
        return max(
            0,
            min(
                (self.left.get(name, 0) - taken.get(name, 0)) // amount
                for name, amount in amounts.items()
            ),
        )


@dataclasses.dataclass(frozen=True, slots=True)
class Ask:
    """One of the reservations of a lease, which are planned together.

    :ivar rooms: no resource twice.
    :ivar must_keep: resource id -> the slots that an active lease has there,
        all of which stay.
    """

    rooms: Sequence[Room]
    share: demand.Share
    must_keep: Mapping[int, int] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True, slots=True)
class TooFew:
    """:ivar ask: the index of the one that can't have what it wants."""

    ask: int


Plan = list[dict[int, int]]
"""For each ask, resource id -> how many slots."""


def left(
    inventories: Iterable[objects.Inventory],
    held: Iterable[Held],
    window: interval.Interval,
) -> dict[str, int]:
    """Return what of each class is left at its busiest instant."""
    busiest = peak(held, window)
    return {
        inventory.resource_class: inventory.capacity
        - busiest[inventory.resource_class]
        for inventory in inventories
    }


def peak(held: Iterable[Held], window: interval.Interval) -> Counter[str]:
    """Return the most of each class that is held at any instant inside the
    window; what touches it is not inside."""
    changes: list[tuple[datetime.datetime, int, Mapping[str, int]]] = []
    for one in held:
        if one.window.overlaps(window):
            begin = max(one.window.start, window.start)
            changes.append((begin, 1, one.amounts))
            changes.append((one.window.end, -1, one.amounts))
    # At one instant what ends goes before what begins.
    changes.sort(key=lambda change: change[:2])
    now: Counter[str] = Counter()
    most: Counter[str] = Counter()
    for _, sign, amounts in changes:
        for name, amount in amounts.items():
            now[name] += sign * amount
            most[name] = max(most[name], now[name])
    return most


def divisible(
    amounts: Mapping[str, int], inventories: Iterable[objects.Inventory]
) -> bool:
    """Whether placement would give a slot of these amounts at all."""
    known = {one.resource_class: one for one in inventories}
    return all(
        name in known
        and known[name].min_unit <= amount <= known[name].max_unit
        and amount % known[name].step_size == 0
        and amount <= known[name].capacity
        for name, amount in amounts.items()
    )


def need(share: demand.Share) -> int:
    """Return how many slots a resource must have room for to be of use."""
    return share.slots if share.affinity else 1


def enough(
    rooms: Iterable[Room],
    share: demand.Share,
    others: int,
    excluded: Collection[int] = (),
) -> bool:
    """Whether the share can be had of these, whatever its siblings take.

    :param others: how many of the resources they may take, or a part of
    """
    fit = sorted(
        room.slots(share.amounts, {})
        for room in rooms
        if room.resource.id not in excluded
    )
    sure = fit[: max(0, len(fit) - others)]
    if share.affinity:
        return bool(sure) and sure[-1] >= share.slots
    if share.affinity is False:
        return sum(1 for slots in sure if slots) >= share.slots
    return sum(sure) >= share.slots


def assign(
    asks: Sequence[Ask],
    seed: str,
    *,
    best_fit: bool = True,
    excluded: Collection[int] = (),
) -> Plan | TooFew:
    """Return how many slots each ask gets of which resource.

    Resources that others share already go first, and of those the ones that
    will be full: whole ones stay whole. Where that leaves one without, the
    asks are fulfilled one after the other from the first resource on.

    :param seed: the same choice for the same seed; the id of the lease.
    :param best_fit: whether the best fit goes first; without, each seed has an
        order of its own.
    :param excluded: ids of resources that a sibling takes as a whole.
    """

    def best(ask: Ask) -> Callable[[Room], Any]:
        return lambda room: _rank(room, ask.share, seed, best_fit)

    def first(_: Ask) -> Callable[[Room], Any]:
        return lambda room: (not room.kept, room.resource.id)

    plan = _assign(asks, best, excluded)
    if isinstance(plan, TooFew) and len(asks) > 1:
        second = _assign(asks, first, excluded)
        return plan if isinstance(second, TooFew) else second
    return plan


def _assign(
    asks: Sequence[Ask],
    order: Callable[[Ask], Callable[[Room], Any]],
    excluded: Collection[int],
) -> Plan | TooFew:
    taken: dict[int, Counter[str]] = {}

    def take(ask: Ask, slots: Mapping[int, int]) -> None:
        for resource, count in slots.items():
            mine = taken.setdefault(resource, Counter())
            for name, amount in ask.share.amounts.items():
                mine[name] += count * amount

    plan: Plan = []
    # What stays where it is goes before all that is new.
    for index, ask in enumerate(asks):
        if not _can_keep(ask, taken, excluded):
            return TooFew(index)
        take(ask, ask.must_keep)
        plan.append(dict(ask.must_keep))
    for index, ask in enumerate(asks):
        rooms = [
            room
            for room in sorted(ask.rooms, key=order(ask))
            if room.resource.id not in excluded
        ]
        more = _more(ask, rooms, taken)
        if more is None:
            return TooFew(index)
        take(ask, more)
        for resource, count in more.items():
            plan[index][resource] = plan[index].get(resource, 0) + count
    return plan


def _can_keep(
    ask: Ask, taken: Mapping[int, Counter[str]], excluded: Collection[int]
) -> bool:
    rooms = {room.resource.id: room for room in ask.rooms}
    return sum(ask.must_keep.values()) <= ask.share.slots and all(
        resource in rooms
        and resource not in excluded
        and rooms[resource].slots(ask.share.amounts, taken.get(resource, {}))
        >= slots
        for resource, slots in ask.must_keep.items()
    )


def _more(
    ask: Ask, rooms: Iterable[Room], taken: Mapping[int, Counter[str]]
) -> dict[int, int] | None:
    """Return what it gets beside what it must keep; None: not enough."""
    wanted = ask.share.slots - sum(ask.must_keep.values())
    more: dict[int, int] = {}
    for room in rooms:
        if not wanted:
            break
        resource = room.resource.id
        fit = room.slots(ask.share.amounts, taken.get(resource, {}))
        if ask.share.affinity:
            if fit < wanted or not ask.must_keep.keys() <= {resource}:
                continue
        elif ask.share.affinity is False:
            fit = min(fit, 0 if resource in ask.must_keep else 1)
        if fit:
            more[resource] = min(fit, wanted)
            wanted -= more[resource]
    return None if wanted else more


def _rank(
    room: Room, share: demand.Share, seed: str, best_fit: bool
) -> tuple[bool, bool, bool, int, bytes]:
    fit = room.slots(share.amounts, {})
    partly = fit < share.slots
    order = hashlib.blake2b(
        f'{seed} {room.resource.id}'.encode(), digest_size=8
    )
    return (
        not room.kept,
        best_fit and not room.shared,
        best_fit and partly,
        (-fit if partly else fit) if best_fit else 0,
        order.digest(),
    )
