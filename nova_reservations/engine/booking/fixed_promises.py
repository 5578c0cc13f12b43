# SPDX-License-Identifier: Apache-2.0
"""The promises that may move, and requests that find no room even if they do.

Anybody can ask again and again for what is hopeless, so the database counts,
and the promises are not read one by one.

Decision 0031: doc/source/decisions/0031-promises-may-move
"""

from collections import Counter
from collections.abc import Iterable
from collections.abc import Sequence
import functools
import json
from typing import Any

from nova_reservations import exception
from nova_reservations.db import api
from nova_reservations.db.holdings import candidates
from nova_reservations.db.holdings import promises
from nova_reservations.db.resources import judgements
from nova_reservations.engine import budgets
from nova_reservations.engine import resource_types
from nova_reservations.objects import demand as demands
from nova_reservations.objects import requirements
from nova_reservations.objects import search
from nova_reservations.types import base

KINDS = 64
"""The most different requirements of promises that are looked up; each costs a
query. Promises with any further requirements stay."""

TEXTS = 256
"""The most different params of reservations that are read, those of most
promises first. Promises with any further params stay."""


class Choices:
    """The resources that promises of one type of resource may move to."""

    def __init__(
        self,
        session: api.Session,
        types: resource_types.Types,
        resource_type: str,
    ) -> None:
        self.session = session
        self.types = types
        self.resource_type = resource_type
        self._meeting: dict[Any, frozenset[int] | None] = {}

    @functools.cached_property
    def usable(self) -> frozenset[int]:
        """The ids of all resources that new leases can have."""
        anything = demands.Demand(self.resource_type, 1, 1)
        return frozenset(candidates.meeting_all(self.session, anything))

    def of(
        self, movable: Iterable[promises.Movable]
    ) -> dict[str, frozenset[int]]:
        """Return reservation id -> the resources that it may have; without
        reservations whose resources stay."""
        every = list(movable)
        kinds = Counter((each.resource_type, each.params) for each in every)
        examples = {(each.resource_type, each.params): each for each in every}
        alike = {
            key: self._of_kind(examples[key])
            for key, _ in kinds.most_common(TEXTS)
        }
        return {
            each.reservation_id: found
            for each in every
            if (found := alike.get((each.resource_type, each.params)))
        }

    def _of_kind(self, movable: promises.Movable) -> frozenset[int] | None:
        kind = self.types.get(movable.resource_type)
        if kind is None:
            return None
        demand = base.stored_demand(
            kind, json.loads(movable.params), f'lease {movable.lease_id}'
        )
        if (
            demand is None
            or not demand.exclusive
            or demand.named
            or demand.resource_type != self.resource_type
        ):
            return None
        asked = demand.requirements
        if asked is None:
            return self.usable
        facts = requirements.facts_of(self.resource_type)
        if requirements.names_one(asked, facts):
            return None
        if asked not in self._meeting:
            if len(self._meeting) >= KINDS:
                return None
            self._meeting[asked] = self._all_that_meet(demand)
        return self._meeting[asked]

    def _all_that_meet(self, demand: demands.Ask) -> frozenset[int] | None:
        try:
            with judgements.of_others(self.session):
                return frozenset(candidates.meeting_all(self.session, demand))
        except exception.InvalidInput:
            # Hosts have got too many values since it was promised.
            return None


def block_all(
    session: api.Session,
    types: resource_types.Types,
    wanted: Sequence[search.Wanted],
    terms: search.Search,
    budget: budgets.Budget | None = None,
) -> bool:
    """Return whether too few resources are left for a reservation that what
    stays does not block: then there is no room however promises move.

    :param wanted: whole resources, of one type
    :param budget: when it is spent, no further reservation is looked at.
    """
    told: set[Any] = set()
    kinds = _Kinds(session, types, terms)
    for item in wanted:
        if budget is not None and budget.is_spent():
            return False
        # Most reservations of a large request are alike.
        alike = item.demand, item.window, len(item.held)
        if alike not in told and _are_too_few(session, kinds, item, terms):
            return True
        told.add(alike)
    return False


class _Kinds:
    """The kinds of promises that may move. They are looked up once for each
    window: most reservations of a request have the same."""

    def __init__(
        self,
        session: api.Session,
        types: resource_types.Types,
        terms: search.Search,
    ) -> None:
        self.session = session
        self.types = types
        self.terms = terms
        self._choices: dict[str, Choices] = {}
        self._found: dict[Any, list[promises.Movable]] = {}

    def that_move(self, item: search.Wanted) -> Sequence[promises.Movable]:
        """Return one reservation of each kind."""
        resource_type = item.demand.resource_type
        key = resource_type, item.window
        if key not in self._found:
            kinds = promises.alike(
                self.session, item.window, self.terms, TEXTS
            )
            choices = self._choices.setdefault(
                resource_type,
                Choices(self.session, self.types, resource_type),
            ).of(kinds)
            self._found[key] = [
                each for each in kinds if each.reservation_id in choices
            ]
        return self._found[key]


def _are_too_few(
    session: api.Session,
    kinds: _Kinds,
    item: search.Wanted,
    terms: search.Search,
) -> bool:
    enough = item.demand.least - len({*item.held, *item.named})
    if enough <= 0:
        return False

    def are_left(stays: Any) -> bool:
        found = candidates.clearable(session, item, terms, stays, enough)
        return found >= enough

    if not are_left(lambda held: promises.stays(held, terms)):
        return True
    movable = kinds.that_move(item)
    return not are_left(
        lambda held: promises.stays_unless(held, terms, movable)
    )
