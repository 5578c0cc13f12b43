# SPDX-License-Identifier: Apache-2.0
"""Slow and obvious answers, with which tests compare those of fast code."""

import operator

from nova_reservations import objects
from nova_reservations.objects import requirements

OPERATORS = {
    '==': operator.eq,
    '!=': operator.ne,
    '<': operator.lt,
    '<=': operator.le,
    '>': operator.gt,
    '>=': operator.ge,
    '<in>': lambda has, part: part in has,
}


def matches(
    expression: requirements.Expression | None, host: objects.Host
) -> bool:
    match expression:
        case None:
            return True
        case requirements.AllOf(parts):
            return all(matches(part, host) for part in parts)
        case requirements.AnyOf(parts):
            return any(matches(part, host) for part in parts)
        case requirements.Not(part):
            return not matches(part, host)
        case requirements.Trait(name, required):
            return (name in host.facts.traits) == required
        case requirements.Comparison(name, key, value):
            return compares(name, look_up(key, host), value)


def look_up(key: str, host: objects.Host) -> int | float | str | None:
    if key == 'id':
        return host.id
    if key == 'service_name':
        return host.facts.service_host
    if key in requirements.NUMBERS | requirements.TEXTS:
        return getattr(host.facts, key)
    if key.startswith('inventory:'):
        for inventory in host.facts.inventories:
            if 'inventory:' + inventory.resource_class == key:
                return (
                    inventory.total - inventory.reserved
                ) * inventory.allocation_ratio
        return None
    return host.properties.get(key)


def compares(
    name: str, has: int | float | str | None, value: float | str
) -> bool:
    if has is None:
        return False
    if isinstance(has, str) and isinstance(value, float):
        as_number = requirements.number(has)
        if as_number is None:
            return name == '!='
        has = as_number
    return OPERATORS[name](has, value)
