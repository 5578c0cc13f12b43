# SPDX-License-Identifier: Apache-2.0
"""Enrolled hosts, and resources of other types, made of their rows: facts,
traits, inventories, properties.

Each kind of rows is read once for many resources. Every function joins the
caller's transaction.
"""

from collections import defaultdict
from collections.abc import Collection
from collections.abc import Mapping
from typing import Any

import sqlalchemy as sa
from sqlalchemy import orm

from nova_reservations import objects
from nova_reservations.db import fields
from nova_reservations.db import models
from nova_reservations.db import pages
from nova_reservations.db.resources import host_facts
from nova_reservations.db.resources import inventories as inventory_rows

RESOURCE = models.table(models.Resource)
HOST = models.table(models.Host)
INVENTORY = models.table(models.Inventory)
NESTED = models.table(models.NestedInventory)
CLOSING = models.table(models.Closing)
PROPERTY = models.table(models.Property)
RESOURCE_PROPERTY = models.table(models.ResourceProperty)

AT_ONCE = 500
"""The number of resources whose rows are read at once."""


def select_hosts() -> sa.Select[Any]:
    return (
        sa.select(RESOURCE, HOST, CLOSING.c.reason)
        .join(HOST, HOST.c.resource_id == RESOURCE.c.id)
        .outerjoin(CLOSING, CLOSING.c.resource_id == RESOURCE.c.id)
    )


def hosts(
    session: orm.Session, statement: sa.Select[Any]
) -> list[objects.Host]:
    """Return the hosts that a statement selects, in its order.

    :param statement: made of select_hosts()
    """
    rows = session.execute(statement).all()
    traits: dict[int, set[str]] = {}
    known: dict[int, list[objects.Inventory]] = {}
    nested: dict[int, list[objects.Inventory]] = defaultdict(list)
    given: dict[int, dict[str, str]] = {}
    specs: dict[int, tuple[tuple[str, str], ...]] = {}
    for ids in pages.of([row.id for row in rows], AT_ONCE):
        traits |= inventory_rows.traits(session, ids)
        known |= inventories(session, ids)
        given |= properties(session, ids)
        specs |= host_facts.of(session, ids)
        for row in session.execute(
            sa.select(NESTED)
            .where(NESTED.c.resource_id.in_(ids))
            .order_by(NESTED.c.provider, NESTED.c.resource_class)
        ):
            nested[row.resource_id].append(inventory_rows.nested(row))
    return [
        objects.Host(
            **_enrolled(row, objects.Host, given),
            facts=objects.HostFacts(
                **fields.of(row, objects.HostFacts),
                service_host=row.name,
                traits=frozenset(traits.get(row.id, ())),
                inventories=tuple(known.get(row.id, ())),
                nested=tuple(nested[row.id]),
                specs=specs.get(row.id, ()),
            ),
            status_reason=row.reason or row.lost,
        )
        for row in rows
    ]


def others(
    session: orm.Session, statement: sa.Select[Any]
) -> list[objects.Inventoried]:
    """Return the resources, which are no hosts, that a statement selects, in
    its order.

    :param statement: selects all of their columns
    """
    rows = session.execute(statement).all()
    known: dict[int, list[objects.Inventory]] = {}
    given: dict[int, dict[str, str]] = {}
    for ids in pages.of([row.id for row in rows]):
        known |= inventories(session, ids)
        given |= properties(session, ids)
    return [
        objects.Inventoried(
            **_enrolled(row, objects.Inventoried, given),
            inventories={
                each.resource_class: each.total
                for each in known.get(row.id, ())
            },
        )
        for row in rows
    ]


def _enrolled(
    row: sa.Row[Any],
    kind: type[objects.Host | objects.Inventoried],
    given: Mapping[int, Mapping[str, str]],
) -> dict[str, Any]:
    """Return the values that resources of a kind have.

    :param given: resource id -> its properties
    """
    return {
        **fields.of(row, kind),
        'resource': objects.Resource(**fields.of(row, objects.Resource)),
        'properties': given.get(row.id, {}),
    }


def inventories(
    session: orm.Session, resource_ids: Collection[int]
) -> Mapping[int, list[objects.Inventory]]:
    """Return resource id -> its inventories, in the order of their classes;
    nothing where there is none."""
    found: dict[int, list[objects.Inventory]] = defaultdict(list)
    for row in session.execute(
        sa.select(INVENTORY)
        .where(INVENTORY.c.resource_id.in_(resource_ids))
        .order_by(INVENTORY.c.resource_class)
    ):
        found[row.resource_id].append(objects.Inventory(*row[1:]))
    return found


def properties(
    session: orm.Session, resource_ids: Collection[int]
) -> Mapping[int, dict[str, str]]:
    """Return resource id -> its properties, in the order of their names;
    nothing where there is none."""
    found: dict[int, dict[str, str]] = defaultdict(dict)
    for row in session.execute(
        sa.select(
            RESOURCE_PROPERTY.c.resource_id,
            PROPERTY.c.name,
            RESOURCE_PROPERTY.c.value,
        )
        .join(PROPERTY, PROPERTY.c.id == RESOURCE_PROPERTY.c.property_id)
        .where(RESOURCE_PROPERTY.c.resource_id.in_(resource_ids))
        .order_by(PROPERTY.c.name)
    ):
        found[row.resource_id][row.name] = row.value
    return found
