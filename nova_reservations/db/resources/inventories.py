# SPDX-License-Identifier: Apache-2.0
"""Inventories of hosts, and of the providers below them, as rows.

Decision 0052: doc/source/decisions/0052-whoever-comes-first
"""

from collections import Counter
from collections import defaultdict
from collections.abc import Collection
import dataclasses
from typing import Any

import sqlalchemy as sa
from sqlalchemy import orm

from nova_reservations import objects
from nova_reservations.db import fields
from nova_reservations.db import models
from nova_reservations.db import pages
from nova_reservations.objects import shapes

RESOURCE = models.table(models.Resource)
TRAIT = models.table(models.HostTrait)
INVENTORY = models.table(models.Inventory)
NESTED = models.table(models.NestedInventory)
AMOUNT = models.table(models.AllocationAmount)


def row(resource_id: int, inventory: objects.Inventory) -> dict[str, Any]:
    """Return the row of an inventory of a host's own provider."""
    return {
        'resource_id': resource_id,
        **fields.columns(inventory, INVENTORY),
    }


def nested_row(
    resource_id: int, inventory: objects.Inventory
) -> dict[str, Any]:
    """Return the row of an inventory of a provider below a host's own."""
    return {
        **row(resource_id, inventory),
        'provider': inventory.provider,
        'traits': ' '.join(sorted(inventory.traits)),
    }


def nested(found: sa.Row[Any]) -> objects.Inventory:
    """Return the inventory that nested_row() has made a row of."""
    columns = fields.of(found, objects.Inventory)
    traits = frozenset(found.traits.split())
    return objects.Inventory(**columns | {'traits': traits})


def capacity(found: sa.Row[Any]) -> int:
    """Return how many units an inventory has for leases, from its row."""
    return int((found.total - found.reserved) * found.allocation_ratio)


def of_wholes(
    session: orm.Session, resource_ids: Collection[int]
) -> dict[int, Counter[str]]:
    """Return resource id -> resource class -> units, of resources other than
    hosts; without those that have none."""
    found: dict[int, Counter[str]] = defaultdict(Counter)
    for page in pages.of(resource_ids):
        for row in session.execute(
            sa.select(INVENTORY).where(INVENTORY.c.resource_id.in_(page))
        ):
            found[row.resource_id][row.resource_class] = capacity(row)
    return found


def find(
    session: orm.Session, ids: Collection[int], names: Collection[str]
) -> dict[int, list[objects.Inventory]]:
    """Return resource id -> its inventories, and those of providers below it,
    from which amounts of these names may be taken; with the traits that names
    may ask for."""
    found = defaultdict(list)
    for each in session.execute(
        sa.select(INVENTORY).where(
            INVENTORY.c.resource_id.in_(ids),
            INVENTORY.c.resource_class.in_(shapes.classes(names)),
        )
    ):
        found[each.resource_id].append(objects.Inventory(*each[1:]))
    below = shapes.classes(names) - shapes.OF_HOSTS
    if not below:
        return found
    for each in session.execute(
        sa.select(NESTED).where(
            NESTED.c.resource_id.in_(ids), NESTED.c.resource_class.in_(below)
        )
    ):
        found[each.resource_id].append(nested(each))
    _add_traits(session, found)
    return found


def traits(
    session: orm.Session, resource_ids: Collection[int]
) -> dict[int, set[str]]:
    """Return resource id -> the traits of the host's own provider."""
    found: dict[int, set[str]] = defaultdict(set)
    for each in session.execute(
        sa.select(TRAIT).where(TRAIT.c.resource_id.in_(resource_ids))
    ):
        found[each.resource_id].add(each.trait)
    return found


def _add_traits(
    session: orm.Session, found: dict[int, list[objects.Inventory]]
) -> None:
    """Add the traits of hosts to their inventories, because amounts may ask
    for traits, including those that others hold."""
    own = traits(session, found)
    for resource_id, known in found.items():
        its = frozenset(own[resource_id])
        found[resource_id] = [
            dataclasses.replace(inventory, beside=its)
            if inventory.provider
            else dataclasses.replace(inventory, traits=its)
            for inventory in known
        ]


def rivals(names: Collection[str]) -> sa.ColumnElement[bool]:
    """Return the condition that an amount, of whatever shape, may be taken
    from the same inventories as amounts of these names."""
    column = AMOUNT.c.resource_class
    below = shapes.classes(names) - shapes.OF_HOSTS
    return sa.or_(
        column.in_({*names, *below}),
        *(
            column.startswith(f'{name}/', autoescape=True)
            for name in sorted(below)
        ),
    )


def is_large(
    resource_type: str, name: str, amount: int
) -> sa.ColumnElement[bool]:
    """Return the condition that a resource, or a provider below it, could give
    as much of the amount as one provider must give, if nothing of it was held;
    traits are ignored."""
    if resource_type != objects.HOST or name in shapes.OF_HOSTS:
        return _has(INVENTORY, name, amount)
    shape = shapes.parse(name)
    return sa.or_(
        *(
            _has(table, shape.resource_class, shape.units)
            for table in (INVENTORY, NESTED)
        )
    )


def _has(
    table: sa.Table, resource_class: str, amount: int
) -> sa.ColumnElement[bool]:
    # The offset of 0 keeps optimizers from reading all inventories for a page
    # of hosts.
    large: sa.Select[Any] = sa.select(sa.literal_column('1')).where(
        table.c.resource_id == RESOURCE.c.id,
        table.c.resource_class == resource_class,
        table.c.max_unit >= amount,
        (table.c.total - table.c.reserved) * table.c.allocation_ratio
        >= amount,
    )
    return large.correlate(RESOURCE).limit(1).offset(0).exists()
