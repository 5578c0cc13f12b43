# SPDX-License-Identifier: Apache-2.0
"""Plans: the reservations of a lease get resources, all of them or none.

Whole resources are matched (``matching.py``), shares are packed
(``packing.py``); no resource is given both as a whole and for a share.
"""

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Sequence
import dataclasses

from nova_reservations.planner import matching
from nova_reservations.planner import offers
from nova_reservations.planner import packing

_Turn = tuple[
    Callable[..., dict[str, dict[int, int]] | offers.Shortage],
    Sequence[offers.Ask],
]
"""A planner, and the asks that it plans."""


@dataclasses.dataclass(frozen=True, slots=True)
class Plan:
    """The resources to book.

    :ivar slots: of each reservation; the best whole resource first.
    :ivar generations: resource id -> generation, of all that is booked.
    """

    slots: offers.Slots
    generations: dict[int, int]


def assign(
    asks: Sequence[offers.Ask], seed: str, best_fit: bool = True
) -> Plan | offers.Shortage:
    """Return the resources to book for each ask.

    Whole resources are chosen first. If a share then finds no room, a second
    attempt chooses the shares first.

    :param seed: the same seed gives the same choice: the id of the lease, or
        of its series.
    :param best_fit: whether the best fit goes first; otherwise each seed has
        an order of its own.
    """
    wholes = [ask for ask in asks if ask.wanted.demand.exclusive]
    shares = [ask for ask in asks if not ask.wanted.demand.exclusive]
    turns: list[_Turn] = [(matching.assign, wholes), (packing.assign, shares)]
    plan = _in_turn(turns, seed, best_fit)
    if isinstance(plan, Plan) or not wholes or not shares:
        return plan
    other = _in_turn(turns[::-1], seed, best_fit)
    return other if isinstance(other, Plan) else plan


def most(asks: Sequence[offers.Ask], seed: str) -> Plan:
    """Return the resources to book for each ask: of whole resources as many as
    there are, up to its maximum; of shares all slots or none."""
    given = matching.most(
        [ask for ask in asks if ask.wanted.demand.exclusive], seed
    )
    for ask in asks:
        if not ask.wanted.demand.exclusive:
            taken = {
                resource for slots in given.values() for resource in slots
            }
            found = packing.assign([ask], seed, excluded=taken)
            none: dict[str, dict[int, int]] = {ask.wanted.reservation_id: {}}
            given |= none if isinstance(found, offers.Shortage) else found
    return _plan(asks, given)


def _in_turn(
    turns: Sequence[_Turn], seed: str, best_fit: bool
) -> Plan | offers.Shortage:
    given: dict[str, dict[int, int]] = {}
    for index, (assign_all, asks) in enumerate(turns):
        excluded = {
            *(resource for slots in given.values() for resource in slots),
            *(
                resource
                for _, others in turns[index + 1 :]
                for other in others
                for resource in other.wanted.must_keep
            ),
        }
        found = assign_all(asks, seed, best_fit, excluded)
        if isinstance(found, offers.Shortage):
            return found
        given |= found
    return _plan([ask for _, asks in turns for ask in asks], given)


def _plan(
    asks: Iterable[offers.Ask], given: dict[str, dict[int, int]]
) -> Plan:
    generations: dict[int, int] = {}
    for ask in asks:
        slots = given[ask.wanted.reservation_id]
        for offer in ask.offers:
            key = offer.resource.id
            if key in slots:
                # Asks may have read the resource at different generations:
                # the oldest one must still be valid.
                generations[key] = min(
                    offer.generation, generations.get(key, offer.generation)
                )
    return Plan(given, generations)
