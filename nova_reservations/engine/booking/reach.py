# SPDX-License-Identifier: Apache-2.0
"""The resources that re-planning for a request can touch, with what they are
promised for: those that suit it, those that the promises on them may move to,
and so on.

However promises move, those on these resources stay on them, and no others
come. What the rest of the cloud has promised is not read.

Decision 0031: doc/source/decisions/0031-promises-may-move
"""

from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses

from nova_reservations.db import api
from nova_reservations.db.holdings import promises
from nova_reservations.engine.booking import fixed_promises
from nova_reservations.objects import holding
from nova_reservations.objects import interval
from nova_reservations.objects import search

ROWS = 50_000
"""The most allocations that are read for a search."""

ROUNDS = 4
"""After so many steps from resources to others all of them count as reached:
each step costs queries, and requirements can be made to form a long chain."""


@dataclasses.dataclass(frozen=True, slots=True)
class Reach:
    """:ivar within: id of a reservation -> the resources that it may have.

    :ivar movable: the reservations whose leases let them move.
    """

    resources: frozenset[int]
    rows: Sequence[holding.Held]
    movable: Sequence[promises.Movable]
    within: Mapping[str, frozenset[int]]


def find(
    session: api.Session,
    choices: fixed_promises.Choices,
    resources: frozenset[int],
    near: interval.Interval | None,
    terms: search.Search,
) -> Reach | None:
    """Return what can be reached from resources; None if that is promised too
    often.

    :param near: promises in it are read; None: all that are not over
    """
    rows: list[holding.Held] = []
    movable: list[promises.Movable] = []
    within: dict[str, frozenset[int]] = {}
    reached, new = resources, resources
    step = 0
    while new:
        if promises.are_more(session, ROWS - len(rows), new, near, terms):
            return None
        found = promised(session, new, near, terms)
        rows += found
        seen = {each.reservation_id for each in movable}
        ids = {row.reservation_id for row in found if row.may_move} - seen
        may_move = promises.movable(session, ids, terms.now)
        movable += may_move
        within |= choices.of(may_move)
        new = frozenset[int]().union(
            *{its for row in found if (its := choice(row, within))}
        )
        step += 1
        if new - reached and step == ROUNDS:
            new = choices.usable
        new -= reached
        reached |= new
    return Reach(reached, rows, movable, within)


def choice(
    row: holding.Held, within: Mapping[str, frozenset[int]]
) -> frozenset[int] | None:
    """Return the resources that a promise may have; None: it stays."""
    found = within.get(row.reservation_id) if row.may_move else None
    # A promise whose resource does not suit it, as when that has failed, is
    # left to healing.
    return found if found and row.resource_id in found else None


def promised(
    session: api.Session,
    resources: frozenset[int],
    near: interval.Interval | None,
    terms: search.Search,
) -> list[holding.Held]:
    """Return the promises of resources without those of reservations that are
    planned anew."""
    return [
        row
        for row in promises.held(session, resources, near, terms)
        if not (row.may_move and row.reservation_id in terms.ignore)
    ]
