# SPDX-License-Identifier: Apache-2.0
"""Inventories and properties of resources of any type: each kind of rows is
read once for many resources.

Every function joins the caller's transaction.
"""

from collections import defaultdict
from collections.abc import Collection
from collections.abc import Mapping

import sqlalchemy as sa
from sqlalchemy import orm

from nova_reservations import objects
from nova_reservations.db import models

INVENTORY = models.table(models.Inventory)
PROPERTY = models.table(models.Property)
RESOURCE_PROPERTY = models.table(models.ResourceProperty)


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
