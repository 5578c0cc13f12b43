# SPDX-License-Identifier: Apache-2.0
"""The conditions of leases that wait, which Nova judges: each once for a value
as long as a lease waits by it, and so many in a walk.

Decision 0064: doc/source/decisions/0064-specs-of-flavors-bind-slots
"""

from collections.abc import Collection

from nova_reservations.db.resources import judgements
from nova_reservations.objects import requirements


class Tired(Exception):
    """A walk has judged as much as it may."""


class Judgements:
    """The judgements of all walks of a process: those of earlier walks cost
    nothing, so that walks get to an end though each judges little."""

    def __init__(self) -> None:
        self._known: dict[requirements.Judged, dict[str, bool]] = {}
        self._left = 0

    def begin(
        self, expressions: Collection[requirements.Expression | None]
    ) -> None:
        """Begin a walk; forget what nobody who waits asks for."""
        asked = {
            condition
            for expression in expressions
            if expression is not None
            for condition in requirements.judged(expression)
        }
        self._known = {
            condition: self._known.get(condition, {}) for condition in asked
        }
        self._left = judgements.MOST

    def holds(self, condition: requirements.Judged, value: str) -> bool:
        """Return whether a condition holds for a value of its fact.

        :raises: Tired
        """
        known = self._known.setdefault(condition, {})
        if value not in known:
            if not self._left:
                raise Tired
            self._left -= 1
            known[value] = condition.holds(value)
        return known[value]
