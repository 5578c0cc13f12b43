# SPDX-License-Identifier: Apache-2.0
"""Requirements of resources as SQL.

Text is compared character by character, whatever the collation of the
database: MySQL's own comparison takes "A" for "a", and "a " for "a".
"""

from collections.abc import Collection
from collections.abc import Mapping
from typing import Any

import sqlalchemy as sa
from sqlalchemy import orm
from sqlalchemy.ext import compiler
from sqlalchemy.sql import functions

from nova_reservations import objects
from nova_reservations.db import models
from nova_reservations.db.resources import judgements
from nova_reservations.objects import requirements

_Facts = Mapping[str, Any]
_Passing = Mapping[requirements.Judged, Collection[int]]
_NOTHING: _Passing = {}

_OF_HOSTS: _Facts = {
    **{
        key: getattr(models.Host, key)
        for key in (requirements.NUMBERS | requirements.TEXTS)
        - {'id', 'service_name'}
    },
    'id': models.Resource.id,
    'service_name': models.Resource.name,
}

_OF_OTHERS: _Facts = {'id': models.Resource.id, 'name': models.Resource.name}


class _bytewise(functions.FunctionElement[str]):
    """Text that compares and orders by its characters' code points."""

    type = sa.Text()
    inherit_cache = True


@compiler.compiles(_bytewise)
def _plain_bytewise(element: _bytewise, compiler: Any, **kw: Any) -> str:
    return str(compiler.process(element.clauses, **kw))


@compiler.compiles(_bytewise, 'mysql', 'mariadb')
def _mysql_bytewise(element: _bytewise, compiler: Any, **kw: Any) -> str:
    return f'CAST({compiler.process(element.clauses, **kw)} AS BINARY)'


@compiler.compiles(_bytewise, 'postgresql')
def _postgresql_bytewise(element: _bytewise, compiler: Any, **kw: Any) -> str:
    return f'({compiler.process(element.clauses, **kw)} COLLATE "C")'


class _position(functions.FunctionElement[int]):
    """The position of the second text in the first; 0 is nowhere."""

    type = sa.Integer()
    inherit_cache = True


@compiler.compiles(_position)
def _plain_position(element: _position, compiler: Any, **kw: Any) -> str:
    return f'instr({compiler.process(element.clauses, **kw)})'


@compiler.compiles(_position, 'postgresql')
def _postgresql_position(element: _position, compiler: Any, **kw: Any) -> str:
    return f'strpos({compiler.process(element.clauses, **kw)})'


def meeting(
    session: orm.Session,
    query: sa.Select[Any],
    resource_type: str,
    expression: requirements.Expression | None,
) -> sa.Select[Any]:
    """Return a query for resources of a type, of those that meet the
    requirements.

    :param query: of models.Resource
    :raises: InvalidInput for what Nova would have to judge too often
    """
    if expression is None:
        return query
    if resource_type != objects.HOST:
        return query.where(clause(expression, _OF_OTHERS))
    return query.join(
        models.Host, models.Host.resource_id == models.Resource.id
    ).where(
        clause(expression, passing=judgements.passing(session, expression))
    )


def clause(
    expression: requirements.Expression,
    facts: _Facts = _OF_HOSTS,
    passing: _Passing = _NOTHING,
) -> sa.ColumnElement[bool]:
    """Return the condition on a join of nr_resources and nr_hosts.

    :param passing: of all that Nova judges in the expression

    It is never NULL, so that it may be negated.
    """
    match expression:
        case requirements.AllOf(parts):
            return sa.and_(
                sa.true(), *(clause(part, facts, passing) for part in parts)
            )
        case requirements.AnyOf(parts):
            return sa.or_(
                sa.false(), *(clause(part, facts, passing) for part in parts)
            )
        case requirements.Not(part):
            return sa.not_(clause(part, facts, passing))
        case requirements.Trait(name, required):
            has = _exists(models.HostTrait, models.HostTrait.trait == name)
            return has if required else sa.not_(has)
        case requirements.Comparison():
            return _comparison(expression, facts)
        case requirements.Judged():
            return _exists(
                models.HostFact,
                models.HostFact.fact_id.in_(passing[expression]),
            )


def _comparison(
    comparison: requirements.Comparison, facts: _Facts
) -> sa.ColumnElement[bool]:
    if comparison.key.startswith(requirements.INVENTORY):
        return _inventory(comparison)
    if comparison.key in facts:
        return _compare(comparison, facts[comparison.key])
    return _property(comparison)


def _inventory(comparison: requirements.Comparison) -> sa.ColumnElement[bool]:
    inventory = models.Inventory
    capacity = (
        inventory.total - inventory.reserved
    ) * inventory.allocation_ratio
    name = comparison.key.removeprefix(requirements.INVENTORY)
    return _exists(
        inventory,
        inventory.resource_class == name,
        _compare(comparison, capacity),
    )


def _property(comparison: requirements.Comparison) -> sa.ColumnElement[bool]:
    prop = models.ResourceProperty
    if isinstance(comparison.value, str):
        holds = _compare(comparison, prop.value)
    else:
        holds = _compare(comparison, prop.number)
        if comparison.operator == '!=':
            holds = sa.or_(holds, prop.number.is_(None))
    return _exists(
        prop,
        prop.property_id == models.Property.id,
        models.Property.name == comparison.key,
        _bytewise(models.Property.name) == comparison.key,
        holds,
    )


def _compare(
    comparison: requirements.Comparison, what: Any
) -> sa.ColumnElement[bool]:
    value = comparison.value
    if isinstance(value, float):
        # PostgreSQL uses the statistics of an integer column only if it is
        # compared with an integer.
        whole = value.is_integer() and abs(value) < 2**31
        holds = requirements.OPERATORS[comparison.operator](
            what, sa.literal(int(value) if whole else value)
        )
    elif comparison.operator == '<in>':
        holds = _position(_bytewise(what), value) > 0
    else:
        holds = requirements.OPERATORS[comparison.operator](
            _bytewise(what), value
        )
        if comparison.operator == '==':
            # The same again in a form for which an index can be used.
            holds = sa.and_(what == value, holds)
    return holds  # type: ignore[no-any-return]


def _exists(model: Any, *conditions: Any) -> sa.ColumnElement[bool]:
    return (
        sa.select(sa.literal_column('1'))
        .where(model.resource_id == models.Resource.id, *conditions)
        .correlate(models.Resource)
        .exists()
    )
