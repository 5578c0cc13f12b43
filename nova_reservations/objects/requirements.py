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

from collections.abc import Mapping
import dataclasses
import json
import math
import re
import reprlib
from typing import Any
from typing import Protocol
from typing import TypeAlias

from nova_reservations import exception
from nova_reservations.objects import expressions
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
NAMES = frozenset({'id', 'service_name', 'hypervisor_hostname'})
"""The facts by which one host is told from all others."""
INVENTORY = 'inventory:'
TRAIT = 'trait:'
CPU_INFO = 'cpu_info:'
AGGREGATES = 'aggregate_instance_extra_specs:'
"""What follows is a key in the metadata of a host's aggregates."""


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
            or key.startswith((INVENTORY, TRAIT, CPU_INFO, AGGREGATES))
        )


OF_HOSTS = Facts(NUMBERS, TEXTS, traits=True)
OF_OTHERS = Facts(frozenset({'id'}), frozenset({'name'}), traits=False)


def facts_of(resource_type: str) -> Facts:
    return OF_HOSTS if resource_type == names.HOST else OF_OTHERS


# Requirements are expressions: whoever uses them needs this module only.
AllOf = expressions.AllOf
AnyOf = expressions.AnyOf
Comparison = expressions.Comparison
Expression: TypeAlias = expressions.Expression
Holds: TypeAlias = expressions.Holds
Judged = expressions.Judged
Not = expressions.Not
OPERATORS = expressions.OPERATORS
Trait = expressions.Trait
judged = expressions.judged
keys = expressions.keys
meets = expressions.meets
number = expressions.number
size = expressions.size
within = expressions.within

MAX_DEPTH = 16
MAX_COMPARISONS = 256
MAX_SPEC = 255
"""The most characters of a value that Nova judges, as in a flavor: its CPU
grows with the square of their number."""

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
    # What follows is not one word; a value that begins so is never taken for
    # text. Nova does not know <range-in>, though its libraries do.
    '<all-in>': '<all-in>',
    '<range-in>': '<range-in>',
}

_CHANGING = frozenset(
    {
        'disk_mb_used',
        'failed_builds',
        'free_disk_mb',
        'free_ram_mb',
        'io_workload',
        'num_instances',
        'num_io_ops',
        'vcpus_used',
    }
)
_COUNTERS = ('num_vm_', 'num_task_', 'num_os_type_', 'num_proj_')

_PLACEMENT_NAME = re.compile(r'[A-Z0-9_]{1,255}')


class NovaSpecs(Protocol):
    """Translates extra specs that Nova's filters read."""

    def requirement(self, key: str, value: str) -> Expression | None:
        """Return the requirement; None: Nova's filters do not know the key.

        :raises: InvalidInput
        """


def parse(
    *sources: Any,
    constants: Mapping[str, str] | None = None,
    facts: Facts = OF_HOSTS,
    nova: NovaSpecs | None = None,
) -> Expression | None:
    """Return the requirements of all sources together; None: nothing is
    required.

    :param sources: strings, lists, objects or None, as the request has them.
    :param constants: facts that are the same for all hosts here, such as the
        region. A comparison with another value is refused.
    :param facts: of the type of resource that is asked for.
    :param nova: for what Nova's filters read; None: nothing of it is known.
    :raises: InvalidInput
    """
    parts = []
    for source in sources:
        parser = _Parser(source, constants or {}, facts, nova)
        tree = parser.load()
        if tree:
            parts.append(parser.expression(tree, depth=1))
    if len(parts) == 1:
        return parts[0]
    return AllOf(tuple(parts)) if parts else None


def changes(key: str) -> bool:
    """Return whether it is a number of Nova's that changes with each server
    on a host."""
    name, colon, _ = key.partition(':')
    return (
        name in _CHANGING
        or name.startswith(_COUNTERS)
        or (name == 'stats' and bool(colon))
    )


def properties(
    expression: Expression | None, facts: Facts = OF_HOSTS
) -> frozenset[str]:
    """Return the names of the operator's properties that it compares."""
    return frozenset(filter(facts.is_property, keys(expression)))


def names_one(expression: Expression | None, facts: Facts = OF_HOSTS) -> bool:
    """Return whether it requires a certain resource, by its name or id."""
    match expression:
        case AllOf(parts):
            return any(names_one(part, facts) for part in parts)
        case Comparison(operator='==', key=key):
            return key in _IDENTITIES and not facts.is_property(key)
        case _:
            return False


_IDENTITIES = frozenset({'id', 'name', 'service_name', 'hypervisor_hostname'})


class _Parser:
    def __init__(
        self,
        source: Any,
        constants: Mapping[str, str],
        facts: Facts,
        nova: NovaSpecs | None,
    ) -> None:
        self.source = source
        self.constants = constants
        self.facts = facts
        self.nova = nova
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

    def count(self, comparisons: int, *texts: str) -> None:
        self.comparisons += comparisons
        if self.comparisons > MAX_COMPARISONS:
            raise self.malformed(f'more than {MAX_COMPARISONS} comparisons')
        for text in texts:
            self.check_storable(text)

    def comparison(self, name: str, key: str, value: str) -> Expression:
        self.count(1, key, value)
        as_text = name in _AS_TEXT
        name = name.removeprefix('s')
        if name not in OPERATORS:
            raise self.malformed(
                f'{name} is no operator: use one of {" ".join(OPERATORS)}'
            )
        if key.startswith((CPU_INFO, AGGREGATES)):
            return self.judged(name, key, value, as_text)
        if key in self.constants:
            return self.constant(name, key, value)
        if changes(key):
            raise self.malformed(
                f'{key} of a host changes by the minute, so that no lease for '
                'later can be planned by it'
            )
        if key.startswith(TRAIT):
            return self.trait(name, key.removeprefix(TRAIT), value)
        return Comparison(name, key, self.operand(key, value, as_text))

    def judged(
        self, name: str, key: str, value: str, as_text: bool
    ) -> Expression:
        """Return a comparison in a list in the words of Nova's filters."""
        if len(value.split()) != 1:
            raise self.malformed(f'{key} is compared with one word')
        if name != '<in>' and (as_text or number(value) is None):
            name = f's{name}'
        elif name in ('<', '>'):
            raise self.malformed(f'{key} compares numbers by <= or >= only')
        scope = '' if key.startswith(AGGREGATES) else 'capabilities:'
        found = self.of_nova(f'{scope}{key}', f'{name} {value}')
        if found is None:
            raise self.malformed(f'only hosts have {key}')
        return found

    def of_nova(self, key: str, value: str) -> Expression | None:
        if self.nova is None or not self.facts.traits:
            return None
        try:
            found = self.nova.requirement(key, value)
        except exception.InvalidInput as error:
            raise self.malformed(str(error)) from error
        if found is not None and len(value) > MAX_SPEC:
            raise self.malformed(f'{key} has more than {MAX_SPEC} characters')
        return found

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
        found = self.of_nova(key, value)
        if found is not None:
            self.count(size(found), key, value)
            return found
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
            case ['<all-in>', _, *_] as words:
                return AllOf(
                    tuple(
                        self.comparison('<in>', name, word)
                        for word in words[1:]
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
                f'{key} does not tell of hosts: only capabilities:, '
                f'{AGGREGATES}, trait: and keys without a scope do'
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
