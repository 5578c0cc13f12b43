# SPDX-License-Identifier: Apache-2.0
"""Enrolled hosts: resources with facts and properties.

Every function joins the caller's transaction.
"""

from collections.abc import Collection
from collections.abc import Mapping
import dataclasses
import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy import orm

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations import ports
from nova_reservations.db import counters
from nova_reservations.db import fields
from nova_reservations.db import models
from nova_reservations.db import pages
from nova_reservations.db import writes
from nova_reservations.db.resources import closings
from nova_reservations.db.resources import host_facts
from nova_reservations.db.resources import inventories
from nova_reservations.db.resources import properties
from nova_reservations.db.resources import resource_rows
from nova_reservations.db.resources import resources
from nova_reservations.objects import states

RESOURCE = models.table(models.Resource)
HOST = models.table(models.Host)
TRAIT = models.table(models.HostTrait)
INVENTORY = models.table(models.Inventory)
NESTED = models.table(models.NestedInventory)
ALLOCATION = models.table(models.Allocation)
UNFIT = models.table(models.UnfitHost)

SORT_KEYS = {
    'id': RESOURCE.c.id,
    'name': RESOURCE.c.name,
    'created_at': RESOURCE.c.created_at,
    'hypervisor_hostname': HOST.c.hypervisor_hostname,
    'availability_zone': HOST.c.availability_zone,
    'vcpus': HOST.c.vcpus,
    'memory_mb': HOST.c.memory_mb,
    'local_gb': HOST.c.local_gb,
}

REFRESH = 'refresh'
"""The task that reads the facts of hosts that may have changed."""

POOL = 'pool'
"""The counter that changes with the set of enrolled hosts."""


def insert(
    session: orm.Session,
    facts: objects.HostFacts,
    values: Mapping[str, str],
    now: datetime.datetime,
    role: states.Role = states.Role.POOL,
) -> int:
    """Write a host that no lease may have yet; return its id.

    :param values: of its properties, by their names
    :raises: Conflict if it is known already
    """
    resource_id = resources.insert(
        session,
        objects.HOST,
        facts.service_host,
        facts.uuid,
        now,
        reservable=False,
        role=role,
    )
    session.execute(
        sa.insert(HOST).values(
            resource_id=resource_id, **fields.columns(facts, HOST)
        )
    )
    _insert_details(session, resource_id, facts)
    properties.assign(session, resource_id, values, now)
    counters.increment(session, POOL)
    return resource_id


def _insert_details(
    session: orm.Session, resource_id: int, facts: objects.HostFacts
) -> None:
    traits = [
        {'resource_id': resource_id, 'trait': trait}
        for trait in sorted(facts.traits)
    ]
    own = [inventories.row(resource_id, each) for each in facts.inventories]
    nested = [
        inventories.nested_row(resource_id, each) for each in facts.nested
    ]
    writes.insert(session, TRAIT, traits)
    writes.insert(session, INVENTORY, own)
    writes.insert(session, NESTED, nested)
    host_facts.assign(session, resource_id, facts.specs)


def set_reservable(
    session: orm.Session,
    resource_id: int,
    reservable: bool,
    now: datetime.datetime,
) -> None:
    session.execute(
        sa.update(RESOURCE)
        .where(RESOURCE.c.id == resource_id)
        .values(reservable=reservable, updated_at=now)
    )


def set_facts(
    session: orm.Session,
    resource_id: int,
    facts: objects.HostFacts,
    now: datetime.datetime,
) -> None:
    """Write changed facts; plans that were made on the old ones fail.

    :raises: Conflict if another writer records the same values
    """
    before = session.scalar(
        sa.select(RESOURCE.c.name).where(RESOURCE.c.id == resource_id)
    )
    if before != facts.service_host:
        # The scheduler knows the host by its name.
        counters.increment(session, POOL)
    resources.change(
        session, resource_id, name=facts.service_host, updated_at=now
    )
    session.execute(
        sa.update(HOST)
        .where(HOST.c.resource_id == resource_id)
        .values(**fields.columns(facts, HOST))
    )
    for table in (TRAIT, INVENTORY, NESTED):
        pages.delete(session, table.c.resource_id, [resource_id])
    _insert_details(session, resource_id, facts)


def replace(
    session: orm.Session,
    former: objects.Resource,
    facts: objects.HostFacts,
    now: datetime.datetime,
) -> bool:
    """Write that another machine has the name of a host; return False if the
    host is another one by now. No lease may use the machine before it is
    enrolled; until then the host counts as failed."""
    done = writes.changed(
        session,
        RESOURCE,
        RESOURCE.c.id == former.id,
        RESOURCE.c.uuid == former.uuid,
        uuid=facts.uuid,
        reservable=False,
        hold=None,
        held_since=None,
        down_since=sa.func.coalesce(RESOURCE.c.down_since, now),
        lost='another machine has its name, and is not enrolled yet',
    )
    if not done:
        return False
    set_facts(session, former.id, facts, now)
    return True


def set_provider_generations(
    session: orm.Session, generations: Mapping[int, tuple[int, str]]
) -> None:
    """Record up to which generation of its provider no fact of a host has
    changed.

    :param generations: resource id -> the generation of its provider, and the
        value that stands for the generations of the providers below it
    """
    for page in pages.of(generations):
        session.execute(
            sa.update(HOST)
            .where(HOST.c.resource_id.in_(page))
            .values(
                provider_generation=sa.case(
                    {each: generations[each][0] for each in page},
                    value=HOST.c.resource_id,
                ),
                tree=sa.case(
                    {each: generations[each][1] for each in page},
                    value=HOST.c.resource_id,
                ),
            )
        )


def move_provider_generations(
    session: orm.Session, changes: ports.GenerationChanges
) -> None:
    """Record new generations of providers that only we have changed, so that
    the facts of their hosts are not read again.

    That applies only if the facts were read at the generation before our
    change. Otherwise somebody else has changed the provider too, and the facts
    are read again.
    """
    known = session.execute(
        sa.select(RESOURCE.c.uuid, RESOURCE.c.id).where(
            RESOURCE.c.resource_type == objects.HOST,
            RESOURCE.c.uuid.in_(changes),
        )
    )
    steps: dict[int, list[tuple[int, int]]] = {}
    for row in known:
        before, after = changes[row.uuid]
        steps.setdefault(after - before, []).append((row.id, before))
    for step, marks in steps.items():
        for page in pages.of(marks):
            session.execute(
                sa.update(HOST)
                .where(
                    # For optimizers that do not use the primary key for a pair
                    # of columns.
                    HOST.c.resource_id.in_(
                        [resource_id for resource_id, _ in page]
                    ),
                    sa.tuple_(
                        HOST.c.resource_id, HOST.c.provider_generation
                    ).in_(page),
                )
                .values(provider_generation=HOST.c.provider_generation + step)
            )


def delete(session: orm.Session, resource_id: int) -> None:
    """Delete a host that nothing holds, with all that belongs to it."""
    closings.delete(session, resource_id)
    host_facts.delete(session, resource_id)
    for table in (UNFIT, NESTED, TRAIT, HOST):
        pages.delete(session, table.c.resource_id, [resource_id])
    resources.delete(session, resource_id)
    counters.increment(session, POOL)


def get(session: orm.Session, resource_id: int) -> objects.Host:
    """:raises: NotFound"""
    found = _where(session, RESOURCE.c.id == resource_id)
    if not found:
        raise exception.NotFound(kind='Host', id=resource_id)
    return found[0]


def get_all(
    session: orm.Session, resource_ids: Collection[int]
) -> list[objects.Host]:
    """Return those of the hosts that exist."""
    return _where(session, RESOURCE.c.id.in_(resource_ids))


def find(session: orm.Session, query: objects.HostQuery) -> list[objects.Host]:
    """Return a page of hosts, or all of them where there is no limit.

    :raises: InvalidInput if the marker is no host
    """
    key = SORT_KEYS[query.sort_key]
    order = sa.desc if query.descending else sa.asc
    statement = resource_rows.select_hosts().order_by(
        order(key), order(RESOURCE.c.id)
    )
    if query.name is not None:
        statement = statement.where(
            sa.or_(
                RESOURCE.c.name == query.name,
                HOST.c.hypervisor_hostname == query.name,
            )
        )
    if query.availability_zone is not None:
        statement = statement.where(
            HOST.c.availability_zone == query.availability_zone
        )
    if query.marker is not None:
        statement = statement.where(_after(session, query, key))
    if query.limit is not None:
        statement = statement.limit(query.limit)
    return resource_rows.hosts(session, statement)


def _where(
    session: orm.Session, condition: sa.ColumnElement[bool]
) -> list[objects.Host]:
    return resource_rows.hosts(
        session, resource_rows.select_hosts().where(condition)
    )


def _after(
    session: orm.Session, query: objects.HostQuery, key: sa.ColumnElement[Any]
) -> sa.ColumnElement[bool]:
    marker = session.execute(
        sa.select(key, RESOURCE.c.id)
        .join(HOST, HOST.c.resource_id == RESOURCE.c.id)
        .where(RESOURCE.c.id == query.marker)
    ).first()
    if marker is None:
        raise exception.InvalidInput(
            reason=f'marker {query.marker} is no host'
        )
    columns = [key, RESOURCE.c.id]
    return pages.beyond(columns, tuple(marker), query.descending)


def by_uuid(session: orm.Session, uuid: str) -> objects.Host | None:
    found = _where(session, RESOURCE.c.uuid == uuid)
    return found[0] if found else None


def by_name(session: orm.Session, name: str) -> objects.Host | None:
    found = _where(
        session,
        sa.and_(
            RESOURCE.c.resource_type == objects.HOST, RESOURCE.c.name == name
        ),
    )
    return found[0] if found else None


def is_enrolled(session: orm.Session, name: str) -> bool:
    """Return whether name is a service host or hypervisor hostname of the
    pool, or of a drainable host that is fenced."""
    # A query for each column uses its index; one with a condition on both
    # would use neither.
    return any(
        session.scalar(
            sa.select(
                sa.exists().where(
                    HOST.c.resource_id == RESOURCE.c.id,
                    column == name,
                    closed(),
                )
            )
        )
        for column in (RESOURCE.c.name, HOST.c.hypervisor_hostname)
    )


def closed() -> sa.ColumnElement[bool]:
    """Return the condition that a host is not for servers without a
    reservation."""
    return sa.or_(
        RESOURCE.c.role == states.Role.POOL, RESOURCE.c.fenced_for.is_not(None)
    )


def pool(session: orm.Session) -> frozenset[str]:
    """Return the service hosts of all enrolled hosts, also of incomplete
    enrolments; and of fenced hosts."""
    query = sa.select(RESOURCE.c.name).where(
        RESOURCE.c.resource_type == objects.HOST, closed()
    )
    return frozenset(session.scalars(query))


@dataclasses.dataclass(frozen=True, slots=True)
class Mark:
    """Facts of a host that change whenever its other facts may have."""

    id: int
    provider_generation: int
    availability_zone: str
    cell: str
    tree: str
    aggregates: str


def marks(session: orm.Session) -> dict[str, Mark]:
    """Return uuid -> its mark, of all hosts of the pool."""
    rows = session.execute(
        sa.select(
            RESOURCE.c.uuid,
            RESOURCE.c.id,
            HOST.c.provider_generation,
            HOST.c.availability_zone,
            HOST.c.cell,
            HOST.c.tree,
            HOST.c.aggregates,
        )
        .join(HOST, HOST.c.resource_id == RESOURCE.c.id)
        .where(RESOURCE.c.role == states.Role.POOL)
    )
    return {row.uuid: Mark(**fields.of(row, Mark)) for row in rows}


def lost(session: orm.Session) -> list[int]:
    """Return the ids of the hosts that are lost."""
    query = sa.select(RESOURCE.c.id).where(
        RESOURCE.c.resource_type == objects.HOST,
        RESOURCE.c.lost.is_not(None),
    )
    return list(session.scalars(query))


def whole(session: orm.Session, reservation_id: str) -> dict[int, str]:
    """Return id -> name of the hosts that a reservation has as a whole,
    without those that it is leaving."""
    rows = session.execute(
        sa.select(RESOURCE.c.id, RESOURCE.c.name)
        .join(ALLOCATION, ALLOCATION.c.resource_id == RESOURCE.c.id)
        .where(
            RESOURCE.c.resource_type == objects.HOST,
            ALLOCATION.c.reservation_id == reservation_id,
            ALLOCATION.c.exclusive == sa.true(),
            ALLOCATION.c.released == sa.false(),
            ALLOCATION.c.replaced_at.is_(None),
            ALLOCATION.c.leaving_at.is_(None),
        )
        .order_by(RESOURCE.c.id)
    )
    return {row.id: row.name for row in rows}
