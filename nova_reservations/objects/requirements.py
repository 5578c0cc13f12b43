# SPDX-License-Identifier: Apache-2.0
"""Requirements that a user may make of a resource, from text to an
expression.

Two notations, which nest in each other, as JSON in a string or as such:

* a list: ``[">=", "$vcpus", "8"]``, and around others ``["and", ...]``,
  ``["or", ...]``, ``["not", ...]``;
* an object, extra specs as flavors have them, all of which must hold:
  ``{"capabilities:hypervisor_type": "QEMU", "vcpus": ">= 8",
  "gpu": "<or> A100 <or> H100", "trait:HW_CPU_X86_VMX": "required"}``.
  ``=`` means "at least" there, as it does in Nova, and ``==`` in a list. A
  value without operator is equal as a whole.

Operators are ``== != < <= > >=``, the same with an ``s`` before them, and
``<in>`` (contains); objects also have ``<or>``. What is compared with decides
how: a number compares with numbers (a property that is no number is unequal,
and neither less nor greater), anything else with text, character by
character. With an ``s``, and for facts that are text, it is text always.

Keys are the facts of a host (NUMBERS, TEXTS), ``inventory:CLASS`` (the
capacity: (total - reserved) x allocation ratio), ``trait:NAME`` (equal to
``required`` or ``forbidden``), the caller's constants, and else properties
that operators gave their hosts. A host that lacks a property, or an
inventory, matches no comparison with it, not even ``!=``.

A resource that is no host has the facts ``id`` and ``name``, inventories and
properties, and no traits.
"""

from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Mapping
import dataclasses
import json
import math
import operator
import re
import reprlib
from typing import Any
from typing import TypeAlias

from nova_reservations import exception
from nova_reservations.objects import names

NUMBERS = frozenset(
    {
        'id',
        'vcpus',
        'memory_mb',
        'local_gb',
        'free_memory_mb',
        'free_disk_gb',
        'hypervisor_version',
    }
)
TEXTS = frozenset(
    {
        'availability_zone',
        'cell',
        'cpu_info',
        'hypervisor_hostname',
        'hypervisor_type',
        'service_name',
    }
)
INVENTORY = 'inventory:'
TRAIT = 'trait:'


@dataclasses.dataclass(frozen=True, slots=True)
class Facts:
    """The facts of a type of resource that have a meaning here; all other keys
    are properties.

    :ivar traits: whether it has any.
    """

    numbers: frozenset[str]
    texts: frozenset[str]
    traits: bool

    def is_property(self, key: str) -> bool:
        """Return whether key is for operators to give."""
        return not (
            key in self.numbers
            or key in self.texts
            or key.startswith((INVENTORY, TRAIT))
        )


OF_HOSTS = Facts(NUMBERS, TEXTS, traits=True)
OF_OTHERS = Facts(frozenset({'id'}), frozenset({'name'}), traits=False)


def facts_of(resource_type: str) -> Facts:
    return OF_HOSTS if resource_type == names.HOST else OF_OTHERS


MAX_DEPTH = 16
MAX_COMPARISONS = 256

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

_AS_TEXT = {
    's==': '==',
    's!=': '!=',
    's<': '<',
    's<=': '<=',
    's>': '>',
    's>=': '>=',
    '<in>': '<in>',
}
_IN_LISTS = {'=': '=='}
_IN_EXTRA_SPECS = {
    **{name: name for name in (*OPERATORS, *_AS_TEXT)},
    '=': '>=',
    # Nova has these operators, which are not supported here: a value that
    # begins with one is refused, and not taken for text.
    '<all-in>': '<all-in>',
    '<range-in>': '<range-in>',
}

_NUMBER = re.compile(r'[+-]?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?')
_PLACEMENT_NAME = re.compile(r'[A-Z0-9_]{1,255}')


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


Expression: TypeAlias = AllOf | AnyOf | Not | Comparison | Trait


def parse(
    *sources: Any,
    constants: Mapping[str, str] | None = None,
    facts: Facts = OF_HOSTS,
) -> Expression | None:
    """Return the requirements of all sources together; None: nothing is
    required.

    :param sources: strings, lists, objects or None, as the request has them.
    :param constants: facts that are the same for all hosts here, such as the
        region. A comparison with another value is refused.
    :param facts: of the type of resource that is asked for.
    :raises: InvalidInput
    """
    parts = []
    for source in sources:
        parser = _Parser(source, constants or {}, facts)
        tree = parser.load()
        if tree:
            parts.append(parser.expression(tree, depth=1))
    if len(parts) == 1:
        return parts[0]
    return AllOf(tuple(parts)) if parts else None


def meets(
    expression: Expression,
    facts: Mapping[str, float | str],
    traits: Collection[str],
) -> bool:
    """Return whether a host meets the expression; the database finds this out
    for many at once.

    :param facts: the keys of the host but its traits; what it lacks is not
        there.
    """
    match expression:
        case AllOf(parts):
            return all(meets(part, facts, traits) for part in parts)
        case AnyOf(parts):
            return any(meets(part, facts, traits) for part in parts)
        case Not(part):
            return not meets(part, facts, traits)
        case Trait(name, required):
            return (name in traits) is required
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


def properties(
    expression: Expression | None, facts: Facts = OF_HOSTS
) -> frozenset[str]:
    """Return the names of the operator's properties that it compares."""
    return frozenset(filter(facts.is_property, keys(expression)))


def keys(expression: Expression | None) -> frozenset[str]:
    """Return the keys that it compares, without traits."""
    match expression:
        case AllOf(parts) | AnyOf(parts):
            return frozenset().union(*map(keys, parts))
        case Not(part):
            return keys(part)
        case Comparison(key=key):
            return frozenset({key})
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


class _Parser:
    def __init__(
        self, source: Any, constants: Mapping[str, str], facts: Facts
    ) -> None:
        self.source = source
        self.constants = constants
        self.facts = facts
        self.comparisons = 0

    def malformed(self, reason: str) -> exception.InvalidInput:
        shown = self.source
        if not isinstance(shown, str) or len(shown) > 255:
            shown = reprlib.repr(shown)
        message = f'Malformed requirements {shown}: {reason}'
        # The answer is UTF-8, which has no lone surrogates.
        return exception.InvalidInput(
            message.encode(errors='backslashreplace').decode()
        )

    def load(self) -> Any:
        if self.source is None or isinstance(self.source, list | dict):
            return self.source
        if not isinstance(self.source, str):
            raise self.malformed('neither a string nor a list or object')
        if not self.source.strip():
            return None
        try:
            tree = json.loads(self.source)
        except (ValueError, RecursionError):
            raise self.malformed(
                'this is not JSON such as [">=", "$vcpus", "8"]'
            ) from None
        if not isinstance(tree, list | dict):
            raise self.malformed('neither a list nor an object')
        return tree

    def expression(self, tree: Any, depth: int) -> Expression:
        if depth > MAX_DEPTH:
            raise self.malformed(f'nested more than {MAX_DEPTH} deep')
        match tree:
            case ['and', _, *_]:
                return AllOf(self.expressions(tree[1:], depth))
            case ['or', _, *_]:
                return AnyOf(self.expressions(tree[1:], depth))
            case ['not', part]:
                return Not(self.expression(part, depth + 1))
            case [str(name), str(key), value] if key.startswith('$'):
                return self.comparison(
                    _IN_LISTS.get(name, name), key[1:], self.text(value)
                )
            case dict() if tree:
                return AllOf(
                    tuple(
                        self.extra_spec(key, self.text(value))
                        for key, value in tree.items()
                    )
                )
            case _:
                raise self.malformed(
                    f'{reprlib.repr(tree)} is neither [operator, "$key", '
                    'value] nor ["and", ...], ["or", ...], ["not", one], nor '
                    'an object of extra specs'
                )

    def expressions(
        self, trees: list[Any], depth: int
    ) -> tuple[Expression, ...]:
        return tuple(self.expression(tree, depth + 1) for tree in trees)

    def text(self, value: Any) -> str:
        match value:
            case str():
                return value
            case int() if not isinstance(value, bool):
                return str(value)
            case float() if math.isfinite(value):
                return str(value)
            case _:
                raise self.malformed(
                    f'{reprlib.repr(value)} is neither a string nor a number'
                )

    def comparison(self, name: str, key: str, value: str) -> Expression:
        self.comparisons += 1
        if self.comparisons > MAX_COMPARISONS:
            raise self.malformed(f'more than {MAX_COMPARISONS} comparisons')
        for text in (key, value):
            self.check_storable(text)
        as_text = name in _AS_TEXT
        name = name.removeprefix('s')
        if name not in OPERATORS:
            raise self.malformed(
                f'{name} is no operator: use one of {" ".join(OPERATORS)}'
            )
        if key in self.constants:
            return self.constant(name, key, value)
        if key.startswith(TRAIT):
            return self.trait(name, key.removeprefix(TRAIT), value)
        return Comparison(name, key, self.operand(key, value, as_text))

    def operand(self, key: str, value: str, as_text: bool) -> float | str:
        if key.startswith(INVENTORY):
            self.check_placement_name(key.removeprefix(INVENTORY))
        elif key not in self.facts.numbers:
            if as_text or key in self.facts.texts:
                return value
            as_number = number(value)
            return value if as_number is None else as_number
        as_number = number(value)
        if as_text or as_number is None:
            raise self.malformed(
                f'{key} is a number: compare it with a number, as a number'
            )
        return as_number

    def constant(self, name: str, key: str, value: str) -> Expression:
        here = self.constants[key]
        if name not in ('==', '!='):
            raise self.malformed(f'{key} compares by == or != only')
        if value != here:
            raise self.malformed(
                f'{key} {value} is unknown here: this is {here}'
            )
        return AllOf(()) if name == '==' else AnyOf(())

    def trait(self, name: str, trait: str, value: str) -> Expression:
        self.check_placement_name(trait)
        if not self.facts.traits:
            raise self.malformed(f'only hosts have traits, such as {trait}')
        if name != '==' or value not in ('required', 'forbidden'):
            raise self.malformed(
                f'trait:{trait} must be == required or == forbidden'
            )
        return Trait(trait, value == 'required')

    def extra_spec(self, key: str, value: str) -> Expression:
        name = self.extra_spec_key(key)
        match value.split():
            case ['<or>', *_] as words:
                if len(words) % 2 or set(words[::2]) != {'<or>'}:
                    raise self.malformed(f'{value} must be like <or> A <or> B')
                return AnyOf(
                    tuple(
                        self.comparison('==', name, word)
                        for word in words[1::2]
                    )
                )
            case [word, *operands] if word in _IN_EXTRA_SPECS:
                if len(operands) != 1:
                    raise self.malformed(
                        f'{value} must be an operator and one word'
                    )
                return self.comparison(
                    _IN_EXTRA_SPECS[word], name, operands[0]
                )
            case _:
                return self.comparison('==', name, value)

    def extra_spec_key(self, key: str) -> str:
        scope, colon, name = key.partition(':')
        if not colon or scope == 'trait':
            return key
        if scope != 'capabilities':
            raise self.malformed(
                f'{key} does not tell of hosts: only capabilities:, trait: '
                'and keys without a scope do'
            )
        return name

    def check_storable(self, text: str) -> None:
        # Some databases take neither of these characters.
        if '\0' in text or any('\ud800' <= char <= '\udfff' for char in text):
            raise self.malformed('it has NUL or surrogate characters')

    def check_placement_name(self, name: str) -> None:
        if not _PLACEMENT_NAME.fullmatch(name):
            raise self.malformed(
                f'{name} is no name of a trait or resource class: they are '
                'of A-Z, 0-9 and _'
            )
