# SPDX-License-Identifier: Apache-2.0
"""Expressions: what a resource must be, for it to be met or not."""

from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Mapping
import dataclasses
import math
import operator
import re
from typing import Any
from typing import TypeAlias

OPERATORS: Mapping[str, Callable[[Any, Any], Any]] = {
    '==': operator.eq,
    '!=': operator.ne,
    '<': operator.lt,
    '<=': operator.le,
    '>': operator.gt,
    '>=': operator.ge,
    '<in>': operator.contains,
}
"""Each takes what the host has, then what it is compared with."""

_NUMBER = re.compile(r'[+-]?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?')


@dataclasses.dataclass(frozen=True, slots=True)
class Comparison:
    """A comparison of what the host has, by key, with value.

    :ivar operator: a key of OPERATORS.
    :ivar value: a float compares as number, a string as text.
    """

    operator: str
    key: str
    value: float | str


@dataclasses.dataclass(frozen=True, slots=True)
class Trait:
    name: str
    required: bool


@dataclasses.dataclass(frozen=True, slots=True)
class Judged:
    """A condition that Nova itself judges, for each value of a fact.

    :ivar fact: the name of the fact.
    :ivar key: the key of an extra spec of flavors; spec: its value.
    :ivar passes: takes the key, a value of the fact, and the spec.
    """

    fact: str
    key: str
    spec: str
    passes: Callable[[str, str, str], bool] = dataclasses.field(
        compare=False, repr=False
    )

    def holds(self, value: str) -> bool:
        """Return whether it holds on hosts where the fact has this value."""
        return self.passes(self.key, value, self.spec)


@dataclasses.dataclass(frozen=True, slots=True)
class Not:
    part: 'Expression'


@dataclasses.dataclass(frozen=True, slots=True)
class AllOf:
    """True without parts."""

    parts: tuple['Expression', ...]


@dataclasses.dataclass(frozen=True, slots=True)
class AnyOf:
    """False without parts."""

    parts: tuple['Expression', ...]


Holds: TypeAlias = Callable[[Judged, str], bool]
"""Return whether a condition that Nova judges holds for a value of its
fact."""

Expression: TypeAlias = AllOf | AnyOf | Not | Comparison | Judged | Trait


def meets(
    expression: Expression,
    facts: Mapping[str, float | str],
    traits: Collection[str],
    holds: Holds = Judged.holds,
) -> bool:
    """Return whether a host meets the expression; the database finds this out
    for many at once.

    :param facts: the keys of the host but its traits; what it lacks is not
        there.
    """
    match expression:
        case AllOf(parts):
            return all(meets(part, facts, traits, holds) for part in parts)
        case AnyOf(parts):
            return any(meets(part, facts, traits, holds) for part in parts)
        case Not(part):
            return not meets(part, facts, traits, holds)
        case Trait(name, required):
            return (name in traits) is required
        case Judged(fact):
            return fact in facts and holds(expression, str(facts[fact]))
        case Comparison(name, key, value):
            return key in facts and _compare(name, facts[key], value)


def _compare(name: str, has: float | str, value: float | str) -> bool:
    if isinstance(value, float) and isinstance(has, str):
        as_number = number(has)
        if as_number is None:
            return name == '!='
        has = as_number
    return bool(OPERATORS[name](has, value))


def number(text: str) -> float | None:
    """Return the number that a property, or a value, is written as."""
    if not _NUMBER.fullmatch(text):
        return None
    value = float(text)
    return value if math.isfinite(value) else None


def within(
    expression: Expression | None, key: str, values: Collection[str]
) -> Expression:
    """Return the expression with one more condition: the key has one of
    these values."""
    one_of = AnyOf(
        tuple(Comparison('==', key, value) for value in sorted(values))
    )
    return AllOf((one_of,) if expression is None else (expression, one_of))


def keys(expression: Expression | None) -> frozenset[str]:
    """Return the keys that it compares, without traits."""
    match expression:
        case AllOf(parts) | AnyOf(parts):
            return frozenset().union(*map(keys, parts))
        case Not(part):
            return keys(part)
        case Comparison(key=key) | Judged(fact=key):
            return frozenset({key})
        case _:
            return frozenset()


def judged(expression: Expression) -> frozenset[Judged]:
    """Return what Nova itself judges."""
    match expression:
        case AllOf(parts) | AnyOf(parts):
            return frozenset().union(*map(judged, parts))
        case Not(part):
            return judged(part)
        case Judged():
            return frozenset({expression})
        case _:
            return frozenset()


def size(expression: Expression | None) -> int:
    """Return how many comparisons it has, with those of traits."""
    match expression:
        case AllOf(parts) | AnyOf(parts):
            return sum(map(size, parts))
        case Not(part):
            return size(part)
        case None:
            return 0
        case _:
            return 1
