# SPDX-License-Identifier: Apache-2.0
"""Enrolled hosts made of their rows: facts, traits, inventories, properties.

Each kind of rows is read once for many hosts.
"""

from collections import defaultdict
from typing import Any

import sqlalchemy as sa
from sqlalchemy import orm

from nova_reservations import objects
from nova_reservations.db import models
from nova_reservations.db.resources import host_facts
from nova_reservations.db.resources import inventories as inventory_rows
from nova_reservations.db.resources import resource_rows
from nova_reservations.objects import states

RESOURCE = models.table(models.Resource)
HOST = models.table(models.Host)
TRAIT = models.table(models.HostTrait)
NESTED = models.table(models.NestedInventory)
CLOSING = models.table(models.Closing)


def select() -> sa.Select[Any]:
    return (
        sa.select(RESOURCE, HOST, CLOSING.c.reason)
        .join(HOST, HOST.c.resource_id == RESOURCE.c.id)
        .outerjoin(CLOSING, CLOSING.c.resource_id == RESOURCE.c.id)
    )


def assembled(
    session: orm.Session, statement: sa.Select[Any]
) -> list[objects.Host]:
    """Return the hosts that a statement selects, in its order.

    :param statement: made of select()
    """
    rows = session.execute(statement).all()
    traits: dict[int, set[str]] = defaultdict(set)
    inventories: dict[int, list[objects.Inventory]] = {}
    nested: dict[int, list[objects.Inventory]] = defaultdict(list)
    properties: dict[int, dict[str, str]] = {}
    specs: dict[int, tuple[tuple[str, str], ...]] = {}
    for start in range(0, len(rows), 500):
        ids = [row.id for row in rows[start : start + 500]]
        for row in session.execute(
            sa.select(TRAIT).where(TRAIT.c.resource_id.in_(ids))
        ):
            traits[row.resource_id].add(row.trait)
        inventories |= resource_rows.inventories(session, ids)
        properties |= resource_rows.properties(session, ids)
        specs |= host_facts.of(session, ids)
        for row in session.execute(
            sa.select(NESTED)
            .where(NESTED.c.resource_id.in_(ids))
            .order_by(NESTED.c.provider, NESTED.c.resource_class)
        ):
            nested[row.resource_id].append(inventory_rows.nested(row))
    return [
        _host(
            row,
            frozenset(traits[row.id]),
            tuple(inventories.get(row.id, ())),
            tuple(nested[row.id]),
            properties.get(row.id, {}),
            specs.get(row.id, ()),
        )
        for row in rows
    ]


def _host(
    row: sa.Row[Any],
    traits: frozenset[str],
    inventories: tuple[objects.Inventory, ...],
    nested: tuple[objects.Inventory, ...],
    properties: dict[str, str],
    specs: tuple[tuple[str, str], ...],
) -> objects.Host:
    columns = {
        name: getattr(row, name)
        for name in HOST.c.keys()
        if name != 'resource_id'
    }
    return objects.Host(
        id=row.id,
        reservable=row.reservable,
        role=states.Role(row.role),
        down_since=row.down_since,
        hold=row.hold and states.Hold(row.hold),
        held_since=row.held_since,
        braked_at=row.braked_at,
        facts=objects.HostFacts(
            uuid=row.uuid,
            service_host=row.name,
            traits=traits,
            inventories=inventories,
            nested=nested,
            specs=specs,
            **columns,
        ),
        properties=properties,
        created_at=row.created_at,
        updated_at=row.updated_at,
        fenced_for=row.fenced_for,
        fenced_at=row.fenced_at,
        status_reason=row.reason or row.lost,
        cordoned_at=row.cordoned_at,
        lost=row.lost,
    )
