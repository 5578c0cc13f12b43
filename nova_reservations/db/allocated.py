# SPDX-License-Identifier: Apache-2.0
"""Subqueries for what leases hold of each resource that a query reads."""

from typing import Any

import sqlalchemy as sa

from nova_reservations.db import models

_INDEX = 'ix_nr_allocations_resource'


def select(
    held: Any, column: Any, *conditions: sa.ColumnElement[bool]
) -> sa.Select[Any]:
    """Return the query for allocations, not released, of the resource in the
    row of the query around it.

    :param held: an alias of the allocations.
    """
    query: sa.Select[Any] = (
        sa.select(column)
        .where(
            held.resource_id == models.Resource.id,
            held.released == sa.false(),
            *conditions,
        )
        .correlate(models.Resource)
    )
    return by_resource(query, held)


def by_resource(query: sa.Select[Any], held: Any) -> sa.Select[Any]:
    """Return the query, which reads allocations by their resources."""
    # A resource has had thousands of allocations and holds a few. MariaDB
    # knows the mean of both, and would rather read what all resources hold,
    # once for each of them. A migration that drops this index would break
    # workers of the release before.
    for dialect in ('mysql', 'mariadb'):
        query = query.with_hint(held, f'FORCE INDEX ({_INDEX})', dialect)
    return query


def none(
    held: Any, *conditions: sa.ColumnElement[bool]
) -> sa.ColumnElement[bool]:
    """Return the condition that there is no such allocation."""
    # The offset, of nothing, keeps optimizers from joining all that is held
    # with all resources where a page of them is wanted.
    query = select(held, sa.literal_column('1'), *conditions)
    return ~query.limit(1).offset(0).exists()
