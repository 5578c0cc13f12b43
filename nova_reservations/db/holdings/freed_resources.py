# SPDX-License-Identifier: Apache-2.0
"""Resources that waiting leases may get, with all facts that decide which
lease gets them.

Every function joins the caller's transaction.
"""

from collections import defaultdict
from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Iterator

import sqlalchemy as sa
from sqlalchemy import orm

from nova_reservations import objects
from nova_reservations.db import models
from nova_reservations.db.holdings import held_rows
from nova_reservations.db.resources import holds
from nova_reservations.db.resources import hosts
from nova_reservations.db.resources import resource_rows
from nova_reservations.objects import holding
from nova_reservations.objects import requirements
from nova_reservations.objects import wishes

RESOURCE = models.table(models.Resource)
ALLOCATION = models.table(models.Allocation)


def load(
    session: orm.Session, resource_ids: Collection[int]
) -> Iterator[wishes.FreedResource]:
    """Yield those of the resources that new leases may have."""
    rows = session.execute(
        sa.select(
            RESOURCE.c.id, RESOURCE.c.resource_type, RESOURCE.c.name
        ).where(
            RESOURCE.c.id.in_(resource_ids),
            holds.free(holds.Use.PROMISE),
        )
    )
    known = {row.id: row for row in rows}
    described = {host.id: host for host in hosts.get_all(session, known)}
    others = known.keys() - described.keys()
    inventories = resource_rows.inventories(session, others)
    properties = resource_rows.properties(session, others)
    held = _held(session, known)
    for resource_id, row in known.items():
        host = described.get(resource_id)
        if host is not None:
            facts, has = facts_of(host), host.facts.all_inventories
        else:
            has = tuple(inventories.get(resource_id, ()))
            facts = {
                **properties.get(resource_id, {}),
                **_capacities(has),
                'id': resource_id,
                'name': row.name,
            }
        yield wishes.FreedResource(
            id=resource_id,
            resource_type=row.resource_type,
            facts=facts,
            traits=host.facts.traits if host else (),
            inventories=has,
            held=held.get(resource_id, ()),
        )


def facts_of(host: objects.Host) -> dict[str, float | str]:
    """Return, by key, the facts of a host that requirements compare, without
    its traits."""
    named = {
        key: getattr(host.facts, key)
        for key in (requirements.NUMBERS | requirements.TEXTS)
        - {'id', 'service_name'}
    }
    return {
        **host.properties,
        **dict(host.facts.specs),
        **_capacities(host.facts.inventories),
        **named,
        'id': host.id,
        'service_name': host.facts.service_host,
    }


def _capacities(
    inventories: Iterable[objects.Inventory],
) -> dict[str, float | str]:
    return {
        requirements.INVENTORY + inventory.resource_class: (
            inventory.total - inventory.reserved
        )
        * inventory.allocation_ratio
        for inventory in inventories
    }


def _held(
    session: orm.Session, resource_ids: Collection[int]
) -> dict[int, list[holding.Held]]:
    found = defaultdict(list)
    query = held_rows.query(ALLOCATION.c.resource_id.in_(resource_ids))
    for each in held_rows.with_amounts(session, query):
        found[each.resource_id].append(each)
    return found
