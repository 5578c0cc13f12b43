# SPDX-License-Identifier: Apache-2.0
"""The table of what can happen in a storm.

The modules that are imported by ``draw.py`` fill it. Of the values of an
argument the first is the plainest: to shrink a story, a value is replaced by
one before it.
"""

from collections.abc import Callable
from collections.abc import Mapping
import dataclasses
from typing import Any

Act = Callable[..., None]
"""It gets the world, and a value for each argument."""


@dataclasses.dataclass(frozen=True)
class Verb:
    """:ivar weight: how often it is drawn, compared to others.

    :ivar always: whether it happens in each story: without it nothing moves.
    :ivar choices: argument -> the values that it may have.
    """

    name: str
    act: Act
    weight: int
    always: bool
    choices: Mapping[str, tuple[Any, ...]]


VERBS: dict[str, Verb] = {}


def verb(
    weight: int = 2, *, always: bool = False, **choices: tuple[Any, ...]
) -> Callable[[Act], Act]:
    """Return a decorator that adds a function to the table by its name."""

    def add(act: Act) -> Act:
        name = act.__name__
        assert name not in VERBS, name
        VERBS[name] = Verb(name, act, weight, always, choices)
        return act

    return add


LEASES = (0, 0, 0, 1, 1, 2, 3, 5)
"""Leases are named by their place among all, from the newest one on; new ones
have more to come."""

WHO = ('ours', 'theirs')
STARTS = (0, 10, 20, 30, 60)
"""Minutes from now on."""
LENGTHS = (60, 10, 20, 30, 120)
